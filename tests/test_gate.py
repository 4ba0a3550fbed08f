"""What the gate takes, gives back, tells and refuses."""

import copy
import json
import logging
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from gating import CUT, FREEZING, HEAD, LARGE, LINE, MARKER, OPENING, SEEN, TAIL, call, gate, prompt, prompts, user
from talk import DIALECTS, Call, Response, Result, Results, Step, User, content_of, in_every_dialect, requests, written
from toolprune import CutConfig, Edit, Gate, GateConfig, ToolpruneError
from toolprune.cost.meter import HostMeter
from toolprune.defaults import KEPT_TOOLS, RESTORING_TOOLS
from toolprune.dialects import read

DUE: list[Step] = [OPENING, *call("r", LARGE), *SEEN]
"""A conversation whose coming request is the fourth that holds the result."""

TOGETHER: list[Step] = [
    OPENING,
    Response(calls=(Call("z", "read"), Call("a", "grep"), Call("m", "bash"))),
    Results((Result("z", LARGE), Result("a", LARGE), Result("m", LARGE))),
    *SEEN,
]
"""A conversation whose coming request is the fourth that holds three results."""


def edit(call_id: str, occurrence: int = 0, tool: str = "read") -> Edit:
    """The edit of a result of 8193 code points."""
    return Edit((call_id, occurrence), 8193, 5159, "over 8192 code points and seen whole in 3 requests", tool)


# What it takes


def test_without_a_config_a_gate_has_the_defaults() -> None:
    assert Gate().config == GateConfig()


@pytest.mark.parametrize("config", [{"keep_views": 3}, CutConfig(), None, 3])
def test_what_is_no_config_is_refused(config: Any) -> None:
    with pytest.raises(TypeError, match=r"^config is .*, and must be a GateConfig, as GateConfig\(keep_views=3\)$"):
        Gate(config)


@pytest.mark.parametrize(
    ("messages", "shown"),
    [
        (None, "None"),
        ("hello", "'hello'"),
        (b"hello", "b'hello'"),
        ({"role": "user"}, "{'role': 'user'}"),
        (({"role": "user"},), "({'role': 'user'},)"),
        (deque([1]), "deque([1])"),
        (7, "7"),
    ],
)
def test_what_is_no_list_is_refused_with_what_was_given(messages: Any, shown: str) -> None:
    with pytest.raises(TypeError) as caught:
        gate().apply(messages)
    assert str(caught.value) == f"messages is {shown}, and must be a list of messages"


@pytest.mark.parametrize("overhead", [-1, 1.5, "12000", None])
def test_an_overhead_that_is_no_number_of_tokens_is_refused(overhead: Any) -> None:
    with pytest.raises(ValueError, match=r"^overhead_tokens is .*, and must be an int of 0 or more$"):
        gate().apply([], overhead_tokens=overhead)


def test_a_session_that_can_be_none_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^session is \['a'\], and should be an id "):
        gate().apply([], session=["a"])


def test_a_dialect_that_is_not_known_is_refused_with_the_nearest() -> None:
    for messages in ([], written(DUE, "anthropic")):
        with pytest.raises(ToolpruneError, match=r"^there is no dialect 'antropic'; did you mean anthropic\?$"):
            gate().apply(messages, dialect="antropic")


def test_arguments_may_be_given_by_place() -> None:
    messages = written(DUE[1:], "openai-chat")
    assert content_of(gate().apply(messages, "a", LINE, "openai-chat"), "r") == CUT


def test_no_messages_come_back_as_they_are() -> None:
    empty: list[Any] = []
    assert gate().apply(empty) is empty


@in_every_dialect
def test_a_list_of_the_hosts_own_class_comes_back_as_it_is_or_as_a_list(dialect: str) -> None:
    class History(list[Any]):
        pass

    whole = History(written([OPENING], dialect))
    assert gate().apply(whole) is whole
    assert content_of(gate().apply(History(written(DUE, dialect))), "r") == CUT


