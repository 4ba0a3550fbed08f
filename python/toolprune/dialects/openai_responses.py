"""OpenAI Responses: items in a row, a result being an item of its own; nothing says that it is an error."""

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
    measured,
    other,
    replaced,
    result_content,
    role_of,
    text_of,
)
from toolprune.transcript import Message, Part

_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})
_RESULTS = ("function_call_output", "custom_tool_call_output")
_FROM_HOST = ("computer_call_output", "local_shell_call_output", "mcp_approval_response")
_FROM_MODEL = ("program", "mcp_list_tools", "mcp_approval_request")
_NOT_ITEMS = ("human", "ai", "tool", "system", "function", "chat", "remove")
"""Types of LangChain's messages, which have no role."""


def _shows(item: Fields) -> bool:
    if item.get("role") is None:
        return _kind(item) not in ("", *_NOT_ITEMS)
    return any(
        text_of(block.get("type")).startswith(("input_text", "input_image", "input_file", "output_"))
        for block in blocks_of(item)
    )


def _read(item: Fields) -> Message:
    kind, usage = _kind(item), usage_of(item.get("usage"))
    if kind in ("", "message", *_NOT_ITEMS):
        return Message(role_of(item), content_parts(item.get("content"), _part), usage)
    if kind in _RESULTS:
        texts, others = result_content(item, "output", _TEXT_TYPES)
        return Message("tool", (Part("result", texts, others, text_of(item.get("call_id"))),))
    if kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments" if kind == "function_call" else "input")
        return Message("assistant", (call_of(item.get("call_id"), item.get("name"), arguments),), usage)
    if kind == "reasoning":
        said = [*list_of(item.get("summary"), "summary"), *list_of(item.get("content"), "content")]
        thought = tuple([Part("reasoning", (text_of(fields(each).get("text")),)) for each in said])
        return Message("assistant", thought, usage)
    if kind.endswith("_call") or kind in _FROM_MODEL:
        return Message("assistant", (measured(item),), usage)
    # What stands in the midst of a response neither ends it nor is one: the results of the provider's own tools, which
    # have its ids, references, and what is not known yet.
    returned = kind in _FROM_HOST or (kind.endswith("_output") and item.get("id") is None)
    return Message("tool" if returned else "other", (measured(item),))


def _kind(item: Fields) -> str:
    """What an item is; a reference may say so by its id alone."""
    kind = text_of(item.get("type"))
    return "item_reference" if not kind and item.get("role") is None and item.get("id") is not None else kind


def _part(block: Any) -> Part:
    read = fields(block)
    text = read.get("text") if text_of(read.get("type")) in _TEXT_TYPES else read.get("refusal")
    return Part("text", (text,)) if isinstance(text, str) else other(block)


def _rewrite(item: Any, rewrites: Mapping[int | None, Rewrite]) -> Any:
    return replaced(item, "output", rewrites[None](fields(item).get("output")))


OPENAI_RESPONSES = Dialect("openai-responses", _TEXT_TYPES, runs=True, shows=_shows, read=_read, rewrite=_rewrite)
