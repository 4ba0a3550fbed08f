"""What the gate holds to in any conversation and any dialect: live, anew, forked and replayed."""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

import plain_gate
import toolprune as tp
from plain_gate import Limits, Place
from talk import DIALECTS, Call, Content, Message, Response, Result, Results, Step, User, written
from toolprune.dialects import read

LIMITS: dict[str, Any] = {"threshold": 60, "head": 20, "tail": 10, "marker": "…"}
CUT = tp.CutConfig(**LIMITS)
LEFT = 20 + 1 + 10
TOOLS = (*("read", "grep", "bash", "Read", "shell", "web_fetch") * 2, "skill", "write", "my_tool")
ODD_IDS = ("", "a", "a:b", "../x", "NUL", "x.", "two\nlines", "\x00", "é" * 1500)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" * 9}}
CACHED = {"cache_control": {"type": "ephemeral"}}

properties = settings(max_examples=80, deadline=None)


@dataclass(frozen=True)
class Told:
    """A conversation, how it is written, and the settings of the gate that it meets."""

    dialect: str
    steps: tuple[Step, ...]
    latch_tokens: int = 1
    keep_views: int = 3
    overhead_tokens: int = 0

    @property
    def limits(self) -> Limits:
        return Limits(self.latch_tokens, self.keep_views, self.overhead_tokens, tp.DEFAULT_TOOLS, LIMITS)

    def gate(self, **others: Any) -> tp.Gate:
        on_edit = others.pop("on_edit", None)
        config = tp.GateConfig(latch_tokens=self.latch_tokens, keep_views=self.keep_views, cut=CUT, **others)
        return tp.Gate(config, on_edit=on_edit)

    def apply(self, gate: tp.Gate, messages: list[Message], session: Any = None) -> list[Message]:
        return gate.apply(messages, session=session, overhead_tokens=self.overhead_tokens, dialect=self.dialect)

    def written(self, steps: Sequence[Step]) -> list[Message]:
        return written(steps, self.dialect)

    def prefixes(self) -> list[tuple[Step, ...]]:
        """The steps that each request held."""
        return [self.steps[:held] for held in plain_gate.requests(self.steps, self.dialect)]

    def requests(self) -> list[list[Message]]:
        """The messages of each request; the host keeps its messages, so one is the same object in all of them."""
        messages = self.written(self.steps)
        return [messages[: len(self.written(prefix))] for prefix in self.prefixes()]

    def live(self) -> list[list[Message]]:
        gate = self.gate()
        return [self.apply(gate, messages) for messages in self.requests()]

    def cuts(self) -> list[list[Place]]:
        """The results that are cut in each request, as the plain gate says."""
        return [plain_gate.cut_places(prefix, self.dialect, self.limits) for prefix in self.prefixes()]

    def message_of(self, place: Place) -> int:
        """The message that holds a result."""
        first = len(self.written(self.steps[: place[0]]))
        return first if self.dialect == "anthropic" else first + place[1]

    def keys(self) -> dict[Place, tuple[str, int]]:
        """Each result's call id, and how many results before it have the same."""
        found: dict[Place, tuple[str, int]] = {}
        for place, result in plain_gate.places(self.steps):
            found[place] = (result.call_id, sum(key[0] == result.call_id for key in found.values()))
        return found


@st.composite
def texts(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["ab\n", "漢", "😀", "e\u0301", "\ud83d", '"\\', "x" * 20 + "…" + "y" * 10]))
    length = draw(st.sampled_from([61, 62, 90, 150, 300, 61, 62, 90, 150, 300, 60, 59, 31, 1, 0]))
    return (kind * length)[:length]


@st.composite
def blocks(draw: st.DrawFn) -> list[dict[str, Any]]:
    text = draw(texts())
    middle = draw(st.integers(0, len(text)))
    return [
        {"type": "text", "text": text[:middle]},
        *([IMAGE] if draw(st.booleans()) else []),
        {"type": "text", "text": text[middle:], **(CACHED if draw(st.booleans()) else {})},
    ]


CONTENTS: st.SearchStrategy[Content] = st.one_of(
    texts(), texts(), texts(), blocks(), blocks(), st.sampled_from([None, [], [IMAGE]])
)