@in_every_dialect
def test_a_message_that_cannot_be_read_is_named_by_its_index(dialect: str) -> None:
    messages: list[Any] = [*written(DUE, dialect), {"content": "by nobody"}]
    named = rf"^messages\[{len(messages) - 1}\], a dict, cannot be read as {dialect}: its role is None, "
    with pytest.raises(ValueError, match=named):
        gate().apply(messages)


@in_every_dialect
def test_after_a_message_that_cannot_be_read_the_gate_goes_on(dialect: str) -> None:
    asked, messages = gate(), written([*DUE, *SEEN], dialect)
    for held in (1, len(messages) - 6, len(messages)):
        with pytest.raises(ToolpruneError):
            asked.apply([*messages[:held], None])
    assert asked.apply(messages) == gate().apply(messages)


class Once:
    """Does as a function does, but for one call, which raises."""

    def __init__(self, function: Callable[..., Any], number: int) -> None:
        self.function = function
        self.left = number

    def __call__(self, *arguments: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise RuntimeError("not now")
        return self.function(*arguments)


GROWN: list[Step] = [*FREEZING, *TOGETHER[1:3], *call("q", LARGE), *call("s", LARGE, "skill"), *SEEN]
"""Seven results over the threshold, of which one is frozen and one is of a tool that is not listed."""


@in_every_dialect
@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("warm", [0, 1, 2, 4])
def test_a_list_of_tools_that_raises_once_leaves_the_gate_as_it_was(dialect: str, number: int, warm: int) -> None:
    listed = {"read", "grep", "bash"}
    failing = Once(listed.__contains__, number)
    asked, messages = gate(tools=failing), written(GROWN, dialect)
    raised = 0
    for held in requests(GROWN, dialect)[-1 - warm :]:
        try:
            asked.apply(messages[:held])
        except RuntimeError:
            raised += 1
        assert asked.apply(messages[:held]) == gate(tools=listed).apply(messages[:held])
    # Six results over the threshold are asked about, once each.
    assert raised == (number <= 6)


@in_every_dialect
@pytest.mark.parametrize("number", range(1, 16))
def test_a_meter_that_raises_once_leaves_the_gate_as_it_was(
    dialect: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The opening comes late, so that the messages before it are measured.
    steps: list[Step] = [*call("a", "a"), *call("b", "b"), User("Go on."), *GROWN]
    messages = written(steps, dialect)
    expected = [gate().apply(messages[:held]) for held in requests(steps, dialect)]
    asked = gate()
    monkeypatch.setattr(HostMeter, "tokens", Once(HostMeter().tokens, number))
    raised = 0
    for held, came in zip(requests(steps, dialect), expected, strict=True):
        try:
            asked.apply(messages[:held])
        except RuntimeError:
            raised += 1
        assert asked.apply(messages[:held]) == came
    # Up to the result that opens the gate the list has eight messages, and each is measured once.
    assert raised == (number <= 8)


# What it gives back


@in_every_dialect
def test_a_dialect_that_is_named_gives_what_one_that_is_recognised_gives(dialect: str) -> None:
    steps = [*DUE, *call("q", [{"type": "text", "text": LARGE}]), *SEEN]
    asked, messages = gate(), written(steps, dialect)
    named = [asked.apply(messages[:held], dialect=dialect) for held in requests(steps, dialect)]
    assert named == prompts(steps, dialect)


@in_every_dialect
def test_a_dialect_may_show_late(dialect: str) -> None:
    # A conversation of plain texts may be in any dialect.
    plain: list[Step] = [User("Hello."), Response("Hello."), OPENING, Response("Noted."), User("Now look.")]
    if dialect == "openai-responses":
        # Here a response is an item with blocks, which shows the dialect: as a text it shows none.
        plain = [step for step in plain if isinstance(step, User)]
    steps = [*plain, *call("r", LARGE), *SEEN]
    sent = prompts(steps, dialect)
    assert content_of(sent[-1], "r") == CUT
    assert [content_of(each, "r") for each in sent[-4:-1]] == [LARGE] * 3


@in_every_dialect
def test_what_a_session_remembers_holds_in_another_dialect_too(dialect: str) -> None:
    for other in DIALECTS:
        asked = gate()
        prompts([*FREEZING, *call("r", LARGE), *SEEN], dialect, asked, session="a")
        # Trimmed, with a single view of r; what is frozen has had many.
        trimmed = [*call("r", LARGE), *FREEZING[1:], *SEEN[:2]]
        sent = prompt(trimmed, other, asked, session="a")
        assert (content_of(sent, "r"), content_of(sent, "old")) == (CUT, LARGE)


@in_every_dialect
def test_a_marker_with_a_note_says_how_to_get_the_result_back(dialect: str) -> None:
    # 8193 - 4096 - 1024 = 3073 are gone.
    note = '\n\n[... tool result middle pruned: 3073 characters; expand("r") gives the whole result ...]\n\n'
    told: list[Edit] = []
    sent = prompts(DUE, dialect, gate(told.append, cut=CutConfig(note=True)))[-1]
    assert content_of(sent, "r") == HEAD + note + TAIL
    assert [(each.code_points_before, each.code_points_after) for each in told] == [(8193, 5120 + len(note))]


@in_every_dialect
def test_a_result_without_an_id_has_a_note_without_a_way_back(dialect: str) -> None:
    note = "\n\n[... tool result middle pruned: 3073 characters ...]\n\n"
    told: list[Edit] = []
    sent = prompts([OPENING, *call("", LARGE), *SEEN], dialect, gate(told.append, cut=CutConfig(note=True)))[-1]
    assert content_of(sent, "") == HEAD + note + TAIL
    assert [(each.key, each.code_points_after) for each in told] == [(("", 0), 5120 + len(note))]


def test_a_result_of_an_older_chat_is_cut_by_its_own_name_and_has_a_note_without_a_way_back() -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "grep", "arguments": "{}"}}
    older = {"role": "function", "name": "grep", "content": LARGE}
    messages = [*written([OPENING], "openai-chat"), called, older, *written(SEEN, "openai-chat")]
    note = "\n\n[... tool result middle pruned: 3073 characters ...]\n\n"
    sent = gate(cut=CutConfig(note=True)).apply(messages)
    assert sent[2] == {**older, "content": HEAD + note + TAIL}
    assert gate(tools={"read"}).apply(messages) is messages


