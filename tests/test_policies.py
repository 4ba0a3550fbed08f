"""The rules of `docs/policies.md` about the gate: each test bears the words of the heading that it holds to."""

import copy
import gc
import importlib.util
import json
import logging
import time
import uuid
import weakref
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

import toolprune
from gating import (
    CUT,
    FREEZING,
    HEAD,
    LARGE,
    MARKER,
    OPENING,
    SEEN,
    SMALL,
    TAIL,
    call,
    dumped,
    edits,
    gate,
    prompt,
    prompts,
    shared,
    user,
)
from talk import Call, Message, Response, Result, Results, Step, User, content_of, in_every_dialect, written
from toolprune import DEFAULT_TOOLS, CutConfig, ToolpruneError
from toolprune.cost.meter import HostMeter
from toolprune.dialects import read, recognised

WRAPPER = {"openai-chat": 0, "openai-responses": 0, "anthropic": 4}
"""Tokens around a result's blocks."""

SEEN_IN_THREE_STEPS: list[Step] = [*call("b", "b"), *call("c", "c"), *call("d", "d")]
"""As `SEEN`, without a word of the user."""


def opens(steps: Sequence[Step], dialect: str, overhead: int = 0, **settings: Any) -> bool:
    """Whether the request after these steps, or one before it, opens the gate.

    The probe comes next. It is cut if the gate was open by then; if not, the request that holds it opens the gate, and
    the probe is frozen.
    """
    sent = prompt([*steps, *call("probe", LARGE), *SEEN], dialect, gate(**settings), overhead_tokens=overhead)
    return bool(content_of(sent, "probe") == CUT)


def takes(steps: Sequence[Step], dialect: str, tokens: int, overhead: int = 0, **settings: Any) -> bool:
    """Whether the request after these steps is measured as exactly so many tokens."""
    return opens(steps, dialect, overhead, latch_tokens=tokens, **settings) and not opens(
        steps, dialect, overhead, latch_tokens=tokens + 1, **settings
    )


def contents(sent: Sequence[Sequence[Message]], call_id: str) -> list[Any]:
    """What each prompt holds as the result of a call."""
    return [content_of(each, call_id) for each in sent]


# The latch


@in_every_dialect
def test_the_whole_request_is_measured(dialect: str) -> None:
    wrapper = WRAPPER[dialect]
    said: list[Step] = [
        Response("x" * 4 * 92),  # 4 + 92 + 4 = 100
        User("Go on."),  # 4 + 2 + 4 = 10
        Response(calls=(Call("r", "read"),)),  # 4 + 4 + 1 + 1 = 10
        Results((Result("r", "x" * 4 * (872 - wrapper)),)),  # 4 + 4 + 872 = 880, in every dialect
    ]
    # 99,000 + 100 + 10 + 10 + 880
    assert opens([user(99_000), *said], dialect)
    assert not opens([user(98_999), *said], dialect)


@in_every_dialect
def test_the_line_is_at_100_000_tokens(dialect: str) -> None:
    assert opens([user(100_000)], dialect)
    assert not opens([user(99_999)], dialect)


@in_every_dialect
def test_reaching_the_line_cuts_nothing(dialect: str) -> None:
    # Seen three times before the request that reaches the line: 13 + 2057 tokens and little more until then.
    steps = [*call("r", LARGE), *SEEN, OPENING]
    messages = written(steps, dialect)
    assert gate().apply(messages) is messages


@in_every_dialect
def test_what_is_there_when_the_gate_opens_is_frozen(dialect: str) -> None:
    steps = [user(98_000), *call("there", LARGE), *call("later", LARGE), *SEEN]
    sent = prompt(steps, dialect)
    assert content_of(sent, "there") == LARGE
    assert content_of(sent, "later") == CUT


@in_every_dialect
def test_a_frozen_result_is_never_cut(dialect: str) -> None:
    steps = [*FREEZING, *SEEN, OPENING, *SEEN, *call("r", "r"), *SEEN]
    assert set(contents(prompts(steps, dialect)[1:], "old")) == {LARGE}


@in_every_dialect
def test_below_the_line_a_prompt_only_grows(dialect: str) -> None:
    # 40 calls of 10 tokens with results of 2061 at most: 82,840 tokens.
    sent = prompts([step for n in range(40) for step in call(f"r{n}", LARGE)], dialect)
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    assert set(contents(sent[1:], "r0")) == {LARGE}


@in_every_dialect
def test_once_open_the_gate_stays_open(dialect: str) -> None:
    asked = gate()
    prompts([OPENING], dialect, asked)
    dropped = prompts([User("A summary."), *call("r", LARGE), *SEEN], dialect, asked)
    assert contents(dropped[1:], "r") == [LARGE, LARGE, LARGE, CUT]


@in_every_dialect
def test_a_derived_latch_is_found_again_after_a_restart(dialect: str) -> None:
    steps = [*FREEZING, *call("a", LARGE), *SEEN, *call("b", LARGE), *SEEN]
    lived = prompts(steps, dialect, gate(latch="derived"))[-1]
    restarted = prompt(steps, dialect, gate(latch="derived"))
    assert [content_of(restarted, key) for key in ("old", "a", "b")] == [LARGE, CUT, CUT]
    assert dumped(restarted) == dumped(lived)


@in_every_dialect
def test_a_latch_of_the_process_freezes_anew_after_a_restart(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE), *SEEN]
    assert content_of(prompts(steps, dialect, gate(latch="process"))[-1], "r") == CUT
    restarted = gate(latch="process")
    assert content_of(prompt(steps, dialect, restarted), "r") == LARGE
    later = prompt([*steps, *call("new", LARGE), *SEEN], dialect, restarted)
    assert content_of(later, "r") == LARGE
    # Nobody asked for the request before the new result either, but the gate was open by then.
    assert content_of(later, "new") == CUT
    transcript = read(written(steps, dialect), dialect)
    assert gate(latch="process").decide(transcript) == []
    assert [edit.key for edit in gate().decide(transcript)] == [("r", 0)]


# The gate


@in_every_dialect
def test_every_condition_must_hold(dialect: str) -> None:
    failing = [Call("unlisted", "skill"), Call("short", "read")]
    outputs = [Result("unlisted", LARGE), Result("short", SMALL)]
    steps: list[Step] = [
        *FREEZING,
        Response(calls=(*failing, Call("due", "read"))),
        Results((*outputs, Result("due", LARGE))),
        *SEEN[:2],
        *call("unseen", LARGE),
        *SEEN[:2],
    ]
    sent = prompt(steps, dialect)
    assert [content_of(sent, key) for key in ("old", "unlisted", "short", "unseen")] == [LARGE, LARGE, SMALL, LARGE]
    assert content_of(sent, "due") == CUT


@in_every_dialect
def test_only_what_arrived_after_the_opening_is_cut(dialect: str) -> None:
    steps = [*call("before", LARGE), OPENING, *call("after", LARGE), *SEEN]
    sent = prompt(steps, dialect)
    assert content_of(sent, "before") == LARGE
    assert content_of(sent, "after") == CUT


@in_every_dialect
def test_only_results_are_cut(dialect: str) -> None:
    steps: list[Step] = [
        OPENING,
        User(LARGE),
        Response(LARGE, (Call("r", "read", {"path": LARGE}),)),
        Results((Result("r", "short"),), LARGE),
        *SEEN,
    ]
    messages = written(steps, dialect)
    assert gate().apply(messages) is messages


@in_every_dialect
def test_an_error_is_never_cut(dialect: str) -> None:
    steps: list[Step] = [
        OPENING,
        Response(calls=(Call("r", "read"),)),
        Results((Result("r", LARGE, is_error=True),)),
        *SEEN,
    ]
    # The two OpenAI dialects have no mark for an error.
    assert content_of(prompt(steps, dialect), "r") == (LARGE if dialect == "anthropic" else CUT)


