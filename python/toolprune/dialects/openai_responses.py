"""OpenAI Responses: items in a row, a result being an item of its own; nothing says that it is an error."""

from collections.abc import Mapping
from typing import Any

from toolprune.dialects.dialect import (
    ROLES,
    Dialect,
    Fields,
    Rewrite,
    blocks_of,
    content_parts,
    fields,
    other,
    replaced,
    result_content,
    text_of,
)
from toolprune.transcript import Message, Part

_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})
_RESULTS = ("function_call_output", "custom_tool_call_output")


def _shows(item: Fields) -> bool:
    if item.get("type") is not None and item.get("role") is None:
        return True
    return any(str(block.get("type")).startswith(("input_", "output_")) for block in blocks_of(item))


def _read(item: Fields) -> Message:
    kind, role = item.get("type"), item.get("role")
    if role is not None:
        return Message(ROLES.get(role, "user"), content_parts(item.get("content"), _part))
    if kind in _RESULTS:
        texts, others = result_content(item.get("output"), _TEXT_TYPES)
        return Message("tool", (Part("result", texts, others, text_of(item.get("call_id"))),))
    if kind in ("function_call", "custom_tool_call"):
        name = text_of(item.get("name"))
        arguments = text_of(item.get("arguments" if kind == "function_call" else "input"))
        return Message("assistant", (Part("call", (name, arguments), (), text_of(item.get("call_id")), name),))
    if kind == "reasoning":
        said = [*(item.get("summary") or ()), *(item.get("content") or ())]
        return Message("assistant", tuple([Part("reasoning", (text_of(fields(each).get("text")),)) for each in said]))
    returned = str(kind).endswith("_output") or kind == "mcp_approval_response"
    return Message("tool" if returned else "assistant", (other(item),))


def _part(block: Any) -> Part:
    read = fields(block)
    text = read.get("text") if read.get("type") in _TEXT_TYPES else read.get("refusal")
    return Part("text", (text,)) if isinstance(text, str) else other(block)


def _rewrite(item: Any, rewrites: Mapping[int | None, Rewrite]) -> Any:
    return replaced(item, "output", rewrites[None](fields(item).get("output")))


OPENAI_RESPONSES = Dialect("openai-responses", _TEXT_TYPES, runs=True, shows=_shows, read=_read, rewrite=_rewrite)
