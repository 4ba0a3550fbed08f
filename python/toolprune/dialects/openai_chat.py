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
        return Message("tool", (_result(message),))
    role, parts = role_of(message, *_RESULTS), content_parts(message.get("content"), _part)
    if role != "assistant":
        return Message(role, parts)
    return Message(role, (*_thoughts(message), *parts, *_calls(message)), usage_of(message.get("usage")))


def _result(message: Fields) -> Part:
    texts, others = result_content(message, "content", _TEXT_TYPES)
    return Part("result", texts, others, text_of(message.get("tool_call_id")), text_of(message.get("name")) or None)


def _part(block: Any) -> Part:
    read = fields(block)
    text = read.get("text") if read.get("type") == "text" else read.get("refusal")
    return Part("text", (text,)) if isinstance(text, str) else other(block)


def _thoughts(message: Fields) -> list[Part]:
    """What a model thought, which servers name in one of two ways, or in both."""
    thoughts = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return [Part("reasoning", (thought,)) for thought in thoughts if isinstance(thought, str)][:1]


def _calls(message: Fields) -> list[Part]:
    """What a response holds beside its content: a refusal, and calls."""
    refusal, older = message.get("refusal"), message.get("function_call")
    parts = [Part("text", (refusal,))] if isinstance(refusal, str) else []
    parts += [_call(fields(call)) for call in list_of(message.get("tool_calls"), "tool_calls")]
    return parts if older is None else [*parts, _function(fields(older), None)]


def _call(call: Fields) -> Part:
    custom = call.get("custom")
    if custom is not None:
        return call_of(call.get("id"), fields(custom).get("name"), fields(custom).get("input"))
    return _function(fields(call.get("function")), call.get("id"))


def _function(function: Fields, call_id: Any) -> Part:
    return call_of(call_id, function.get("name"), function.get("arguments"))


def _rewrite(message: Any, rewrites: Mapping[int | None, Rewrite]) -> Any:
    return replaced(message, "content", rewrites[None](fields(message).get("content")))


OPENAI_CHAT = Dialect("openai-chat", _TEXT_TYPES, runs=False, shows=_shows, read=_read, rewrite=_rewrite)
