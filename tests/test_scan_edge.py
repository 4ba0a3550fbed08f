"""One awkward line each: what of it counts, worked out from the page on formats."""

from pathlib import Path

import pytest

import plain_reader
from scanning import assert_same, scan, shared

BEFORE = b'{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"'
AFTER = b'"}]}}'

# What stands in the content of one tool result: its code points, or None where the line is malformed.
CONTENTS: dict[str, tuple[bytes, int | None]] = {
    "an escape of a lone high surrogate": (rb"abc \ud83d", 5),
    "a lone high surrogate before text": (rb"abc\ud83dxy", 6),
    "an escape of a lone low surrogate": (rb"abc \ude00 x", 7),
    "two high surrogates before a low one": (rb"\ud83d\ud83d\ude00", 2),
    "a low surrogate before a high one": (rb"\ude00\ud83d", 2),
    "a high surrogate before another escape": (rb"\ud83d\n", 2),
    "an escaped backslash before what looks like an escape": (rb"\\ud83d", 6),
    "a pair of escapes": (rb"a\ud83d\ude00b", 3),
    "a pair of escapes in capitals": (rb"a\uD83D\uDE00b", 3),
    "an emoji as it is": ("a😀b".encode(), 3),
    "a line separator": ("a\u2028b".encode(), 3),
    "a next-line character": ("a\u0085b".encode(), 3),
    "an escaped NUL": (rb"a\u0000b", 3),
    "a delete character": (b"a\x7fb", 3),
    "every short escape": (rb"\"\\\/\b\f\n\r\t", 8),
    "the last code point": (b"\xf4\x8f\xbf\xbf", 1),
    "the first beyond the surrogates": (b"\xee\x80\x80", 1),
    "a noncharacter": (b"\xef\xbf\xbf", 1),
    "nothing": (b"", 0),
    "a raw tab": (b"a\tb", None),
    "a raw NUL": (b"a\x00b", None),
    "a raw unit separator": (b"a\x1fb", None),
    "a carriage return": (b"a\rb", None),
    "a byte that is no UTF-8": (b"a\xffb", None),
    "an encoded surrogate": (b"a\xed\xa0\xbdb", None),
    "an overlong slash": (b"\xc0\xaf", None),
    "an overlong three-byte character": (b"\xe0\x9f\xbf", None),
    "a code point past the last": (b"\xf4\x90\x80\x80", None),
    "a character cut off at the quote": (b"a\xe6\xbd", None),
    "a continuation byte alone": (b"\x80", None),
    "an unknown escape": (rb"\x41", None),
    "an escape with three digits": (rb"\u12g4", None),
    "an escape cut off at the quote": (rb"\u12", None),
}

# Whole files: tool results, code points, malformed lines.
WHOLE = BEFORE + b"x" + AFTER
FILES: dict[str, tuple[bytes, tuple[int, int, int]]] = {
    "carriage returns before line feeds": (WHOLE + b"\r\n", (1, 1, 0)),
    "a byte order mark": (b"\xef\xbb\xbf" + WHOLE + b"\n", (1, 1, 0)),
    "a byte order mark on the second line": (WHOLE + b"\n\xef\xbb\xbf" + WHOLE + b"\n", (1, 1, 1)),
    "no line feed at the end": (WHOLE, (1, 1, 0)),
    "a number of thirty digits": (WHOLE[:-1] + b',"v":123456789012345678901234567890}\n', (1, 1, 0)),
    "a number of 100,000 digits": (WHOLE[:-1] + b',"v":' + b"1" * 100_000 + b"}\n", (1, 1, 0)),
    "a number of 100,001 digits": (WHOLE[:-1] + b',"v":' + b"1" * 100_001 + b"}\n", (0, 0, 1)),
    "five thousand brackets": (WHOLE[:-1] + b',"v":' + b"[" * 5000 + b"]" * 5000 + b"}\n", (1, 1, 0)),
    "brackets of the wrong kind": (WHOLE[:-1] + b',"v":' + b"[{" * 9 + b"]}" * 9 + b"}\n", (0, 0, 1)),
    "a type that is given again": (WHOLE[:-1] + b',"type":"assistant"}\n', (0, 0, 0)),
    "a message that is given again": (WHOLE[:-1] + b',"message":null}\n', (0, 0, 0)),
    "a content that is given again": (BEFORE + b'x","content":"' + b"four" + AFTER + b"\n", (1, 4, 0)),
    "not a number": (WHOLE[:-1] + b',"v":NaN}\n', (0, 0, 1)),
    "infinity": (WHOLE[:-1] + b',"v":-Infinity}\n', (0, 0, 1)),
    "a leading zero": (WHOLE[:-1] + b',"v":01}\n', (0, 0, 1)),
    "a trailing comma": (WHOLE[:-1] + b",}\n", (0, 0, 1)),
    "single quotes": (WHOLE[:-1] + b",'v':1}\n", (0, 0, 1)),
    "a comment": (WHOLE[:-1] + b"/* x */}\n", (0, 0, 1)),
    "two values": (WHOLE + WHOLE + b"\n", (0, 0, 1)),
    "torn in the content": (BEFORE[:-4] + b"\n", (0, 0, 1)),
    "torn, then whole": (BEFORE + b"\n" + WHOLE + b"\n", (1, 1, 1)),
    "a quote left open before a whole line": (BEFORE + b"x" + AFTER[1:] + b"\n" + WHOLE + b"\n", (1, 1, 1)),
    "a backslash at the end before a whole line": (BEFORE + b"\\\n" + WHOLE + b"\n", (1, 1, 1)),
    "a line of NUL bytes": (WHOLE + b"\n" + b"\x00" * 100 + b"\n" + WHOLE + b"\n", (2, 2, 1)),
    "NUL bytes at the end": (WHOLE + b"\n" + b"\x00" * 100, (1, 1, 1)),
    "blank lines": (b"\n \t\r\n" + WHOLE + b"\n\n", (1, 1, 0)),
    "values that are no object": (WHOLE + b'\nnull\n[1]\n"tool_result"\n-0.5e-7\ntrue\n', (1, 1, 0)),
    "white space everywhere": (WHOLE.replace(b":", b" :\t").replace(b"{", b" { ") + b" \r\n", (1, 1, 0)),
    "a form feed around the value": (b"\x0c" + WHOLE + b"\n" + WHOLE + b"\n", (1, 1, 1)),
}


