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
    _fingerprints: dict[CallKey, int] = field(default_factory=dict)

    def state(self, result: Result) -> State | None:
        """What was decided about a result; None for one that is new."""
        return self._states.get(result.key)

    def keep(self, result: Result, part: Part, state: State) -> None:
        """Remember a decision, and by what the result is to be known again."""
        self._states[result.key] = state
        self._fingerprints[result.key] = _fingerprint(part)

    def carry_over(self, transcript: Transcript, before: Transcript) -> int:
        """Give results of a transcript that was read anew the keys that they had in the one before; how many.

        They are those before the first message that differs. Where the host wrote into its messages and kept their
        places, they are all of the one before: a frozen result stays frozen then, whatever its text, and another with a
        new text is a new one.
        """
        pairs = zip(transcript.messages, before.messages, strict=False)
        same = next((position for position, (new, old) in enumerate(pairs) if new != old), len(before.messages))
        in_place = _ends_alike(transcript, before)
        count = 0
        for new, old in zip(transcript.results, before.results, strict=False):
            if new.position >= same and not (in_place and _stand_alike(new, old)):
                break
            if self.state(old) is State.FROZEN or transcript.part_of(new).texts == before.part_of(old).texts:
                transcript.rename(count, old.key)
            else:
                self._rename_new(transcript, count)
            count += 1
        return count

    def recognise(self, transcript: Transcript, start: int, threshold: int) -> None:
        """Give the results from this index on the keys by which they are remembered, if they are.

        Where one of several alike is gone it is the first, since hosts drop from the start.
        """
        alike: defaultdict[int, list[int]] = defaultdict(list)
        for index, result in enumerate(transcript.results[start:], start):
            if result.code_points > threshold:
                alike[_fingerprint(transcript.part_of(result))].append(index)
        if not alike:
            return
        present = {result.key for result in transcript.results[:start]}
        known: defaultdict[int, list[CallKey]] = defaultdict(list)
        for key, fingerprint in self._fingerprints.items():
            if key not in present:
                known[fingerprint].append(key)
        for fingerprint, indices in alike.items():
            kept = known[fingerprint][-len(indices) :]
            for index, key in zip(indices, kept, strict=False):
                transcript.rename(index, key)
            for index in indices[len(kept) :]:
                self._rename_new(transcript, index)

    def _rename_new(self, transcript: Transcript, index: int) -> None:
        """Give a result that is not remembered a key that no other has, remembered or here."""
        call_id, occurrence = transcript.results[index].key
        if (call_id, occurrence) in self._states:
            occurrence = transcript.next_occurrence(call_id)
            while (call_id, occurrence) in self._states:
                occurrence += 1
        transcript.rename(index, (call_id, occurrence))


def _ends_alike(transcript: Transcript, before: Transcript) -> bool:
    """Whether the last message of the one before still stands where it stood."""
    end = len(before.messages)
    return 0 < end <= len(transcript.messages) and transcript.messages[end - 1] == before.messages[-1]


def _stand_alike(one: Result, other: Result) -> bool:
    return (one.position, one.place, one.call_id) == (other.position, other.place, other.call_id)


def _fingerprint(part: Part) -> int:
    """What a result is known by; good for one process."""
    return hash((part.call_id, part.texts))
