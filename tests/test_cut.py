"""The cut of Python strings and content blocks, with values worked out by hand."""

import copy
import re
import threading
from typing import Any

import pytest

import toolprune
from toolprune import CutConfig, _core
from toolprune.cutting import cut_content

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
SMALL = CutConfig(threshold=10, head=4, tail=3, marker="…")
LIMITS: dict[str, Any] = {"threshold": 10, "head": 4, "tail": 3, "marker": "…", "boundary": "code_point"}
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def text(value: str, **others: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **others}


def test_a_text_at_the_threshold_stays_and_one_code_point_more_is_cut() -> None:
    assert toolprune.cut("漢" * 8192) is None
    assert toolprune.cut("漢" * 8193) == "漢" * 4096 + MARKER + "漢" * 1024
    assert toolprune.cut("") is None


def test_a_cut_is_5159_code_points_and_a_second_pass_finds_nothing_to_do() -> None:
    cut = toolprune.cut("😀" * 100_000)
    assert cut is not None
    assert len(cut) == 4096 + 39 + 1024
    assert toolprune.cut(cut) is None
    assert toolprune.is_cut(cut)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("abc😀😁efgh😂😃i", "abc😀…😂😃i"),
        ("abcd👨\u200d👩\u200d👧ef", "abcd…👧ef"),
        ("ab\u0301\u0301cdefghij", "ab\u0301\u0301…hij"),
        ("ab\x1b[31mred\x1b[0m", "ab\x1b[…[0m"),
        ("\ud83d" * 11, "\ud83d" * 4 + "…" + "\ud83d" * 3),
        ("é" * 11, "éééé…ééé"),
        ("x" * 30_720, "xxxx…xxx"),
    ],
)
def test_the_cut_counts_code_points_of_any_kind(before: str, after: str) -> None:
    assert toolprune.cut(before, SMALL) == after
    assert toolprune.cut_blocks([text(before)], SMALL) == [text(after)]


def test_an_emoji_that_straddles_code_point_4096_in_units_is_kept_whole() -> None:
    cut = toolprune.cut("a" * 4095 + "😀" + "b" * 5000)
    assert cut == "a" * 4095 + "😀" + MARKER + "b" * 1024


def test_a_text_that_only_contains_the_marker_is_cut_like_any_other() -> None:
    page = "a" * 4096 + MARKER + "b" * 5000
    assert not toolprune.is_cut(page)
    assert toolprune.cut(page) == "a" * 4096 + MARKER + "b" * 1024


def test_a_cut_and_a_line_feed_is_no_cut() -> None:
    cut = "a" * 4096 + MARKER + "b" * 1024
    assert toolprune.is_cut(cut)
    assert not toolprune.is_cut(cut + "\n")
    assert not toolprune.is_cut("a" * 4095 + MARKER + "b" * 1025)
    assert not toolprune.is_cut(MARKER)
    assert not toolprune.is_cut("")


@pytest.mark.parametrize(
    ("head", "tail", "marker", "after"),
    [
        (0, 3, "…", "…ijk"),
        (4, 0, "…", "abcd…"),
        (0, 0, "…", "…"),
        (4, 3, "", "abcdijk"),
        (0, 0, "", ""),
    ],
)
def test_head_tail_and_marker_may_each_be_nothing(head: int, tail: int, marker: str, after: str) -> None:
    config = CutConfig(threshold=10, head=head, tail=tail, marker=marker)
    assert toolprune.cut("abcdefghijk", config) == after
    assert toolprune.cut_blocks([text("abcdefghijk")], config) == ([text(after)] if after else [])
    assert toolprune.is_cut(after, config)


def test_the_parts_of_a_str_decide_how_the_result_is_stored() -> None:
    # Equal strings that are stored differently would compare unequal.
    assert toolprune.cut("abcd" + "漢" * 20 + "ijk", CutConfig(threshold=10, head=4, tail=3, marker="-")) == "abcd-ijk"


