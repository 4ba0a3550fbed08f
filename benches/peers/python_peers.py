"""The scan's question, answered with the JSON libraries that Python has.

usage: python benches/peers/python_peers.py json|orjson|msgspec|pysimdjson FILE PROCESSES

For every tool result: its tool, its id, its code points. Prints the sums by tool and the 1,000 longest over 8,192.

Only lines that hold `"tool_` are parsed, as one would write it by hand. orjson, msgspec and pysimdjson refuse a lone
surrogate; `json` reads such a line in their place, so that the answer stays exact.
"""

import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

THRESHOLD = 8192
LONGEST = 1000

Block: TypeAlias = tuple[bool, str, str | None, int]
"""Whether it is a call, the id, a call's tool, a result's code points."""
Reader: TypeAlias = Callable[[bytes], Iterable[Block]]
Long: TypeAlias = tuple[int, int, str, str | None]
"""Code points below zero so that the longest sort first, place in the file, id, tool."""


def blocks_of(event: Any) -> Iterator[Block]:
    """Calls, and the results in a user's line."""
    try:
        content = event["message"]["content"]
    except (KeyError, TypeError):
        return
    for block in () if isinstance(content, str) else content:
        if block["type"] == "tool_use":
            yield True, block["id"], block["name"], 0
        elif block["type"] == "tool_result" and event["type"] == "user":
            inner = block["content"]
            texts = [inner] if isinstance(inner, str) else [text["text"] for text in inner if text["type"] == "text"]
            yield False, block["tool_use_id"], None, sum(map(len, texts))


def json_reader() -> Reader:
    """The standard library."""
    return lambda line: blocks_of(json.loads(line))


def orjson_reader() -> Reader:
    """Dicts, all of the line."""
    import orjson

    def read(line: bytes) -> Iterable[Block]:
        try:
            return blocks_of(orjson.loads(line))
        except orjson.JSONDecodeError:
            return blocks_of(json.loads(line))

    return read


def pysimdjson_reader() -> Reader:
    """Proxies of the parsed line; only what is asked for becomes Python objects."""
    import simdjson

    parser = simdjson.Parser()

    def read(line: bytes) -> Iterable[Block]:
        try:
            # The blocks are taken at once: the parser holds one line at a time.
            return list(blocks_of(parser.parse(line)))
        except ValueError:
            return blocks_of(json.loads(line))

    return read


def msgspec_reader() -> Reader:
    """Structs that name only what is asked for; the rest of the line is skipped unread."""
    import msgspec

    text: Any = msgspec.defstruct("Text", [("type", str), ("text", str, "")])
    fields: list[Any] = [("type", str), ("id", str, ""), ("name", str | None, None), ("tool_use_id", str, "")]
    block: Any = msgspec.defstruct("Block", [*fields, ("content", str | list[text] | None, None)])
    message: Any = msgspec.defstruct("Message", [("content", str | list[block])])
    line_type: Any = msgspec.defstruct("Line", [("type", str), ("message", message)])
    decode: Any = msgspec.json.Decoder(line_type).decode

    def blocks(event: Any) -> Iterator[Block]:
        content = event.message.content
        for each in () if isinstance(content, str) else content:
            if each.type == "tool_use":
                yield True, each.id, each.name, 0
            elif each.type == "tool_result" and event.type == "user":
                inner = each.content
                texts = [inner] if isinstance(inner, str) else [part.text for part in inner if part.type == "text"]
                yield False, each.tool_use_id, None, sum(map(len, texts))

    def read(line: bytes) -> Iterable[Block]:
        try:
            return blocks(decode(line))
        except msgspec.DecodeError:
            return blocks_of(json.loads(line))

    return read


READERS = {
    "json": json_reader,
    "orjson": orjson_reader,
    "msgspec": msgspec_reader,
    "pysimdjson": pysimdjson_reader,
}


@dataclass
class Part:
    """What a part of the file holds; results whose call may stand in an earlier part are left open."""

    calls: dict[str, str | None] = field(default_factory=dict)
    sums: dict[str | None, list[int]] = field(default_factory=dict)
    long: list[Long] = field(default_factory=list)
    open: list[tuple[int, str, int]] = field(default_factory=list)

    def add(self, place: int, call_id: str, tool: str | None, length: int) -> None:
        """Count a result."""
        sums = self.sums.setdefault(tool, [0, 0, 0])
        sums[0] += 1
        sums[1] += length
        if length > THRESHOLD:
            sums[2] += 1
            self.long.append((-length, place, call_id, tool))


def read_part(name: str, path: str, start: int, end: int) -> Part:
    """Read the lines that begin in [start, end)."""
    read = READERS[name]()
    part = Part()
    with open(path, "rb", buffering=1 << 20) as file:
        at = start
        if start:
            file.seek(start - 1)
            at += len(file.readline()) - 1
        for line in file:
            if at >= end:
                break
            if b'"tool_' in line:
                for is_call, call_id, tool, length in read(line):
                    if is_call:
                        part.calls[call_id] = tool
                    elif call_id in part.calls:
                        part.add(at, call_id, part.calls[call_id], length)
                    else:
                        part.open.append((at, call_id, length))
            at += len(line)
    return part


def join(parts: Iterable[Part]) -> Part:
    """Put the parts together, in the order of the file."""
    whole = Part()
    for part in parts:
        for place, call_id, length in part.open:
            whole.add(place, call_id, whole.calls.get(call_id), length)
        for tool, sums in part.sums.items():
            together = whole.sums.setdefault(tool, [0, 0, 0])
            whole.sums[tool] = [one + other for one, other in zip(together, sums, strict=True)]
        whole.long += part.long
        whole.calls |= part.calls
    return whole


def main() -> None:
    """Print the answer."""
    name, path, processes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    size = os.stat(path).st_size
    edges = [size * number // processes for number in range(processes + 1)]
    work = [(name, path, start, end) for start, end in pairwise(edges)]
    if processes == 1:
        whole = join([read_part(*work[0])])
    else:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            whole = join(pool.starmap(read_part, work))
    by_tool = [[tool, *sums] for tool, sums in whole.sums.items()]
    longest = [[-length, call_id, tool] for length, _, call_id, tool in sorted(whole.long)[:LONGEST]]
    print(json.dumps({"by_tool": by_tool, "longest": longest}))


if __name__ == "__main__":
    main()