def verdict(path: Path, *, strict: bool = False) -> tuple[int, int, int]:
    """Tool results, code points, malformed lines; equal on one thread, on two, and for the slow reader."""
    found = assert_same(path, strict=strict)
    return found["tool_results"], found["code_points"], found["malformed_lines"]


@pytest.mark.parametrize(("content", "code_points"), CONTENTS.values(), ids=CONTENTS)
def test_content(tmp_path: Path, content: bytes, code_points: int | None) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(BEFORE + content + AFTER + b"\n" + WHOLE + b"\n")
    expected = (1, 1, 1) if code_points is None else (2, code_points + 1, 0)
    assert verdict(path) == expected


@pytest.mark.parametrize(("log", "expected"), FILES.values(), ids=FILES)
def test_file(tmp_path: Path, log: bytes, expected: tuple[int, int, int]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log)
    assert verdict(path) == expected


def test_a_malformed_line_is_located(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE + b"\r\n\n" + BEFORE + b"\n" + WHOLE + b"\n")
    found = scan(path)
    # The mark, the first line with its carriage return and line feed, the blank line's line feed.
    assert [(row["line"], row["offset"]) for row in found["malformed"]] == [(3, 3 + len(WHOLE) + 2 + 1)]
    assert found["lines"] == 4
    assert found["malformed"][0]["path"] == str(path)
    assert found["malformed"][0]["reason"]


BROKEN_ASIDE: dict[str, tuple[bytes, int, int]] = {
    # The line, malformed as it is, malformed under strict.
    "bears on nothing": (b'{"v":NaN}', 0, 1),
    "holds a word": (b'{"v":NaN,"w":"tool_result"}', 1, 1),
    "holds a word in its middle": (b'{"v":NaN,"w":"my_usages"}', 1, 1),
    "does not end in a brace": (b'{"v":1', 1, 1),
    "ends in a brace and white space": (b'{"v":NaN} \t\r', 0, 1),
    "holds bytes that are no UTF-8": (b'{"v":"\xff"}', 0, 1),
    "two objects": (b'{"v":1} {"v":2}', 0, 1),
    "no object, not whole": (b'["v"', 1, 1),
    "words of the other format": (b'{"v":NaN,"w":"tool/result"}', 0, 1),
}


@pytest.mark.parametrize(("line", "relaxed", "strict"), BROKEN_ASIDE.values(), ids=BROKEN_ASIDE)
def test_a_broken_line_counts_when_it_bears_on_something(
    tmp_path: Path, line: bytes, relaxed: int, strict: int
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(WHOLE + b"\n" + line + b"\n" + WHOLE + b"\n")
    assert verdict(path) == (2, 2, relaxed)
    assert verdict(path, strict=True) == (2, 2, strict)


def test_an_empty_file_is_a_log_of_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    found = assert_same(path)
    assert (found["files"], found["lines"], found["skipped"]) == (1, 0, [])


def test_a_blank_file_is_a_log_of_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n \n\t\r\n ")
    found = assert_same(path)
    assert (found["files"], found["lines"], found["malformed_lines"], found["skipped"]) == (1, 4, 0, [])


RECORDED = {
    "lone_high": (1, 6, 0),
    "lone_low": (1, 7, 0),
    "pair_escape": (1, 3, 0),
    "raw_emoji": (1, 3, 0),
    "u2028": (1, 3, 0),
    "nul_escape": (1, 3, 0),
    "crlf": (1, 1, 0),
    "bom": (1, 1, 0),
    "bigint": (1, 1, 0),
    "deep": (1, 1, 0),
    "dupkey": (0, 0, 0),
    "nan": (0, 0, 1),
    "raw_tab": (0, 0, 1),
    "torn": (0, 0, 1),
    "invalid_utf8": (0, 0, 1),
    "utf8_surrogate_bytes": (0, 0, 1),
}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_shared_fixture(name: str, expected: tuple[int, int, int]) -> None:
    path = shared("fixtures", "edge", f"{name}.jsonl")
    if not path.exists():
        pytest.skip("the shared fixtures are not here: set TOOLPRUNE_SHARED to their folder")
    assert verdict(path) == expected


def test_the_slow_reader_agrees_with_every_verdict_here(tmp_path: Path) -> None:
    """The reader itself is held to the values above, so that a mistake in it cannot hide one in the scan."""
    path = tmp_path / "s.jsonl"
    for log, expected in FILES.values():
        path.write_bytes(log)
        found = plain_reader.read([path])
        assert (found["tool_results"], found["code_points"], found["malformed_lines"]) == expected, log[:200]
    for content, code_points in CONTENTS.values():
        path.write_bytes(BEFORE + content + AFTER + b"\n")
        found = plain_reader.read([path])
        figures = (found["tool_results"], found["code_points"], found["malformed_lines"])
        assert figures == ((0, 0, 1) if code_points is None else (1, code_points, 0)), content