def test_no_blocks_and_blocks_without_text_have_nothing_to_cut() -> None:
    assert toolprune.cut_blocks([], SMALL) is None
    assert toolprune.cut_blocks([text(""), text("")], SMALL) is None
    assert toolprune.cut_blocks([IMAGE, {"type": "text", "text": None}, {"type": "text"}], SMALL) is None
    assert toolprune.cut_blocks([{"type": "image", "text": "abcdefghijk"}, {"text": "abcdefghijk"}], SMALL) is None


def test_text_image_text_is_cut_over_its_texts_and_the_image_stays_where_it_was() -> None:
    after = toolprune.cut_blocks([text("abcdef"), IMAGE, text("ghijkl")], SMALL)
    assert after == [text("abcd…"), IMAGE, text("jkl")]
    assert after[1] is IMAGE


def test_the_marker_goes_into_the_first_block_that_holds_some_of_the_gap() -> None:
    assert toolprune.cut_blocks([text("abcd"), text("efghi"), text("jkl")], SMALL) == [
        text("abcd"),
        text("…"),
        text("jkl"),
    ]


def test_blocks_left_without_text_are_dropped_and_so_are_those_that_had_none() -> None:
    blocks = [text(""), text("ab"), text(""), text("cdef"), text("ghi"), text("jkl"), text("mn"), text("")]
    assert toolprune.cut_blocks(blocks, SMALL) == [text("ab"), text("cd…"), text("l"), text("mn")]


def test_other_keys_of_a_text_block_survive_in_their_order() -> None:
    block = {"id": 1, "text": "abcdefghijkl", "annotations": {"a": [1.0, None]}, "type": "text", "z": True}
    after = toolprune.cut_blocks([block], SMALL)
    assert after is not None
    assert list(after[0].items()) == [
        ("id", 1),
        ("text", "abcd…jkl"),
        ("annotations", {"a": [1.0, None]}),
        ("type", "text"),
        ("z", True),
    ]
    assert after[0]["annotations"] is block["annotations"]


def test_originals_are_never_touched_and_never_handed_back_as_text_blocks() -> None:
    blocks = [text("abc"), text("defghijklm"), IMAGE, text("no")]
    before = copy.deepcopy(blocks)
    after = toolprune.cut_blocks(blocks, SMALL)
    assert blocks == before
    assert after == [text("abc"), text("d…m"), IMAGE, text("no")]
    assert not any(new is old for new in after for old in blocks if old is not IMAGE)


def test_what_is_no_dict_counts_nothing_and_stays() -> None:
    odd: list[Any] = [None, "abcdefghijk", 3, text("abcdefghijk")]
    assert toolprune.cut_blocks(odd, SMALL) == [None, "abcdefghijk", 3, text("abcd…ijk")]
    assert toolprune.cut_blocks(tuple(odd), SMALL) == [None, "abcdefghijk", 3, text("abcd…ijk")]


