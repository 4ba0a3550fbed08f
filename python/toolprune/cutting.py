"""The cut: an over-long tool result shortened to its head, a marker and its tail.

Every length is in code points, as Python's `len` counts them. The rule is in `docs/policies.md`, "The cut".
"""

from collections.abc import Sequence
from typing import Any

from toolprune import _core
from toolprune.config import CutConfig

_DEFAULT = CutConfig()


def _checked(config: CutConfig) -> CutConfig:
    if not isinstance(config, CutConfig):
        raise TypeError(f"config is {type(config).__name__}, and must be a CutConfig, as CutConfig(threshold=8192)")
    return config


def cut(text: str, config: CutConfig = _DEFAULT) -> str | None:
    """Cut a text to its first `config.head` code points, the marker and its last `config.tail`.

    Returns None when the text is within `config.threshold`: there is nothing to do, and a result of this function is
    always within it. Lone surrogates are code points like any other.

    Raises TypeError when `text` is not a str.

    Source: `docs/policies.md`, "The cut".
    """
    config = _checked(config)
    return _core.cut(text, threshold=config.threshold, head=config.head, tail=config.tail, marker=config.marker)


def cut_blocks(blocks: Sequence[dict[str, Any]], config: CutConfig = _DEFAULT) -> list[dict[str, Any]] | None:
    """Cut the text of one tool result that is a list of content blocks.

    A text block is a dict with `"type": "text"` and a str `"text"`. Threshold, head and tail are of the text blocks'
    text taken together; the marker goes into the block in which the cut begins. Anything else in the list counts as
    nothing and comes back as the same object, in its place.

    Returns None when the text is within `config.threshold`, else a new list: text blocks are new dicts with their other
    keys, and those without text are left out. `blocks` and the dicts in it stay as they were.

    Raises TypeError when `blocks` is not a sequence, or is a str.

    Source: `docs/policies.md`, "The cut".
    """
    config = _checked(config)
    return _core.cut_blocks(
        blocks, threshold=config.threshold, head=config.head, tail=config.tail, marker=config.marker
    )


def is_cut(text: str, config: CutConfig = _DEFAULT) -> bool:
    """Whether a text is exactly what `cut` leaves: head, marker and tail, the marker at code point `config.head`.

    A text that only contains the marker is not cut. With an empty marker, every text of head + tail code points has the
    form.

    Source: `docs/policies.md`, "The cut".
    """
    config = _checked(config)
    return _core.is_cut(text, head=config.head, tail=config.tail, marker=config.marker)


def code_points(data: bytes | bytearray | memoryview) -> int:
    """Count the code points in UTF-8: what `len(data.decode())` gives, without decoding.

    `bytes` are read in place, other bytes-like objects are copied first. Above 64 KiB other threads run meanwhile.

    Raises ValueError when `data` is not UTF-8, with the byte offset of the first fault (a byte order mark is a code
    point, an encoded surrogate a fault), and TypeError when it is not bytes-like.
    """
    return _core.code_points(data)
