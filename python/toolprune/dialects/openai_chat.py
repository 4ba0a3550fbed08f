"""OpenAI chat completions: a result is a message of role `tool`, and nothing says that it is an error.

In older lists it is of role `function`, and has the tool's name in place of a call's id.
"""

from collections.abc import Mapping
from typing import Any

from toolprune.cost.usage import usage_of
from toolprune.dialects.dialect import (
    Dialect,
    Fields,
    Rewrite,
    call_of,
    content_parts,
    fields,
    list_of,
    other,
    replaced,
    result_content,
    role_of,
    text_of,
)
from toolprune.transcript import Message, Part

_TEXT_TYPES = frozenset({"text"})
_RESULTS = ("tool", "function")


def _shows(message: Fields) -> bool:
    return message.get("role") in _RESULTS or bool(message.get("tool_calls"))


def _read(message: Fields) -> Message:
    if message.get("role") in _RESULTS:
        texts, others = result_content(message, "content", _TEXT_TYPES)
        call_id, tool = text_of(message.get("tool_call_id")), text_of(message.get("name")) or None
        return Message("tool", (Part("result", texts, others, call_id, tool),))
    role, parts = role_of(message, *_RESULTS), content_parts(message.get("content"), _part)
    if role != "assistant":
        return Message(role, parts)
    return Message(role, _response(message, parts), usage_of(message.get("usage")))


def _part(block: Any) -> Part:
    read = fields(block)
    text = read.get("text") if read.get("type") == "text" else read.get("refusal")
    return Part("text", (text,)) if isinstance(text, str) else other(block)


def _response(message: Fields, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """What a response holds around its content: thoughts, which servers name in two ways, a refusal, and calls."""
    thought = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(thought, str):
        parts = (Part("reasoning", (thought,)), *parts)
    refusal, calls, older = message.get("refusal"), message.get("tool_calls"), message.get("function_call")
    if isinstance(refusal, str):
        parts = (*parts, Part("text", (refusal,)))
    if calls is not None:
        parts = (*parts, *map(_call, list_of(calls, "tool_calls")))
    return parts if older is None else (*parts, _call({"function": older}))


def _call(call: Any) -> Part:
    read = fields(call)
    custom = read.get("custom")
    made = fields(read.get("function") if custom is None else custom)
    return call_of(read.get("id"), made.get("name"), made.get("arguments" if custom is None else "input"))


def _rewrite(message: Any, rewrites: Mapping[int | None, Rewrite]) -> Any:
    return replaced(message, "content", rewrites[None](fields(message).get("content")))


OPENAI_CHAT = Dialect("openai-chat", _TEXT_TYPES, runs=False, shows=_shows, read=_read, rewrite=_rewrite)