class Shouting(str):
    """A str whose own methods lie about it."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: object) -> str:
        return "!"


def test_a_subclass_of_str_is_cut_by_what_it_holds() -> None:
    cut = toolprune.cut(Shouting("abcdefghijk"), SMALL)
    assert cut == "abcd…ijk"
    assert type(cut) is str
    assert toolprune.cut_blocks([text(Shouting("abcdefghijk"))], SMALL) == [text("abcd…ijk")]


def test_content_that_is_no_list_of_blocks_is_refused() -> None:
    for content, name in ((None, "NoneType"), (3, "int"), ({"type": "text"}, "dict"), ("abc", "str")):
        with pytest.raises(TypeError, match=f"^blocks must be a list of dicts, not {name}$"):
            toolprune.cut_blocks(content, SMALL)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"threshold": 0}, "threshold must be at least 1 code point, not 0"),
        ({"threshold": 7}, "head + marker + tail are 8 code points, over the threshold of 7: raise it or keep less"),
        ({"head": -1}, "head must be from 0 to 2**64 - 1 code points, not -1"),
        ({"tail": 2**64}, "tail must be from 0 to 2**64 - 1 code points, not 18446744073709551616"),
        (
            {"head": 2**64 - 1, "tail": 2**64 - 1},
            f"head + marker + tail are {2**65 - 1} code points, over the threshold of 10: raise it or keep less",
        ),
        ({"boundary": "word"}, "boundary must be code_point, grapheme or line, not word"),
    ],
)
def test_limits_that_cannot_be_kept_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        _core.Cut(**{**LIMITS, **wrong})


def test_a_limit_that_is_no_int_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^head must be an int, not float$"):
        _core.Cut(**{**LIMITS, "head": 1.0})


def test_a_form_longer_than_any_text_matches_none() -> None:
    assert not _core.is_cut("", head=2**64 - 1, tail=2**64 - 1, marker="")
    with pytest.raises(ValueError, match=r"^tail must be from 0 to "):
        _core.is_cut("", head=0, tail=-1, marker="")


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        ("aé漢😀".encode(), 4),
        (b"\xef\xbb\xbfa", 2),
        (("👨\u200d👩\u200d👧" * 20_000).encode(), 100_000),
    ],
)
def test_bytes_of_any_kind_are_counted(data: bytes, count: int) -> None:
    assert toolprune.code_points(data) == count
    assert toolprune.code_points(bytearray(data)) == count
    assert toolprune.code_points(memoryview(data)) == count


def test_a_view_with_steps_is_counted_as_it_reads() -> None:
    assert toolprune.code_points(memoryview(b"a\xffb\xffc\xff")[::2]) == 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ab\xff", "data is not UTF-8: byte 0xff at offset 2 cannot stand there"),
        (b"a\xe6\xbc", "data is not UTF-8: byte 0xe6 at offset 1 cannot stand there"),
        (b"\xed\xa0\xbd", "data is not UTF-8: byte 0xed at offset 0 cannot stand there"),
        (b"a" * 100_000 + b"\x80", "data is not UTF-8: byte 0x80 at offset 100000 cannot stand there"),
    ],
)
def test_the_first_fault_of_bytes_that_are_no_utf8_is_located(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        toolprune.code_points(data)


def test_what_is_not_bytes_like_is_refused() -> None:
    for data in ("abc", 3, [97]):
        with pytest.raises(TypeError, match=r"^data must be bytes-like, not "):
            toolprune.code_points(data)  # type: ignore[arg-type]


def test_configs_that_take_turns_are_each_followed() -> None:
    other = SMALL.model_copy(update={"head": 2})
    for _ in range(2):
        assert toolprune.cut("abcdefghijk", SMALL) == "abcd…ijk"
        assert toolprune.cut("abcdefghijk", other) == "ab…ijk"
        assert toolprune.cut("abcdefghijk") is None


def test_the_content_of_a_message_is_a_str_or_a_list_of_blocks() -> None:
    assert cut_content("abcdefghijk", SMALL) == "abcd…ijk"
    assert cut_content("abcdefghij", SMALL) is None
    assert cut_content([text("abcdef"), IMAGE, text("ghijkl")], SMALL) == [text("abcd…"), IMAGE, text("jkl")]
    assert cut_content([], SMALL) is None
    for neither in (None, 3, {"type": "text", "text": "abcdefghijk"}, (text("abcdefghijk"),), b"abcdefghijk"):
        assert cut_content(neither, SMALL) is None


def test_the_caller_says_which_types_of_block_are_text() -> None:
    types = frozenset({"input_text", "output_text"})
    blocks = [
        {"type": "input_text", "text": "abcdef"},
        text("not counted, and left alone"),
        {"type": "output_text", "text": "ghijkl", "annotations": []},
        {"type": ["input_text"], "text": "nor this"},
    ]
    assert cut_content(blocks, SMALL, text_types=types) == [
        {"type": "input_text", "text": "abcd…"},
        blocks[1],
        {"type": "output_text", "text": "jkl", "annotations": []},
        blocks[3],
    ]
    assert cut_content(blocks[1:2], SMALL, text_types=types) is None


def test_threads_that_cut_and_count_at_once_get_what_one_gets() -> None:
    data = ("漢😀a" * 50_000).encode()
    found: list[tuple[int, str | None]] = []

    def work() -> None:
        for _ in range(20):
            found.append((toolprune.code_points(data), toolprune.cut("漢" * 8193, SMALL)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(150_000, "漢漢漢漢…漢漢漢")] * 80