class Block(BaseModel):
    """A block of an SDK's, with a field that is not set."""

    model_config = ConfigDict(extra="allow")

    type: str
    text: str | None = None
    annotations: None = None


@in_every_dialect
def test_a_result_of_an_sdks_blocks_becomes_dicts_when_it_is_cut_and_only_then(dialect: str) -> None:
    kind = "input_text" if dialect == "openai-responses" else "text"
    blocks: list[Any] = [
        Block(type=kind, text=HEAD + "m" * 3073),
        Block(type="image", source="AAAA"),
        Block(type=kind, text=TAIL),
    ]
    messages = written([OPENING, *call("r", "r"), *SEEN], dialect)
    holder = messages[2]["content"][0] if dialect == "anthropic" else messages[2]
    holder["output" if dialect == "openai-responses" else "content"] = blocks
    asked, before = gate(), copy.deepcopy(messages)
    whole = messages[:-1]
    assert asked.apply(whole[:-1]) == whole[:-1]
    assert content_of(asked.apply(whole[:-1]), "r") is blocks
    assert content_of(asked.apply(messages), "r") == [
        {"type": kind, "text": HEAD + MARKER},
        {"type": "image", "source": "AAAA"},
        {"type": kind, "text": TAIL},
    ]
    assert messages == before
    assert content_of(messages, "r") is blocks