@in_every_dialect
def test_what_is_already_cut_is_not_cut_again(dialect: str) -> None:
    messages = written([OPENING, *call("r", CUT), *SEEN], dialect)
    assert gate(cut=CutConfig(threshold=5159)).apply(messages) is messages


@in_every_dialect
def test_only_the_tools_on_the_list_are_cut(dialect: str) -> None:
    steps = [OPENING, *call("listed", LARGE, "grep"), *call("unlisted", LARGE, "look"), *SEEN]
    sent = prompt(steps, dialect)
    assert content_of(sent, "listed") == CUT
    assert content_of(sent, "unlisted") == LARGE


@in_every_dialect
@pytest.mark.parametrize("character", ["a", "é", "漢", "😀"])
def test_only_more_than_8192_code_points_are_cut(dialect: str, character: str) -> None:
    steps = [OPENING, *call("longer", character * 8193), *call("within", character * 8192), *SEEN]
    sent = prompt(steps, dialect)
    assert content_of(sent, "longer") == character * 4096 + MARKER + character * 1024
    assert content_of(sent, "within") == character * 8192


@in_every_dialect
def test_the_gate_has_no_numbers_of_its_own(dialect: str) -> None:
    config = CutConfig(threshold=60, head=20, tail=10, marker="…")
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 61)))
    blocks = [{"type": "text", "text": text[:7]}, {"type": "text", "text": text[7:]}]
    steps = [OPENING, *call("text", text), *call("blocks", blocks), *SEEN]
    sent = prompt(steps, dialect, gate(cut=config))
    assert content_of(sent, "text") == toolprune.cut(text, config) == text[:20] + "…" + text[-10:]
    left = [block["text"] for block in content_of(sent, "blocks")]
    assert left == [text[:7], text[7:20] + "…" + text[-10:]]
    assert left == [block["text"] for block in toolprune.cut_blocks(blocks, config) or []]


def kept(dialect: str) -> str:
    """What is left of a result that is due, of 20,000 code points that all differ from their neighbours."""
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 20_000)))
    left = content_of(prompt([OPENING, *call("r", text), *SEEN], dialect), "r")
    assert isinstance(left, str)
    return left


@in_every_dialect
def test_the_threshold_is_8192_code_points(dialect: str) -> None:
    assert [edit.code_points_before for edit in edits([OPENING, *call("r", "x" * 8193), *SEEN], dialect)] == [8193]
    assert edits([OPENING, *call("r", "x" * 8192), *SEEN], dialect) == []


@in_every_dialect
def test_the_head_keeps_4096_code_points(dialect: str) -> None:
    left = kept(dialect)
    assert left[:4096] == "".join(map(chr, range(0x4E00, 0x4E00 + 4096)))
    assert left[4096] == "\n"


@in_every_dialect
def test_the_tail_keeps_1024_code_points(dialect: str) -> None:
    left = kept(dialect)
    assert left[-1024:] == "".join(map(chr, range(0x4E00 + 18_976, 0x4E00 + 20_000)))
    assert left[-1025] == "\n"


@in_every_dialect
def test_the_marker_stands_where_the_middle_was(dialect: str) -> None:
    left = kept(dialect)
    assert left[4096:4135] == "\n\n[... tool result middle pruned ...]\n\n"
    assert left.count("pruned") == 1
    assert len(left) == 4096 + 39 + 1024


@in_every_dialect
def test_each_result_is_decided_on_its_own(dialect: str) -> None:
    steps = [*FREEZING, *call("first", LARGE), *call("second", LARGE), *SEEN]
    sent = prompts(steps, dialect)
    assert [content_of(sent[-2], key) for key in ("old", "first", "second")] == [LARGE, CUT, LARGE]
    assert [content_of(sent[-1], key) for key in ("old", "first", "second")] == [LARGE, CUT, CUT]


@in_every_dialect
def test_a_result_within_the_threshold_is_not_counted_cut_or_marked(dialect: str) -> None:
    steps = [OPENING, *call("r", SMALL), *SEEN, *SEEN]
    messages = written(steps, dialect)
    before = copy.deepcopy(messages)
    assert gate().apply(messages) is messages
    assert messages == before


@in_every_dialect
def test_results_that_are_due_together_are_cut_together(dialect: str) -> None:
    steps: list[Step] = [
        OPENING,
        Response(calls=(Call("a", "read"), Call("b", "grep"))),
        Results((Result("a", LARGE), Result("b", LARGE))),
        *SEEN,
    ]
    sent = prompts(steps, dialect)
    assert contents(sent[1:], "a") == [LARGE, LARGE, LARGE, CUT]
    assert contents(sent[1:], "b") == [LARGE, LARGE, LARGE, CUT]


# Views


@in_every_dialect
def test_views_belong_to_one_result_not_to_a_step_or_a_turn(dialect: str) -> None:
    without_a_response = [OPENING, *call("r", LARGE), User("One."), User("Two."), User("Three.")]
    assert content_of(prompt(without_a_response, dialect), "r") == LARGE
    within_a_turn = [OPENING, *call("r", LARGE), *SEEN_IN_THREE_STEPS]
    assert content_of(prompt(within_a_turn, dialect), "r") == CUT


@in_every_dialect
def test_a_request_that_brings_only_text_is_a_view(dialect: str) -> None:
    two = [OPENING, *call("r", LARGE), *call("other", "short"), *call("another", "short")]
    assert content_of(prompt(two, dialect), "r") == LARGE
    assert content_of(prompt([*two, Response("I see."), User("Go on.")], dialect), "r") == CUT


@in_every_dialect
def test_a_result_is_cut_before_its_fourth_request(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE), *SEEN, *SEEN]
    assert contents(prompts(steps, dialect)[1:], "r") == [LARGE, LARGE, LARGE, CUT, CUT, CUT, CUT]


@in_every_dialect
def test_searching_reading_and_editing_see_the_whole_result(dialect: str) -> None:
    steps = [
        OPENING,
        *call("search", LARGE, "grep"),
        *call("file", SMALL, "read"),
        *call("edit", "done", "edit"),
        Response("It is mended."),
        User("Thank you."),
    ]
    decides_to_read, decides_to_edit, reports, afterwards = prompts(steps, dialect)[1:]
    assert contents([decides_to_read, decides_to_edit, reports], "search") == [LARGE, LARGE, LARGE]
    assert content_of(afterwards, "search") == CUT


@in_every_dialect
def test_views_are_derived_and_never_stored(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE), *SEEN]
    asked_before_each = prompts(steps, dialect)
    assert prompt(steps[:-2], dialect) == asked_before_each[-2]
    assert prompt(steps, dialect) == asked_before_each[-1]
    assert contents(asked_before_each[-2:], "r") == [LARGE, CUT]


@in_every_dialect
def test_counting_begins_where_the_result_first_stands(dialect: str) -> None:
    steps = [OPENING, *call("a", LARGE), *call("b", LARGE), *SEEN]
    sent = prompts(steps, dialect)
    assert contents(sent[1:], "a") == [LARGE, LARGE, LARGE, CUT, CUT]
    assert contents(sent[2:], "b") == [LARGE, LARGE, LARGE, CUT]


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_each_response_behind_a_result_is_one_view(dialect: str) -> None:
    two: list[Step] = [OPENING, *call("r", LARGE), Response("One."), Response("Two.")]
    assert content_of(prompt(two, dialect), "r") == LARGE
    assert content_of(prompt([*two, Response("Three.")], dialect), "r") == CUT


@in_every_dialect
def test_the_count_is_written_nowhere(dialect: str) -> None:
    messages = written([OPENING, *call("r", LARGE), *SEEN[:4]], dialect)
    before = dumped(messages)
    assert gate().apply(messages) is messages
    assert dumped(messages) == before


