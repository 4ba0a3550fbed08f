"""JSON as RFC 8259 has it, read slowly: what every faster reading is compared with.

Python's own `json` is not that: it takes `NaN`, gives up on deep nesting and on long integers, and says neither where
a value stood nor what came before an error. This reader keeps the span of every value, has no recursion, and leaves
the members of the top level behind when it fails.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

LONGEST_NUMBER = 100_000

SPACE = re.compile(rb"[ \t\r\n]*")
NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# What ends a number or a word. One that runs into anything else is broken as a whole, so the break is where it begins.
ENDS = re.compile(rb"[,\]} \t\r\n]|\Z")
PLAIN_TEXT = re.compile(rb'[^"\\\x00-\x1f]*')
ANY_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
UNIT = re.compile(rb"[0-9a-fA-F]{4}")
WORDS = {b"true": True, b"false": False, b"null": None}
ESCAPES = {
    b'"': '"',
    b"\\": "\\",
    b"/": "/",
    b"b": "\b",
    b"f": "\f",
    b"n": "\n",
    b"r": "\r",
    b"t": "\t",
}


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written."""

    text: str


@dataclass(slots=True, eq=False)
class Value:
    """A value and the bytes [start, end) that it stands in; `end` is 0 while a container is open."""

    data: "Data"
    start: int
    end: int


Data: TypeAlias = bool | Number | str | list[Value] | dict[str, Value | None] | None


class NotJsonError(ValueError):
    """The bytes are not one JSON value. `members` is what was begun of the top level, None for a value not ended."""

    def __init__(self, reason: str, offset: int, members: dict[str, Value | None]) -> None:
        super().__init__(f"{reason} at byte {offset}")
        self.members = members


class _BrokenError(Exception):
    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def parse(line: bytes, *, forgiving: bool = False) -> Value:
    """The value of a line. Of duplicate keys the last stands.

    A forgiving reading takes any bytes between quotes.

    Raises NotJsonError for anything else than one whole value between white space.
    """
    reader = _Reader(line, forgiving)
    try:
        return reader.read()
    except _BrokenError as broken:
        top = reader.top.data if reader.top is not None else None
        members = top if isinstance(top, dict) else {}
        raise NotJsonError(broken.reason, broken.offset, members) from None


class _Reader:
    def __init__(self, line: bytes, forgiving: bool) -> None:
        self.line = line
        self.forgiving = forgiving
        self.at = 0
        self.top: Value | None = None
        self.open: list[Value] = []
        self.names: list[str] = []

    def read(self) -> Value:
        """Read values until none is open, then the white space at the end."""
        self.value()
        while self.open:
            self.next_element(self.open[-1])
        self.space()
        if self.at < len(self.line):
            raise _BrokenError("more than one value", self.at)
        assert self.top is not None
        return self.top

    def next_element(self, container: Value) -> None:
        """From inside an open container: close it, or read on to its next value."""
        closer = b"}" if isinstance(container.data, dict) else b"]"
        self.space()
        if self.peek() == closer:
            self.at += 1
            container.end = self.at
            self.open.pop()
            return
        if container.data:
            self.expect(b",")
            self.space()
        if isinstance(container.data, dict):
            name = self.string()
            self.names.append(name)
            self.space()
            self.expect(b":")
            self.space()
            if self.peek() in (b'"', b"[", b"{"):
                container.data[name] = None
        self.value()

    def value(self) -> None:
        """Read a scalar whole, or a container's opening bracket."""
        self.space()
        start = self.at
        first = self.peek()
        data: Data
        if first in (b"{", b"["):
            self.at += 1
            data = {} if first == b"{" else []
        elif first == b'"':
            data = self.string()
        elif first in (b"t", b"f", b"n"):
            data = self.word()
        else:
            data = self.number()
        is_container = isinstance(data, dict | list)
        value = Value(data, start, 0 if is_container else self.at)
        self.place(value)
        if is_container:
            self.open.append(value)

    def place(self, value: Value) -> None:
        """Put a value where it belongs: into the innermost open container, or at the top."""
        if not self.open:
            self.top = value
            return
        container = self.open[-1].data
        if isinstance(container, dict):
            container[self.names.pop()] = value
        elif isinstance(container, list):
            container.append(value)

    def space(self) -> None:
        match = SPACE.match(self.line, self.at)
        assert match is not None
        self.at = match.end()

    def peek(self) -> bytes:
        return self.line[self.at : self.at + 1]

    def expect(self, byte: bytes) -> None:
        if self.peek() != byte:
            raise _BrokenError(f"no {byte.decode()!r} where one must stand", self.at)
        self.at += 1

    def word(self) -> bool | None:
        for word, meaning in WORDS.items():
            if self.line.startswith(word, self.at) and ENDS.match(self.line, self.at + len(word)):
                self.at += len(word)
                return meaning
        raise _BrokenError("no value where one must stand", self.at)

    def number(self) -> Number:
        match = NUMBER.match(self.line, self.at)
        if match is None or not ENDS.match(self.line, match.end()):
            raise _BrokenError("no value where one must stand", self.at)
        if len(match.group()) > LONGEST_NUMBER:
            raise _BrokenError(f"a number of more than {LONGEST_NUMBER} characters", self.at)
        self.at = match.end()
        return Number(match.group().decode())

    def string(self) -> str:
        if self.forgiving:
            return self.any_string()
        self.expect(b'"')
        parts: list[str] = []
        while True:
            match = PLAIN_TEXT.match(self.line, self.at)
            assert match is not None
            try:
                parts.append(match.group().decode())
            except UnicodeDecodeError as error:
                raise _BrokenError("text that is not UTF-8", self.at + error.start) from None
            self.at = match.end()
            match self.peek():
                case b'"':
                    self.at += 1
                    return "".join(parts)
                case b"\\":
                    self.at += 1
                    parts.append(self.escape())
                case _:
                    raise _BrokenError("a string that does not end, or holds a control character", self.at)

    def any_string(self) -> str:
        """Whatever stands between two quotes; a replacement character for what is no text."""
        match = ANY_STRING.match(self.line, self.at)
        if match is None:
            raise _BrokenError("a string that does not end", self.at)
        self.at = match.end()
        try:
            return _Reader(match.group(), forgiving=False).string()
        except _BrokenError:
            return "\ufffd"

    def escape(self) -> str:
        kind = self.peek()
        if kind in ESCAPES:
            self.at += 1
            return ESCAPES[kind]
        unit = self.unicode_escape()
        if 0xD800 <= unit < 0xDC00 and self.line.startswith(b"\\u", self.at):
            before = self.at
            self.at += 1
            second = self.unicode_escape()
            if 0xDC00 <= second < 0xE000:
                return chr(0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00))
            self.at = before
        return chr(unit)

    def unicode_escape(self) -> int:
        self.expect(b"u")
        match = UNIT.match(self.line, self.at)
        if match is None:
            raise _BrokenError("an escape without four hexadecimal digits", self.at)
        self.at = match.end()
        return int(match.group(), 16)
