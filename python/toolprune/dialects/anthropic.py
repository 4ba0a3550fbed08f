"""Anthropic messages: results are blocks of a user's message, beside its texts, and an error says that it is one."""

from collections.abc import Mapping
from typing import Any

from toolprune.cost.usage import usage_of
from toolprune.dialects.dialect import (
    Dialect,
    Fields,
    Rewrite,
    blocks_of,
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
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def _shows(message: Fields) -> bool:
    return any(block.get("type") in (*_CALLS, "tool_result") for block in blocks_of(message))


def _read(message: Fields) -> Message:
    role, content = role_of(message), message.get("content")
    if role == "assistant":
        return Message(role, content_parts(content, _part), usage_of(message.get("usage")))
    if isinstance(content, str):
        return Message(role, content_parts(content, _part))
    blocks = enumerate(list_of(content, "content"))
    return Message(role, tuple([_user_part(place, block) for place, block in blocks]))


def _user_part(place: int, block: Any) -> Part:
    read = fields(block)
    if read.get("type") != "tool_result":
        return _part(block)
    texts, others = result_content(read, "content", _TEXT_TYPES)
    return Part(
        "result",
        texts,
        others,
        text_of(read.get("tool_use_id")),
        is_error=bool(read.get("is_error")),
        wrapped=True,
        place=place,
    )


def _part(block: Any) -> Part:
    read = fields(block)
    kind = read.get("type")
    if kind in _CALLS:
        return call_of(read.get("id"), read.get("name"), read.get("input"))
    text = read.get("thinking" if kind == "thinking" else "text")
    if kind in ("text", "thinking") and isinstance(text, str):
        return Part("text" if kind == "text" else "reasoning", (text,))
    return other(block)


def _rewrite(message: Any, rewrites: Mapping[int | None, Rewrite]) -> Any:
    blocks = list(fields(message).get("content"))
    for place, rewrite in rewrites.items():
        if place is not None:
            blocks[place] = replaced(blocks[place], "content", rewrite(fields(blocks[place]).get("content")))
    return replaced(message, "content", blocks)


ANTHROPIC = Dialect("anthropic", _TEXT_TYPES, runs=False, shows=_shows, read=_read, rewrite=_rewrite)