@in_every_dialect
def test_a_resumed_conversation_counts_the_same_views(dialect: str) -> None:
    steps = [*FREEZING, *call("r", LARGE), *SEEN]
    lived = prompts(steps, dialect)
    messages = written(steps, dialect)
    for sent in lived:
        loaded = json.loads(json.dumps(messages[: len(sent)]))
        assert gate().apply(loaded) == sent


@in_every_dialect
def test_a_small_result_takes_no_part_in_the_count(dialect: str) -> None:
    small = [step for n in range(9) for step in call(f"small{n}", SMALL)]
    steps = [OPENING, *small, *call("r", LARGE), *SEEN]
    sent = prompts(steps, dialect)
    assert contents(sent[10:], "r") == [LARGE, LARGE, LARGE, CUT]
    assert content_of(sent[-1], "small0") == SMALL


@in_every_dialect
def test_a_cut_is_within_the_threshold_and_made_once(dialect: str) -> None:
    once = prompt([OPENING, *call("r", LARGE), *SEEN], dialect)
    assert content_of(once, "r") == CUT
    assert gate().apply(once) is once
    assert gate(cut=CutConfig(threshold=5159)).apply(once) is once
    # Nothing but its length tells it: with a lower threshold it is a result like any other.
    lower = gate(cut=CutConfig(threshold=5158, head=1000, tail=1000))
    assert content_of(lower.apply(once), "r") == "h" * 1000 + MARKER + "t" * 1000


def test_a_run_of_model_items_is_one_response() -> None:
    # A reasoning item, a text and a call came from one response: three runs are three views, and two are two.
    thought: Message = {"type": "reasoning", "id": "x", "summary": []}
    run: list[Message] = [thought, *written([Response("I look.", (Call("small", "read"),))], "openai-responses")]
    output = written([Results((Result("small", "short"),))], "openai-responses")
    messages = written([OPENING, *call("r", LARGE)], "openai-responses")
    two = [*messages, *run, *output, *run, *output]
    assert gate().apply(two) is two
    assert content_of(gate().apply([*two, *run, *output]), "r") == CUT


def test_what_stands_in_the_midst_of_a_response_does_not_end_it() -> None:
    def run(between: Message) -> list[Message]:
        called = written([Response("I look.", (Call("small", "read"),))], "openai-responses")
        return [between, called[0], between, called[1], between, *written([Results((Result("small", "s"),))], dialect)]

    dialect = "openai-responses"
    messages = written([OPENING, *call("r", LARGE)], dialect)
    for kind in ("tool_search_output", "program_output", "compaction", "item_reference", "configuration_update"):
        between = {"type": kind, "id": "x_1"}
        two = [*messages, *run(between), *run(between), between]
        assert gate().apply(two) is two
        assert content_of(gate().apply([*two, *run(between)]), "r") == CUT
    # What the host returned ends a response: here each run is two.
    returned = {"type": "computer_call_output", "call_id": "c", "output": {}}
    assert content_of(gate().apply([*messages, *run(returned), *run(returned)]), "r") == CUT


@in_every_dialect
def test_a_failed_attempt_is_no_view(dialect: str) -> None:
    asked = gate()
    messages = written([OPENING, *call("r", LARGE)], dialect)
    for _ in range(5):
        assert asked.apply(messages) is messages


# The tool list


def is_cut(tool: str, dialect: str, **settings: Any) -> bool:
    """Whether a result of this tool that meets all other conditions is cut."""
    return bool(content_of(prompt([OPENING, *call("r", LARGE, tool), *SEEN], dialect, gate(**settings)), "r") == CUT)


@in_every_dialect
@pytest.mark.parametrize("tool", ["read", "glob", "grep", "bash"])
def test_read_glob_grep_and_bash_are_on_the_list(tool: str, dialect: str) -> None:
    assert is_cut(tool, dialect)


@in_every_dialect
@pytest.mark.parametrize("tool", ["web_search", "web_fetch"])
def test_web_search_and_web_fetch_are_on_the_list(tool: str, dialect: str) -> None:
    assert is_cut(tool, dialect)


@in_every_dialect
@pytest.mark.parametrize("tool", ["mcp__browser-mcp__web_search", "mcp__browser-mcp__fetch_page"])
def test_the_browser_s_search_and_page_fetch_are_on_the_list(tool: str, dialect: str) -> None:
    assert is_cut(tool, dialect)


def test_the_same_tools_of_other_agents_are_on_the_list() -> None:
    claude_code = {"Read", "Glob", "Grep", "Bash", "WebSearch", "WebFetch"}
    others = {"shell", "exec_command", "read_file", "execute"}
    for tool in claude_code | others:
        assert is_cut(tool, "anthropic")
    harness = {"read", "glob", "grep", "bash", "web_search", "web_fetch"}
    browser = {"mcp__browser-mcp__web_search", "mcp__browser-mcp__fetch_page"}
    assert claude_code | others | harness | browser == DEFAULT_TOOLS


@in_every_dialect
def test_a_skill_is_not_on_the_list(dialect: str) -> None:
    assert not is_cut("skill", dialect)


@in_every_dialect
@pytest.mark.parametrize("tool", ["write", "edit"])
def test_write_and_edit_are_not_on_the_list(tool: str, dialect: str) -> None:
    assert not is_cut(tool, dialect)


@in_every_dialect
@pytest.mark.parametrize(
    "tool",
    [
        *("ask_user", "subagent", "send_file", "enable_mcp"),
        *("mcp__browser-mcp__click", "mcp__omnicore__run", "nobody_knows", "READ"),
    ],
)
def test_tools_that_act_or_ask_are_not_on_the_list(tool: str, dialect: str) -> None:
    assert not is_cut(tool, dialect)


@in_every_dialect
def test_what_the_user_says_is_never_cut(dialect: str) -> None:
    steps: list[Step] = [OPENING, Response(calls=(Call("r", "read"),)), Results((Result("r", LARGE),), LARGE), *SEEN]
    messages = written(steps, dialect)
    sent = gate().apply(messages)
    assert sent[0] is messages[0]
    # In Anthropic's messages the user's words stand beside the result, in the others behind it.
    if dialect == "anthropic":
        assert sent[2]["content"][1] == {"type": "text", "text": LARGE}
    else:
        assert sent[3] == {"role": "user", "content": LARGE}


@in_every_dialect
def test_what_the_model_says_is_never_cut(dialect: str) -> None:
    steps: list[Step] = [OPENING, *call("r", LARGE), Response(LARGE), User("Go on."), *SEEN]
    messages = written(steps, dialect)
    sent = gate().apply(messages)
    assert content_of(sent, "r") == CUT
    assert sent[3] is messages[3]
    assert LARGE in dumped([sent[3]])


@in_every_dialect
def test_a_call_is_never_cut(dialect: str) -> None:
    calls = (Call("r", "bash", {"command": LARGE}),)
    steps: list[Step] = [OPENING, Response(calls=calls), Results((Result("r", LARGE),)), *SEEN]
    messages = written(steps, dialect)
    sent = gate().apply(messages)
    assert content_of(sent, "r") == CUT
    assert sent[1] is messages[1]
    assert LARGE in dumped([sent[1]])


@in_every_dialect
def test_only_the_text_of_a_result_is_replaced(dialect: str) -> None:
    messages = written([OPENING, *call("r", LARGE), *SEEN], dialect)
    messages[2]["metadata"] = {"kept": [1.0, None]}
    expected = json.loads(json.dumps(messages).replace(json.dumps(LARGE), json.dumps(CUT)))
    sent = gate().apply(messages)
    assert sent == expected
    assert [list(message) for message in sent] == [list(message) for message in messages]


