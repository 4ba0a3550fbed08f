"""Inputs that have broken tools like this one: each test bears the words of its heading in `docs/policies.md`."""

import copy
import json
import logging
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import toolprune
from gating import (
    CUT,
    FREEZING,
    LARGE,
    MARKER,
    OPENING,
    SEEN,
    call,
    dumped,
    edits,
    gate,
    prompt,
    prompts,
    shared,
    user,
)
from talk import (
    Call,
    Message,
    Response,
    Result,
    Results,
    Step,
    User,
    content_of,
    in_every_dialect,
    requests,
    written,
)
from toolprune import CutConfig, GateConfig, ToolpruneError
from toolprune.dialects import read

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
"""Four people and three joiners: one emoji of seven code points."""


def told(content: Any) -> list[Step]:
    """A result that came after the opening and was seen three times."""
    return [OPENING, *call("r", content), *SEEN]


def left(content: Any, dialect: str, **settings: Any) -> Any:
    """What the fourth request holds of a result."""
    return content_of(prompt(told(content), dialect, gate(**settings)), "r")


def stays(content: Any, dialect: str) -> bool:
    """Whether the list comes back as the object that was passed in when a result is this."""
    messages = written(told(content), dialect)
    before = copy.deepcopy(messages)
    return gate().apply(messages) is messages and messages == before


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


# Text


@in_every_dialect
def test_an_emoji_that_straddles_the_end_of_the_head(dialect: str) -> None:
    # It has the UTF-16 units 4096 and 4097, counted from 1, and is code point 4096.
    assert left("a" * 4095 + "😀" + "b" * 5000, dialect) == "a" * 4095 + "😀" + MARKER + "b" * 1024


@in_every_dialect
def test_a_family_of_emoji_across_the_cut(dialect: str) -> None:
    across = "a" * 4093 + FAMILY + "b" * 5000
    assert left(across, dialect) == "a" * 4093 + "👨\u200d👩" + MARKER + "b" * 1024
    whole = left(across, dialect, cut=CutConfig(boundary="grapheme"))
    assert whole == "a" * 4093 + MARKER + "b" * 1024


@in_every_dialect
def test_a_colour_sequence_across_the_cut(dialect: str) -> None:
    across = "a" * 4094 + "\x1b[31m" + "b" * 5000
    assert left(across, dialect) == "a" * 4094 + "\x1b[" + MARKER + "b" * 1024
    # No line ends in the head, so that the line boundary does as the grapheme boundary.
    for boundary in ("grapheme", "line"):
        assert left(across, dialect, cut=CutConfig(boundary=boundary)) == "a" * 4094 + MARKER + "b" * 1024


@in_every_dialect
def test_8_193_han_characters(dialect: str) -> None:
    assert left("漢" * 8193, dialect) == "漢" * 4096 + MARKER + "漢" * 1024
    assert stays("漢" * 8192, dialect)


@in_every_dialect
def test_astral_characters_only(dialect: str) -> None:
    assert stays("😀" * 8192, dialect)
    assert left("😀" * 8193, dialect) == "😀" * 4096 + MARKER + "😀" * 1024


@in_every_dialect
@pytest.mark.parametrize("number", [0xD83D, 0xDE00])
def test_lone_surrogates_only(dialect: str, number: int) -> None:
    surrogate = chr(number)
    assert stays(surrogate * 8192, dialect)
    assert left(surrogate * 8193, dialect) == surrogate * 4096 + MARKER + surrogate * 1024
    # 4 + 4 + 5 units in quarters, rounded up: 10 tokens.
    opened = [User(surrogate * 5), *call("r", LARGE), *SEEN]
    assert content_of(prompt(opened, dialect, gate(latch_tokens=10)), "r") == CUT
    assert content_of(prompt(opened, dialect, gate(latch_tokens=11)), "r") == LARGE


