"""The Python carrier cuts as the plain reference does, and as the vectors say that the Rust tests read too."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import make_cut_vectors
import plain_cut
import toolprune

VECTORS = json.loads(make_cut_vectors.VECTORS.read_text(encoding="ascii"))

# Every kind of character: all planes, what JSON must escape, and lone surrogates.
TEXTS = st.text(
    st.one_of(
        st.characters(),
        st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF),
        st.sampled_from('"\\/\n\x1b\u0301😀'),
    )
)

BLOCKS = st.lists(
    st.one_of(
        TEXTS.map(lambda value: {"type": "text", "text": value}),
        TEXTS.map(lambda value: {"id": 7, "type": "text", "text": value, "extra": [1]}),
        st.sampled_from([{"type": "image", "data": "AA=="}, {"type": "text", "text": None}, {}, {"text": "untyped"}]),
    ),
    max_size=6,
)


@st.composite
def configs(draw: st.DrawFn) -> toolprune.CutConfig:
    head, tail, slack = (draw(st.integers(0, 12)) for _ in range(3))
    marker = draw(st.text(max_size=6))
    threshold = max(1, head + len(marker) + tail + slack)
    return toolprune.CutConfig(threshold=threshold, head=head, tail=tail, marker=marker)


def form(config: toolprune.CutConfig) -> dict[str, Any]:
    return {"head": config.head, "tail": config.tail, "marker": config.marker}


def whole(blocks: list[dict[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if plain_cut.is_text(block))


def test_the_vectors_are_what_their_script_writes() -> None:
    assert make_cut_vectors.VECTORS.read_text(encoding="ascii") == make_cut_vectors.rendered()


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_every_vector_is_cut_as_it_says(vector: dict[str, Any]) -> None:
    config = toolprune.CutConfig(**vector["config"])
    before = make_cut_vectors.decoded(vector["before"])
    assert before is not None
    assert toolprune.cut_blocks(before, config) == make_cut_vectors.decoded(vector["after"])
    assert toolprune.is_cut(whole(before), config) == vector["is_cut"]


@given(TEXTS, configs())
def test_a_text_is_cut_as_the_reference_cuts_it(text: str, config: toolprune.CutConfig) -> None:
    assert toolprune.cut(text, config) == plain_cut.cut(text, threshold=config.threshold, **form(config))


@given(BLOCKS, configs())
def test_blocks_are_cut_as_the_reference_cuts_them(blocks: list[dict[str, Any]], config: toolprune.CutConfig) -> None:
    after = toolprune.cut_blocks(blocks, config)
    expected = plain_cut.cut_blocks(blocks, threshold=config.threshold, **form(config))
    assert after == expected
    assert [list(block) for block in after or []] == [list(block) for block in expected or []]


@given(BLOCKS, configs())
def test_what_is_left_is_head_marker_and_tail_and_a_second_pass_finds_nothing_to_do(
    blocks: list[dict[str, Any]], config: toolprune.CutConfig
) -> None:
    after = toolprune.cut_blocks(blocks, config)
    if after is None:
        assert len(whole(blocks)) <= config.threshold
        return
    text = whole(blocks)
    left = whole(after)
    assert left == text[: config.head] + config.marker + text[len(text) - config.tail :]
    assert toolprune.is_cut(left, config)
    assert toolprune.cut(left, config) is None
    assert toolprune.cut_blocks(after, config) is None


@given(TEXTS, configs())
def test_only_the_exact_form_is_a_cut(text: str, config: toolprune.CutConfig) -> None:
    for candidate in (text, text[: config.head] + config.marker + text[: config.tail]):
        assert toolprune.is_cut(candidate, config) == plain_cut.is_cut(candidate, **form(config))


@given(st.text())
def test_utf8_counts_as_the_text_that_it_decodes_to(text: str) -> None:
    for repeated in (text, text * 5000):
        assert toolprune.code_points(repeated.encode()) == len(repeated)


@given(st.binary())
def test_bytes_that_are_no_utf8_are_refused_at_the_first_fault(data: bytes) -> None:
    try:
        expected = len(data.decode())
    except UnicodeDecodeError as error:
        fault = f"byte 0x{data[error.start]:02x} at offset {error.start} "
        with pytest.raises(ValueError, match=fault):
            toolprune.code_points(data)
    else:
        assert toolprune.code_points(data) == expected
