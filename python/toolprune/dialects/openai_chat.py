"""OpenAI chat completions: a result is a message of role `tool`, and nothing says that it is an error.

In older lists it is of role `function`, and has the tool's name in place of a call's id.
"""

from collections.abc import Mapping
from typing import Any

from toolprune.cost.usage import usage_of
from toolprune.dialects.dialect import (
    ROLES,
    Dialect,
    Fields,
    Rewrite,
    content_parts,
    fields,
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
    role = role_of(message, *_RESULTS)
    if role in _RESULTS:
        return Message("tool", (_result(message),))
    parts = content_parts(message.get("content"), _part)
    if role == "assistant":
        reasoning, refusal = message.get("reasoning_content"), message.get("refusal")
        if isinstance(reasoning, str):
            parts = (Part("reasoning", (reasoning,)), *parts)
        if isinstance(refusal, str):
            parts = (*parts, Part("text", (refusal,)))
        calls = message.get("tool_calls")
        if calls:
            parts = (*parts, *map(_call, calls))
        return Message("assistant", parts, usage_of(message.get("usage")))
    return Message(ROLES[role], parts)


def _result(message: Fields) -> Part:
    texts, others = result_content(message.get("content"), _TEXT_TYPES)
    return Part("result", texts, others, text_of(message.get("tool_call_id")), text_of(message.get("name")) or None)


def _part(block: Any) -> Part:
    read = fields(block)
    text = read.get("text") if read.get("type") == "text" else read.get("refusal")
    return Part("text", (text,)) if isinstance(text, str) else other(block)


def _call(call: Any) -> Part:
    read = fields(call)
    function = read.get("function")
    made = fields(function or read.get("custom"))
    name = text_of(made.get("name"))
    arguments = text_of(made.get("arguments" if function else "input"))
    return Part("call", (name, arguments), (), text_of(read.get("id")), name)


def _rewrite(message: Any, rewrites: Mapping[int | None, Rewrite]) -> Any:
    return replaced(message, "content", rewrites[None](fields(message).get("content")))


OPENAI_CHAT = Dialect("openai-chat", _TEXT_TYPES, runs=False, shows=_shows, read=_read, rewrite=_rewrite)