def test_the_blocks_of_a_result_keep_what_they_bear() -> None:
    mark = {"type": "ephemeral"}
    blocks = [
        {"citations": [1, {"b": None}], "type": "text", "text": HEAD + "m" * 3073},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "text", "text": TAIL, "cache_control": mark},
    ]
    messages = written([OPENING, *call("r", blocks), *SEEN], "anthropic")
    messages[2]["content"][0]["cache_control"] = mark
    before = json.dumps(messages)
    sent = gate().apply(messages)
    # As JSON, so that the order of keys counts too. The head and the gap are in the first block, the tail in the last.
    assert json.dumps(sent) == before.replace("m" * 3073, json.dumps(CUT[4096:-1024])[1:-1])
    assert json.dumps(messages) == before
    assert sent[2]["content"][0]["content"][1] is blocks[1]
    assert [new is old for new, old in zip(sent, messages, strict=True)] == [True, True, False, *[True] * 6]


# What it tells


@in_every_dialect
def test_each_result_is_told_once_when_it_is_first_cut(dialect: str) -> None:
    told: list[Edit] = []
    asked = gate(told.append)
    steps = [*DUE, *call("q", LARGE, "grep"), *call("r", LARGE, "bash"), *SEEN]
    messages, counts = written(steps, dialect), []
    for held in [*requests(steps, dialect), len(messages), len(messages)]:
        asked.apply(messages[:held])
        counts.append(len(told))
    assert told == [edit("r"), edit("q", tool="grep"), edit("r", 1, tool="bash")]
    # The responses are r's call, three, q's call, the second r's call and three; the coming request goes out thrice.
    # Behind r are three from the fifth request on, behind q from the ninth on, behind the second r from the tenth on.
    assert counts == [0, 0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 3]


@in_every_dialect
def test_results_that_are_cut_together_are_told_in_their_order(dialect: str) -> None:
    told: list[Edit] = []
    prompts(TOGETHER, dialect, gate(told.append))
    assert told == [edit("z"), edit("a", tool="grep"), edit("m", tool="bash")]


@in_every_dialect
def test_a_gate_that_starts_anew_tells_again(dialect: str) -> None:
    for _ in range(2):
        told: list[Edit] = []
        prompt(DUE, dialect, gate(told.append))
        assert told == [edit("r")]


def test_each_conversation_is_told_of_its_own() -> None:
    told: list[Edit] = []
    asked = gate(told.append)
    for session in ("a", "b", "a"):
        prompt(DUE, "openai-chat", asked, session=session)
    assert told == [edit("r"), edit("r")]


def test_whoever_is_told_may_ask_the_gate_again() -> None:
    told: list[Edit] = []
    messages = written(DUE, "openai-chat")

    def ask_again(made: Edit) -> None:
        told.append(made)
        assert content_of(asked.apply(messages), "r") == CUT

    asked = gate(ask_again)
    asking = threading.Thread(target=asked.apply, args=(messages,), daemon=True)
    asking.start()
    asking.join(timeout=30)
    assert not asking.is_alive()
    assert told == [edit("r")]


class Failing:
    """Told of edits; the ones of these ids raise."""

    def __init__(self, *ids: str, error: type[BaseException] = RuntimeError) -> None:
        self.ids = ids
        self.error = error
        self.told: list[str] = []

    def __call__(self, made: Edit) -> None:
        self.told.append(made.key[0])
        if made.key[0] in self.ids:
            raise self.error("no disk")


@in_every_dialect
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_of_whoever_is_told_comes_through_and_the_gate_goes_on(
    dialect: str, error: type[BaseException]
) -> None:
    failing = Failing("r", error=error)
    asked, messages = gate(failing), written(DUE, dialect)
    with pytest.raises(error, match="no disk"):
        asked.apply(messages)
    assert content_of(asked.apply(messages), "r") == CUT
    assert failing.told == ["r"]


