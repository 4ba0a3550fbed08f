"""What was decided about the results of a conversation, for when the host no longer gives its messages from the start.

A host that trims or summarises its history moves the results that it keeps. They are known again by their call id and
their text.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum

from toolprune.transcript import CallKey, Part, Result, Transcript


class State(Enum):
    """What was decided about a result over the threshold since the gate opened."""

    FROZEN = "frozen"
    """It was there when the gate opened, and stays whole."""
    CUT = "cut"
    """It was cut, and stays so."""
    WAITING = "waiting"
    """It came later, and is cut once it has been seen."""


@dataclass
class Memory:
    """The results over the threshold that an open gate has met, in the order in which it met them."""

    _states: dict[CallKey, State] = field(default_factory=dict)
    _prints: dict[CallKey, int] = field(default_factory=dict)

    def state(self, result: Result) -> State | None:
        """What was decided about a result; None for one that is new."""
        return self._states.get(result.key)

    def keep(self, result: Result, part: Part, state: State) -> None:
        """Remember a decision, and by what the result is to be known again."""
        self._states[result.key] = state
        self._prints[result.key] = _print(part)

    def recognise(self, transcript: Transcript, before: Transcript, threshold: int) -> None:
        """Give the results of a transcript that was read anew the keys by which they are remembered.

        `before` is what was read last: as far as both are the same from the start, so are their results. Behind that,
        where one of several alike is gone it is the first, since hosts drop from the start.
        """
        start = _same_from_the_start(transcript, before)
        for index, key in enumerate(start):
            transcript.rename(index, key)
        alike: defaultdict[int, list[int]] = defaultdict(list)
        for index, result in enumerate(transcript.results[len(start) :], len(start)):
            if result.code_points > threshold:
                alike[_print(transcript.part_of(result))].append(index)
        known: defaultdict[int, list[CallKey]] = defaultdict(list)
        for key, print_ in self._prints.items():
            if key not in start:
                known[print_].append(key)
        for print_, indices in alike.items():
            kept = known[print_][-len(indices) :]
            for index, key in zip(indices, kept, strict=False):
                transcript.rename(index, key)
            for index in indices[len(kept) :]:
                self._rename_new(transcript, index)

    def _rename_new(self, transcript: Transcript, index: int) -> None:
        """Give a result that is not remembered a key that no remembered one has."""
        key = transcript.results[index].key
        while key in self._states:
            key = (key[0], key[1] + 1)
        transcript.rename(index, key)


def _same_from_the_start(transcript: Transcript, before: Transcript) -> dict[CallKey, None]:
    """The keys, in order, of the results before the first message in which the two differ."""
    pairs = zip(transcript.messages, before.messages, strict=False)
    differs = next((position for position, (new, old) in enumerate(pairs) if new != old), len(before.messages))
    end = min(differs, len(transcript.messages))
    return {result.key: None for result in before.results if result.position < end}


def _print(part: Part) -> int:
    """What a result is known by; good for one process."""
    return hash((part.call_id, part.texts))
