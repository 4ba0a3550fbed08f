"""The gate in the DeepSeek Harness itself: what the model is sent, and what stands in the session's log.

The model is scripted, so its usage says when the host measures a prompt over the line: at OVER, and never otherwise,
for all that a test has in its prompts stays far below. Usage speaks from the next request on.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dsh_host
import toolprune
from dsh_model import Answer, Message, Model, results
from gating import MARKER
from scanning import scan

pytestmark = pytest.mark.skipif(dsh_host.program() is None, reason=dsh_host.MISSING)

needs_a_shell = pytest.mark.skipif(sys.platform == "win32", reason="what stands in for Python is a shell script")

PLUGIN = Path(toolprune.__file__).parent / "hosts" / "dsh" / "plugin" / "index.js"

OVER = 150_000
"""Tokens over the gate's line, which is 100,000, and far from where the host compacts."""

RULES = "".join(f"Rule {number}.\n" for number in range(2000))

Call = tuple[str, dict[str, Any]]


def bash(command: str) -> Call:
    return "bash", {"command": command, "description": "A command"}


def numbers(first: int, last: int) -> Call:
    """A call whose result is `text(first, last)`."""
    return bash(f"seq {first} {last}")


def text(first: int, last: int) -> str:
    return "".join(f"{number}\n" for number in range(first, last + 1))


SMALL = Answer(calls=(bash("echo small"),))
SKILL = ("skill", {"name": "rules"})
FAILING = ("read", {"file_path": "x" * 9000})
"""A call whose error repeats the path that is too long, and so is over the threshold."""

# Ids of calls: toolu_<answer>_<call>, both from 1.
FROZEN = {"toolu_1_1": text(1, 4000), "toolu_2_1": text(5001, 9000)}
DUE = {"toolu_3_1": text(10_001, 13_000), "toolu_3_2": text(20_001, 24_000)}
NEVER = ("toolu_3_3", "toolu_3_4", "toolu_3_5")
SCRIPT = (
    Answer(calls=(numbers(1, 4000),)),
    Answer(calls=(numbers(5001, 9000),), tokens=OVER),
    # The third request is the one at the crossing; all that these calls bring comes after it.
    Answer(calls=(numbers(10_001, 13_000), numbers(20_001, 24_000), bash("seq 1 20"), SKILL, FAILING)),
    *[SMALL] * 4,
    Answer("Done."),
)
CUT_IN = 7
"""The request that would hold what request 4 held first for the fourth time."""


def after_crossing(*answers: Answer) -> tuple[Answer, ...]:
    """A script of which the gate opens before the second request, so that the calls of its second answer come after."""
    return (Answer(calls=(bash("echo first"),), tokens=OVER), *answers)


def row(**config: Any) -> dsh_host.Row:
    """The row that puts the gate in, with the keys of its config."""
    return {"insert": [{"id": "toolprune", "name": str(PLUGIN), "config": {"python": sys.executable, **config}}]}


def cut(whole: str) -> str:
    """A text as the gate leaves it."""
    assert len(whole) > 8192
    return whole[:4096] + MARKER + whole[-1024:]


def sent(request: list[Message], call: str) -> str:
    """The text of a result as a request holds it."""
    [block] = results(request)[call]["content"]
    found: str = block["text"]
    return found


def held(request: list[Message]) -> list[str]:
    """The texts of all the results that a request holds, by which those of two calls with one id can be told apart."""
    blocks = (block for message in request if isinstance(message["content"], list) for block in message["content"])
    return [part["text"] for block in blocks if block["type"] == "tool_result" for part in block["content"]]


def warnings(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("toolprune: ")]


@dataclass(frozen=True)
class Played:
    """One turn that the host ended: the messages of its requests, the session's log, and what it wrote to stderr."""

    folder: Path
    requests: list[list[Message]]
    events: list[dsh_host.Event]
    stderr: str

    @property
    def replacements(self) -> list[dsh_host.Event]:
        return [event for event in self.events if isinstance(event.get("surfaceOp"), dict)]

    @property
    def prunes(self) -> list[dsh_host.Event]:
        return [event for event in self.events if event["type"] == "compaction/prune"]

    def anywhere(self) -> list[str]:
        """Each request as JSON without the folder's name, to compare runs in two folders."""
        return [json.dumps(request).replace(str(self.folder), "FOLDER") for request in self.requests]


def play(folder: Path, script: tuple[Answer, ...], *rows: dsh_host.Row) -> Played:
    """Have the host work through a script in a new session."""
    skill = folder / "home" / "skills" / "rules" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: rules\ndescription: The rules.\n---\n{RULES}", encoding="utf-8")
    with Model(*script) as model:
        done = dsh_host.run(folder, "Work.", rows=[dsh_host.plain_logs(folder), *rows], model=model.url)
    assert len(model.requests) == len(script)
    return Played(folder, model.requests, dsh_host.events(folder), done.stderr)


