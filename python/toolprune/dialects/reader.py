"""A list of messages read into a transcript, and only what is new of it when the list has grown.

Whether a list continues the one before is found by comparing it with a snapshot of that one: its dicts and lists are
copied, its texts are the same objects. Python compares these at the speed of memory, equal messages that the host made
anew are equal, and a dict that was changed where it stands is not. An SDK's object is taken to stay as it is.
"""

from collections.abc import Sequence
from typing import Any

from toolprune._core import snapshot
from toolprune.dialects.dialect import Dialect, fields
from toolprune.errors import MessageError
from toolprune.transcript import Message, Transcript

_DEPTH = 32
"""Levels of dicts and lists that a snapshot copies. What lies deeper is no part of what is read of a message, but for a
call's arguments."""


class Reader:
    """One conversation in one dialect, read as far as the last list went.

    `certain` says that the dialect was named or shown, and is not only taken until a message shows one.
    """

    def __init__(self, dialect: Dialect, *, certain: bool) -> None:
        self.dialect = dialect
        self.certain = certain
        self.transcript = Transcript()
        self._snapshots: list[Any] = []
        self._in_response = False

    def follow(self, messages: Sequence[Any]) -> bool:
        """Read what this list has beyond the last one; False, and nothing read, where it does not continue that one.

        Messages may differ in what is not read of them, as in the marks for a provider's cache.

        Raises MessageError for a message that cannot be read.
        """
        known = len(self._snapshots)
        if len(messages) < known or not self._continued_by(list(messages[:known])):
            return False
        for position in range(known, len(messages)):
            read = self._read(position, messages[position])
            begins_response = read.role == "assistant" and not (self._in_response and self.dialect.runs)
            if read.role != "other":
                self._in_response = read.role == "assistant"
            self._snapshots.append(snapshot(messages[position], _DEPTH))
            self.transcript.append(read, begins_response=begins_response)
        return True

    def _continued_by(self, messages: list[Any]) -> bool:
        if _equal(messages, self._snapshots):
            return True
        for position, (message, before) in enumerate(zip(messages, self._snapshots, strict=True)):
            if _equal(message, before):
                continue
            if self._read(position, message) != self.transcript.messages[position]:
                return False
            self._snapshots[position] = snapshot(message, _DEPTH)
        return True

    def _read(self, position: int, message: Any) -> Message:
        read = fields(message)
        try:
            return self.dialect.read(read)
        except (TypeError, ValueError, RecursionError) as error:
            raise MessageError(
                f"messages[{position}], a {type(message).__name__}, cannot be read as {self.dialect.name}: {error}; "
                "give OpenAI chat messages, OpenAI Responses items or Anthropic messages, or name their dialect"
            ) from error


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # an object of the host's that cannot be compared is read again, which tells
        return False