@in_every_dialect
def test_the_list_that_was_passed_in_keeps_every_original(dialect: str) -> None:
    blocks = [{"type": "text", "text": HEAD}, {"type": "text", "text": LARGE}]
    messages = written([OPENING, *call("text", LARGE), *call("blocks", blocks), *SEEN], dialect)
    before = copy.deepcopy(messages)
    sent = gate().apply(messages)
    assert messages == before
    assert content_of(sent, "text") == CUT
    assert content_of(sent, "blocks") != content_of(messages, "blocks")


@in_every_dialect
def test_another_list_of_tools_may_be_given(dialect: str) -> None:
    assert is_cut("look", dialect, tools={"look"})
    assert is_cut("look", dialect, tools=["look"])
    assert not is_cut("read", dialect, tools={"look"})
    assert is_cut("look", dialect, tools=lambda name: name.startswith("lo"))
    assert not is_cut("read", dialect, tools=lambda name: name.startswith("lo"))
    assert is_cut("look", dialect, tools="*")
    assert is_cut("skill", dialect, tools="*")
    for restoring in ("expand", "read_tool_result_log"):
        assert not is_cut(restoring, dialect, tools="*")
        assert not is_cut(restoring, dialect, tools={restoring})


@in_every_dialect
def test_a_result_without_a_call_is_never_cut(dialect: str) -> None:
    steps: list[Step] = [OPENING, Response("I look."), Results((Result("r", LARGE),)), *SEEN]
    messages = written(steps, dialect)
    assert gate().apply(messages) is messages
    assert gate(tools=lambda name: True).apply(messages) is messages
    assert gate(tools="*").apply(messages) is messages
    # In chat its own name says the tool, in the others it says nothing.
    named = [{**message, "name": "read"} if LARGE in dumped([message]) else message for message in messages]
    assert content_of(gate().apply(named), "r") == (CUT if dialect == "openai-chat" else LARGE)
    called = written([OPENING, *call("r", LARGE, "skill"), *SEEN], dialect)
    called[2]["name"] = "read"
    assert gate().apply(called) is called


@in_every_dialect
def test_a_warning_names_the_tools_that_are_not_listed(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    steps = [OPENING, *call("a", LARGE, "look_up"), *call("b", LARGE, "crm__find"), *SEEN]
    asked = gate()
    with caplog.at_level(logging.WARNING, logger="toolprune"):
        prompt(steps, dialect, asked)
        prompt([*steps, *SEEN], dialect, asked)
    (warning,) = caplog.records
    assert (warning.name, warning.levelname) == ("toolprune", "WARNING")
    for words in ("look_up", "crm__find", "tools="):
        assert words in warning.getMessage()
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="toolprune"):
        prompt([*steps, *call("c", LARGE, "read")], dialect)
        prompt([user(90_000), *call("a", LARGE, "look_up"), *SEEN], dialect)
        prompt([OPENING, *call("a", LARGE, "skill"), *SEEN], dialect)
    assert caplog.records == []


# Before every request


@in_every_dialect
def test_the_gate_is_asked_before_every_request(dialect: str) -> None:
    steps = [*FREEZING, *call("r", LARGE), Response("Only text."), User("Go on."), *SEEN]
    sent = prompts(steps, dialect)
    messages = written(steps, dialect)
    seldom = gate()
    for index in (1, 4, 6):
        assert seldom.apply(messages[: len(sent[index])]) == sent[index]
    assert content_of(sent[6], "r") == CUT


@in_every_dialect
def test_under_the_line_the_list_comes_back_as_it_was(dialect: str) -> None:
    messages = written([*call("r", LARGE), *SEEN, *SEEN], dialect)
    assert gate().apply(messages) is messages


@in_every_dialect
def test_the_request_that_reaches_the_line_goes_out_whole(dialect: str) -> None:
    asked = gate()
    steps = [user(94_000), *call("a", LARGE), *call("b", LARGE), *SEEN[:4]]
    prompts(steps, dialect, asked)
    # 94,000 + 2 x 2067 and little more until here; with 4,000 more the line is reached.
    messages = written([*steps, user(4_000)], dialect)
    assert asked.apply(messages) is messages
    settled = prompt([*steps, user(4_000), *call("c", LARGE), *SEEN], dialect, asked)
    assert [content_of(settled, key) for key in ("a", "b", "c")] == [LARGE, LARGE, CUT]


@in_every_dialect
def test_behind_the_line_every_due_result_is_cut(dialect: str) -> None:
    steps = [*FREEZING, *(step for n in range(7) for step in call(f"r{n}", LARGE))]
    sent = prompt(steps, dialect)
    # Six responses follow r0, five r1, and so on; three are behind r3.
    assert [content_of(sent, f"r{n}") for n in range(7)] == [CUT] * 4 + [LARGE] * 3
    assert content_of(sent, "old") == LARGE


@in_every_dialect
def test_the_host_s_compaction_runs_after_the_gate(dialect: str) -> None:
    asked = gate()
    steps = [OPENING, *call("r", LARGE), *SEEN]
    sent = prompts(steps, dialect, asked)[-1]
    assert content_of(sent, "r") == CUT
    compacted = [*written([User("A summary of all that was said.")], dialect), *sent[-2:]]
    assert asked.apply(compacted) is compacted
    continued = [*compacted, *written([*call("new", LARGE), *SEEN], dialect)]
    assert content_of(asked.apply(continued), "new") == CUT


@in_every_dialect
def test_the_host_s_own_pruner_may_run_too(dialect: str) -> None:
    asked = gate()
    steps: list[Step] = [*FREEZING, *call("a", LARGE), *call("b", LARGE)]
    prompts(steps, dialect, asked)
    pruned: list[Step] = [user(98_000), *call("old", CUT), *call("a", "[gone]"), *call("b", LARGE), *SEEN]
    sent = prompt(pruned, dialect, asked)
    assert [content_of(sent, key) for key in ("old", "a", "b")] == [CUT, "[gone]", CUT]


# The cache


@in_every_dialect
def test_before_the_line_the_history_is_never_changed(dialect: str) -> None:
    asked = gate()
    messages = written([step for n in range(40) for step in call(f"r{n}", LARGE)], dialect)
    for held in range(len(messages) + 1):
        passed = messages[:held]
        assert asked.apply(passed) is passed


@in_every_dialect
def test_opening_changes_no_byte(dialect: str) -> None:
    messages = written([*FREEZING, *SEEN], dialect)
    before = dumped(messages)
    asked = gate()
    assert dumped(asked.apply(messages[:1])) == dumped(messages[:1])
    assert dumped(asked.apply(messages[:3])) == dumped(messages[:3])
    assert dumped(asked.apply(messages)) == before


@in_every_dialect
def test_the_first_cut_breaks_the_prefix_at_the_result_that_is_cut(dialect: str) -> None:
    sent = prompts([*FREEZING, *call("r", LARGE), *SEEN], dialect)
    broken = [shared(before, after) < len(before) for before, after in pairwise(sent)]
    assert broken == [False, False, False, False, True]
    # 98,000 tokens, two calls and two results: the fifth message is the result.
    assert shared(sent[4], sent[5]) == 4
    assert content_of(sent[5][4:5], "r") == CUT


@in_every_dialect
def test_counting_breaks_no_prefix(dialect: str) -> None:
    counted = [step for n in range(9) for step in call(f"small{n}", SMALL)]
    sent = prompts([OPENING, *counted, *call("r", LARGE), *SEEN[:4]], dialect)
    for before, after in pairwise(sent):
        assert dumped(after[: len(before)]) == dumped(before)


# Message lists


