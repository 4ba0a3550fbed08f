"""Writes `vectors/host_prune.jsonl.gz`: lists of blocks, and what the DeepSeek Harness's own pruner makes of them.

A line is what the host's `JSON.stringify` wrote: `{"config": …, "before": […], "after": […] or null}`. Host 0.2.1rc2
made them; running this file asks the one that is installed, `make build` having brought it.
"""

import gzip
import itertools
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import dsh_host

VECTORS = Path(__file__).with_name("vectors") / "host_prune.jsonl.gz"

Block: TypeAlias = dict[str, Any]

MARKER = 39
"""Code points of the host's marker, which it always puts in."""

# (threshold, head, tail): no room beside the marker and much, nothing kept on one side or on both, odd and even.
LIMITS = (
    *((39, 0, 0), (40, 0, 0), (40, 1, 0), (40, 0, 1), (41, 1, 1), (45, 3, 3), (50, 5, 6), (50, 0, 11)),
    *((57, 17, 1), (60, 10, 11), (64, 16, 8), (64, 1, 24), (80, 20, 21), (80, 21, 20), (100, 0, 0)),
    *((100, 0, 61), (100, 61, 0), (100, 30, 31), (120, 2, 3), (128, 64, 16), (150, 100, 11), (200, 100, 30)),
    *((250, 200, 11), (300, 7, 254), (333, 111, 37), (400, 200, 100)),
)
SMALL_LISTS = 400
"""Lists for each of LIMITS."""
HOST_LISTS = 200
"""Lists for the host's own limits."""
HOST_LIMITS = (8192, 4096, 1024)
PERIOD = 37
"""Code points after which a text repeats itself, so that the vectors stay small."""

ALPHABETS = (
    "abcdefgh \n",
    "a漢é😀🎉𐍈",
    "ae\u0301\u200d👨👩\ufe0f",
    "a\ud83d\ude00\udfff\ud800😀",
    '"\\/\n\t\r\b\f\0\x1f\x7f\u2028é',
)
SPLIT_PAIR = re.compile("(?<=[\ud800-\udbff])[\udc00-\udfff]")
"""The second half of a pair that two elements of a str make: one code point to JavaScript, two to Python."""

OTHERS: tuple[Block, ...] = (
    {"type": "image", "mediaType": "image/png", "data": "AAAA"},
    {"type": "image", "ref": {"id": "x"}, "note": "n", "text": "a text of an image"},
    {"type": "reasoning", "text": "not counted"},
    {"type": "resource", "resource": {"uri": "file:///a", "text": "\ud83d"}},
    {"type": "Text", "text": "capital"},
    {"type": None},
    {"text": "of no type"},
    {},
)
EXTRAS: tuple[Block, ...] = (
    {"extra": {"k": [1, 2]}},
    {"annotations": None},
    {"cacheControl": {"type": "ephemeral", "text": "ttl"}},
    {"__proto__": {"length": 1}, "constructor": False},
    {"": "😀", "length": 0},
)


def stringify(value: Any) -> str:
    """What JavaScript's `JSON.stringify` makes of a value without fractions."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", written)


def some_text(random: Random, length: int) -> str:
    alphabet = random.choice(ALPHABETS)
    period = "".join(random.choice(alphabet) for _ in range(min(length, PERIOD)))
    return SPLIT_PAIR.sub("x", (period * (length // PERIOD + 1))[:length])


def some_texts(random: Random, limits: tuple[int, int, int]) -> list[str]:
    """Texts whose edges are most often where the kept head ends and the kept tail starts, or one beside."""
    threshold, head, tail = limits
    over = threshold + random.randrange(1, threshold)
    total = random.choice((random.randrange(threshold), threshold, threshold + 1, over, over, over, over))
    near = [edge + by for edge in (head, total - tail) for by in (-1, 0, 0, 0, 1)]
    anywhere = [random.randrange(total + 1) for _ in range(6)]
    edges = {random.choice(near + anywhere) for _ in range(random.randrange(6))}
    between = sorted({0, total, *(edge for edge in edges if 0 < edge < total)})
    texts = [some_text(random, end - start) for start, end in itertools.pairwise(between)]
    for at in range(1, len(texts)):
        if random.random() < 0.15:
            texts[at - 1 : at + 1] = texts[at - 1][:-1] + "\ud83d", "\ude00" + texts[at][1:]
    return texts


def text_block(random: Random, text: str) -> Block:
    keys = [("type", "text"), ("text", text)]
    if random.random() < 0.1:
        keys.reverse()
    if random.random() < 0.2:
        at = random.randrange(3)
        keys[at:at] = random.choice(EXTRAS).items()
    return dict(keys)


def some_blocks(random: Random, limits: tuple[int, int, int]) -> list[Block]:
    kind = random.random()
    if kind < 0.01:
        return [random.choice(OTHERS[:2]) for _ in range(random.randrange(1, 5))]
    if kind < 0.02:
        return [text_block(random, "") for _ in range(random.randrange(1, 5))]
    blocks = [text_block(random, text) for text in some_texts(random, limits)]
    while random.random() < 0.4:
        extra = text_block(random, "") if random.random() < 0.5 else random.choice(OTHERS)
        blocks.insert(random.randrange(len(blocks) + 1), extra)
    return blocks


def lists(random: Random, limits: tuple[int, int, int], count: int) -> Iterator[list[Block]]:
    """The list of no blocks, and others until there are `count`, no two of them equal."""
    seen = {stringify([])}
    yield []
    while len(seen) < count:
        blocks = some_blocks(random, limits)
        if (written := stringify(blocks)) not in seen:
            seen.add(written)
            yield blocks


def cases() -> Iterator[str]:
    """The lines that the host is asked: config, in the host's words, and blocks."""
    random = Random(1)
    wanted: list[tuple[dict[str, int], tuple[int, int, int], int]] = [({}, HOST_LIMITS, HOST_LISTS)]
    for limits in LIMITS:
        names = ("thresholdChars", "headChars", "tailChars")
        wanted.append((dict(zip(names, limits, strict=True)), limits, SMALL_LISTS))
    for config, limits, count in wanted:
        for blocks in lists(random, limits, count):
            yield stringify({"config": config, "before": blocks}) + "\n"


def asked(lines: Iterable[str], folder: Path) -> bytes:
    """What the installed host answers to the lines. `folder` is for its files."""
    cases_file, answer = folder / "cases.jsonl", folder / "answer.jsonl"
    cases_file.write_text("".join(lines), encoding="utf-8", newline="\n")
    prune = dsh_host.plugin(dsh_host.PLUGINS / "prune.js", cases=str(cases_file), answer=str(answer))
    dsh_host.run(folder, "prune", rows=[prune])
    return answer.read_bytes()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        VECTORS.write_bytes(gzip.compress(asked(cases(), Path(home)), mtime=0))
