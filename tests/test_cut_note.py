"""The marker that says how much a cut took away and how to get it back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain_cut
import toolprune
from toolprune import CutConfig, _core
from toolprune.cutting import cut_content

NOTE = CutConfig(note=True)
FOLDED = ("\n[… ", " characters folded …]\n")


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_the_note_says_how_many_characters_are_gone_and_how_to_get_them() -> None:
    # 9000 - 4096 - 1024
    how = '\n\n[... tool result middle pruned: 3880 characters; expand("call_7") gives the whole result ...]\n\n'
    assert toolprune.cut("漢" * 9000, NOTE, call_id="call_7") == "漢" * 4096 + how + "漢" * 1024
    bare = "\n\n[... tool result middle pruned: 3880 characters ...]\n\n"
    assert toolprune.cut("漢" * 9000, NOTE) == "漢" * 4096 + bare + "漢" * 1024


def test_a_text_within_the_threshold_has_no_note() -> None:
    assert toolprune.cut("a" * 8192, NOTE, call_id="call_7") is None
    assert toolprune.cut_blocks([text("a" * 8192)], NOTE, call_id="call_7") is None


def test_without_note_the_id_has_no_say() -> None:
    assert toolprune.cut("a" * 9000, call_id="call_7") == toolprune.cut("a" * 9000)
    assert toolprune.cut_blocks([text("a" * 9000)], call_id="call_7") == toolprune.cut_blocks([text("a" * 9000)])


@pytest.mark.parametrize(
    ("call_id", "shown"),
    [
        ("", '""'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("a\nb\x1b\x00", r'"a\nb\u001b\u0000"'),
        ("../x", '"../x"'),
        ("漢", r'"\u6f22"'),
        ("\ud83d", r'"\ud83d"'),
    ],
)
def test_an_id_of_any_kind_is_a_json_string(call_id: str, shown: str) -> None:
    cut = toolprune.cut("a" * 9000, NOTE, call_id=call_id)
    assert cut is not None
    assert f" characters; expand({shown}) gives the whole result ...]\n\n" in cut
    assert json.loads(shown) == call_id


def test_the_number_is_of_what_is_gone_once_the_edges_have_moved() -> None:
    # Of 9005 code points 4095 and 1024 stay: the head ends before the e and its accents.
    before = "a" * 4095 + "e\u0301\u0301\u0301\u0301" + "b" * 4905
    cut = toolprune.cut(before, CutConfig(note=True, boundary="grapheme"), call_id="x")
    assert cut == "a" * 4095 + plain_cut.note("x", 3886) + "b" * 1024


def test_the_note_goes_into_the_block_in_which_the_cut_begins() -> None:
    blocks = [text("a" * 5000), {"type": "image", "data": "AA=="}, text("b" * 5000)]
    cut = toolprune.cut_blocks(blocks, NOTE, call_id="x")
    assert cut == [text("a" * 4096 + plain_cut.note("x", 4880)), blocks[1], text("b" * 1024)]


def test_where_the_note_is_too_long_the_marker_that_is_set_stands() -> None:
    # 4 + 3 are kept, the note for 93 is 54 code points and that for 993 one more.
    assert [len(plain_cut.note(None, gone)) for gone in (93, 993)] == [54, 55]
    config = CutConfig(threshold=61, head=4, tail=3, marker="…", note=True)
    assert toolprune.cut("a" * 100, config) == "aaaa" + plain_cut.note(None, 93) + "aaa"
    assert toolprune.cut("a" * 1000, config) == "aaaa…aaa"
    config = CutConfig(threshold=60, head=4, tail=3, marker="…", note=True)
    assert toolprune.cut("a" * 100, config) == "aaaa…aaa"


def test_an_id_of_1500_bytes_makes_no_result_longer_than_the_threshold() -> None:
    call_id = "x" * 1500
    roomy = toolprune.cut("a" * 9000, NOTE, call_id=call_id)
    assert roomy == "a" * 4096 + plain_cut.note(call_id, 3880) + "a" * 1024
    tight = CutConfig(threshold=6000, note=True)
    assert toolprune.cut("a" * 9000, tight, call_id=call_id) == toolprune.cut("a" * 9000)


def test_a_note_stands_in_place_of_a_marker_of_ones_own() -> None:
    config = CutConfig(marker="[cut]", note=True)
    cut = toolprune.cut("a" * 9000, config)
    assert cut == "a" * 4096 + plain_cut.note(None, 3880) + "a" * 1024


def test_other_words_may_stand_around_the_number() -> None:
    config = CutConfig(threshold=40, head=4, tail=3, marker="…")
    assert cut_content("a" * 50, config, numbered=FOLDED) == "aaaa\n[… 43 characters folded …]\naaa"
    assert cut_content([text("a" * 50)], config, numbered=FOLDED) == [text("aaaa\n[… 43 characters folded …]\naaa")]
    noted = config.model_copy(update={"note": True})
    assert cut_content("a" * 50, noted, call_id="x", numbered=FOLDED) == "aaaa\n[… 43 characters folded …]\naaa"
    # 7 are kept and the marker is 28 for a number of two digits: one less has no room.
    assert len("\n[… 43 characters folded …]\n") == 28
    narrow = CutConfig(threshold=34, head=4, tail=3, marker="…")
    assert cut_content("a" * 50, narrow, numbered=FOLDED) == "aaaa…aaa"


def test_content_of_a_message_is_noted_too() -> None:
    expected = "a" * 4096 + plain_cut.note("x", 3880) + "a" * 1024
    assert cut_content("a" * 9000, NOTE, call_id="x") == expected
    assert cut_content([text("a" * 9000)], NOTE, call_id="x") == [text(expected)]


def test_words_around_the_number_are_two_texts() -> None:
    cut = _core.Cut(threshold=10, head=4, tail=3, marker="…", boundary="code_point")
    for wrong in ("ab", ("a",), ("a", 7)):
        with pytest.raises((TypeError, ValueError)):
            cut.text("abcdefghijk", wrong)  # type: ignore[arg-type]


@given(
    st.text(st.characters(codec=None), max_size=400),
    st.none() | st.text(st.characters(codec=None), max_size=20),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 200),
)
def test_a_noted_cut_is_within_its_threshold_and_says_the_number(
    whole: str, call_id: str | None, head: int, tail: int, slack: int
) -> None:
    config = CutConfig(threshold=head + 1 + tail + slack, head=head, tail=tail, marker="…", note=True)
    after = toolprune.cut(whole, config, call_id=call_id)
    if len(whole) <= config.threshold:
        assert after is None
        return
    noted = whole[:head] + plain_cut.note(call_id, len(whole) - head - tail) + whole[len(whole) - tail :]
    assert after is not None
    assert after == (noted if len(noted) <= config.threshold else plain_cut.cut(whole, **_limits(config)))
    assert len(after) <= config.threshold
    assert toolprune.cut(after, config, call_id=call_id) is None


def _limits(config: CutConfig) -> dict[str, Any]:
    return {"threshold": config.threshold, "head": config.head, "tail": config.tail, "marker": config.marker}