@in_every_dialect
def test_a_result_that_contains_the_marker(dialect: str) -> None:
    assert left("a" * 100 + MARKER + "b" * 9000, dialect) == (
        "a" * 100 + MARKER + "b" * (4096 - 100 - 39) + MARKER + "b" * 1024
    )
    # Its own marker stands where a cut has one, and what follows is longer than a tail.
    assert left("a" * 4096 + MARKER + "b" * 5000, dialect) == "a" * 4096 + MARKER + "b" * 1024


@in_every_dialect
def test_a_cut_with_a_line_feed_behind_it(dialect: str) -> None:
    assert stays(CUT + "\n", dialect)
    assert left(CUT + "\n", dialect, cut=CutConfig(threshold=5159)) == CUT[:-1024] + "t" * 1023 + "\n"
    assert left(CUT, dialect, cut=CutConfig(threshold=5159)) == CUT


def test_a_threshold_too_small_for_the_marker() -> None:
    with pytest.raises(ValueError, match=r"39 .*threshold of 38") as refused:
        GateConfig(cut=CutConfig(threshold=38, head=0, tail=0))
    assert isinstance(refused.value, ToolpruneError)
    assert "\n" not in str(refused.value)
    assert CutConfig(threshold=39, head=0, tail=0).threshold == 39


@in_every_dialect
def test_one_json_string_of_30_kb(dialect: str) -> None:
    string = json.dumps("a" * (30_720 - 2))
    assert len(string) == 30_720
    assert left(string, dialect) == '"' + "a" * 4095 + MARKER + "a" * 1023 + '"'


@in_every_dialect
def test_a_data_uri_of_4_mb(dialect: str) -> None:
    uri = "data:image/png;base64," + "A" * 4_000_000
    assert left(uri, dialect) == uri[:4096] + MARKER + "A" * 1024
    assert stays([text("A picture:"), {"type": "image", "source": {"type": "url", "url": uri}}], dialect)


@in_every_dialect
def test_text_an_image_and_text(dialect: str) -> None:
    image = {"type": "image", "source": "AA=="}
    messages = written(told([text("a" * 5000), image, text("b" * 5000)]), dialect)
    before, kept, after = content_of(messages, "r")
    sent = content_of(gate().apply(messages), "r")
    assert sent == [{**before, "text": "a" * 4096 + MARKER}, kept, {**after, "text": "b" * 1024}]
    assert sent[1] is kept


@in_every_dialect
def test_no_blocks(dialect: str) -> None:
    assert stays([], dialect)


@in_every_dialect
def test_a_content_of_null(dialect: str) -> None:
    messages = written(told(""), dialect)
    holder, field = messages[2], "output" if dialect == "openai-responses" else "content"
    block = holder["content"][0] if dialect == "anthropic" else holder
    block[field] = None
    assert gate().apply(messages) is messages
    del block[field]
    assert gate().apply(messages) is messages


# Lists


@in_every_dialect
def test_a_tool_that_is_not_on_the_list(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    steps = [OPENING, *call("r", "x" * 1_000_000, "look_up"), *SEEN, *SEEN]
    with caplog.at_level(logging.WARNING, logger="toolprune"):
        assert [len(content_of(sent, "r")) for sent in prompts(steps, dialect)[1:]] == [1_000_000] * 7
    assert ["look_up" in record.getMessage() for record in caplog.records] == [True]


@in_every_dialect
def test_a_memory_tool_of_an_mcp_server(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE, "mcp__memory__read_graph"), *SEEN]
    messages = written(steps, dialect)
    assert gate().apply(messages) is messages


def failed(content: str) -> list[Step]:
    """A result that its message marks as an error, seen three times."""
    calls = (Call("r", "bash"),)
    return [OPENING, Response(calls=calls), Results((Result("r", content, is_error=True),)), *SEEN]


def test_an_error_of_20_000_characters() -> None:
    messages = written(failed("x" * 19_994 + "FAILED"), "anthropic")
    assert gate().apply(messages) is messages