def reopened(folder: Path, *rows: dsh_host.Row) -> list[Message]:
    """The request that a further turn in the session sends, in a process of its own."""
    with Model(Answer("Done.")) as model:
        rows = (dsh_host.plain_logs(folder), *rows)
        dsh_host.run(folder, "--session-id", dsh_host.session_id(folder), "Go on.", rows=rows, model=model.url)
    [request] = model.requests
    return request


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(tmp_path_factory.mktemp("plain"), SCRIPT)


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(tmp_path_factory.mktemp("gated"), SCRIPT, row())


def test_the_script_brings_what_the_tests_are_about(plain: Played) -> None:
    assert plain.replacements == plain.prunes == []
    last = plain.requests[-1]
    assert {call: sent(last, call) for call in {**FROZEN, **DUE}} == {**FROZEN, **DUE}
    small, skill, failed = (results(last)[call] for call in NEVER)
    assert sent(last, NEVER[0]) == text(1, 20)
    assert not small["is_error"]
    assert RULES.strip() in sent(last, NEVER[1])
    assert not skill["is_error"]
    assert len(sent(last, NEVER[2])) > 8192
    assert failed["is_error"]


def test_under_the_line_nothing_is_changed(tmp_path: Path) -> None:
    script = tuple(Answer(answer.text, answer.calls) for answer in SCRIPT)
    without, under = tmp_path / "without", tmp_path / "under"
    without.mkdir()
    under.mkdir()
    played = play(under, script, row())
    assert played.anywhere() == play(without, script).anywhere()
    assert played.replacements == played.prunes == []
    assert warnings(played.stderr) == []


def test_up_to_the_third_view_the_requests_are_those_without_the_gate(plain: Played, gated: Played) -> None:
    assert gated.anywhere()[: CUT_IN - 1] == plain.anywhere()[: CUT_IN - 1]


def test_what_was_there_at_the_crossing_stays_whole(gated: Played) -> None:
    for request in gated.requests[2:]:
        assert {call: sent(request, call) for call in FROZEN} == FROZEN


def test_a_large_result_after_the_crossing_is_whole_in_three_requests_and_cut_in_the_fourth(gated: Played) -> None:
    whole = [{call: sent(request, call) for call in DUE} for request in gated.requests[3 : CUT_IN - 1]]
    assert whole == [DUE] * 3
    shortened = [{call: sent(request, call) for call in DUE} for request in gated.requests[CUT_IN - 1 :]]
    assert shortened == [{call: cut(DUE[call]) for call in DUE}] * 2


def test_nothing_but_the_text_of_what_is_due_differs(plain: Played, gated: Played) -> None:
    for with_gate, without in zip(gated.anywhere()[CUT_IN - 1 :], plain.anywhere()[CUT_IN - 1 :], strict=True):
        expected = without
        for whole in DUE.values():
            assert expected.count(json.dumps(whole)) == 1
            expected = expected.replace(json.dumps(whole), json.dumps(cut(whole)))
        assert with_gate == expected


def test_small_failed_and_unlisted_results_are_never_cut(plain: Played, gated: Played) -> None:
    for call in NEVER:
        assert sent(gated.requests[-1], call).replace(str(gated.folder), "") == (
            sent(plain.requests[-1], call).replace(str(plain.folder), "")
        )
    assert {event["data"]["message"]["toolCallId"] for event in gated.replacements} == set(DUE)


def test_the_gate_warns_of_nothing_where_all_is_well(gated: Played) -> None:
    assert warnings(gated.stderr) == []


def test_the_price_stands_directly_before_its_replacement(gated: Played) -> None:
    assert len(gated.prunes) == len(gated.replacements) == len(DUE)
    for price, replacement in zip(gated.prunes, gated.replacements, strict=True):
        assert replacement["seq"] == price["seq"] + 1
        [seq] = price["data"]["shadowedSeqs"]
        assert price["data"]["shadowedRange"] == {"start": seq, "end": seq}
        assert replacement["surfaceOp"] == {"op": "replace", "startSeq": seq, "endSeq": seq}
        assert replacement["sourceEventSeqs"] == [seq]


