"""Cuts whose head and tail end on graphemes or lines, worked out by hand and held against the plain reference."""

from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import make_logs
import plain_cut
import toolprune
from scanning import command
from toolprune import CutConfig

FAMILY = "👨\u200d👩\u200d👧"
MARKER = "\n\n[... tool result middle pruned ...]\n\n"
GRAPHEMES = CutConfig(boundary="grapheme")
LINES = CutConfig(boundary="line")
BOTH: list[Literal["grapheme", "line"]] = ["grapheme", "line"]


def small(boundary: Literal["grapheme", "line"], head: int = 4, tail: int = 3) -> CutConfig:
    return CutConfig(threshold=head + tail + 1, head=head, tail=tail, marker="…", boundary=boundary)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


# What a head of 4 and a tail of 3 are moved to, where no line begins in either.
@pytest.mark.parametrize("boundary", BOTH)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("abcdefghijk", "abcd…ijk"),
        ("漢" * 8193, "漢漢漢漢…漢漢漢"),
        ("😀" * 9, "😀😀😀😀…😀😀😀"),
        (f"ab{FAMILY}cdef{FAMILY}g", "ab…g"),
        ("abce\u0301defgi\u0301\u0302k", "abc…k"),
        ("abc🇩🇪🇫🇷defg🇮🇹i", "abc…🇮🇹i"),
        ("abcd🇩🇪🇫🇷🇮🇹🇪🇸", "abcd…🇪🇸"),
        ("abc👍🏽defg👍🏽hi", "abc…hi"),
        ("abc한\u11abdefg한\u11abhi", "abc…hi"),
        ("abcक्षdefgक्षh", "abc…h"),
        ("\r" * 9, "\r\r\r\r…\r\r\r"),
        ("ab\x1b[31mcdefg\x1b[0mh", "ab…h"),
        ("a\x1b]0;title\x07bcdefg\x1b]8;;x\x1b\\", "a…"),
        ("abc\x1bMdefg\x1b(Bh", "abc…h"),
        ("\x1b" * 9, "\x1b\x1b\x1b\x1b…\x1b\x1b\x1b"),
        ("ab\x1b[31", None),
        ("ab\x1b[31\nnot ended", "ab\x1b[…ded"),
        ("abc\x1b[\x1b[0mdefg", "abc…efg"),
        ("\ud83d" * 9, "\ud83d" * 4 + "…" + "\ud83d" * 3),
        ("abc\ud83d\u0301def\ude00\u0301gh", "abc\ud83d…\u0301gh"),
        ("abc\ud83d\ude00def\ud83d\ude00g", "abc\ud83d…\ud83d\ude00g"),
        ("e" + "\u0301" * 30_000, "…"),
        ("\x1b]" + "x" * 30_000 + "\x07", "…"),
        ("\x1b[" + "1" * 30_000 + "m", "…"),
    ],
)
def test_neither_a_cluster_nor_an_escape_sequence_is_parted(
    boundary: Literal["grapheme", "line"], before: str, after: str | None
) -> None:
    assert toolprune.cut(before, small(boundary)) == after
    if after is not None:
        assert toolprune.cut_blocks([text(before)], small(boundary)) == [text(after)]
        assert toolprune.cut(after, small(boundary)) is None


@pytest.mark.parametrize(
    ("before", "head", "tail", "after"),
    [
        ("one\ntwo\nthree\nfour\nfive\n", 9, 7, "one\ntwo\n…five\n"),
        ("one\ntwo\nthree\nfour\nfive\n", 8, 10, "one\ntwo\n…four\nfive\n"),  # both edges begin a line already
        ("one\ntwo\nthree\nfour\nfive\n", 3, 4, "one…ive\n"),
        ("one\r\ntwo\r\nthree\r\nfour\r\n", 9, 8, "one\r\n…four\r\n"),
        ("one\ntwo\nthree\nfour\n", 7, 0, "one\n…"),
        ("one\ntwo\nthree\nfour\n", 0, 7, "…four\n"),
        ("\n\n\n\n\n\n\n\n", 3, 2, "\n\n\n…\n\n"),
        ("one\rtwo\u2028three\x0cfour", 6, 6, "one\rtw…e\x0cfour"),  # only a line feed ends a line
        ("\x1b[1m\n\x1b[0m" + "x" * 30, 6, 1, "\x1b[1m\n…x"),
    ],
)
def test_whole_lines_stay(before: str, head: int, tail: int, after: str) -> None:
    assert toolprune.cut(before, small("line", head, tail)) == after


def test_one_long_line_keeps_its_end() -> None:
    line = "x" * 20_000 + " FAILED"
    assert toolprune.cut(line, LINES) == "x" * 4096 + MARKER + "x" * 1017 + " FAILED"
    assert toolprune.cut(line + "\n", LINES) == "x" * 4096 + MARKER + "x" * 1016 + " FAILED\n"
    assert toolprune.cut(f"$ make\n{line}", LINES) == "$ make\n" + MARKER + "x" * 1017 + " FAILED"


def test_inputs_that_straddle_the_hosts_edges() -> None:
    tail = MARKER + "b" * 1024
    emoji = "a" * 4095 + "😀" + "b" * 5000
    assert toolprune.cut(emoji, GRAPHEMES) == "a" * 4095 + "😀" + tail
    family = "a" * 4094 + FAMILY + "b" * 5000
    assert toolprune.cut(family, GRAPHEMES) == "a" * 4094 + tail
    colour = "a" * 4094 + "\x1b[31m" + "b" * 5000
    assert toolprune.cut(colour, GRAPHEMES) == "a" * 4094 + tail
    behind = "a" * 5000 + "\x1b[31m" + "b" * 1022 + "\x1b[0m" + "c" * 5000 + FAMILY + "d" * 1021
    assert toolprune.cut(behind, GRAPHEMES) == "a" * 4096 + MARKER + "d" * 1021


