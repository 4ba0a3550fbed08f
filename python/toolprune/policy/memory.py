"""What was decided about the results of a conversation, for when the host no longer gives its messages from the start.

A host that trims or summarises its history moves the results that it keeps. They are known again by their call id and
their text.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from enum import Enum
from itertools import zip_longest
from typing import NamedTuple

from toolprune.transcript import CallKey, Part, Result, Transcript


class State(Enum):
    """What was decided about a result over the threshold since the gate opened."""

    FROZEN = "frozen"
    """It was there when the gate opened, and stays whole."""
    CUT = "cut"
    """It was cut, and stays so."""
    WAITING = "waiting"
    """It came later, and is cut once it has been seen."""


class _Kept(NamedTuple):
    state: State
    fingerprint: int
    contexts: frozenset[int]
    """Every two messages behind which it stood."""


class Memory:
    """The results over a threshold that an open gate has met, in the order in which it met them.

    One is cut once it was seen in `views` requests. What is not over the threshold is not looked at.
    """

    def __init__(self, threshold: int, views: int) -> None:
        self._threshold = threshold
        self._views = views
        self._kept: dict[CallKey, _Kept] = {}

    def state(self, result: Result) -> State | None:
        """What was decided about a result; None for one that is new."""
        kept = self._kept.get(result.key)
        return None if kept is None else kept.state

    def keep(self, result: Result, transcript: Transcript, state: State) -> None:
        """Remember a decision, and by what the result is to be known again."""
        before = self._kept.get(result.key)
        contexts = (before.contexts if before is not None else frozenset()) | {_context(result, transcript)}
        fingerprint = _fingerprint(transcript.part_of(result))
        self._kept[result.key] = _Kept(state, fingerprint, contexts)

    def carry_over(self, transcript: Transcript, before: Transcript) -> list[int]:
        """Give results of a list that was read anew the keys that they had in the one before; the others by index.

        They are those before the first message that differs. Where it is the only one, and not the last, the host wrote
        into it: what is frozen in it stays frozen then, whatever its text.
        """
        same = _first_difference(transcript, before)
        rest = slice(same + 1, len(before.messages))
        written_into = same + 1 < len(before.messages) and transcript.messages[rest] == before.messages[rest]
        end = len(before.messages) if written_into else same
        others: list[int] = []
        for index, new in enumerate(transcript.results):
            old = before.results[index] if index < len(before.results) else None
            if old is None or old.position >= end or new[1:4] != old[1:4]:  # another position, place or call id
                return [*others, *range(index, len(transcript.results))]
            frozen = self._is_large(old) and self.state(old) is State.FROZEN
            if frozen or transcript.part_of(new).texts == before.part_of(old).texts:
                transcript.rename(index, old.key)
            else:
                others.append(index)
        return others

    def recognise(self, transcript: Transcript, indices: Iterable[int]) -> None:
        """Give the results at these indices the keys by which they are remembered, if they are.

        They are known by call id and text, and of several alike by the messages before them, else by their order: where
        one is gone it is the first, since hosts drop from the start. One that was cut had been seen. If too few
        responses are behind it here, it must have an id of its own or stand where it stood: else the model asked for
        the same again, and must see it.
        """
        large = {index for index in indices if self._is_large(transcript.results[index])}
        if not large:
            return
        alike: defaultdict[int, list[int]] = defaultdict(list)
        for index in sorted(large):
            alike[_fingerprint(transcript.part_of(transcript.results[index]))].append(index)
        others = (result for index, result in enumerate(transcript.results) if index not in large)
        known = self._absent({result.key for result in others if self._is_large(result)})
        ids = Counter(call_id for call_id, _ in self._kept)
        here = Counter(result.call_id for result in transcript.results)
        for fingerprint, alike_here in alike.items():
            keys = known[fingerprint]
            moved = [index for index in alike_here if not self._stands_where_it_stood(transcript, index, keys)]
            for index, key in zip_longest(moved, keys[-len(moved) :] if moved else ()):
                result = transcript.results[index]
                seen = len(transcript.responses) - result.responses >= self._views
                own_id = result.call_id and ids[result.call_id] == here[result.call_id] == 1
                if key is not None and (seen or own_id or self._kept[key].state is not State.CUT):
                    transcript.rename(index, key)
                else:
                    self._rename_new(transcript, index)

    def _is_large(self, result: Result) -> bool:
        return result.code_points > self._threshold

    def _absent(self, present: Set[CallKey]) -> defaultdict[int, list[CallKey]]:
        """The keys that are remembered and not present, those with one id and text together."""
        absent: defaultdict[int, list[CallKey]] = defaultdict(list)
        for key, kept in self._kept.items():
            if key not in present:
                absent[kept.fingerprint].append(key)
        return absent

    def _stands_where_it_stood(self, transcript: Transcript, index: int, keys: list[CallKey]) -> bool:
        """Give a result the one of these keys that stood behind the same messages, and take it from them."""
        context = _context(transcript.results[index], transcript)
        for key in keys:
            if context in self._kept[key].contexts:
                keys.remove(key)
                transcript.rename(index, key)
                return True
        return False

    def _rename_new(self, transcript: Transcript, index: int) -> None:
        """Give a result that is not remembered a key that no other has, remembered or here."""
        call_id, occurrence = transcript.results[index].key
        if (call_id, occurrence) in self._kept:
            occurrence = transcript.next_occurrence(call_id)
            while (call_id, occurrence) in self._kept:
                occurrence += 1
        transcript.rename(index, (call_id, occurrence))


def _first_difference(transcript: Transcript, before: Transcript) -> int:
    """The position of the first message of the one before that is not the same here; its length where all are."""
    pairs = zip_longest(transcript.messages[: len(before.messages)], before.messages)
    return next((position for position, (new, old) in enumerate(pairs) if new != old), len(before.messages))


def _context(result: Result, transcript: Transcript) -> int:
    """The two messages before that of a result: what was asked, and the call; good for one process."""
    return hash(tuple(transcript.messages[max(result.position - 2, 0) : result.position]))


def _fingerprint(part: Part) -> int:
    """What a result is known by; good for one process."""
    return hash((part.call_id, part.texts))
