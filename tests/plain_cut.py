"""The cut in plain Python, written from `docs/policies.md` alone and only as fast as that makes it."""

import json
import re
from collections.abc import Sequence
from typing import Any

ESCAPE_SEQUENCE = re.compile(
    r"""\x1b(?:
        \[ [0-?]* [ -/]* [@-~]                           # a control sequence
        | [\]PX^_] [^\x00-\x1f]* (?: \x07 | \x1b\\ )     # a control string
        | [ -/]* [0-~]                                   # any other, and either of these without its end
    )""",
    re.VERBOSE,
)


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


def in_a_sequence(text: str, edge: int) -> bool:
    """Whether a code point's offset lies inside an escape sequence, all of which are found from the start on."""
    return any(found.start() < edge < found.end() for found in ESCAPE_SEQUENCE.finditer(text))


def inward(units: Sequence[str], *, head: int, tail: int) -> tuple[int, int]:
    """A head and tail of the text that these units make, shortened until neither parts one."""
    total = sum(map(len, units))
    head_end = tail_start = end = 0
    for unit in units:
        end += len(unit)
        head_end = end if end <= head else head_end
        tail_start = end if tail_start < total - tail else tail_start
    return head_end, total - tail_start


def inward_to_lines(units: Sequence[str], *, head: int, tail: int) -> tuple[int, int]:
    """A head and tail shortened to whole lines, each as `inward` does where it would keep the start of no line."""
    text = "".join(units)
    head_of_units, tail_of_units = inward(units, head=head, tail=tail)
    starts = [at + 1 for at, character in enumerate(text) if character == "\n" and at + 1 < len(text)]
    head_ends = [start for start in starts if start <= head]
    tail_starts = [start for start in starts if start >= len(text) - tail]
    return (
        max(head_ends, default=head_of_units),
        len(text) - min(tail_starts, default=len(text) - tail_of_units),
    )


def note(call_id: str | None, removed: int) -> str:
    how = "" if call_id is None else f"; expand({json.dumps(call_id)}) gives the whole result"
    return f"\n\n[... tool result middle pruned: {removed} characters{how} ...]\n\n"