@in_every_dialect
def test_three_dialects_are_read(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE), *SEEN]
    assert content_of(prompt(steps, dialect), "r") == CUT
    messages = written(steps, dialect)
    named = gate().apply(messages, dialect=dialect)
    assert named == gate().apply(messages)


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("openai-chat", {"role": "tool", "tool_call_id": "a", "content": "x"}),
        ("openai-chat", {"role": "function", "name": "read", "content": "x"}),
        ("openai-chat", {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function"}]}),
        ("openai-responses", {"type": "reasoning", "summary": []}),
        ("openai-responses", {"type": "something_new"}),
        ("openai-responses", {"id": "msg_1"}),
        ("openai-responses", {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
        ("openai-responses", {"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}),
        *[
            ("anthropic", {"role": "assistant", "content": [{"type": kind, "id": "a", "name": "x", "input": {}}]})
            for kind in ("tool_use", "server_tool_use", "mcp_tool_use")
        ],
        ("anthropic", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}),
    ],
)
def test_a_dialect_is_told_by_what_it_alone_has(dialect: str, message: Message) -> None:
    plain: list[Message] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "source": {}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": ""}]},
    ]
    found = recognised([*plain, message])
    assert found is not None
    assert found.name == dialect
    assert recognised([*plain, {"type": "human", "content": "hi"}, {"type": "ai", "content": "hi"}]) is None


def test_a_dialect_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="openai-chat") as refused:
        gate().apply([], dialect="openai_chat")
    assert isinstance(refused.value, ToolpruneError)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("given", "name"), [(None, "None"), ("hello", "hello"), ({"role": "user"}, "role"), (3, "3")])
def test_messages_that_are_no_list_are_refused(given: Any, name: str) -> None:
    with pytest.raises(TypeError, match="list of messages") as refused:
        gate().apply(given)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


@in_every_dialect
@pytest.mark.parametrize(
    ("refused", "kind"),
    [
        (None, "NoneType"),
        ("hi", "str"),
        (7, "int"),
        ({"content": "hi"}, "dict"),
        ({"role": "user", "content": 7}, "dict"),
        ({"role": "user", "content": iter([])}, "dict"),
        ({"role": "critic"}, "dict"),
        ({"role": "model", "parts": [{"text": "hi"}]}, "dict"),
        ({"role": "user", "content": [{"text": "hi"}]}, "dict"),
        ({"role": "assistant", "content": [{"toolUse": {"toolUseId": "a"}}]}, "dict"),
        (SimpleNamespace(type="human", content="hi", id="run-1"), "SimpleNamespace"),
        (SimpleNamespace(type="ai", content="hi", tool_calls=[], id="run-1"), "SimpleNamespace"),
        (SimpleNamespace(type="tool", content="hi", tool_call_id="r"), "SimpleNamespace"),
    ],
)
def test_what_no_dialect_has_is_refused(dialect: str, refused: Any, kind: str) -> None:
    messages: list[Any] = [*written([OPENING, *call("r", LARGE)], dialect), refused]
    for name in (None, dialect):
        with pytest.raises(ToolpruneError, match=rf"^messages\[3\], a {kind}, cannot be read as {dialect}: ") as caught:
            gate().apply(messages, dialect=name)
        assert isinstance(caught.value, ValueError)
        assert "\n" not in str(caught.value)
    # A role that is not known is the user's where it says something.
    said = [*messages[:3], {"role": "critic", "content": LARGE}, *written(SEEN, dialect)]
    sent = gate().apply(said)
    assert content_of(sent[:3], "r") == CUT
    assert sent[3] is said[3]
    # A result of a chat is one nowhere else.
    for role in ("tool", "function"):
        chat = [*messages[:3], {"role": role, "tool_call_id": "q", "name": "read", "content": LARGE}]
        if dialect == "openai-chat":
            assert content_of(gate().apply([*chat, *written(SEEN, dialect)])[:3], "r") == CUT
            assert gate().apply([*chat, *written(SEEN, dialect)])[3]["content"] == CUT
        else:
            with pytest.raises(ToolpruneError, match=rf"^messages\[3\], a dict, cannot be read as {dialect}: "):
                gate().apply(chat)


@pytest.mark.parametrize(
    ("dialect", "returned"),
    [
        ("openai-responses", {"type": "tool_search_output", "id": "x_1", "call_id": "r", "output": LARGE}),
        ("openai-responses", {"type": "shell_call_output", "id": "x_1", "call_id": "r", "output": LARGE}),
        ("openai-responses", {"type": "shell_call_output", "call_id": "r", "output": LARGE}),
        ("openai-responses", {"type": "computer_call_output", "call_id": "r", "output": LARGE}),
        ("anthropic", {"type": "web_search_tool_result", "tool_use_id": "r", "content": LARGE}),
        ("anthropic", {"type": "mcp_tool_result", "tool_use_id": "r", "content": [{"type": "text", "text": LARGE}]}),
        ("anthropic", {"type": "tool_result", "tool_use_id": "r", "content": LARGE}),
    ],
)
def test_a_result_is_what_the_host_s_own_tools_returned(dialect: str, returned: Message) -> None:
    # Anthropic's stand beside the model's words.
    message = {"role": "assistant", "content": [returned]} if dialect == "anthropic" else returned
    called = written([Response(calls=(Call("r", "read"),))], dialect)
    messages = [*written([OPENING], dialect), *called, message, *written(SEEN, dialect)]
    assert read(messages, dialect).results == []
    assert gate(tools="*").apply(messages) is messages
    # It counts towards the line all the same: of 2,000 tokens it has more, and without it q is what reaches them.
    more = written([*call("q", LARGE), *SEEN], dialect)
    assert content_of(gate(latch_tokens=2_000).apply([*called, message, *written(SEEN, dialect), *more]), "q") == CUT
    assert content_of(gate(latch_tokens=2_000).apply([*called, *written(SEEN, dialect), *more]), "q") == LARGE


@in_every_dialect
def test_a_result_is_known_by_its_call_id_and_its_occurrence(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE), *call("r", LARGE + "!"), *call("q", LARGE), *SEEN]
    told = [(edit.key, edit.tool, edit.code_points_before, edit.code_points_after) for edit in edits(steps, dialect)]
    assert told == [
        (("r", 0), "read", 8193, 5159),
        (("r", 1), "read", 8194, 5159),
        (("q", 0), "read", 8193, 5159),
    ]


@in_every_dialect
def test_a_result_may_be_a_text_or_a_list_of_blocks(dialect: str) -> None:
    kind = "input_text" if dialect == "openai-responses" else "text"
    blocks = [{"type": "text", "text": HEAD}, {"type": "text", "text": "m" * 3073}, {"type": "text", "text": TAIL}]
    sent = prompt([OPENING, *call("text", LARGE), *call("blocks", blocks), *SEEN], dialect)
    assert content_of(sent, "text") == HEAD + MARKER + TAIL
    # The head ends with the first block, so the marker goes into the second, of which nothing else is left.
    left = [{"type": kind, "text": text} for text in (HEAD, MARKER, TAIL)]
    assert content_of(sent, "blocks") == left


class Sdk(BaseModel):
    """What an SDK returns: attributes instead of keys."""

    model_config = ConfigDict(extra="allow")


SDK: dict[str, Any] = {
    "openai-chat": Sdk(
        role="assistant",
        content=None,
        tool_calls=[Sdk(id="r", type="function", function=Sdk(name="read", arguments="{}"))],
    ),
    "openai-responses": Sdk(type="function_call", call_id="r", name="read", arguments="{}"),
    "anthropic": {"role": "assistant", "content": [Sdk(type="tool_use", id="r", name="read", input={})]},
}


@in_every_dialect
def test_messages_of_an_sdk_are_read_as_they_are(dialect: str) -> None:
    messages: list[Any] = written([OPENING, *call("r", LARGE), *SEEN], dialect)
    messages[1] = SDK[dialect]
    sent = gate().apply(messages)
    assert sent[1] is messages[1]
    assert content_of(sent[2:3], "r") == CUT
    # The blocks of a result become dicts when it is cut, and not before.
    kind = "input_text" if dialect == "openai-responses" else "text"
    holder = messages[2]["content"][0] if dialect == "anthropic" else messages[2]
    holder["output" if dialect == "openai-responses" else "content"] = [Sdk(type=kind, text=LARGE)]
    whole = messages[:-2]
    assert gate().apply(whole) is whole
    assert content_of(gate().apply(messages)[2:3], "r") == [{"type": kind, "text": CUT}]
    assert content_of(messages[2:3], "r") == [Sdk(type=kind, text=LARGE)]


