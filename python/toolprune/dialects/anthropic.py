"""Anthropic messages: results are blocks of a user's message, beside its texts, and an error says that it is one."""

from typing import Any

from toolprune.cost.usage import usage_of
from toolprune.dialects.dialect import (
    Dialect,
    Rewrite,
    blocks_of,
    content_parts,
    field,
    json_text,
    other,
    replaced,
    result_content,
    text_field,
)
from toolprune.transcript import Message, Part

_TEXT_TYPES = frozenset({"text"})
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_OWN = frozenset({*_CALLS, "tool_result", "thinking", "redacted_thinking", "image", "document"})


def _shows(message: Any) -> bool:
    return any(field(block, "type") in _OWN for block in blocks_of(message))


def _read(message: Any) -> Message:
    content = field(message, "content")
    if field(message, "role") == "assistant":
        return Message("assistant", content_parts(content, _part), usage_of(field(message, "usage")))
    if isinstance(content, list):
        return Message("user", tuple(_user_part(place, block) for place, block in enumerate(content)))
    return Message("system" if field(message, "role") == "system" else "user", content_parts(content, _part))


def _user_part(place: int, block: Any) -> Part:
    if field(block, "type") != "tool_result":
        return _part(block)
    texts, others = result_content(field(block, "content"), _TEXT_TYPES)
    return Part(
        "result",
        texts,
        others,
        call_id=text_field(block, "tool_use_id"),
        is_error=bool(field(block, "is_error")),
        wrapped=True,
        place=place,
    )


def _part(block: Any) -> Part:
    kind = field(block, "type")
    if kind in _CALLS:
        name = text_field(block, "name")
        return Part("call", (name, json_text(field(block, "input"))), call_id=text_field(block, "id"), tool=name)
    text = field(block, "thinking" if kind == "thinking" else "text")
    if kind in ("text", "thinking") and isinstance(text, str):
        return Part("text" if kind == "text" else "reasoning", (text,))
    return other(block)


def _rewrite(message: Any, place: int | None, rewrite: Rewrite) -> Any:
    blocks = list(field(message, "content"))
    if place is not None:
        blocks[place] = replaced(blocks[place], "content", rewrite(field(blocks[place], "content")))
    return replaced(message, "content", blocks)


ANTHROPIC = Dialect("anthropic", _TEXT_TYPES, runs=False, shows=_shows, read=_read, rewrite=_rewrite)
