"""OpenAI chat completions: a result is a message of role `tool`, and nothing says that it is an error."""

from typing import Any

from toolprune.cost.usage import usage_of
from toolprune.dialects.dialect import (
    Dialect,
    Rewrite,
    blocks_of,
    content_parts,
    field,
    other,
    replaced,
    result_content,
    text_field,
)
from toolprune.transcript import Message, Part, Role

_TEXT_TYPES = frozenset({"text"})
_ROLES: dict[str, Role] = {"assistant": "assistant", "user": "user", "system": "system", "developer": "system"}


def _shows(message: Any) -> bool:
    if field(message, "role") == "tool" or field(message, "tool_calls"):
        return True
    return any(field(block, "type") in ("image_url", "input_audio", "file") for block in blocks_of(message))


def _read(message: Any) -> Message:
    role = field(message, "role")
    if role == "tool":
        return Message("tool", (_result(message),))
    parts = content_parts(field(message, "content"), _part)
    if role == "assistant":
        reasoning = text_field(message, "reasoning_content")
        thought = (Part("reasoning", (reasoning,)),) if reasoning else ()
        calls = tuple(map(_call, field(message, "tool_calls") or ()))
        return Message("assistant", thought + parts + calls, usage_of(field(message, "usage")))
    return Message(_ROLES.get(role, "user"), parts)


def _result(message: Any) -> Part:
    texts, others = result_content(field(message, "content"), _TEXT_TYPES)
    tool = text_field(message, "name") or None
    return Part("result", texts, others, call_id=text_field(message, "tool_call_id"), tool=tool)


def _part(block: Any) -> Part:
    text = field(block, "text") if field(block, "type") == "text" else field(block, "refusal")
    return Part("text", (text,)) if isinstance(text, str) else other(block)


def _call(call: Any) -> Part:
    function, custom = field(call, "function"), field(call, "custom")
    name = text_field(function or custom, "name")
    arguments = text_field(function, "arguments") if function else text_field(custom, "input")
    return Part("call", (name, arguments), call_id=text_field(call, "id"), tool=name)


def _rewrite(message: Any, place: int | None, rewrite: Rewrite) -> Any:
    return replaced(message, "content", rewrite(field(message, "content")))


OPENAI_CHAT = Dialect("openai-chat", _TEXT_TYPES, runs=False, shows=_shows, read=_read, rewrite=_rewrite)