@in_every_dialect
def test_untouched_messages_are_the_same_objects(dialect: str) -> None:
    messages = written([*FREEZING, *call("r", LARGE), *SEEN], dialect)
    sent = gate().apply(messages)
    assert [new is old for new, old in zip(sent, messages, strict=True)] == [True] * 4 + [False] + [True] * 6


@in_every_dialect
def test_calls_ids_order_and_every_other_field_stay(dialect: str) -> None:
    steps: list[Step] = [
        OPENING,
        Response("Both.", (Call("a", "read", {"path": "é"}), Call("b", "grep", {"n": 1.0}))),
        Results((Result("a", LARGE), Result("b", LARGE))),
        *SEEN,
    ]
    messages = written(steps, dialect)
    for message in messages:
        message["x_unknown"] = {"order": [3, 1, 2]}
    if dialect == "anthropic":
        messages[2]["content"][1]["cache_control"] = {"type": "ephemeral"}
    sent = gate().apply(messages)
    assert content_of(sent, "a") == content_of(sent, "b") == CUT
    assert json.dumps(list(sent)).replace(json.dumps(CUT), json.dumps(LARGE)) == json.dumps(messages)


# Meters


@in_every_dialect
def test_a_text_is_a_quarter_of_its_utf_16_units_and_four_more(dialect: str) -> None:
    assert takes([User("abcde")], dialect, 2 + 4 + 4)
    assert takes([User("abcd")], dialect, 1 + 4 + 4)
    # Five emoji are ten units: neither five code points nor twenty bytes.
    assert takes([User("😀" * 5)], dialect, 3 + 4 + 4)
    assert takes([User("漢" * 5)], dialect, 2 + 4 + 4)
    assert takes([User("abcde"), User("abcde")], dialect, 20)


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_a_call_is_its_name_its_arguments_and_four_more(dialect: str) -> None:
    # `grep_` is 5 units, `{"path": "a"}` as the model wrote it is 13: 2 + 4 + 4, in a message of 4.
    called: list[Step] = [Response(calls=(Call("r", "grep_", {"path": "a"}),)), Results((Result("r", "ok"),))]
    assert takes([User("abcd"), *called], dialect, 9 + (4 + 2 + 4 + 4) + (4 + 1 + 4))
    # A second call in the same chat message has no message of its own; in the Responses dialect each is an item.
    twice: list[Step] = [
        Response(calls=(Call("r", "grep_", {"path": "a"}), Call("q", "read"))),
        Results((Result("r", "ok"), Result("q", "ok"))),
    ]
    more = 10 if dialect == "openai-responses" else 6
    assert takes([User("abcd"), *twice], dialect, 9 + 14 + more + 9 + 9)


@in_every_dialect
def test_a_result_is_wrapped_in_anthropic_s_messages_alone(dialect: str) -> None:
    told = [User("abcd"), *call("r", "abcde")]
    assert takes(told, dialect, 9 + 10 + (4 + 2 + 4) + WRAPPER[dialect])
    blocks = [{"type": "text", "text": "abcde"}, {"type": "text", "text": "abcd"}]
    assert takes([User("abcd"), *call("r", blocks)], dialect, 9 + 10 + (4 + 2 + 4 + 1 + 4) + WRAPPER[dialect])


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_a_block_that_is_no_text_is_a_quarter_of_its_json_and_four_more(dialect: str) -> None:
    # Its JSON has 28 + 1201 = 1229 characters without spaces and 1232 with them: a quarter is 308 either way.
    image = {"type": "image", "source": "a" * 1201}
    assert len(json.dumps(image, separators=(",", ":"))) == 1229
    for each in (image, {**image, "cache_control": {"type": "ephemeral"}}):
        told = [User("abcd"), *call("r", [{"type": "text", "text": "abcde"}, each])]
        assert takes(told, dialect, 9 + 10 + (4 + 2 + 4 + 308 + 4) + WRAPPER[dialect])


@in_every_dialect
def test_overhead_is_added_to_every_request(dialect: str) -> None:
    assert takes([User("abcde")], dialect, 5_010, overhead=5_000)
    # It counts in past requests too: the first one, of 99,000 and 1,000 tokens, opened the gate.
    steps = [user(99_000), *call("r", LARGE), *SEEN]
    assert content_of(prompt(steps, dialect, overhead_tokens=1_000), "r") == CUT
    assert content_of(prompt(steps, dialect, overhead_tokens=999), "r") == LARGE


@in_every_dialect
def test_each_request_is_measured_with_the_overhead_given_for_it(dialect: str) -> None:
    # 90,000 + 10 + 2,057 and little more: with 12,000 the sixth request reaches the line, and none before it.
    steps = [user(90_000), *call("r", LARGE), *SEEN, Response("Noted."), User("Go on.")]
    asked = gate()
    for earlier in (steps[:1], steps[:3], steps[:5], steps[:7], steps[:9]):
        prompt(earlier, dialect, asked, overhead_tokens=0)
    messages = written(steps, dialect)
    assert asked.apply(messages, overhead_tokens=12_000) is messages
    # It froze r, which four requests have held, and the gate stays open with less overhead.
    later = [*steps, *call("q", LARGE), *SEEN]
    assert [content_of(prompt(later, dialect, asked), key) for key in "rq"] == [LARGE, CUT]
    # A gate that starts anew takes the overhead for that of each request: the first would have opened it.
    anew = prompt(later, dialect, overhead_tokens=12_000)
    assert [content_of(anew, key) for key in "rq"] == [CUT, CUT]
    # The other way round: open stays open.
    asked, steps = gate(), [user(90_000), *call("r", LARGE), *SEEN]
    prompt(steps[:1], dialect, asked, overhead_tokens=12_000)
    sent = [prompt(steps[:held], dialect, asked, overhead_tokens=0) for held in (3, 5, 7, 9)]
    assert contents(sent, "r") == [LARGE, LARGE, LARGE, CUT]


USAGE_OF_500: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "prompt_tokens": 480,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 400},
    },
    "openai-responses": {
        "input_tokens": 480,
        "output_tokens": 20,
        "input_tokens_details": {"cached_tokens": 400},
    },
    "anthropic": {
        "input_tokens": 30,
        "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 50,
        "output_tokens": 20,
    },
}

STUB: dict[str, dict[str, Any]] = {
    "openai-chat": {"prompt_tokens": 3, "completion_tokens": 1},
    "openai-responses": {"input_tokens": 3, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 0}},
    "anthropic": {"input_tokens": 3, "output_tokens": 1},
}


def reported(usage: dict[str, Any]) -> list[Step]:
    """9 and 10 tokens through a response with this usage, and a result of 9, or 13 in Anthropic's messages."""
    return [User("abcd"), Response(calls=(Call("r", "read"),), usage=usage), Results((Result("r", "abcd"),))]


@in_every_dialect
def test_usage_counts_where_it_is_at_least_the_estimate(dialect: str) -> None:
    steps = reported(USAGE_OF_500[dialect])
    assert takes(steps, dialect, 500 + 9 + WRAPPER[dialect])
    # The provider counted system prompt and tools: what the estimate adds for them is in the usage.
    assert takes(steps, dialect, 500 + 9 + WRAPPER[dialect], overhead=481)
    assert takes(steps, dialect, 19 + 482 + 9 + WRAPPER[dialect], overhead=482)


@in_every_dialect
def test_usage_below_the_estimate_is_passed_over(dialect: str) -> None:
    assert takes(reported(STUB[dialect]), dialect, 9 + 10 + 9 + WRAPPER[dialect])