@in_every_dialect
def test_an_error_in_the_middle_of_the_output(dialect: str) -> None:
    output = "a" * 6000 + "Traceback (most recent call last)" + "b" * 6000
    messages = written(told(output), dialect)
    assert content_of(gate().apply(messages), "r") == "a" * 4096 + MARKER + "b" * 1024
    assert content_of(messages, "r") == output


@in_every_dialect
def test_one_line_of_20_000_characters_that_ends_in_failed(dialect: str) -> None:
    assert left("x" * 19_994 + "FAILED", dialect) == "x" * 4096 + MARKER + "x" * 1018 + "FAILED"
    by_lines = left("x" * 19_994 + "FAILED", dialect, cut=CutConfig(boundary="line"))
    assert by_lines == "x" * 4096 + MARKER + "x" * 1018 + "FAILED"


# Pairs and ids


@in_every_dialect
def test_two_calls_in_one_message_one_result_cut(dialect: str) -> None:
    steps: list[Step] = [
        OPENING,
        Response(calls=(Call("a", "skill"), Call("b", "read"))),
        Results((Result("a", LARGE), Result("b", LARGE))),
        *SEEN,
    ]
    messages = written(steps, dialect)
    sent = gate().apply(messages)
    assert [content_of(sent, "a"), content_of(sent, "b")] == [LARGE, CUT]
    expected = json.dumps(messages)
    before_b = expected.rindex(json.dumps(LARGE))
    expected = expected[:before_b] + expected[before_b:].replace(json.dumps(LARGE), json.dumps(CUT))
    assert json.dumps(list(sent)) == expected


@in_every_dialect
def test_text_and_results_in_one_user_message(dialect: str) -> None:
    calls = (Call("r", "read"),)
    steps: list[Step] = [OPENING, Response(calls=calls), Results((Result("r", LARGE),), "And this?"), *SEEN]
    messages = written(steps, dialect)
    sent = gate().apply(messages)
    assert content_of(sent, "r") == CUT
    if dialect == "anthropic":
        assert sent[2]["content"][1] is messages[2]["content"][1]
        assert sent[2]["content"][1] == text("And this?")
    else:
        assert sent[3] is messages[3]


def keys(steps: Sequence[Step], dialect: str) -> list[Any]:
    """The keys of the edits that a gate told, asked before every request."""
    return [edit.key for edit in edits(steps, dialect)]


@in_every_dialect
def test_empty_ids(dialect: str) -> None:
    steps = [OPENING, *call("", LARGE, "skill"), *call("", LARGE, "read"), *call("", LARGE, "bash"), *SEEN]
    sent = prompt(steps, dialect)
    assert [content_of(sent, "", occurrence) for occurrence in range(3)] == [LARGE, CUT, CUT]
    assert keys(steps, dialect) == [("", 1), ("", 2)]
    calls = (Call("", "read"), Call("", "skill"), Call("", "bash"))
    together: list[Step] = [OPENING, Response(calls=calls), Results((Result("", LARGE),) * 3), *SEEN]
    assert [content_of(prompt(together, dialect), "", occurrence) for occurrence in range(3)] == [CUT, LARGE, CUT]
    assert keys(together, dialect) == [("", 0), ("", 2)]


@in_every_dialect
def test_equal_ids(dialect: str) -> None:
    steps = [OPENING, *call("1", LARGE), *SEEN, *call("1", LARGE), *SEEN]
    sent = prompts(steps, dialect)
    # The second result is there from the fifth request on.
    seen = [content_of(each, "1", 1) for each in sent[5:]]
    assert seen == [LARGE, LARGE, LARGE, CUT]
    assert [content_of(each, "1", 0) for each in sent[5:]] == [CUT] * 4
    assert keys(steps, dialect) == [("1", 0), ("1", 1)]
    assert keys([OPENING, *call("1", LARGE), *call("1", LARGE, "skill"), *SEEN], dialect) == [("1", 0)]