def test_a_cluster_and_a_sequence_over_two_blocks_are_each_one() -> None:
    image = {"type": "image", "data": "AA=="}
    blocks = [text("abc👨"), text("\u200d👩"), image, text("defghij\x1b["), text("31mk")]
    assert toolprune.cut_blocks(blocks, small("grapheme")) == [text("abc…"), image, text("k")]
    assert toolprune.cut_blocks(blocks[:1], small("grapheme")) is None
    # The marker goes where the gap begins once the edges have moved: into the block before.
    blocks = [text("abe"), text("\u0301cdefghijk")]
    assert toolprune.cut_blocks(blocks, small("grapheme", head=3)) == [text("ab…"), text("ijk")]


def test_surrogates_that_stand_in_two_blocks_stay_two() -> None:
    blocks = [text("abc\ud83d"), text("\ude00defg\ud83d"), text("\ude00h")]
    assert toolprune.cut_blocks(blocks, small("grapheme")) == [text("abc\ud83d"), text("…\ud83d"), text("\ude00h")]


def test_a_text_within_the_threshold_is_left_alone() -> None:
    for config in (GRAPHEMES, LINES):
        assert toolprune.cut("a" * 8192, config) is None
        assert toolprune.cut_blocks([text("a" * 8192)], config) is None


# Texts of units, none of which joins the one behind it: clusters, escape sequences and lone surrogates.
UNITS = st.lists(
    st.sampled_from(
        [
            *("a", " ", "漢", "😀", "\n", "\r\n", "\ud83d", "\ude00", "\u2028"),
            *("e\u0301", FAMILY, "🇩🇪", "👍🏽", "❤\ufe0f", "한\u11ab", "ก\u0e33"),
            *("\x1b[31m", "\x1b[1m\u0301", "\x1b]0;é\x07", "\x1b]8;;x\x1b\\", "\x1bM", "\x1b(B"),
        ]
    ),
    min_size=1,
    max_size=40,
)


@given(UNITS, st.integers(0, 30), st.integers(0, 30), st.integers(0, 5), st.data())
def test_blocks_are_cut_as_the_reference_cuts_their_units(
    units: list[str], head: int, tail: int, slack: int, data: st.DataObject
) -> None:
    whole = "".join(units)
    edges = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    blocks = [text(whole[start:end]) for start, end in zip([0, *edges], [*edges, len(whole)], strict=True)]
    threshold = head + 1 + tail + slack
    for boundary, inward in (("grapheme", plain_cut.inward), ("line", plain_cut.inward_to_lines)):
        config = CutConfig.model_validate(
            {"threshold": threshold, "head": head, "tail": tail, "marker": "…", "boundary": boundary}
        )
        after = toolprune.cut_blocks(blocks, config)
        if len(whole) <= threshold:
            assert after is None
            continue
        head_end, kept_tail = inward(units, head=head, tail=tail)
        assert after == plain_cut.cut_blocks(blocks, threshold=threshold, head=head_end, tail=kept_tail, marker="…")
        assert toolprune.cut(whole, config) == whole[:head_end] + "…" + whole[len(whole) - kept_tail :]


# Anything at all, with much of what escape sequences are made of, ended or not.
ANYTHING = st.lists(
    st.one_of(
        st.sampled_from("\x1b[]P\\\x07(0;m~\n\r e\u0301\u200d👩🇩"),
        st.characters(exclude_characters="…"),
        st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF),
    ),
    max_size=60,
).map("".join)


@given(ANYTHING, st.integers(0, 30), st.integers(0, 30), st.sampled_from(BOTH))
def test_what_is_left_is_a_start_the_marker_and_an_end_no_longer_than_the_default_cut(
    whole: str, head: int, tail: int, boundary: Literal["grapheme", "line"]
) -> None:
    config = small(boundary, head, tail)
    after = toolprune.cut(whole, config)
    if len(whole) <= config.threshold:
        assert after is None
        return
    assert after is not None
    kept_head, kept_tail = after.split("…")
    assert whole.startswith(kept_head)
    assert whole.endswith(kept_tail)
    assert len(kept_head) <= head
    assert len(kept_tail) <= tail
    for edge in (len(kept_head), len(whole) - len(kept_tail)):
        assert not plain_cut.in_a_sequence(whole, edge)
    assert toolprune.cut(after, config) is None


def test_a_scan_takes_a_boundary_and_a_note_and_knows_the_default_form_alone(tmp_path: Path) -> None:
    default = toolprune.cut("a" * 9000)
    shorter = toolprune.cut("a" * 4095 + "e\u0301" + "a" * 9000, GRAPHEMES)
    noted = toolprune.cut("a" * 9000, CutConfig(note=True))
    assert default is not None
    assert shorter is not None
    assert noted is not None
    assert [len(default), len(shorter), len(noted)] == [5159, 5158, 5176]
    results = [make_logs.tool_result(str(n), cut) for n, cut in enumerate((default, shorter, noted))]
    (tmp_path / "log.jsonl").write_bytes(make_logs.log(*(make_logs.user(result) for result in results)))
    config = CutConfig(boundary="grapheme", note=True)
    assert [toolprune.is_cut(each, config) for each in (default, shorter, noted)] == [True, False, False]
    assert toolprune.scan(tmp_path, cut=config).totals["already_cut"] == 1

    (tmp_path / "toolprune.toml").write_text("[cut]\nboundary = 'line'\nnote = true\n", encoding="utf-8")
    done = command("scan", "log.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"already cut   1" in done.stdout