@in_every_dialect
def test_cached_input_is_counted_once(dialect: str) -> None:
    # 480 + 20 in OpenAI's words, where 400 of the 480 were cached; 30 + 400 + 50 + 20 in Anthropic's.
    assert takes(reported(USAGE_OF_500[dialect]), dialect, 500 + 9 + WRAPPER[dialect])


@in_every_dialect
def test_the_host_meter_passes_usage_over(dialect: str) -> None:
    assert takes(reported(USAGE_OF_500[dialect]), dialect, 9 + 10 + 9 + WRAPPER[dialect], meter="host")


def test_an_exact_count_needs_its_vocabulary_on_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(ToolpruneError) as refused:
        gate(meter="tiktoken:cl100k_base")
    # The name of the file is tiktoken's own, the SHA-1 of where it would fetch the vocabulary.
    installed = importlib.util.find_spec("tiktoken") is not None
    words = ("TIKTOKEN_CACHE_DIR", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4") if installed else ("pip install",)
    for each in words:
        assert each in str(refused.value)
    assert list(tmp_path.iterdir()) == []


# Memory of a conversation


@in_every_dialect
def test_a_gate_without_a_session_holds_one_conversation(dialect: str) -> None:
    asked = gate()
    prompt([OPENING], dialect, asked)
    assert content_of(prompt([*call("r", LARGE), *SEEN], dialect, asked), "r") == CUT


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("a", "".join(["a"]), "b"),
        (1, 1, 2),
        (uuid.UUID(int=1), uuid.UUID(int=1), uuid.UUID(int=2)),
        (("user", 1), ("user", 1), ("user", 2)),
    ],
)
def test_each_session_has_a_memory_of_its_own(one: Any, same: Any, other: Any) -> None:
    asked = gate()
    prompt([OPENING], "openai-chat", asked, session=one)
    steps = [*call("r", LARGE), *SEEN]
    assert content_of(prompt(steps, "openai-chat", asked, session=other), "r") == LARGE
    assert content_of(prompt(steps, "openai-chat", asked), "r") == LARGE
    assert content_of(prompt(steps, "openai-chat", asked, session=same), "r") == CUT


def test_an_object_as_session_is_not_kept_alive() -> None:
    class Session:
        pass

    asked, session, other = gate(), Session(), Session()
    prompt([OPENING], "openai-chat", asked, session=session)
    steps = [*call("r", LARGE), *SEEN]
    assert content_of(prompt(steps, "openai-chat", asked, session=other), "r") == LARGE
    assert content_of(prompt(steps, "openai-chat", asked, session=session), "r") == CUT
    held = weakref.ref(session)
    del session
    gc.collect()
    assert held() is None


def test_the_session_longest_unused_is_forgotten_first() -> None:
    asked = gate(sessions=2)
    steps = [*call("r", LARGE), *SEEN]
    for session in ("a", "b"):
        prompt([OPENING], "openai-chat", asked, session=session)
    prompt([OPENING], "openai-chat", asked, session="a")
    prompt([OPENING], "openai-chat", asked, session="c")
    assert content_of(prompt(steps, "openai-chat", asked, session="a"), "r") == CUT
    assert content_of(prompt(steps, "openai-chat", asked, session="c"), "r") == CUT
    assert content_of(prompt(steps, "openai-chat", asked, session="b"), "r") == LARGE
    # It has the derived latch to find its opening.
    assert content_of(prompt([OPENING, *steps], "openai-chat", asked, session="b"), "r") == CUT


@in_every_dialect
def test_open_stays_open_when_the_host_trims_its_list(dialect: str) -> None:
    asked = gate()
    steps = [OPENING, *call("small", "s"), *call("r", LARGE), *SEEN]
    prompts(steps[:5], dialect, asked)
    trimmed = steps[3:]
    assert content_of(prompt(trimmed, dialect, asked), "r") == CUT
    assert content_of(prompt(trimmed, dialect), "r") == LARGE


@in_every_dialect
def test_a_cut_result_stays_cut_when_the_host_trims_its_list(dialect: str) -> None:
    asked = gate()
    steps = [OPENING, *call("r", LARGE), *SEEN]
    assert content_of(prompts(steps, dialect, asked)[-1], "r") == CUT
    # One response is left behind it.
    trimmed = [*steps[1:3], *SEEN[:2]]
    assert content_of(prompt(trimmed, dialect, asked), "r") == CUT


@in_every_dialect
def test_a_frozen_result_stays_frozen_when_the_host_trims_its_list(dialect: str) -> None:
    asked = gate()
    steps = [*FREEZING, *SEEN]
    prompts(steps, dialect, asked)
    trimmed = [*steps[1:], *SEEN]
    messages = written(trimmed, dialect)
    assert asked.apply(messages) is messages


@in_every_dialect
def test_a_list_that_does_not_go_on_is_read_anew(dialect: str) -> None:
    asked = gate()
    steps = [OPENING, *call("r", LARGE), *SEEN]
    prompts(steps, dialect, asked)
    rewound = [*steps[:3], User("Another way."), *call("r", LARGE + "!"), *SEEN]
    # The first r was cut and stays so. The second has its id and is new: requests 2 to 4 hold it whole.
    messages = written(rewound, dialect)
    lengths = [len(messages) - more for more in (6, 4, 2, 0)]
    sent = [asked.apply(messages[:length]) for length in lengths]
    assert [content_of(each, "r", 0) for each in sent] == [CUT] * 4
    assert [content_of(each, "r", 1) for each in sent] == [LARGE + "!"] * 3 + [HEAD + MARKER + "t" * 1023 + "!"]


@in_every_dialect
@pytest.mark.parametrize("call_id", ["1", ""])
def test_what_the_model_asked_for_again_is_whole_again(dialect: str, call_id: str) -> None:
    asked = gate()
    steps = [OPENING, *call(call_id, LARGE), *call(call_id, LARGE + "!"), *SEEN]
    sent = prompts(steps, dialect, asked)[-1]
    assert content_of(sent, call_id) == CUT
    # The host summarised all of it, counts its ids anew, and the model reads the same file.
    again: list[Step] = [User("A summary."), *call(call_id, LARGE), *SEEN]
    assert contents(prompts(again, dialect, asked)[1:], call_id) == [LARGE, LARGE, LARGE, CUT]
    # Rewound, it stands behind the same two messages, and is the one that was cut.
    assert content_of(prompt(steps[:3], dialect, asked), call_id) == CUT


@in_every_dialect
@pytest.mark.parametrize("call_id", ["r", ""])
def test_no_key_is_given_twice(dialect: str, call_id: str) -> None:
    told: list[toolprune.Edit] = []
    asked = gate(told.append)
    prompt([OPENING], dialect, asked)
    # Three calls at once in each turn, all of one id; the host keeps five turns.
    turns: list[list[Step]] = [
        [
            Response(calls=(Call(call_id, "read"),) * 3),
            Results(tuple(Result(call_id, f"{turn}{each}{LARGE}") for each in "abc")),
        ]
        for turn in range(8)
    ]
    for turn in range(8):
        kept = turns[max(0, turn - 4) : turn + 1]
        sent = prompt([step for each in kept for step in each], dialect, asked)
        found = [content_of(sent, call_id, occurrence) for occurrence in range(3 * len(kept))]
        # All but the last three turns have been in three requests.
        assert [len(each) for each in found[-9:]] == [8195] * len(found[-9:])
        assert [len(each) for each in found[:-9]] == [5159] * len(found[:-9])
    # Of eight turns five are cut, of three results each.
    assert [edit.key for edit in told] == [(call_id, occurrence) for occurrence in range(15)]