@in_every_dialect
def test_behind_an_edit_that_raises_the_others_are_told_with_the_next_request(dialect: str) -> None:
    failing = Failing("z", "a")
    asked, messages = gate(failing), written(TOGETHER, dialect)
    for told in (["z"], ["z", "a"]):
        with pytest.raises(RuntimeError, match="no disk"):
            asked.apply(messages)
        assert failing.told == told
    sent = [asked.apply(messages) for _ in range(2)]
    assert failing.told == ["z", "a", "m"]
    assert [content_of(sent[0], call_id) for call_id in "zam"] == [CUT] * 3
    assert sent[0] == sent[1] == gate().apply(messages)


@pytest.mark.parametrize("on_edit", [7, "print", {}, [print]])
def test_whoever_is_told_is_a_function(on_edit: Any) -> None:
    with pytest.raises(TypeError, match=r"^on_edit is .*, and must be a function of one Edit, as print$"):
        Gate(on_edit=on_edit)


@pytest.mark.parametrize(("shadow", "begins"), [(False, "cut "), (True, "would cut ")])
def test_each_cut_is_a_line_of_the_log(shadow: bool, begins: str, caplog: pytest.LogCaptureFixture) -> None:
    asked = gate(shadow=shadow)
    with caplog.at_level(logging.DEBUG, logger="toolprune"):
        prompts([*DUE, *call("q", "small"), *SEEN], "anthropic", asked)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("toolprune", "INFO")
    why = "over 8192 code points and seen whole in 3 requests"
    assert record.getMessage() == f"{begins}result ('r', 0) of read from 8193 code points to 5159: {why}"


@in_every_dialect
def test_a_shadow_tells_what_it_would_cut_and_gives_back_what_it_got(dialect: str) -> None:
    told: list[Edit] = []
    asked, messages = gate(told.append, shadow=True), written(DUE, dialect)
    before = copy.deepcopy(messages)
    assert all(asked.apply(messages) is messages for _ in range(2))
    assert told == [edit("r")]
    assert messages == before


# What it warns of


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def names(warning: str) -> str:
    """The tools that a warning names, at its end."""
    assert "\n" not in warning
    assert "GateConfig(tools=" in warning
    return warning.rpartition(": ")[2]


def test_tools_that_are_not_listed_are_named_once_and_in_order(caplog: pytest.LogCaptureFixture) -> None:
    asked = gate()
    steps = [OPENING, *call("a", LARGE, "zoom"), *call("b", LARGE, "crm__find"), *call("c", LARGE, "zoom")]
    prompt(steps, "anthropic", asked)
    prompt([*steps, *SEEN], "anthropic", asked)
    assert list(map(names, warnings(caplog))) == ["crm__find, zoom"]
    # A name that comes later is named then, and alone.
    prompt([*steps, *SEEN, *call("d", LARGE, "look_up")], "anthropic", asked)
    assert list(map(names, warnings(caplog))) == ["crm__find, zoom", "look_up"]