@st.composite
def usages(draw: st.DrawFn, dialect: str) -> dict[str, Any] | None:
    """A response's usage, from a stub of zeros to more than the conversations here are estimated at."""
    if draw(st.integers(0, 3)):
        return None
    used = draw(st.sampled_from([0, 50, 120, 200, 400, 900]))
    if dialect == "anthropic":
        read, rest = used // 2, used - used // 2
        return {
            "input_tokens": rest // 3,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": rest // 3,
            "output_tokens": rest - 2 * (rest // 3),
        }
    if dialect == "openai-responses":
        cached = {"input_tokens_details": {"cached_tokens": used // 2}}
        return {"input_tokens": used - used // 9, "output_tokens": used // 9, "total_tokens": used, **cached}
    return {"prompt_tokens": used - used // 9, "completion_tokens": used // 9, "total_tokens": used}


@st.composite
def tool_steps(draw: st.DrawFn, number: int, dialect: str) -> list[Step]:
    """A response with calls and what they gave, in any order, now and then with a result that nobody called for."""
    calls: list[Call] = []
    for index in range(draw(st.sampled_from([1, 1, 2, 3]))):
        call_id = draw(st.sampled_from([f"call_{number}_{index}"] * 9 + list(ODD_IDS)))
        tool = draw(st.sampled_from(TOOLS))
        calls.append(Call(call_id, tool, {"path": draw(st.sampled_from(["a", "é", "b" * 90]))}))
    failed = st.sampled_from([False] * 5 + [True])
    results = [Result(call.call_id, draw(CONTENTS), draw(failed)) for call in calls]
    if len({call.call_id for call in calls}) == len(calls):
        results = draw(st.permutations(results))
    if draw(st.integers(0, 9)) == 9:
        results.append(Result(f"orphan_{number}", draw(CONTENTS)))
    response = Response(draw(st.sampled_from(["", "I look."])), tuple(calls), draw(usages(dialect)))
    return [response, Results(tuple(results), draw(st.sampled_from(["", "", "go on"])))]


@st.composite
def told(draw: st.DrawFn) -> Told:
    """Turns of the user's text, calls and results, and responses of text alone."""
    dialect = draw(st.sampled_from(DIALECTS))
    steps: list[Step] = []
    for number in range(draw(st.integers(3, 12))):
        kind = draw(st.sampled_from(["tools"] * 5 + ["user", "response"])) if number else "user"
        if kind == "tools":
            steps += draw(tool_steps(number, dialect))
        elif kind == "user":
            steps.append(User(draw(st.sampled_from(["go", "漢" * 99, ""]))))
        else:
            steps.append(Response(draw(st.sampled_from(["Done.", ""])), (), draw(usages(dialect))))
    return Told(
        dialect,
        tuple(steps),
        latch_tokens=draw(st.sampled_from([1, 50, 100, 150, 200, 300, 10_000])),
        keep_views=draw(st.sampled_from([3, 3, 3, 1, 2])),
        overhead_tokens=draw(st.sampled_from([0, 0, 0, 100])),
    )


def turn(call_id: str, size: int = 100) -> list[Step]:
    return [Response(calls=(Call(call_id, "read", {"path": "a"}),)), Results((Result(call_id, call_id[-1] * size),))]


def long_turn(dialect: str) -> Told:
    """Ten reads in one turn behind an open latch: from the fourth request on, each has one cut more than the last."""
    return Told(dialect, (User("go"), *[step for number in range(10) for step in turn(f"call_{number}")]))


def rewritten(messages: Sequence[Message]) -> list[Message]:
    """What a log would give back."""
    restored: list[Message] = json.loads(json.dumps(messages))
    return restored


def rendered(messages: Sequence[Message]) -> list[str]:
    return [json.dumps(message, ensure_ascii=False) for message in messages]


def results_in(messages: Sequence[Message]) -> list[tuple[dict[str, Any], str]]:
    """Of each result in order, the dict that holds its content and the key under which it does."""
    found: list[tuple[dict[str, Any], str]] = []
    for message in messages:
        content = message.get("content")
        if message.get("role") == "tool":
            found.append((message, "content"))
        elif message.get("type") == "function_call_output":
            found.append((message, "output"))
        elif isinstance(content, list):
            found += [(block, "content") for block in content if block["type"] == "tool_result"]
    return found


def contents(messages: Sequence[Message]) -> list[Any]:
    """What each result in a list of messages holds, in order."""
    return [holder.get(key) for holder, key in results_in(messages)]


def with_contents_of(messages: Sequence[Message], came: Sequence[Message]) -> list[Message]:
    """The messages that came back, with the contents of the results that went in."""
    restored = copy.deepcopy(list(came))
    for (before, _), (after, key) in zip(results_in(messages), results_in(restored), strict=True):
        if key in before:
            after[key] = before[key]
    return restored


@given(told())
@properties
def test_the_plain_gate_says_what_every_request_holds(told: Told) -> None:
    surfaces = plain_gate.surfaces(told.steps, told.dialect, told.limits)
    assert told.live() == [told.written(steps) for steps in surfaces]


@given(told(), st.data())
@properties
def test_each_request_is_measured_with_the_overhead_of_its_own(told: Told, data: st.DataObject) -> None:
    requests = told.requests()
    overheads = tuple(data.draw(st.sampled_from([0, 0, 40, 100, 10_000]), "overhead") for _ in requests)
    gate = told.gate()
    came = [
        gate.apply(messages, overhead_tokens=overhead, dialect=told.dialect)
        for messages, overhead in zip(requests, overheads, strict=True)
    ]
    surfaces = plain_gate.surfaces(told.steps, told.dialect, replace(told.limits, overhead_tokens=overheads))
    assert came == [told.written(steps) for steps in surfaces]


@given(told())
@properties
def test_a_gate_that_starts_anew_at_any_request_sends_what_one_that_never_stopped_sends(told: Told) -> None:
    assert [told.apply(told.gate(), messages) for messages in told.requests()] == told.live()


@given(told(), st.data())
@properties
def test_requests_for_which_the_gate_was_not_asked_change_nothing_about_later_ones(
    told: Told, data: st.DataObject
) -> None:
    gate = told.gate()
    for messages, came in zip(told.requests(), told.live(), strict=True):
        if data.draw(st.booleans(), "asked"):
            assert told.apply(gate, messages) == came


@given(told())
@properties
def test_a_dialect_that_is_not_named_is_recognised(told: Told) -> None:
    gate = told.gate()
    for messages, came in zip(told.requests(), told.live(), strict=True):
        assert gate.apply(messages, overhead_tokens=told.overhead_tokens) == came


@given(told())
@properties
def test_deciding_from_a_transcript_gives_the_edits_that_were_made_live(told: Told) -> None:
    made: list[tp.Edit] = []
    gate = told.gate(on_edit=made.append)
    for messages in told.requests():
        told.apply(gate, messages)
        transcript = read(messages, told.dialect)
        assert told.gate().decide(transcript, told.overhead_tokens) == made
        assert told.gate().decide(transcript, told.overhead_tokens) == made


@given(told())
@properties
def test_an_edit_is_told_once_and_says_what_was_cut(told: Told) -> None:
    made: list[tp.Edit] = []
    gate = told.gate(on_edit=made.append)
    keys, results = told.keys(), dict(plain_gate.places(told.steps))
    for messages, cuts in zip(told.requests(), told.cuts(), strict=True):
        told.apply(gate, messages)
        told.apply(gate, messages)
        assert [(edit.key, edit.code_points_before, edit.code_points_after, edit.tool) for edit in made] == [
            (keys[place], plain_gate.size(results[place].content), LEFT, plain_gate.tool_of(told.steps, place))
            for place in cuts
        ]


@given(told())
@properties
def test_a_recorded_conversation_gives_request_by_request_what_was_sent(told: Told) -> None:
    gate, recorded = told.gate(), rewritten(told.written(told.steps))
    assert [told.apply(gate, recorded[: len(messages)]) for messages in told.requests()] == told.live()


@given(told(), st.data())
@properties
def test_a_fork_goes_on_as_if_it_had_been_told_straight(told: Told, data: st.DataObject) -> None:
    forked = data.draw(st.sampled_from(told.prefixes()), "forked at")
    ending = [step for number in (77, 78) for step in data.draw(tool_steps(number, told.dialect))]
    straight = replace(told, steps=(*forked, *ending))
    gate = told.gate()
    first, second = told.requests(), straight.requests()
    sent: dict[str, list[list[Message]]] = {"first": [], "second": []}
    for at in range(max(len(first), len(second))):
        for session, lists in (("first", first), ("second", second)):
            if at < len(lists) and (session == "first" or len(lists[at]) > len(told.written(forked))):
                sent[session].append(told.apply(gate, lists[at], session))
    assert sent["first"] == told.live()
    assert sent["second"] == straight.live()[-len(sent["second"]) :]


@given(told())
@properties
def test_what_was_sent_is_sent_again_as_it_is(told: Told) -> None:
    for messages in told.live():
        assert told.apply(told.gate(), messages) is messages


@given(told())
@properties
def test_a_cut_result_stays_cut(told: Told) -> None:
    requests, live = told.requests(), told.live()
    for messages, came, later in zip(requests, live, live[1:], strict=False):
        for before, after, next_after in zip(contents(messages), contents(came), contents(later), strict=False):
            assert after in (before, next_after)


@given(told())
@properties
def test_up_to_the_request_in_which_the_latch_opens_the_same_list_comes_back(told: Told) -> None:
    opened = plain_gate.opening(told.steps, told.dialect, told.limits)
    gate = told.gate()
    for prefix, messages in zip(told.prefixes(), told.requests(), strict=True):
        came = told.apply(gate, messages)
        assert (opened is not None and len(prefix) > opened) or came is messages


@given(told())
@properties
def test_a_list_comes_back_as_the_same_object_exactly_when_nothing_in_it_is_cut(told: Told) -> None:
    gate = told.gate()
    for messages, cuts in zip(told.requests(), told.cuts(), strict=True):
        assert (told.apply(gate, messages) is messages) == (not cuts)


@given(told())
@properties
def test_what_was_there_when_the_latch_opened_never_changes(told: Told) -> None:
    opened = plain_gate.opening(told.steps, told.dialect, told.limits)
    frozen = len(told.written(told.steps[:opened])) if opened is not None else None
    requests = told.requests()
    gate = told.gate()
    for messages in requests:
        came = told.apply(gate, messages)
        assert all(after is before for after, before in zip(came[:frozen], messages[:frozen], strict=True))


@given(told())
@properties
@example(long_turn("openai-chat"))
@example(long_turn("openai-responses"))
@example(long_turn("anthropic"))
def test_a_result_that_is_cut_was_whole_in_as_many_requests_as_views_are_kept(told: Told) -> None:
    requests, live = told.requests(), told.live()
    cuts = told.cuts()[-1]
    for at, (place, _) in enumerate(plain_gate.places(told.steps)):
        pairs = [(contents(messages), contents(came)) for messages, came in zip(requests, live, strict=True)]
        whole = [before[at] == after[at] for before, after in pairs if at < len(before)]
        seen = told.keep_views if place in cuts else len(whole)
        assert whole == [True] * seen + [False] * (len(whole) - seen)


@given(told())
@properties
def test_pairs_ids_order_and_every_other_field_survive(told: Told) -> None:
    for messages, came in zip(told.requests(), told.live(), strict=True):
        assert rendered(with_contents_of(messages, came)) == rendered(messages)


@given(told())
@properties
@example(long_turn("openai-chat"))
@example(long_turn("openai-responses"))
@example(long_turn("anthropic"))
def test_a_request_breaks_the_prefix_of_the_last_once_and_only_at_its_first_new_cut(told: Told) -> None:
    live, cuts = told.live(), told.cuts()
    for last, came, cut_before, cut_now in zip(live, live[1:], cuts, cuts[1:], strict=False):
        old, new = rendered(last), rendered(came)
        changed = [at for at in range(len(old)) if old[at] != new[at]]
        due = {told.message_of(place) for place in set(cut_now) - set(cut_before)} & set(range(len(old)))
        assert changed == sorted(due)


@given(told())
@properties
def test_what_comes_back_is_never_longer_than_what_went_in(told: Told) -> None:
    for messages, came in zip(told.requests(), told.live(), strict=True):
        for before, after in zip(rendered(messages), rendered(came), strict=True):
            assert len(after) <= len(before)


@given(told())
@properties
def test_the_hosts_messages_are_never_changed_and_those_without_a_cut_come_back_as_they_are(told: Told) -> None:
    gate, messages = told.gate(), told.written(told.steps)
    originals = copy.deepcopy(messages)
    for prefix, cuts in zip(told.prefixes(), told.cuts(), strict=True):
        came = told.apply(gate, messages[: len(told.written(prefix))])
        changed = {told.message_of(place) for place in cuts}
        assert [at for at, after in enumerate(came) if after is not messages[at]] == sorted(changed)
        assert messages == originals


@given(told())
@properties
def test_a_host_that_rebuilds_its_messages_gets_what_one_that_keeps_them_gets(told: Told) -> None:
    gate = told.gate()
    assert [told.apply(gate, copy.deepcopy(messages)) for messages in told.requests()] == told.live()


@given(told())
@properties
def test_a_host_that_appends_to_one_list_gets_what_one_with_a_new_list_gets(told: Told) -> None:
    gate, history = told.gate(), list[Message]()
    for messages, came in zip(told.requests(), told.live(), strict=True):
        history += messages[len(history) :]
        assert told.apply(gate, history) == came


@given(told())
@properties
def test_a_host_that_moves_its_cache_mark_finds_it_where_it_put_it(told: Told) -> None:
    gate = told.gate()
    for messages in told.requests():
        for block in markable(messages):
            block.pop("cache_control", None)
        for block in list(markable(messages))[-1:]:
            block.update(CACHED)
        came = told.apply(gate, messages)
        assert came == told.apply(told.gate(), messages)
        assert rendered(with_contents_of(messages, came)) == rendered(messages)


def markable(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """The blocks on which a host marks up to where the provider shall cache: texts and results."""
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        yield from (block for block in blocks if block["type"] in {"text", "tool_result", "output_text"})


@given(told(), st.data())
@properties
def test_a_host_that_writes_into_its_messages_gets_what_they_say_now(told: Told, data: st.DataObject) -> None:
    # What is written into came after the opening: a frozen result with another text would be one that is new.
    opened = plain_gate.opening(told.steps, told.dialect, told.limits)
    gate = told.gate()
    for number, messages in enumerate(told.requests()):
        told.apply(gate, messages)
        after = messages[len(told.written(told.steps[:opened])) :]
        changed = data.draw(st.sampled_from([None, *after]), "written into")
        if changed is not None:
            write_over(changed, f"{number:02}" * data.draw(st.sampled_from([10, 50]), "length"))
        assert told.apply(gate, messages) == told.apply(told.gate(), messages)


def write_over(message: Message, text: str) -> None:
    """Put another text, where it stands, in the place of each that a message holds."""
    for name in ("content", "output", "text"):
        if isinstance(message.get(name), str):
            message[name] = text
        elif isinstance(message.get(name), list):
            for block in message[name]:
                write_over(block, text)


@given(told())
@properties
def test_in_shadow_nothing_changes_and_the_same_edits_are_told(told: Told) -> None:
    made: list[tp.Edit] = []
    shown: list[tp.Edit] = []
    gate, shadow = told.gate(on_edit=made.append), told.gate(shadow=True, on_edit=shown.append)
    for messages in told.requests():
        told.apply(gate, messages)
        assert told.apply(shadow, messages) is messages
        assert shown == made


@given(told(), st.data())
@properties
def test_the_latch_of_a_process_freezes_what_is_there_when_a_new_process_finds_it_open(
    told: Told, data: st.DataObject
) -> None:
    requests = told.requests()
    starts = sorted({0, *data.draw(st.lists(st.integers(0, len(requests) - 1), max_size=3), "restarts")})
    surfaces = plain_gate.surfaces(told.steps, told.dialect, told.limits, starts)
    for number, (messages, steps) in enumerate(zip(requests, surfaces, strict=True)):
        if number in starts:
            gate = told.gate(latch="process")
        assert told.apply(gate, messages) == told.written(steps)