def keeps(call_id: str, dialect: str) -> bool:
    """Whether a result under this id is cut, named by it in the edit, and whole in the list that was passed in."""
    steps = [OPENING, *call(call_id, LARGE), *SEEN]
    messages = written(steps, dialect)
    sent = gate().apply(messages)
    return (
        content_of(sent, call_id) == CUT
        and content_of(messages, call_id) == LARGE
        and keys(steps, dialect) == [(call_id, 0)]
        and len(sent) == len(messages)
    )


@in_every_dialect
def test_an_id_of_1_536_characters(dialect: str) -> None:
    assert keeps("i" * 1536, dialect)
    longer = [OPENING, *call("i" * 1536, LARGE), *call("i" * 1537, LARGE), *SEEN]
    assert keys(longer, dialect) == [("i" * 1536, 0), ("i" * 1537, 0)]


@in_every_dialect
@pytest.mark.parametrize("call_id", ["../x", "NUL", "a:b", "x."])
def test_ids_that_look_like_paths(call_id: str, dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    monkeypatch.setenv("HOME", str(inner))
    assert keeps(call_id, dialect)
    assert list(tmp_path.rglob("*")) == [inner]


@in_every_dialect
@pytest.mark.parametrize("call_id", ["a\nb", "\x00", "\x1b[31m", "\r\n", "\u2028", "\ud800"])
def test_ids_with_newlines_or_control_characters(call_id: str, dialect: str) -> None:
    assert keeps(call_id, dialect)


# Cache


@in_every_dialect
def test_a_hundred_requests_with_one_cut_each(dialect: str) -> None:
    # Request n + 1 is the first that holds result n, so that request n + 4 cuts it: 4 to 103, which is a hundred.
    steps = [OPENING, *(step for n in range(103) for step in call(f"r{n}", LARGE))]
    sent = prompts(steps, dialect)
    assert len(sent) == 104
    breaks = [
        (number, shared(before, after))
        for number, (before, after) in enumerate(pairwise(sent), start=1)
        if shared(before, after) < len(before)
    ]
    # The opening, and a call and a result for each: result n is message 2n + 2.
    assert breaks == [(n + 4, 2 * n + 2) for n in range(100)]


@in_every_dialect
def test_a_warm_prefix_of_219_000_tokens_with_its_only_large_result_near_the_head(dialect: str) -> None:
    # Ten times 21,890 and 10 are 219,000.
    steps = [User("Go."), *call("r", LARGE), *(step for _ in range(10) for step in (Response("Noted."), user(21_890)))]
    messages = written([*steps, *SEEN], dialect)
    asked = gate()
    for held in requests([*steps, *SEEN], dialect):
        passed = messages[:held]
        assert asked.apply(passed) is passed


@in_every_dialect
def test_totals_that_flap_around_the_line(dialect: str) -> None:
    # A call of 10 tokens and a result of 2057, or 2061 in Anthropic's messages, and Noted. and Go on. of 10 each.
    both = 10 + 2057 + (4 if dialect == "anthropic" else 0)
    asked = gate()

    def sent(total: int, after: Sequence[Step], tokens: int) -> Sequence[Message]:
        return prompt([user(total - tokens), *after], dialect, asked)

    came: list[Step] = call("r", LARGE)
    sent(100_001, [], 0)
    assert content_of(sent(99_999, came, both), "r") == LARGE
    assert content_of(sent(100_001, [*came, *SEEN[:2]], both + 20), "r") == LARGE
    assert content_of(sent(99_999, [*came, *SEEN[:4]], both + 40), "r") == LARGE
    assert content_of(sent(100_001, [*came, *SEEN], both + 60), "r") == CUT
    # A gate that was closed until then would have frozen it.
    assert content_of(prompt([user(99_999 - both), *came, *SEEN], dialect), "r") == LARGE


@in_every_dialect
def test_deciding_twice(dialect: str) -> None:
    messages = written([*FREEZING, *call("r", LARGE), *SEEN], dialect)
    before = copy.deepcopy(messages)
    transcript = read(messages)
    asked = gate()
    first = asked.decide(transcript)
    assert asked.decide(transcript) == first
    assert [(edit.key, edit.code_points_before, edit.code_points_after) for edit in first] == [(("r", 0), 8193, 5159)]
    assert messages == before
    assert asked.decide(read(messages)) == first


@in_every_dialect
def test_a_pass_with_nothing_to_do(dialect: str) -> None:
    arguments = r'{"a":1.0,"b":"\u00e9"}'
    messages = written([OPENING, *call("r", "short"), *SEEN], dialect)
    if dialect == "openai-chat":
        messages[1]["tool_calls"][0]["function"]["arguments"] = arguments
    elif dialect == "openai-responses":
        messages[1]["arguments"] = arguments
    else:
        messages[1]["content"][0]["input"] = json.loads(arguments)
    before = json.dumps(messages)
    assert gate().apply(messages) is messages
    assert json.dumps(messages) == before
    # Where another message is cut they stay as well.
    more = [*messages, *written([*call("large", LARGE), *SEEN], dialect)]
    sent = gate().apply(more)
    assert content_of(sent, "large") == CUT
    assert json.dumps(list(sent[: len(messages)])) == before


# Resume


@in_every_dialect
def test_cut_reload_cut(dialect: str) -> None:
    steps = [*FREEZING, *call("a", LARGE), *SEEN, *call("b", LARGE)]
    messages = written(steps, dialect)
    first = gate().apply(messages)
    assert content_of(first, "a") == CUT
    reloaded = gate().apply(json.loads(json.dumps(messages)))
    assert dumped(reloaded) == dumped(first)
    # So they have once the conversation goes on.
    further = [*steps, *SEEN]
    assert prompt(further, dialect) == prompts(further, dialect)[-1]


@in_every_dialect
def test_an_old_large_result_a_cut_one_and_a_new_large_one(dialect: str) -> None:
    steps = [*FREEZING, *call("host", CUT), *call("cut", LARGE), *SEEN, *call("new", LARGE), *SEEN]
    sent = prompts(steps, dialect)
    assert [content_of(sent[-1], key) for key in ("old", "host", "cut", "new")] == [LARGE, CUT, CUT, CUT]
    assert [content_of(sent[-2], key) for key in ("old", "host", "cut", "new")] == [LARGE, CUT, CUT, LARGE]


@in_every_dialect
def test_one_turn_of_300_steps(dialect: str) -> None:
    # Go. takes 9 tokens, each call and result 2067 (Anthropic 2071). After 48 of them that is 99,225 (99,417), after 49
    # 101,292 (101,488), so that 49 are frozen. Three responses are behind r296 at the end, two behind r297.
    steps = [User("Go."), *(step for n in range(300) for step in call(f"r{n}", LARGE))]
    expected = [LARGE] * 49 + [CUT] * 248 + [LARGE] * 3
    lived = prompts(steps, dialect)[-1]
    assert [content_of(lived, f"r{n}") for n in range(300)] == expected
    assert prompt(steps, dialect) == lived


@in_every_dialect
def test_an_original_after_a_restart(dialect: str) -> None:
    messages = written([OPENING, *call("r", "first"), *call("r", LARGE), *SEEN], dialect)
    saved = json.dumps(messages)
    assert content_of(gate().apply(messages), "r", 1) == CUT
    loaded = json.loads(saved)
    found: list[toolprune.Edit] = []
    gate(found.append).apply(loaded)
    ((call_id, occurrence),) = [edit.key for edit in found]
    assert content_of(loaded, call_id, occurrence) == LARGE
