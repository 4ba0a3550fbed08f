"""Writes `vectors/cut.json`: results before and after the cut, for every carrier to agree on.

The Python tests and the Rust tests read the same file. A text is kept as runs, `[raw, count]`, each a piece of a raw
JSON string (escapes and all) and how often it stands, so that lone surrogates and long texts survive in a small file.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import plain_cut

VECTORS = Path(__file__).with_name("vectors") / "cut.json"

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
HOST: dict[str, Any] = {"threshold": 8192, "head": 4096, "tail": 1024, "marker": MARKER}
SMALL: dict[str, Any] = {"threshold": 10, "head": 4, "tail": 3, "marker": "…"}
CONFIGS: dict[str, dict[str, Any]] = {
    "small": SMALL,
    "tight": {"threshold": 8, "head": 4, "tail": 3, "marker": "…"},
    "no head": {**SMALL, "head": 0},
    "no tail": {**SMALL, "tail": 0},
    "marker alone": {**SMALL, "head": 0, "tail": 0},
    "no marker": {**SMALL, "marker": ""},
    "nothing kept": {"threshold": 1, "head": 0, "tail": 0, "marker": ""},
    "marker to escape": {**SMALL, "marker": '\n"\\'},
    "astral marker": {**SMALL, "marker": "😀✂"},
}

Block: TypeAlias = dict[str, Any]
Runs: TypeAlias = list[tuple[str, int]]

FAMILY = "👨\u200d👩\u200d👧"
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def text(value: str, **others: Any) -> Block:
    return {"type": "text", "text": value, **others}


SMALL_RESULTS: dict[str, list[Block]] = {
    "no block": [],
    "one empty block": [text("")],
    "at the threshold": [text("0123456789")],
    "one over": [text("0123456789x")],
    "head ends on a block's edge": [text("abcd"), text("efghijk"), text("lmn")],
    "tail starts on a block's edge": [text("abcdefgh"), text("ijk")],
    "the gap is exactly one block": [text("abcd"), text("01234"), text("xyz")],
    "the gap covers blocks whole": [text("ab"), text("cdef"), text("ghij"), text("klmn"), text("op")],
    "one code point a block": [text(letter) for letter in "abcdefghijklmn"],
    "empty blocks everywhere": [text(part) for part in ("", "abcd", "", "", "efghijkl", "", "mno", "")],
    "text, image, text": [text("abcdef"), IMAGE, text("ghijkl")],
    "images around and in the gap": [IMAGE, text("abcd"), IMAGE, text("efgh"), IMAGE, text("ijkl"), IMAGE],
    "images alone": [IMAGE, IMAGE],
    "other keys": [{"id": 1, **text("abcdefghijkl", annotations={"a": [1.0, None]}), "z": True}],
    "text that is no text": [{"type": "text"}, {"type": "text", "text": None}, text("abcdefghijkl"), {"text": "abc"}],
    "astral": [text("😀" * 12)],
    "an emoji on either side of each edge": [text("abc😀😁efgh😂😃ij")],
    "a family over the cut": [text("ab" + FAMILY + "cdefghi" + FAMILY)],
    "combining": [text("e\u0301" * 9)],
    "escape sequences": [text("ab\x1b[31mred\x1b[0m and more")],
    "to escape in JSON": [text('"\\/\b\f\n\r\t\0\x7f"\\"\u2028')],
    "lone surrogates": [text("\udfff" + "\ud83d" * 9), text("\udc00" * 4)],
    "high surrogates before text": [text("ab\ud83dc\ud83de\ud83df\udbff0\ud83d")],
    "a pair over two blocks": [text("abcd\ud83d"), text("\ude00efgh\ud83d"), text("\ude00ijk")],
    "cut already": [text("abcd…xyz")],
    "cut already, and a line feed": [text("abcd…xyz\n")],
    "cut already, over three blocks": [text("abc"), text("d…x"), IMAGE, text("yz")],
    "the marker elsewhere": [text("abc…dxyz")],
    "the marker in a long text": [text("abcd…efgh…xyz")],
}

HOST_RESULTS: dict[str, list[Block]] = {
    "8192 Han characters": [text("漢" * 8192)],
    "8193 Han characters": [text("漢" * 8193)],
    "astral characters alone": [text("😀" * 8193)],
    "lone surrogates alone": [text("\ud83d" * 8193)],
    "an emoji straddles code point 4096": [text("a" * 4095 + "😀" + "b" * 5000)],
    "a family over the cut": [text("a" * 4094 + FAMILY + "b" * 5000)],
    "a colour over the cut": [text("a" * 4094 + "\x1b[31m" + "b" * 5000)],
    "one string of 30 KB": [text("x" * 30_720)],
    "a data URI of 4 MB": [text("data:image/png;base64," + "A" * 4_000_000)],
    "text, image, text": [text("a" * 5000), IMAGE, text("b" * 5000)],
    "contains the marker": [text("a" * 4096 + MARKER + "b" * 5000)],
    "cut already": [text("漢" * 4096 + MARKER + "😀" * 1024)],
    "cut already, and a line feed": [text("漢" * 4096 + MARKER + "😀" * 1024 + "\n")],
}


def plain(character: str) -> str:
    return character if character.isprintable() and character not in '"\\' else escaped(character)


def short(character: str) -> str:
    return "\\/" if character == "/" else json.dumps(character, ensure_ascii=not character.isprintable())[1:-1]


def escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


SPELLINGS: tuple[Callable[[str], str], ...] = (plain, short, escaped)


def runs(value: str, spellings: Iterable[Callable[[str], str]]) -> Runs:
    """A text as runs, each character spelt by the next of `spellings`."""
    found: Runs = []
    for (character, same), spell in zip(itertools.groupby(value), spellings, strict=False):
        count = sum(1 for _ in same)
        if count == 1 and found and found[-1][1] == 1:
            found[-1] = (found[-1][0] + spell(character), 1)
        else:
            found.append((spell(character), count))
    return found


def in_runs(blocks: list[Block] | None, spellings: Iterable[Callable[[str], str]]) -> list[Block] | None:
    """The blocks with each text in runs."""
    if blocks is None:
        return None
    return [
        {**block, "text": runs(block["text"], spellings)} if plain_cut.is_text(block) else block for block in blocks
    ]


def decoded(blocks: list[Block] | None) -> list[Block] | None:
    """The blocks of a vector with each text as a str."""
    if blocks is None:
        return None
    return [
        {**block, "text": "".join(json.loads(f'"{raw}"') * count for raw, count in block["text"])}
        if isinstance(block.get("text"), list)
        else block
        for block in blocks
    ]


def vectors() -> Iterator[dict[str, Any]]:
    spellings = itertools.cycle(SPELLINGS)
    cases = [(name, config, *result) for name, config in CONFIGS.items() for result in SMALL_RESULTS.items()]
    cases += [("host", HOST, *result) for result in HOST_RESULTS.items()]
    for config_name, config, name, blocks in cases:
        whole = "".join(block["text"] for block in blocks if plain_cut.is_text(block))
        form = {key: value for key, value in config.items() if key != "threshold"}
        yield {
            "name": f"{config_name}: {name}",
            "config": config,
            "before": in_runs(blocks, spellings),
            "is_cut": plain_cut.is_cut(whole, **form),
            "after": in_runs(plain_cut.cut_blocks(blocks, **config), spellings),
        }


def rendered() -> str:
    lines = ",\n".join(json.dumps(vector) for vector in vectors())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    VECTORS.write_text(rendered(), encoding="ascii")
