"""A conversation told once and written in each dialect of messages.

What was said is a list of steps; `written` gives the messages, and `requests` how many of them each request held.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

DIALECTS = ("openai-chat", "openai-responses", "anthropic")

in_every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

Message: TypeAlias = dict[str, Any]
Content: TypeAlias = str | list[dict[str, Any]] | None
"""A text, blocks as Anthropic writes them (`{"type": "text", "text": …}` and others), or nothing."""


@dataclass(frozen=True)
class Call:
    call_id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    call_id: str
    content: Content
    is_error: bool = False


@dataclass(frozen=True)
class User:
    text: str


@dataclass(frozen=True)
class Response:
    """What one request brought: text, calls, or both; the provider's usage where the host keeps it, on the last."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: dict[str, Any] | None = None


@dataclass(frozen=True)
class Results:
    """The results of one response's calls; with a text, what the user said in the same message."""

    results: tuple[Result, ...]
    text: str = ""


Step: TypeAlias = User | Response | Results


def read(call_id: str, content: Content, tool: str = "read", is_error: bool = False) -> list[Step]:
    """A response that calls one tool, and its result."""
    return [Response(calls=(Call(call_id, tool, {"path": "a"}),)), Results((Result(call_id, content, is_error),))]


def written(steps: Sequence[Step], dialect: str) -> list[Message]:
    """The messages of a conversation."""
    return [message for step in steps for message in _WRITERS[dialect](step)]


def requests(steps: Sequence[Step], dialect: str) -> list[int]:
    """For each response, how many messages its request held; last, how many the coming one holds."""
    held, counts = 0, []
    for step in steps:
        if isinstance(step, Response):
            counts.append(held)
        held += len(_WRITERS[dialect](step))
    return [*counts, held]


def content_of(messages: Sequence[Message], call_id: str, occurrence: int = 0) -> Any:
    """What a list of messages, in any dialect, holds as the result of a call."""
    return contents_of(messages, call_id)[occurrence]


def contents_of(messages: Sequence[Message], call_id: str) -> list[Any]:
    """What a list of messages holds as the results of a call id, in order."""
    return [each for key, each in _contents(messages) if key == call_id]


def _contents(messages: Sequence[Message]) -> list[tuple[str, Any]]:
    found = []
    for message in messages:
        if message.get("role") == "tool":
            found.append((message["tool_call_id"], message["content"]))
        elif message.get("type") == "function_call_output":
            found.append((message["call_id"], message["output"]))
        elif isinstance(message.get("content"), list):
            blocks = (block for block in message["content"] if block.get("type") == "tool_result")
            found += [(block["tool_use_id"], block.get("content")) for block in blocks]
    return found


def _chat(step: Step) -> list[Message]:
    match step:
        case User(text):
            return [{"role": "user", "content": text}]
        case Response(text, calls, usage):
            message: Message = {"role": "assistant", "content": text or None}
            if calls:
                message["tool_calls"] = [
                    {
                        "id": c.call_id,
                        "type": "function",
                        "function": {"name": c.tool, "arguments": json.dumps(c.arguments)},
                    }
                    for c in calls
                ]
            return [message if usage is None else {**message, "usage": usage}]
        case Results(results, text):
            said = [{"role": "user", "content": text}] if text else []
            return [{"role": "tool", "tool_call_id": r.call_id, "content": r.content} for r in results] + said


def _responses(step: Step) -> list[Message]:
    match step:
        case User(text):
            return [{"role": "user", "content": text}]
        case Response(text, calls, usage):
            said: list[Message] = []
            if text or not calls:
                said = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
            said += [
                {"type": "function_call", "call_id": c.call_id, "name": c.tool, "arguments": json.dumps(c.arguments)}
                for c in calls
            ]
            return said if usage is None else [*said[:-1], {**said[-1], "usage": usage}]
        case Results(results, text):
            outputs: list[Message] = [
                {"type": "function_call_output", "call_id": r.call_id, "output": _input_blocks(r.content)}
                for r in results
            ]
            return outputs + ([{"role": "user", "content": text}] if text else [])


def _input_blocks(content: Content) -> Content:
    if not isinstance(content, list):
        return content
    return [{**block, "type": f"input_{block['type']}"} for block in content]


def _anthropic(step: Step) -> list[Message]:
    match step:
        case User(text):
            return [{"role": "user", "content": text}]
        case Response(text, calls, usage):
            blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "tool_use", "id": c.call_id, "name": c.tool, "input": c.arguments} for c in calls]
            message: Message = {"role": "assistant", "content": blocks}
            return [message if usage is None else {**message, "usage": usage}]
        case Results(results, text):
            blocks = []
            for r in results:
                block: dict[str, Any] = {"type": "tool_result", "tool_use_id": r.call_id}
                if r.content is not None:
                    block["content"] = r.content
                blocks.append({**block, "is_error": True} if r.is_error else block)
            return [{"role": "user", "content": blocks + ([{"type": "text", "text": text}] if text else [])}]


_WRITERS = {"openai-chat": _chat, "openai-responses": _responses, "anthropic": _anthropic}
