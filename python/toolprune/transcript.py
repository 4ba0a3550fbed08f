"""The neutral view of a conversation that every policy reads.

A transcript holds what a decision needs to know of each message and refers to its text: no text is copied, and no
message of the host is held. It only grows: messages are appended in the order in which the model reads them.
"""

from collections import deque
from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool", "other"]
"""Who a message is from; `other` are items that neither end a response nor are one."""
CallKey: TypeAlias = tuple[str, int]
"""A call id, and how many results of the same id came before: ids may be empty or equal."""
Kind: TypeAlias = Literal["text", "reasoning", "call", "result", "other"]


class Usage(NamedTuple):
    """What a provider says that one request took, in tokens. The classes of input do not overlap."""

    input_missed: int = 0
    input_cached: int = 0
    input_written: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """The tokens of the prompt and of the response: what the next prompt starts with."""
        return self.input_missed + self.input_cached + self.input_written + self.output


class Part(NamedTuple):
    """One block of a message: a text, a call, a result, or something without text.

    `texts` refers to the text: of a call its name and its arguments, of a result each of its text blocks. `others` are
    the lengths, in UTF-16 units of JSON, of blocks that are no text. `place` is the block's index in its message where
    the host has results as blocks. `tool` is known of a call, and of a result only where the host writes it there.
    """

    kind: Kind
    texts: tuple[str, ...] = ()
    others: tuple[int, ...] = ()
    call_id: str = ""
    tool: str | None = None
    is_error: bool = False
    replaced: bool = False
    """The host marks the result as put in place of another."""
    wrapped: bool = False
    """The host has a wrapper around the blocks of the result."""
    place: int | None = None


class Message(NamedTuple):
    """One message, or one item where the host has items, with the usage of the request that brought it."""

    role: Role
    parts: tuple[Part, ...]
    usage: Usage | None = None


class Result(NamedTuple):
    """A tool result, where it stands and what is known of it.

    `key` names it as long as the conversation lasts. `position` is the index of its message, `place` that of its block,
    which is also that of its part, or None where a message is one result. `code_points` is the length of its text.
    `responses` and `turn` count from the start: the model's responses before it, and the user's messages.
    """

    key: CallKey
    position: int
    place: int | None
    call_id: str
    tool: str | None
    code_points: int
    is_error: bool
    replaced: bool
    responses: int
    turn: int


class Transcript:
    """A conversation so far. `responses` has the index of the message with which each response of the model begins."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.results: list[Result] = []
        self.responses: list[int] = []
        self.turn = 0
        # By call id: the response that called last by it, and its tool; where it called several times by one id, the
        # tools of those whose results are to come, the last of which stays.
        self._calls: dict[str, tuple[int, str | deque[str]]] = {}
        self._occurrences: dict[str, int] = {}

    def append(self, message: Message, *, begins_response: bool) -> None:
        """Add the next message; `begins_response` says whether a request brought it and nothing before it."""
        position = len(self.messages)
        self.messages.append(message)
        if begins_response:
            self.responses.append(position)
        holds_result = False
        for part in message.parts:
            if part.kind == "call" and part.tool is not None:
                self._append_call(part.call_id, part.tool)
            elif part.kind == "result":
                holds_result = True
                self._append_result(part, position)
        if message.role == "user" and not holds_result:
            self.turn += 1

    def _append_call(self, call_id: str, tool: str) -> None:
        here = len(self.responses)
        response, tools = self._calls.get(call_id, (None, ""))
        if response != here:
            self._calls[call_id] = (here, tool)
        elif isinstance(tools, str):
            self._calls[call_id] = (here, deque((tools, tool)))
        else:
            tools.append(tool)

    def _tool_of(self, result: Part) -> str | None:
        """The tool of the nearest response's call of this id, the results of equal ids taken in the calls' order."""
        if result.call_id not in self._calls:
            return result.tool
        tools = self._calls[result.call_id][1]
        if isinstance(tools, str):
            return tools
        return tools.popleft() if len(tools) > 1 else tools[0]

    def _append_result(self, part: Part, position: int) -> None:
        occurrence = self._occurrences.get(part.call_id, 0)
        self._occurrences[part.call_id] = occurrence + 1
        self.results.append(
            Result(
                (part.call_id, occurrence),
                position,
                part.place,
                part.call_id,
                self._tool_of(part),
                sum(map(len, part.texts)),
                part.is_error,
                part.replaced,
                len(self.responses),
                self.turn,
            )
        )

    def part_of(self, result: Result) -> Part:
        """The block that a result is."""
        return self.messages[result.position].parts[result.place or 0]

    def next_occurrence(self, call_id: str) -> int:
        """The occurrence that the next result of this id would have."""
        return self._occurrences.get(call_id, 0)

    def rename(self, index: int, key: CallKey) -> None:
        """Give the result at this index the key by which it was known, and later ones of its id the next ones."""
        self.results[index] = self.results[index]._replace(key=key)
        call_id, occurrence = key
        self._occurrences[call_id] = max(self._occurrences[call_id], occurrence + 1)