@pytest.mark.parametrize("tools", [{"fetch_page"}, str.isupper])
def test_a_list_of_ones_own_is_warned_of_too(tools: Any, caplog: pytest.LogCaptureFixture) -> None:
    prompt([OPENING, *call("a", LARGE, "read")], "openai-chat", gate(tools=tools))
    assert list(map(names, warnings(caplog))) == ["read"]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([user(90_000), *call("a", LARGE, "zoom"), *SEEN], id="below the line"),
        pytest.param([OPENING, *call("a", "s" * 8192, "zoom")], id="within the threshold"),
        pytest.param([OPENING, *call("b", LARGE), *call("a", LARGE, "zoom")], id="a listed one before"),
        pytest.param([OPENING, *call("r", LARGE)], id="a listed one alone"),
        *[
            pytest.param([OPENING, *call("a", LARGE, kept), *SEEN], id=kept)
            for kept in sorted(KEPT_TOOLS | RESTORING_TOOLS)
        ],
        pytest.param([OPENING, Response("I look."), Results((Result("a", LARGE),))], id="no call"),
    ],
)
@in_every_dialect
def test_nothing_is_warned_of_where_the_list_is_not_the_reason(
    steps: list[Step], dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    prompts(steps, dialect)
    assert warnings(caplog) == []


def test_an_error_of_a_tool_that_is_not_listed_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    failed = Results((Result("a", LARGE, is_error=True),))
    prompt([OPENING, Response(calls=(Call("a", "zoom"),)), failed], "anthropic")
    assert warnings(caplog) == []


def test_no_list_of_all_tools_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    prompt([OPENING, *call("a", LARGE, "zoom"), *call("b", LARGE, "expand")], "anthropic", gate(tools="*"))
    assert warnings(caplog) == []


ELSEWHERE: list[Step] = [User("Something else."), *call("s", "small")]


@in_every_dialect
def test_a_gate_without_sessions_that_meets_another_conversation_warns_once(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = gate()
    for steps in (DUE, ELSEWHERE, DUE, ELSEWHERE):
        prompt(steps, dialect, asked)
    (warning,) = warnings(caplog)
    assert "session=" in warning
    assert "\n" not in warning


@in_every_dialect
def test_a_conversation_that_goes_on_or_is_named_is_not_taken_for_another(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = gate()
    prompts(DUE, dialect, asked)
    # Rewound, and with another system prompt.
    prompt([*DUE[:3], User("Another way.")], dialect, asked)
    asked.apply([{"role": "system", "content": "Be brief."}, *written(DUE, dialect)])
    named = gate()
    for session, steps in (("a", DUE), ("b", ELSEWHERE), ("a", ELSEWHERE)):
        prompt(steps, dialect, named, session=session)
    # While a gate is shut nothing holds for a conversation that could be wrong for another.
    shut = gate()
    prompt([User("Hello.")], dialect, shut)
    prompt(ELSEWHERE, dialect, shut)
    assert warnings(caplog) == []


# Deciding


@in_every_dialect
def test_deciding_says_all_that_is_cut_in_the_coming_request(dialect: str) -> None:
    steps = [*DUE, *call("q", LARGE, "grep"), *call("r", LARGE, "bash"), *SEEN]
    messages = written(steps, dialect)
    decided = [gate().decide(read(messages[:held])) for held in requests(steps, dialect)]
    r, q, second = edit("r"), edit("q", tool="grep"), edit("r", 1, tool="bash")
    assert decided == [[], [], [], [], [r], [r], [r], [r], [r, q], [r, q, second]]


@in_every_dialect
def test_deciding_changes_no_transcript_and_no_gate(dialect: str) -> None:
    told: list[Edit] = []
    asked, messages = gate(told.append), written(DUE, dialect)
    transcript = read(messages)
    before = copy.deepcopy(vars(transcript))
    assert [asked.decide(transcript) for _ in range(2)] == [[edit("r")]] * 2
    assert vars(transcript) == before
    assert told == []
    # What was decided is no part of any conversation.
    small = written([User("Hello."), *call("r", LARGE), *SEEN], dialect)
    assert asked.apply(small) is small


def test_deciding_takes_the_overhead_into_account() -> None:
    transcript = read(written([user(99_000), *DUE[1:]], "openai-chat"))
    assert gate().decide(transcript, overhead_tokens=999) == []
    assert gate().decide(transcript, overhead_tokens=1000) == [edit("r")]


def test_a_shadow_decides_the_same() -> None:
    assert gate(shadow=True).decide(read(written(DUE, "anthropic"))) == [edit("r")]


# The same in every process

ANEW = """
import json, logging, sys
import talk
from gating import FREEZING, LARGE, SEEN, call, gate

logging.basicConfig(stream=sys.stdout, format="%(message)s", level="INFO")
odd = [*call("x", LARGE, "zoom"), *call("y", LARGE, "aim")]
steps = [*FREEZING, *call("r", LARGE), *call("q", [{"type": "text", "text": LARGE}], "grep"), *odd, *SEEN]
for dialect in talk.DIALECTS:
    asked = gate(print)
    messages = talk.written(steps, dialect)
    for held in [*talk.requests(steps, dialect), 0]:
        print(json.dumps(asked.apply(messages[:held])))
    print(json.dumps(asked.apply(talk.written(steps[3:], dialect))))
    print(json.dumps(gate(print, tools={"pan"}).apply(messages)))
"""
"""Every request of a conversation, one after it was trimmed, and the warning about many tools, in each dialect."""


def test_no_order_of_hashes_decides(repository: Path) -> None:
    came = []
    for seed in ("0", "1", "4711"):
        paths = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(repository / "tests")])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
        ran = subprocess.run([sys.executable, "-c", ANEW], env=environment, capture_output=True, check=True)
        came.append(ran.stdout)
    assert came[0] == came[1] == came[2]
    assert came[0].count(b"aim, grep, read, zoom") == 3
    # Two of the results are cut, and told and logged in each dialect.
    assert came[0].count(b"Edit(key=") == came[0].count(b"cut result (") == 6


# An SDK's objects


def test_an_object_of_an_sdk_may_stand_for_any_message_of_the_model() -> None:
    called = SimpleNamespace(type="tool_use", id="r", name="read", input={})
    messages: list[Any] = written(DUE, "anthropic")
    whole = SimpleNamespace(
        role="assistant", content=[called], usage=SimpleNamespace(input_tokens=150_000, output_tokens=9)
    )
    messages[0] = {"role": "user", "content": "Find it."}
    messages[1] = whole
    # The usage of the first response is over the line, but it came after the request: the next one opens the gate.
    sent = gate().apply(messages)
    assert sent is messages
    more = [*messages, *written([*call("q", LARGE), *SEEN], "anthropic")]
    sent = gate().apply(more)
    assert sent[1] is whole
    assert (content_of(sent[2:], "r"), content_of(sent[2:], "q")) == (LARGE, CUT)


@pytest.mark.parametrize("given", [[], [{"role": "user", "content": "go"}], None])
def test_only_a_transcript_is_decided_about(given: Any) -> None:
    with pytest.raises(
        TypeError, match=r"^transcript is .*, and must be a Transcript: read a list with dialects.read$"
    ):
        gate().decide(given)


@in_every_dialect
def test_what_was_read_of_a_list_that_could_not_be_read_is_not_there_yet(dialect: str) -> None:
    """The gate opened before the result came: a list that fails behind it freezes nothing."""
    asked = gate()
    asked.apply(written([OPENING], dialect), dialect=dialect)
    with pytest.raises(ToolpruneError):
        asked.apply([*written([OPENING, *call("r", LARGE)], dialect), None], dialect=dialect)
    system = {"role": "system", "content": "Be brief."}
    assert content_of(asked.apply([system, *written(DUE, dialect)], dialect=dialect), "r") == CUT


@in_every_dialect
def test_a_frozen_result_into_which_the_host_writes_stays_whole(dialect: str) -> None:
    """It was there when the gate opened, as one that starts anew sees too."""
    steps: list[Step] = [*FREEZING, *call("r", LARGE), *SEEN]
    asked = gate()
    messages = written(steps, dialect)
    assert content_of(asked.apply(messages), "r") == CUT
    other = "y" * len(LARGE)
    rewritten = written([*FREEZING[:-1], Results((Result("old", other),)), *call("r", LARGE), *SEEN], dialect)
    for each in (asked, gate()):
        came = each.apply(rewritten)
        assert (content_of(came, "old"), content_of(came, "r")) == (other, CUT)
