"""Conversations around the gate's line, of sizes worked out by hand, and what each of their requests holds.

By the host's estimate a message takes 4 tokens, a text 4 and a quarter of its UTF-16 units, a call 4 and the quarters
of its name and of its arguments, and a `tool_result` block of Anthropic's 4.
"""

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from talk import Call, Message, Response, Result, Results, Step, User, requests, written
from toolprune import Edit, Gate, GateConfig

LINE = 100_000

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
HEAD, TAIL = "h" * 4096, "t" * 1024
LARGE = HEAD + "m" * 3073 + TAIL
"""8193 code points: the shortest text that is cut. As the text of a message it takes 4 + 2049 + 4 = 2057 tokens."""
CUT = HEAD + MARKER + TAIL
SMALL = "s" * 8192
"""The longest text that is not cut."""

SEEN: list[Step] = [Response("Noted."), User("Go on.")] * 3
"""Three responses: what came before them is due in the request that follows."""


def user(tokens: int) -> User:
    """What a user says in exactly so many tokens: 4 for the message, 4 for the text, and a quarter of its units."""
    return User("x" * (4 * (tokens - 8)))


OPENING = user(LINE)
"""A first message that opens the gate, with no result in it to be frozen."""


def call(call_id: str, content: Any, tool: str = "read") -> list[Step]:
    """A call without arguments, in 4 + 4 + 1 + 1 = 10 tokens where the name has up to four letters, and its result."""
    return [Response(calls=(Call(call_id, tool),)), Results((Result(call_id, content),))]


FREEZING: list[Step] = [user(98_000), *call("old", LARGE)]
"""98,000 tokens, then at least 98,000 + 10 + 2057 = 100,067: the request that opens the gate holds a large result."""


def gate(on_edit: Any = None, **settings: Any) -> Gate:
    """A gate of these settings, the defaults for the others."""
    return Gate(GateConfig(**settings), on_edit=on_edit)


def prompts(steps: Sequence[Step], dialect: str, asked: Gate | None = None, **given: Any) -> list[list[Message]]:
    """What each request of a conversation held, the coming one last, when one gate was asked before each."""
    asked = asked or gate()
    messages = written(steps, dialect)
    return [asked.apply(messages[:held], **given) for held in requests(steps, dialect)]


def prompt(steps: Sequence[Step], dialect: str, asked: Gate | None = None, **given: Any) -> list[Message]:
    """What the coming request of a conversation holds when a gate is asked before it alone."""
    return (asked or gate()).apply(written(steps, dialect), **given)


def edits(steps: Sequence[Step], dialect: str, **settings: Any) -> list[Edit]:
    """What a gate that was asked before every request told."""
    told: list[Edit] = []
    prompts(steps, dialect, gate(told.append, **settings))
    return told


def shared(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many messages two prompts begin with alike."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def dumped(messages: Sequence[Message]) -> str:
    return json.dumps(messages, ensure_ascii=False)
