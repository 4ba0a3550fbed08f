"""The cut in plain Python, written from `docs/policies.md` alone and only as fast as that makes it."""

from collections.abc import Sequence
from typing import Any


def is_text(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def cut_blocks(blocks: Sequence[Any], *, threshold: int, head: int, tail: int, marker: str) -> list[Any] | None:
    total = sum(len(block["text"]) for block in blocks if is_text(block))
    if total <= threshold:
        return None
    after = []
    start = 0
    marked = False
    for block in blocks:
        if not is_text(block):
            after.append(block)
            continue
        text = block["text"]
        end = start + len(text)
        kept_head = text[: clamp(head - start, 0, len(text))]
        kept_tail = text[clamp(total - tail - start, 0, len(text)) :]
        marks = not marked and start < total - tail and end > head
        marked = marked or marks
        kept = kept_head + (marker if marks else "") + kept_tail
        if kept:
            after.append({**block, "text": kept})
        start = end
    return after


def cut(text: str, *, threshold: int, head: int, tail: int, marker: str) -> str | None:
    if len(text) <= threshold:
        return None
    return text[:head] + marker + text[len(text) - tail :]


def is_cut(text: str, *, head: int, tail: int, marker: str) -> bool:
    return len(text) == head + len(marker) + tail and text[head : head + len(marker)] == marker