@in_every_dialect
def test_messages_that_begin_otherwise_are_warned_of(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    steps, other = [OPENING, *call("r", LARGE)], [User("Something else."), *call("s", SMALL)]
    asked, named = gate(), gate()
    system = {"role": "system", "content": "Be brief."}
    asked.apply(written(steps, dialect))
    asked.apply([system, *written(steps, dialect)])
    for session, given in (("a", steps), ("b", other), ("a", other)):
        prompt(given, dialect, named, session=session)
    assert caplog.records == []
    for given in (other, steps, other):
        prompt(given, dialect, asked)
    (warning,) = caplog.records
    assert (warning.name, warning.levelname) == ("toolprune", "WARNING")
    assert "session=" in warning.getMessage()


@in_every_dialect
def test_each_cut_is_told_once(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    told: list[toolprune.Edit] = []
    asked = gate(told.append)
    steps = [OPENING, *call("a", LARGE), *call("b", LARGE), *SEEN, *SEEN]
    with caplog.at_level(logging.INFO, logger="toolprune"):
        prompts(steps, dialect, asked)
    assert [(edit.key, edit.tool, edit.code_points_before, edit.code_points_after) for edit in told] == [
        (("a", 0), "read", 8193, 5159),
        (("b", 0), "read", 8193, 5159),
    ]
    assert [(record.name, record.levelname) for record in caplog.records] == [("toolprune", "INFO")] * 2
    line = "of read from 8193 code points to 5159: over 8192 code points and seen whole in 3 requests"
    assert [record.getMessage() for record in caplog.records] == [f"cut result ({key!r}, 0) {line}" for key in "ab"]
    together: list[Step] = [
        OPENING,
        Response(calls=(Call("a", "read"), Call("b", "read"))),
        Results((Result("a", LARGE), Result("b", LARGE))),
        *SEEN,
    ]
    told.clear()

    def fail_at_a(edit: toolprune.Edit) -> None:
        told.append(edit)
        if edit.key == ("a", 0):
            raise OSError("no disk")

    failing = gate(fail_at_a)
    with pytest.raises(OSError, match="no disk"):
        prompt(together, dialect, failing)
    assert [edit.key for edit in told] == [("a", 0)]
    assert [content_of(prompt(together, dialect, failing), key) for key in "ab"] == [CUT, CUT]
    assert [edit.key for edit in told] == [("a", 0), ("b", 0)]
    with pytest.raises(TypeError, match="on_edit is 'print'"):
        gate("print")


@in_every_dialect
def test_a_shadow_decides_and_changes_nothing(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE), *SEEN]
    told: list[toolprune.Edit] = []
    messages = written(steps, dialect)
    assert gate(told.append, shadow=True).apply(messages) is messages
    assert told == edits(steps, dialect)
    assert [edit.key for edit in told] == [("r", 0)]


@in_every_dialect
def test_what_fails_once_is_as_if_it_had_not_been(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [*FREEZING, *call("a", LARGE), *call("b", LARGE, "grep"), *SEEN]
    messages, expected = written(steps, dialect), prompt(steps, dialect)
    assert [content_of(expected, key) for key in ("old", "a", "b")] == [LARGE, CUT, CUT]
    failures = [True]

    def listed(tool: str) -> bool:
        if tool == "grep" and failures:
            raise RuntimeError(failures.pop())
        return tool in DEFAULT_TOOLS

    choosing = gate(tools=listed)
    with pytest.raises(RuntimeError):
        choosing.apply(messages)
    assert choosing.apply(messages) == expected

    measuring, tokens = gate(), HostMeter.tokens

    def count(meter: HostMeter, message: Any) -> int:
        if message.role == "assistant" and failures:
            raise RuntimeError(failures.pop())
        return tokens(meter, message)

    failures.append(True)
    monkeypatch.setattr(HostMeter, "tokens", count)
    with pytest.raises(RuntimeError):
        measuring.apply(messages)
    assert measuring.apply(messages) == expected

    reading = gate()
    with pytest.raises(ToolpruneError):
        reading.apply([*messages, None])
    assert reading.apply(messages) == expected


# What the gate never does


@in_every_dialect
def test_no_clock_decides(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [OPENING, *call("r", LARGE), *SEEN]
    expected = prompts(steps, dialect)
    # Each look at a clock finds it a week later.
    weeks = iter(range(1, 10_000))
    for clock in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: next(weeks) * 604_800.0)
    later = prompts(steps, dialect)
    monkeypatch.undo()
    assert later == expected
    assert contents(later[1:], "r") == [LARGE, LARGE, LARGE, CUT]


@in_every_dialect
def test_nothing_is_cut_before_it_was_sent(dialect: str) -> None:
    enormous = "x" * 1_000_000
    steps = [OPENING, *call("r", enormous)]
    assert contents(prompts(steps, dialect)[1:], "r") == [enormous]
    # A process that starts here knows no more than that it was never sent.
    assert content_of(prompt(steps, dialect), "r") == enormous


@in_every_dialect
def test_no_turn_is_cleared_as_a_whole(dialect: str) -> None:
    steps: list[Step] = [
        OPENING,
        User("The first turn."),
        *call("large", LARGE),
        *call("small", SMALL),
        *call("skill", LARGE, "skill"),
        Response("Done."),
        User("The second turn."),
        *SEEN,
    ]
    messages = written(steps, dialect)
    sent = gate().apply(messages)
    changed = [index for index, message in enumerate(messages) if sent[index] is not message]
    assert len(changed) == 1
    assert content_of([sent[changed[0]]], "large") == CUT


@in_every_dialect
def test_no_result_becomes_one_line(dialect: str) -> None:
    left = content_of(prompt([OPENING, *call("r", LARGE), *SEEN, OPENING, *SEEN], dialect), "r")
    assert len(left) == 5159
    assert left.startswith(HEAD)
    assert left.endswith(TAIL)


@in_every_dialect
def test_no_count_and_no_mark_is_written_into_a_message(dialect: str) -> None:
    steps = [*FREEZING, *call("r", LARGE), *SEEN]
    messages = written(steps, dialect)
    for sent in prompts(steps, dialect):
        assert dumped(sent).replace(json.dumps(CUT)[1:-1], LARGE) == dumped(messages[: len(sent)])


@in_every_dialect
def test_history_from_before_the_opening_is_never_cut(dialect: str) -> None:
    before = [step for n in range(5) for step in call(f"old{n}", LARGE)]
    steps = [*before, OPENING, *SEEN, user(500_000), *SEEN, *call("new", LARGE), *SEEN]
    sent = prompt(steps, dialect)
    assert [content_of(sent, f"old{n}") for n in range(5)] == [LARGE] * 5
    assert content_of(sent, "new") == CUT


@in_every_dialect
def test_no_default_of_the_host_is_changed(dialect: str) -> None:
    steps = [OPENING, *call("r", LARGE), *SEEN]
    narrow = gate(cut=CutConfig(threshold=100, head=10, tail=10), tools={"read"}, keep_views=1)
    assert content_of(prompt(steps, dialect, narrow), "r") == "h" * 10 + MARKER + "t" * 10
    assert toolprune.cut(SMALL) is None
    assert toolprune.cut(LARGE) == CUT
    assert contents(prompts(steps, dialect)[1:], "r") == [LARGE, LARGE, LARGE, CUT]


@in_every_dialect
def test_a_skill_never_passes_the_gate(dialect: str) -> None:
    steps = [OPENING, *call("r", "x" * 1_000_000, "skill"), *SEEN, OPENING, *SEEN, *SEEN]
    messages = written(steps, dialect)
    assert gate().apply(messages) is messages
    assert is_cut("skill", dialect, tools={*DEFAULT_TOOLS, "skill"})


@in_every_dialect
def test_the_gate_writes_no_file(dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("HOME", "USERPROFILE", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    assert content_of(prompts([OPENING, *call("r", LARGE), *SEEN], dialect)[-1], "r") == CUT
    assert list(tmp_path.iterdir()) == []
