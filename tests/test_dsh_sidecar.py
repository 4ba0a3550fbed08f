"""The Python side of the plugin: what it reads, what it decides about a session, and what it says of a fault."""

import io
import json
from typing import Any

import pytest

from toolprune import CutConfig, GateConfig, ToolpruneError
from toolprune.defaults import MARKER
from toolprune.hosts.dsh.protocol import EVENTS
from toolprune.hosts.dsh.row import gate_config
from toolprune.hosts.dsh.sidecar import serve

ROW = {"latchTokens": 1000, "thresholdChars": 60, "headChars": 5, "tailChars": 5}
LARGE = "h" * 50 + "t" * 50
CUT = "hhhhh" + MARKER + "ttttt"
HELLO = {"id": 1, "op": "hello", "protocol": 1, "config": ROW}


def said(*requests: Any) -> list[dict[str, Any]]:
    """What one process answers to these requests; bytes are a line as they are."""
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in requests]
    answers = io.BytesIO()
    serve(io.BytesIO(b"\n".join([*lines, b""])), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def call(seq: int, call_id: str, name: str = "bash") -> dict[str, Any]:
    return {"seq": seq, "type": "tool/call", "data": {"callId": call_id, "name": name}, "replaces": False}


def result(seq: int, call_id: str, text: str = LARGE, error: bool = False, replaces: bool = False) -> dict[str, Any]:
    """A result as the newer generation has it."""
    content = [{"type": "text", "text": text}]
    message = {"role": "tool", "toolCallId": call_id, "content": content, "isError": error}
    return {"seq": seq, "type": "tool/result", "data": {"turn": 1, "step": 1, "message": message}, "replaces": replaces}


def wrapped(seq: int, call_id: str, text: str = LARGE, error: bool = False) -> dict[str, Any]:
    """A result as the older generation has it."""
    content = [{"type": "text", "text": text}]
    inner = {"type": "tool-result", "toolCallId": call_id, "content": content, "isError": error}
    return {
        "seq": seq,
        "type": "tool/result",
        "data": {"message": {"role": "user", "content": [inner]}},
        "replaces": False,
    }


def answered(seq: int) -> dict[str, Any]:
    return {"seq": seq, "type": "assistant/message", "data": {}, "replaces": False}


def step(
    number: int, events: list[dict[str, Any]], surface: list[int], total: int = 2000, **others: Any
) -> dict[str, Any]:
    asked = {"id": number, "op": "step", "session": "s", "first": number == 2, "opening": None}
    return {**asked, "events": events, "surface": surface, "total": total, **others}


def edited(answer: dict[str, Any]) -> dict[int, str]:
    return {edit["seq"]: "".join(block["text"] for block in edit["content"]) for edit in answer["edits"]}


def test_the_greeting_says_the_version_and_which_events_are_read() -> None:
    assert said(HELLO) == [{"id": 1, "version": "0.1.0", "events": list(EVENTS)}]


@pytest.mark.parametrize("made", [result, wrapped])
def test_a_result_is_cut_once_three_requests_behind_it_were_answered(made: Any) -> None:
    """It comes when the gate is open, is in the prompts of steps 2, 3 and 4, and is cut before step 5."""
    answers = said(
        HELLO,
        step(2, [answered(1)], []),
        step(3, [call(2, "a"), made(3, "a")], [3]),
        step(4, [answered(4)], [3]),
        step(5, [answered(5)], [3]),
        step(6, [answered(6)], [3]),
    )[1:]
    assert [edited(answer) for answer in answers] == [{}, {}, {}, {}, {3: CUT}]
    assert {answer["opening"] for answer in answers} == {2}


def test_what_is_there_when_the_latch_opens_stays_whole() -> None:
    answers = said(
        HELLO,
        step(2, [answered(1), call(2, "a"), result(3, "a")], [3], total=999),
        step(3, [answered(4), call(5, "b"), result(6, "b")], [3, 6], total=1000),
        step(4, [answered(7), answered(8), answered(9), answered(10)], [3, 6], total=10),
        step(5, [call(11, "c"), result(12, "c"), answered(13), answered(14), answered(15)], [3, 6, 12], total=10),
    )[1:]
    assert [answer["opening"] for answer in answers] == [None, 7, 7, 7]
    assert [edited(answer) for answer in answers] == [{}, {}, {}, {12: CUT}]


def test_errors_small_results_replacements_and_unlisted_tools_stay_whole() -> None:
    events = [
        *(call(2, "a"), result(3, "a", error=True)),
        *(call(4, "b"), result(5, "b", "x" * 60)),
        *(call(6, "c", "skill"), result(7, "c")),
        *(call(8, "d"), result(9, "d", replaces=True)),
        result(10, "e"),
        *(answered(11), answered(12), answered(13)),
    ]
    _, opened, asked = said(HELLO, step(2, [answered(1)], []), step(3, events, [3, 5, 7, 9, 10]))
    assert (opened["edits"], asked["edits"]) == ([], [])


def test_what_is_not_on_the_surface_is_not_replaced() -> None:
    events = [call(2, "a"), result(3, "a"), call(4, "b"), result(5, "b"), answered(6), answered(7), answered(8)]
    assert edited(said(HELLO, step(2, [answered(1)], []), step(3, events, [5, 9]))[-1]) == {5: CUT}


def test_a_process_that_takes_over_goes_on_from_the_opening_that_it_is_told() -> None:
    """The result at 3 was there when the latch opened at seq 4, the one at 6 came later."""
    events = [
        answered(1),
        call(2, "a"),
        result(3, "a"),
        answered(4),
        call(5, "b"),
        result(6, "b"),
        *map(answered, (7, 8, 9)),
    ]
    answer = said(HELLO, step(2, events, [3, 6], total=10, opening=4))[-1]
    assert (edited(answer), answer["opening"]) == ({6: CUT}, 4)


def test_sessions_are_told_apart() -> None:
    events = [call(2, "a"), result(3, "a"), answered(4), answered(5), answered(6)]
    answers = said(
        HELLO,
        step(2, [answered(1)], [], total=2000),
        step(3, [answered(1), *events], [3], total=10, session="t", first=True),
        step(4, events, [3], total=10),
    )
    assert [edited(answer) for answer in answers[1:]] == [{}, {}, {3: CUT}]


def test_a_shadow_changes_nothing() -> None:
    events = [call(2, "a"), result(3, "a"), answered(4), answered(5), answered(6)]
    hello = {**HELLO, "config": {**ROW, "shadow": True}}
    assert said(hello, step(2, [answered(1)], []), step(3, events, [3]))[-1]["edits"] == []


def test_lone_surrogates_come_through() -> None:
    events = [call(2, "a"), result(3, "a", "\ud83d" * 100), answered(4), answered(5), answered(6)]
    answer = said(HELLO, step(2, [answered(1)], []), step(3, events, [3]))[-1]
    assert edited(answer) == {3: "\ud83d" * 5 + MARKER + "\ud83d" * 5}


def test_large_results_of_unlisted_tools_alone_are_warned_of_once() -> None:
    events = [call(2, "a", "look_up"), result(3, "a")]
    answers = said(HELLO, step(2, [answered(1)], []), step(3, events, [3]), step(4, [answered(4)], [3]))
    assert [len(answer.get("warnings", [])) for answer in answers] == [0, 0, 1, 0]
    assert "look_up" in answers[2]["warnings"][0]


@pytest.mark.parametrize(
    ("request_", "number", "words"),
    [
        (b"rubbish", 0, "Expecting value"),
        ({"id": 7, "op": "sing"}, 7, "is no message"),
        (step(3, [], [], first=False), 3, "never begun"),
        ({**step(3, [], []), "total": -1}, 3, "is no message"),
        ({**step(3, [], []), "more": 1}, 3, "is no message"),
        ({**HELLO, "id": 9, "protocol": 2}, 9, "toolprune dsh install"),
        ({**HELLO, "id": 9, "config": {"keepView": 2}}, 9, "there is no keepView; did you mean keepViews?"),
        ({**HELLO, "id": 9, "config": {"headChars": 9000}}, 9, "head 9000 + marker 39 + tail 1024"),
    ],
)
def test_what_cannot_be_read_or_done_is_answered_with_a_sentence_and_the_next_one_is_heard(
    request_: Any, number: int, words: str
) -> None:
    _, failed, heard = said(HELLO, request_, step(2, [answered(1)], []))
    assert failed["id"] == number
    assert words in failed["error"]
    assert "\n" not in failed["error"]
    assert heard["edits"] == []


def test_a_step_before_the_greeting_is_refused() -> None:
    assert "before it said hello" in said(step(2, [], []))[0]["error"]


def test_a_row_has_the_hosts_names_or_the_gates() -> None:
    assert gate_config({}) == GateConfig(latch="process")
    cut = CutConfig(threshold=100, head=20, tail=10)
    expected = GateConfig(latch_tokens=5, keep_views=2, tools={"read"}, shadow=True, latch="process", cut=cut)
    hosts = {"latchTokens": 5, "keepViews": 2, "thresholdChars": 100, "headChars": 20, "tailChars": 10}
    assert gate_config({**hosts, "tools": ["read"], "shadow": True}) == expected
    gates = {"latch_tokens": 5, "keep_views": 2, "cut": {"threshold": 100, "head": 20, "tail": 10}}
    assert gate_config({**gates, "tools": ["read"], "shadow": True}) == expected


@pytest.mark.parametrize(
    "row", [{"latchToken": 1}, {"keepViews": 0}, {"cut": 5}, {"thresholdChars": "8192"}, {"tools": "read"}]
)
def test_a_row_that_cannot_be_used_is_refused_in_one_sentence(row: dict[str, Any]) -> None:
    with pytest.raises(ToolpruneError) as refused:
        gate_config(row)
    assert "\n" not in str(refused.value)
