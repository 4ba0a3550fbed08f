"""OpenAI Responses: items in a row, a result being an item of its own; nothing says that it is an error."""

from typing import Any

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

_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ROLES: dict[str, Role] = {"assistant": "assistant", "user": "user", "system": "system", "developer": "system"}


def _shows(item: Any) -> bool:
    if field(item, "type") is not None and field(item, "role") is None:
        return True
    return any(str(field(block, "type")).startswith(("input_", "output_")) for block in blocks_of(item))


def _read(item: Any) -> Message:
    kind, role = field(item, "type"), field(item, "role")
    if role is not None:
        return Message(_ROLES.get(role, "user"), content_parts(field(item, "content"), _part))
    if kind in _RESULTS:
        texts, others = result_content(field(item, "output"), _TEXT_TYPES)
        return Message("tool", (Part("result", texts, others, call_id=text_field(item, "call_id")),))
    if kind in _CALLS:
        name = text_field(item, "name")
        arguments = text_field(item, "arguments" if kind == "function_call" else "input")
        call = Part("call", (name, arguments), call_id=text_field(item, "call_id"), tool=name)
        return Message("assistant", (call,))
    if kind == "reasoning":
        said = [*(field(item, "summary") or ()), *(field(item, "content") or ())]
        return Message("assistant", tuple(Part("reasoning", (text_field(each, "text"),)) for each in said))
    returned = str(kind).endswith("_output") or kind == "mcp_approval_response"
    return Message("tool" if returned else "assistant", (other(item),))


def _part(block: Any) -> Part:
    text = field(block, "text") if field(block, "type") in _TEXT_TYPES else field(block, "refusal")
    return Part("text", (text,)) if isinstance(text, str) else other(block)


def _rewrite(item: Any, place: int | None, rewrite: Rewrite) -> Any:
    return replaced(item, "output", rewrite(field(item, "output")))


OPENAI_RESPONSES = Dialect("openai-responses", _TEXT_TYPES, runs=True, shows=_shows, read=_read, rewrite=_rewrite)
