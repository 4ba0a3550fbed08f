"""What a dialect of messages is, and what all of them read alike."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Protocol, TypeAlias

from toolprune.cost.meter import utf16_units
from toolprune.errors import shown
from toolprune.transcript import Message, Part, Role

ROLES: dict[str, Role] = {"assistant": "assistant", "user": "user", "system": "system", "developer": "system"}
"""The roles of messages that are no results."""

Rewrite: TypeAlias = Callable[[Any], Any]
"""From the content of a result to what stands in its place."""


class Fields(Protocol):
    """A message, an item or a block, by its fields; a dict is one."""

    def get(self, name: str, /) -> Any:
        """A field; None where there is none."""
        ...


@dataclass(frozen=True)
class Dialect:
    """One way in which a list says what was said, called and returned.

    `shows` says whether a message can be of no other dialect. `read` gives the neutral view of one message, and
    `rewrite` a copy of one with the content of results put through functions, each by the place of the result.
    With `runs`, all that the model says in a row is one response; else each of its messages is.
    """

    name: str
    text_types: frozenset[str]
    runs: bool
    shows: Callable[[Fields], bool]
    read: Callable[[Fields], Message]
    rewrite: Callable[[Any, Mapping[int | None, Rewrite]], Any]


class _Attributes:
    """An SDK's object by its fields."""

    def __init__(self, item: object) -> None:
        self.item = item

    def get(self, name: str, /) -> Any:
        return getattr(self.item, name, None)


def fields(item: Any) -> Fields:
    """What a dict or an SDK's object holds."""
    return item if isinstance(item, dict) else _Attributes(item)


def as_dict(block: Any) -> Any:
    """A block of an SDK as the dict that it is sent as."""
    if isinstance(block, dict):
        return block
    return block.model_dump(exclude_none=True) if hasattr(block, "model_dump") else dict(vars(block))


def text_of(value: Any) -> str:
    """A field that should be a text; empty where it is none."""
    return value if isinstance(value, str) else ""


def blocks_of(item: Fields) -> list[Fields]:
    """The content of a message as blocks, where it is any."""
    content = item.get("content")
    return list(map(fields, content)) if isinstance(content, list) else []


def replaced(item: Any, name: str, value: Any) -> Any:
    """A copy of a dict or of an SDK's object with another value in one field, everything else as it was."""
    if isinstance(item, dict):
        return {**item, name: value}
    if hasattr(item, "model_copy"):
        return item.model_copy(update={name: value})
    if is_dataclass(item) and not isinstance(item, type):
        return replace(item, **{name: value})
    other = copy.copy(item)
    setattr(other, name, value)
    return other


def json_text(value: Any) -> str:
    """A value as JSON without spaces, as the host measures what is no text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def role_of(message: Fields, *of_results: str) -> Role:
    """The role of a message that is not of one of these; one that is not known is taken for the user's.

    Raises ValueError where there is none, where it is that of another dialect's results, and for one that is not known
    where there is no content either: then the message is of a form that no dialect has.
    """
    role = message.get("role")
    if isinstance(role, str):
        if role in ROLES:
            return ROLES[role]
        if role not in ("", "tool", "function") and message.get("content") is not None:
            return "user"
    raise ValueError(f"its role is {shown(role)}, and should be one of {', '.join((*ROLES, *of_results))}")


def other(block: Any) -> Part:
    """A block that is neither text nor call nor result. Raises ValueError for one without a type, as no dialect has."""
    if fields(block).get("type") is None:
        raise ValueError(f"it has a block without a type, {shown(block)}")
    return measured(block)


def measured(item: Any) -> Part:
    """What is known by its length alone."""
    return Part("other", others=(_units(item),))


def content_parts(content: Any, part_of: Callable[[Any], Part]) -> tuple[Part, ...]:
    """The parts of what a message says: a text, or blocks."""
    if isinstance(content, str):
        return (Part("text", (content,)),)
    if content is None:
        return ()
    return tuple([part_of(block) for block in list_of(content, "content")])


def list_of(value: Any, name: str) -> Sequence[Any]:
    """What should be a list, or is not there. Raises ValueError for anything else: iterators can be read only once."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return value
    raise ValueError(f"its {name} is {shown(value)}, and should be a list")


def call_of(call_id: Any, name: Any, arguments: Any) -> Part:
    """A call, with its arguments as the text that they are or as JSON. Raises ValueError where it has no name."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"it has a call whose name is {shown(name)}, and should be a text")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json_text(arguments)
    return Part("call", (name, arguments), (), text_of(call_id), name)


def result_content(item: Fields, name: str, text_types: frozenset[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The texts of a result, and the lengths of its blocks that are no text: what the cut counts, and what it does not.

    `name` is the field that has its content.
    """
    content = item.get(name)
    if isinstance(content, str):
        return (content,), ()
    texts: list[str] = []
    others: list[int] = []
    for block in list_of(content, name):
        read = fields(block)
        text = read.get("text") if text_of(read.get("type")) in text_types else None
        if isinstance(text, str):
            texts.append(text)
        else:
            others += other(block).others
    return tuple(texts), tuple(others)


def _units(block: Any) -> int:
    if isinstance(block, _Attributes):
        block = block.item
    # A mark for the provider's cache is no part of the prompt, and hosts move it from request to request.
    if isinstance(block, dict) and "cache_control" in block:
        block = {key: value for key, value in block.items() if key != "cache_control"}
    return utf16_units(json_text(block))


def _plain(value: Any) -> Any:
    """What JSON has no form for: an SDK's object as its fields, anything else as the name of its type."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    return type(value).__name__