def test_the_price_is_what_the_host_counts_for_the_result(gated: Played) -> None:
    tokens = {
        found["seq"]: found["tokens"] for found in scan(dsh_host.log_file(gated.folder), all_results=True)["results"]
    }
    priced = {price["data"]["shadowedSeqs"][0]: price["data"]["shadowedTokenCount"] for price in gated.prunes}
    # A text's units by four, rounded up, and 4 for its block and 4 for its message: 3,000 and 4,000 lines of 6.
    assert list(priced.values()) == [18_000 // 4 + 8, 24_000 // 4 + 8]
    assert priced == {seq: tokens[seq] for seq in priced}


def test_a_replacement_is_the_result_but_for_its_content(gated: Played) -> None:
    logged = {event["seq"]: event for event in gated.events}
    for replacement in gated.replacements:
        [seq] = replacement["sourceEventSeqs"]
        original = logged[seq]
        message = original["data"]["message"]
        content = toolprune.cut_blocks(message["content"], toolprune.CutConfig())
        assert content is not None
        assert replacement["type"] == original["type"] == "tool/result"
        assert replacement["data"] == {**original["data"], "message": {**message, "content": content}}


def test_the_session_reopens_with_its_cuts_with_the_plugin_and_without(gated: Played) -> None:
    expected = {**FROZEN, **{call: cut(whole) for call, whole in DUE.items()}}
    for rows in ((row(),), (), (row(),)):
        request = reopened(gated.folder, *rows)
        assert {call: sent(request, call) for call in expected} == expected


def test_a_resumed_process_freezes_what_it_finds_and_cuts_what_comes(tmp_path: Path) -> None:
    """The cuts are in the log; which results were there at the opening is known to the process alone."""
    play(tmp_path, after_crossing(Answer(calls=(numbers(1, 4000),), tokens=OVER), Answer("Done.", tokens=OVER)), row())
    # Again over the line from the first request on, so the gate opens in it: the result so far seen once stays.
    with Model(Answer(calls=(numbers(5001, 9000),)), *[SMALL] * 4, Answer("Done.")) as model:
        rows = [dsh_host.plain_logs(tmp_path), row()]
        dsh_host.run(tmp_path, "--session-id", dsh_host.session_id(tmp_path), "Go on.", rows=rows, model=model.url)
    assert [text(1, 4000) in held(request) for request in model.requests] == [True] * 6
    assert [text(5001, 9000) in held(request) for request in model.requests] == [False, True, True, True, False, False]
    assert [cut(text(5001, 9000)) in held(request) for request in model.requests] == [False] * 4 + [True] * 2


def test_steps_that_bring_a_text_alone_count_and_the_gate_stays_open_over_turns(tmp_path: Path) -> None:
    brought = Answer(calls=(numbers(1, 4000),))
    script = after_crossing(Answer("One."), brought, Answer("Two."), *[Answer("More.")] * 4)
    with Model(*script) as model:
        rows = [dsh_host.plain_logs(tmp_path), row()]
        with dsh_host.conversation(tmp_path, rows, model.url, "session-turns") as say:
            assert [say(f"Turn {number}.") for number in range(1, 7)] == ["completed"] * 6
    # Requests 1 and 2 are the first turn; 3 and 4 the second, whose result requests 4, 5 and 6 hold whole.
    assert len(model.requests) == 8
    held_as = [sent(request, "toolu_3_1") for request in model.requests[3:]]
    assert held_as == [text(1, 4000)] * 3 + [cut(text(1, 4000))] * 2
    request = reopened(tmp_path, row())
    assert sent(request, "toolu_3_1") == cut(text(1, 4000))


def test_the_keys_of_the_row_are_the_gates(tmp_path: Path) -> None:
    """In the host's way of writing and in Python's."""
    script = (
        Answer(calls=(SMALL.calls[0],), tokens=60_000),
        Answer(calls=(SKILL, numbers(1, 4000))),
        SMALL,
        Answer("Done."),
    )
    config = {"latchTokens": 50_000, "keep_views": 1, "thresholdChars": 300, "headChars": 100, "tailChars": 50}
    played = play(tmp_path, script, row(**config, tools=["skill"]))
    whole = sent(played.requests[2], "toolu_2_1")
    assert RULES.strip() in whole
    assert sent(played.requests[3], "toolu_2_1") == whole[:100] + MARKER + whole[-50:]
    assert sent(played.requests[3], "toolu_2_2") == text(1, 4000)


def test_a_gate_in_the_shadow_changes_nothing(tmp_path: Path, plain: Played) -> None:
    played = play(tmp_path, SCRIPT, row(shadow=True))
    assert played.anywhere() == plain.anywhere()
    assert played.replacements == played.prunes == []


def test_large_results_of_unlisted_tools_alone_are_warned_of_once(tmp_path: Path) -> None:
    played = play(tmp_path, SCRIPT, row(tools=["grep"]))
    assert played.replacements == []
    [warning] = warnings(played.stderr)
    assert "bash" in warning


SIDECAR = f"'{sys.executable}' -m toolprune.hosts.dsh.sidecar"

FAULTS = {
    "ends at once": "exit 1",
    "never answers": "exec cat > /dev/null",
    "answers the first message alone": f"head -n 1 | {SIDECAR}; exec cat > /dev/null",
    "answers what is no JSON": "while read -r line; do echo rubbish; done",
    "answers with what is no answer": "while read -r line; do echo '{\"id\": 1}'; done",
    "answers with a number": "while read -r line; do echo 1; done",
    "ends after its first answer": f"head -n 1 | {SIDECAR}",
}
"""What stands in for the Python side, as a shell's script, by what is wrong with it."""


def stand_in(folder: Path, script: str) -> str:
    """A program that is started as the interpreter is."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def assert_nothing_happened(played: Played, plain: Played) -> None:
    """The turn ended as if there were no plugin, but for one sentence, and the session goes on."""
    assert played.anywhere() == plain.anywhere()
    assert played.replacements == played.prunes == []
    assert played.events[-1]["data"]["reason"] == {"kind": "completed"}
    assert len(warnings(played.stderr)) == 1, played.stderr
    assert sent(reopened(played.folder), "toolu_3_1") == DUE["toolu_3_1"]


def test_an_interpreter_that_is_gone_breaks_no_turn(tmp_path: Path, plain: Played) -> None:
    gone = str(tmp_path / "gone")
    played = play(tmp_path, SCRIPT, row(python=gone))
    assert_nothing_happened(played, plain)
    assert gone in played.stderr


@needs_a_shell
@pytest.mark.parametrize("fault", FAULTS)
def test_a_python_side_that_fails_breaks_no_turn(fault: str, tmp_path: Path, plain: Played) -> None:
    played = play(tmp_path, SCRIPT, row(python=stand_in(tmp_path, FAULTS[fault])))
    assert_nothing_happened(played, plain)


def test_a_config_that_cannot_be_used_breaks_no_turn(tmp_path: Path, plain: Played) -> None:
    played = play(tmp_path, SCRIPT, row(latchTokens="many"))
    assert_nothing_happened(played, plain)
    assert "latch_tokens" in played.stderr


def sidecar_but_for(folder: Path, number: int, instead: str) -> str:
    """A Python side that does something before it answers one message; the greeting is the first, step N the N+1st.

    `instead` is a line of Python, and may change `answer`.
    """
    program = folder / "sidecar.py"
    program.write_text(
        "import json, os, pathlib, sys\n"
        "from toolprune.hosts.dsh.sidecar import Sidecar\n"
        "sidecar = Sidecar()\n"
        "for number, line in enumerate(sys.stdin.buffer, 1):\n"
        "    answer = sidecar.answer(line).model_dump()\n"
        f"    if number == {number}:\n"
        f"        {instead}\n"
        "    print(json.dumps(answer), flush=True)\n",
        encoding="utf-8",
    )
    return stand_in(folder, f"exec '{sys.executable}' '{program}'")


@needs_a_shell
def test_the_opening_outlives_a_python_side_that_ends(tmp_path: Path, gated: Played) -> None:
    """It ends at step 5. The next one is told where the latch opened, for no usage is over the line any more."""
    ended = tmp_path / "ended"
    ends = f"path = pathlib.Path({str(ended)!r}); path.exists() or (path.touch(), os._exit(1))"
    played = play(tmp_path, SCRIPT, row(python=sidecar_but_for(tmp_path, 6, ends)))
    assert ended.exists()
    assert len(warnings(played.stderr)) == 1
    assert played.anywhere() == gated.anywhere()


@needs_a_shell
def test_a_step_without_an_answer_counts_once(tmp_path: Path, gated: Played) -> None:
    failure = 'answer = {"id": answer["id"], "error": "not now"}'
    played = play(tmp_path, SCRIPT, row(python=sidecar_but_for(tmp_path, 6, failure)))
    assert played.anywhere() == gated.anywhere()
    [warning] = warnings(played.stderr)
    assert "not now" in warning


@needs_a_shell
def test_a_turn_cancelled_while_the_python_side_decides_leaves_a_session_that_reopens(tmp_path: Path) -> None:
    asked, cancelled = str(tmp_path / "asked"), str(tmp_path / "cancelled")
    waits = (
        f"pathlib.Path({asked!r}).touch(); wait = pathlib.Path({cancelled!r}).exists\n        while not wait(): pass"
    )
    cancel = dsh_host.plugin(dsh_host.PLUGINS / "cancel.js", step=CUT_IN, asked=asked, cancelled=cancelled)
    python = sidecar_but_for(tmp_path, CUT_IN + 1, waits)
    rows = [dsh_host.plain_logs(tmp_path), cancel, row(python=python)]
    with Model(*SCRIPT) as model, dsh_host.conversation(tmp_path, rows, model.url, "session-cancelled") as say:
        assert say("Work.") == "aborted"
    assert len(model.requests) == CUT_IN - 1
    assert dsh_host.events(tmp_path)[-1]["type"] == "turn/end"
    request = reopened(tmp_path, row())
    assert {call: sent(request, call) for call in FROZEN} == FROZEN
