"""The cut: an over-long tool result shortened to its head, a marker and its tail.

Every length is in code points, as Python's `len` counts them. The rule is in `docs/policies.md`, "The cut".
"""

import json
from collections.abc import Sequence
from typing import Any

from toolprune import _core
from toolprune.config import CutConfig

_DEFAULT = CutConfig()
_TEXT = frozenset({"text"})


_Made = tuple[CutConfig, _core.Cut, bool]
"""A config, the cut that is made of it, and whether it has a note."""


def _made(config: CutConfig) -> _Made:
    if not isinstance(config, CutConfig):
        raise TypeError(f"config is {type(config).__name__}, and must be a CutConfig, as CutConfig(threshold=8192)")
    cut = _core.Cut(
        threshold=config.threshold,
        head=config.head,
        tail=config.tail,
        marker=config.marker,
        boundary=config.boundary,
    )
    return config, cut, config.note


# What was made last is kept: an agent cuts by one config, many times, and reading a config takes longer than a slice.
_latest = [_made(_DEFAULT)]


def _made_for(config: CutConfig) -> _Made:
    """What is made of this config, from the last call or anew."""
    made = _latest[0]
    if made[0] is not config:
        made = _latest[0] = _made(config)
    return made


def _note(call_id: str | None) -> tuple[str, str]:
    """The marker of a cut with a note: what stands before and behind the number of code points that went."""
    before = "\n\n[... tool result middle pruned: "
    if call_id is None:
        return before, " characters ...]\n\n"
    return before, f" characters; expand({json.dumps(call_id)}) gives the whole result ...]\n\n"


def cut(text: str, config: CutConfig = _DEFAULT, *, call_id: str | None = None) -> str | None:
    """Cut a text to its first `config.head` code points, the marker and its last `config.tail`.

    With `config.boundary`, head and tail may each be shorter, so that they end on a boundary. With `config.note`, the
    marker says how much is gone and, given the result's `call_id`, how to get it back; where that would be over the
    threshold it is `config.marker`.

    Returns None when the text is within `config.threshold`: there is nothing to do, and a result of this function is
    always within it. Lone surrogates are code points like any other.

    Raises TypeError when `text` is not a str.

    Source: `docs/policies.md`, "The cut".
    """
    of, made, note = _latest[0]  # as `_made_for` does, without its call
    if of is not config:
        _, made, note = _made_for(config)
    if note:
        return made.text(text, _note(call_id))
    return made.text(text)


def cut_blocks(
    blocks: Sequence[dict[str, Any]], config: CutConfig = _DEFAULT, *, call_id: str | None = None
) -> list[dict[str, Any]] | None:
    """Cut the text of one tool result that is a list of content blocks.

    A text block is a dict with `"type": "text"` and a str `"text"`. Threshold, head and tail are of the text blocks'
    text taken together; the marker goes into the block in which the cut begins. Anything else in the list counts as
    nothing and comes back as the same object, in its place. Boundary, note and `call_id` are as in `cut`.

    Returns None when the text is within `config.threshold`, else a new list: text blocks are new dicts with their other
    keys, and those without text are left out. `blocks` and the dicts in it stay as they were.

    Raises TypeError when `blocks` is not a sequence, or is a str.

    Source: `docs/policies.md`, "The cut".
    """
    _, made, note = _made_for(config)
    return made.blocks(blocks, _TEXT, _note(call_id) if note else None)


def cut_content(
    content: object,
    config: CutConfig,
    *,
    text_types: frozenset[str] = _TEXT,
    call_id: str | None = None,
    numbered: tuple[str, str] | None = None,
) -> str | list[dict[str, Any]] | None:
    """Cut the content of one tool result as a message holds it: a str, or a list of blocks.

    A text block is a dict whose "type" is in `text_types` and whose "text" is a str. `numbered` is a marker in place of
    the note's: what stands before and behind the number of code points that went.

    Returns new content, or None when there is nothing to cut: the text is within `config.threshold`, or `content` is
    neither a str nor a list.
    """
    _, made, note = _made_for(config)
    if numbered is None and note:
        numbered = _note(call_id)
    if isinstance(content, str):
        return made.text(content, numbered)
    if isinstance(content, list):
        return made.blocks(content, text_types, numbered)
    return None


def length_after_cut(texts: Sequence[str], config: CutConfig, *, call_id: str | None = None) -> int:
    """The code points that a cut leaves of a result over the threshold, whose text blocks have these texts."""
    if config.boundary == "code_point" and not config.note:
        return config.head + len(config.marker) + config.tail
    return len(cut("".join(texts), config, call_id=call_id) or "")


def is_cut(text: str, config: CutConfig = _DEFAULT) -> bool:
    """Whether a text is exactly what `cut` leaves: head, marker and tail, the marker at code point `config.head`.

    A text that only contains the marker is not cut. With an empty marker, every text of head + tail code points has the
    form. `config.boundary` and `config.note` have no say: a cut that they changed does not have it.

    Source: `docs/policies.md`, "The cut".
    """
    config, _, _ = _made_for(config)
    return _core.is_cut(text, head=config.head, tail=config.tail, marker=config.marker)


def code_points(data: bytes | bytearray | memoryview) -> int:
    """Count the code points in UTF-8: what `len(data.decode())` gives, without decoding.

    `bytes` are read in place, other bytes-like objects are copied first. Above 64 KiB other threads run meanwhile.

    Raises ValueError when `data` is not UTF-8, with the byte offset of the first fault (a byte order mark is a code
    point, an encoded surrogate a fault), and TypeError when it is not bytes-like.
    """
    return _core.code_points(data)
