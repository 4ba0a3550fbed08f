"""The cut is the DeepSeek Harness's own, byte for byte in JSON: against what it answered, and against itself."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

import dsh_host
import make_host_vectors
import toolprune
from plain_cut import is_text

HOST_NAMES = {"thresholdChars": "threshold", "headChars": "head", "tailChars": "tail"}

AT_LEAST = {
    "no blocks": 20,  # one for each config, of which there are 20 or more
    "images alone": 50,
    "an empty text block": 1000,
    "a block that is no text": 1000,
    "other keys beside a text": 1000,
    "text over several blocks": 1000,
    "a pair of surrogates over two blocks": 500,
    "an edge exactly on head": 500,
    "an edge exactly on total - tail": 500,
    "total exactly threshold": 1000,
    "total exactly threshold + 1": 1000,
    "cut": 5000,
    "not cut": 1000,
    "a block that the cut leaves out": 1000,
    "astral": 1000,
    "combining or joining": 1000,
    "a lone surrogate": 1000,
}
"""How many lists the vectors must hold of each kind."""


def lines_of(data: bytes) -> list[str]:
    """The host's lines, each with its line feed. A str would also be split at U+2028, which JSON leaves as it is."""
    return [line.decode() for line in data.splitlines(keepends=True)]


@pytest.fixture(scope="module")
def vectors() -> list[str]:
    return lines_of(gzip.decompress(make_host_vectors.VECTORS.read_bytes()))


def config_of(case: dict[str, Any]) -> toolprune.CutConfig:
    return toolprune.CutConfig(**{HOST_NAMES[name]: value for name, value in case["config"].items()})


def cut_here(line: str) -> str:
    """A line as the host writes it, with what toolprune makes of its blocks."""
    case = json.loads(line)
    after = toolprune.cut_blocks(case["before"], config_of(case))
    return make_host_vectors.stringify({"config": case["config"], "before": case["before"], "after": after}) + "\n"


def first_difference(found: list[str], expected: list[str]) -> tuple[str, str] | None:
    assert len(found) == len(expected)
    return next(((one, other) for one, other in zip(found, expected, strict=True) if one != other), None)


@pytest.mark.skipif(dsh_host.program() is None, reason=dsh_host.MISSING)
def test_the_host_itself_cuts_every_list_to_the_same_bytes(tmp_path: Path, vectors: list[str]) -> None:
    cases = list(make_host_vectors.cases())
    answers = lines_of(make_host_vectors.asked(cases, tmp_path))
    assert first_difference([cut_here(case) for case in cases], answers) is None
    assert first_difference(vectors, answers) is None


def test_every_list_is_cut_to_the_bytes_that_the_host_answered(vectors: list[str]) -> None:
    assert first_difference([cut_here(line) for line in vectors], vectors) is None


def test_the_lists_are_those_that_their_script_makes(vectors: list[str]) -> None:
    lists = [line[: line.index(',"after":')] + "}\n" for line in vectors]
    assert first_difference(lists, list(make_host_vectors.cases())) is None


def kinds(case: dict[str, Any]) -> Iterator[str]:
    config, before, after = config_of(case), case["before"], case["after"]
    texts = [block["text"] for block in before if is_text(block)]
    filled = [text for text in texts if text]
    whole = "".join(texts)
    edges = set(accumulate(map(len, filled[:-1])))
    cut = len(whole) > config.threshold
    holds = {
        "no blocks": not before,
        "images alone": before and all(block.get("type") == "image" for block in before),
        "an empty text block": "" in texts,
        "a block that is no text": len(texts) < len(before),
        "other keys beside a text": any(is_text(block) and len(block) > 2 for block in before),
        "text over several blocks": cut and len(filled) > 1,
        "a pair of surrogates over two blocks": any(
            "\ud800" <= one[-1] <= "\udbff" and "\udc00" <= other[0] <= "\udfff" for one, other in pairwise(filled)
        ),
        "an edge exactly on head": cut and config.head in edges,
        "an edge exactly on total - tail": cut and len(whole) - config.tail in edges,
        "total exactly threshold": len(whole) == config.threshold,
        "total exactly threshold + 1": len(whole) == config.threshold + 1,
        "cut": cut and after is not None,
        "not cut": not cut and after is None,
        "a block that the cut leaves out": cut and len(after) < len(before) - texts.count(""),
        "astral": max(whole, default="") > "\uffff",
        "combining or joining": not {"\u0301", "\u200d"}.isdisjoint(whole),
        "a lone surrogate": any("\ud800" <= each <= "\udfff" for each in whole),
    }
    return (kind for kind, held in holds.items() if held)


def test_the_vectors_hold_enough_lists_of_every_kind(vectors: list[str]) -> None:
    cases = [json.loads(line) for line in vectors]
    assert len(set(vectors)) >= 10_000
    assert len({json.dumps(case["config"]) for case in cases}) >= 20
    found = Counter(kind for case in cases for kind in kinds(case))
    assert {kind: found[kind] for kind, least in AT_LEAST.items() if found[kind] < least} == {}
    assert found["cut"] + found["not cut"] == len(cases)


def test_no_text_of_the_vectors_splits_a_pair(vectors: list[str]) -> None:
    for line in vectors:
        texts = [block["text"] for block in json.loads(line)["before"] if is_text(block)]
        assert not any(make_host_vectors.SPLIT_PAIR.search(text) for text in texts)


# The escapes that ECMAScript names for JSON.stringify; any other control character and a lone surrogate are \u and four
# lower-case digits, and nothing else is escaped.
def test_a_value_is_written_as_javascript_writes_it() -> None:
    value = {"b": ['"\\\b\f\n\r\t', "\0\x1f\x7f\u2028/é😀"], "a": {"": None, "x": True}, "n": -12, "s": "\udfff\ud83d"}
    assert make_host_vectors.stringify(value) == (
        r'{"b":["\"\\\b\f\n\r\t","\u0000\u001f' + "\x7f\u2028/é😀" + r'"],"a":{"":null,"x":true},"n":-12,'
        r'"s":"\udfff\ud83d"}'
    )
