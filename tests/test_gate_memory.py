"""What a gate remembers of a conversation whose host trims, summarises or rewinds it, and of several at once."""

import gc
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plain_gate
import toolprune as tp
from plain_gate import Limits
from talk import (
    DIALECTS,
    Call,
    Message,
    Response,
    Result,
    Results,
    Step,
    User,
    content_of,
    contents_of,
    in_every_dialect,
    written,
)

LIMITS: dict[str, Any] = {"threshold": 60, "head": 20, "tail": 10, "marker": "…"}
CUT = tp.CutConfig(**LIMITS)
LATCH = 100


def gate(**others: Any) -> tp.Gate:
    on_edit = others.pop("on_edit", None)
    return tp.Gate(tp.GateConfig(latch_tokens=LATCH, cut=CUT, **others), on_edit=on_edit)


def reads(*names: str, call_id: str | None = None, size: int = 100) -> list[Step]:
    """For each name a call and its result, the name again and again; the name is its id too, if no other is given."""
    ids = [name if call_id is None else call_id for name in names]
    return [
        step
        for name, each in zip(names, ids, strict=True)
        for step in (Response(calls=(Call(each, "read"),)), Results((Result(each, (name * size)[:size]),)))
    ]


FROZEN: list[Step] = [User("go"), *reads("a", "b", size=200)]
"""9 tokens, 77 (81 in Anthropic's messages), 145 (153): the latch opens with the third request, which holds a and b."""

LIVED: list[Step] = [*FROZEN, *reads("c", "d", "e", "f")]
"""a and b are frozen, and c has three responses behind it."""


def live(gate: tp.Gate, steps: Sequence[Step], dialect: str, session: Any = None, since: int = 0) -> list[Message]:
    """What the last request held, all those before it that have more than `since` steps having been sent."""
    came: list[Message] = []
    for held in plain_gate.requests(steps, dialect):
        if held > since:
            came = gate.apply(written(steps[:held], dialect), session=session, dialect=dialect)
    return came


def send(gate: tp.Gate, steps: Sequence[Step], dialect: str, session: Any = None) -> list[Message]:
    came: list[Message] = gate.apply(written(steps, dialect), session=session, dialect=dialect)
    return came


def cut_in(came: Sequence[Message], names: str) -> str:
    """Those of the results of these names that are cut."""
    return "".join(name for name in names if len(content_of(came, name)) == 31)


@in_every_dialect
def test_what_the_tests_below_start_from(dialect: str) -> None:
    assert cut_in(live(gate(), LIVED, dialect), "abcdef") == "c"


@in_every_dialect
def test_a_cut_result_stays_cut_and_the_gate_open_when_the_front_is_trimmed(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    trimmed = reads("c", "d")  # 86 tokens, or 94
    assert cut_in(send(one, trimmed, dialect), "cd") == "c"
    # Anew, the latch would open with the request that holds g, and freeze all three.
    trimmed += reads("g", "h")
    assert cut_in(send(one, trimmed, dialect), "cdgh") == "c"
    trimmed += reads("i")
    assert cut_in(send(one, trimmed, dialect), "cdghi") == "cd"
    trimmed += reads("j")
    assert cut_in(send(one, trimmed, dialect), "cdghij") == "cdg"


@in_every_dialect
def test_a_frozen_result_stays_frozen_when_the_front_is_trimmed(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    trimmed = [*reads("b", size=200), *reads("g", "h", "i", "j")]
    assert cut_in(send(one, trimmed, dialect), "bghij") == "g"


@in_every_dialect
def test_a_summary_in_the_middle_changes_nothing_about_what_is_left(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    summarised = [User("go"), *reads("a", size=200), User("What happened since."), *reads("e", "f", "g")]
    assert cut_in(send(one, summarised, dialect), "aefg") == ""
    assert cut_in(send(one, [*summarised, *reads("h")], dialect), "aefgh") == "e"


@in_every_dialect
def test_a_rewound_conversation_keeps_its_cuts_and_takes_another_way(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    rewound = [*FROZEN, *reads("c", "d")]
    assert cut_in(send(one, rewound, dialect), "abcd") == "c"
    assert cut_in(send(one, [*rewound, User("Another way.")], dialect), "abcd") == "c"
    assert cut_in(live(one, [*rewound, *reads("x", "y", "z")], dialect, since=len(rewound)), "abcdxyz") == "cd"


@in_every_dialect
def test_a_conversation_that_is_rewound_to_before_the_latch_stays_open(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    rewound = FROZEN[:3]
    assert cut_in(send(one, rewound, dialect), "a") == ""
    # Anew, x would be there when the latch opens.
    assert cut_in(live(one, [*rewound, *reads("x", "y", "z", "w")], dialect, since=3), "axyzw") == "x"


@in_every_dialect
def test_a_conversation_that_comes_back_after_a_rewind_is_as_it_was(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    send(one, [User("Something short.")], dialect)
    assert cut_in(send(one, LIVED, dialect), "abcdef") == "c"
    send(one, FROZEN[:3], dialect)
    assert cut_in(send(one, LIVED, dialect), "abcdef") == "c"


@in_every_dialect
def test_a_new_result_under_an_old_id_is_new(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    rewound = [*FROZEN, *reads("C", call_id="c")]
    assert cut_in(send(one, rewound, dialect), "abc") == ""
    assert cut_in(send(one, [*rewound, *reads("x", "y")], dialect), "abcxy") == ""
    assert cut_in(send(one, [*rewound, *reads("x", "y", "z")], dialect), "abcxyz") == "c"


@in_every_dialect
def test_a_result_that_comes_under_an_old_id_after_a_rewind_is_new(dialect: str) -> None:
    one = gate()
    live(one, [*FROZEN, *reads("c", "d", "e", "f", call_id="same")], dialect)
    rewound = [*FROZEN, *reads("x", call_id="other")]
    send(one, rewound, dialect)
    came = live(one, [*rewound, *reads("C", "D", "E", call_id="same")], dialect, since=len(rewound))
    assert [len(content_of(came, "same", at)) for at in range(3)] == [100, 100, 100]


@in_every_dialect
def test_a_cut_result_stays_cut_when_its_call_is_dropped(dialect: str) -> None:
    one = gate()
    live(one, LIVED, dialect)
    assert cut_in(send(one, reads("c", "d")[1:], dialect), "cd") == "c"


@in_every_dialect
def test_of_equal_results_under_one_id_a_trim_leaves_the_later_and_a_rewind_the_earlier(dialect: str) -> None:
    # The first a is frozen, the second is cut.
    steps = [*FROZEN, *reads("a", size=200), *reads("c", "d", "e")]
    trimming, rewinding = gate(), gate()
    for one in (trimming, rewinding):
        came = live(one, steps, dialect)
        assert [len(content_of(came, "a", at)) for at in range(2)] == [200, 31]
    assert cut_in(send(trimming, steps[5:], dialect), "acde") == "a"
    assert cut_in(send(rewinding, steps[:5], dialect), "ab") == ""


@in_every_dialect
def test_results_of_one_id_are_told_apart_when_some_of_them_are_trimmed(dialect: str) -> None:
    one = gate()
    first = [User("go"), *reads("a", "b", call_id="same", size=200), *reads("c", "d", "e", "f", call_id="same")]
    live(one, first, dialect)
    came = send(one, [*reads("b", call_id="same", size=200), *reads("c", "d", "e", "f", call_id="same")], dialect)
    assert [len(content_of(came, "same", at)) for at in range(5)] == [200, 31, 100, 100, 100]
    came = send(one, reads("c", "d", "e", "f", "g", call_id="same"), dialect)
    assert [len(content_of(came, "same", at)) for at in range(5)] == [31, 31, 100, 100, 100]


@in_every_dialect
def test_an_edit_is_told_once_and_by_the_key_it_had_before_the_list_was_trimmed(dialect: str) -> None:
    told: list[tp.Edit] = []
    one = gate(on_edit=told.append)
    first = [User("go"), *reads("a", "b", call_id="same", size=200), *reads("c", "d", "e", "f", call_id="same")]
    live(one, first, dialect)
    assert [edit.key for edit in told] == [("same", 2)]
    trimmed = reads("c", "d", "e", "f", call_id="same")
    send(one, trimmed, dialect)
    assert [edit.key for edit in told] == [("same", 2)]
    live(one, [*trimmed, *reads("g", "h", call_id="same")], dialect, since=len(trimmed))
    assert [edit.key for edit in told] == [("same", 2), ("same", 3), ("same", 4)]


def lengths(came: Sequence[Message], call_id: str) -> list[int]:
    """How long each result under an id is."""
    return [len(content) for content in contents_of(came, call_id)]


@in_every_dialect
@pytest.mark.parametrize("call_id", ["same", ""])
def test_no_key_is_given_twice_when_several_new_results_come_under_an_old_id_after_a_trim(
    dialect: str, call_id: str
) -> None:
    told: list[tp.Edit] = []
    one = gate(on_edit=told.append)
    live(one, [*FROZEN, *reads("c", "d", "e", "f", call_id=call_id)], dialect)
    assert [edit.key for edit in told] == [(call_id, 0)]
    # f is the fourth of its id, and x, y and z came while nobody asked: three responses are behind f.
    trimmed = reads("f", "x", "y", "z", call_id=call_id)
    assert lengths(send(one, trimmed, dialect), call_id) == [31, 100, 100, 100]
    assert lengths(send(one, [*trimmed, *reads("w")], dialect), call_id) == [31, 31, 100, 100]
    # Trimmed again, with one more.
    trimmed = [*reads("y", "z", call_id=call_id), *reads("w"), *reads("v", call_id=call_id)]
    assert lengths(send(one, trimmed, dialect), call_id) == [31, 100, 100]
    assert lengths(live(one, [*trimmed, *reads("p", "q", "r")], dialect, since=len(trimmed)), call_id) == [31, 31, 31]
    keys = [edit.key for edit in told]
    assert keys == [(call_id, 0), *[(call_id, occurrence) for occurrence in (3, 4, 5, 6)], ("w", 0), (call_id, 7)]


def side_by_side(*names: str, call_id: str, size: int = 100) -> list[Step]:
    """One response that calls several times under one id, and the results."""
    return [
        Response(calls=tuple(Call(call_id, "read") for _ in names)),
        Results(tuple(Result(call_id, (name * size)[:size]) for name in names)),
    ]


@in_every_dialect
@pytest.mark.parametrize("call_id", ["", "same"])
@pytest.mark.parametrize("kept", [4, 5, 7])
def test_each_result_of_parallel_calls_under_one_id_is_whole_in_three_requests_of_a_host_that_trims(
    dialect: str, call_id: str, kept: int
) -> None:
    told: list[tp.Edit] = []
    one = gate(on_edit=told.append)
    send(one, [User("u" * 400)], dialect)
    turns = [side_by_side(*(f"{number:02}{each}" for each in "abc"), call_id=call_id) for number in range(12)]
    for number in range(12):
        held = turns[max(number + 1 - kept, 0) : number + 1]
        came = send(one, [step for turn in held for step in turn], dialect)
        # The last three turns have been seen less than three times.
        assert lengths(came, call_id) == [31] * 3 * max(len(held) - 3, 0) + [100] * 3 * min(len(held), 3)
    keys = [edit.key for edit in told]
    assert len(set(keys)) == len(keys) == 3 * 9


@in_every_dialect
def test_a_message_that_grows_where_it_stands_is_measured_anew(dialect: str) -> None:
    one, steps = gate(), [User("go"), *reads("a", "b", "c", "d")]
    messages = written(steps, dialect)
    held = len(written(steps[:3], dialect))
    assert one.apply(messages[:held], dialect=dialect) == messages[:held]
    messages[0]["content"] = "u" * 400
    assert cut_in(one.apply(messages, dialect=dialect), "abcd") == "a"


@in_every_dialect
def test_a_result_that_grows_where_it_stands_is_over_the_threshold_from_then_on(dialect: str) -> None:
    one, short = gate(), [{"type": "text", "text": "a" * 40}]
    call = Response(calls=(Call("a", "read"),))
    messages = written([User("u" * 400), call, Results((Result("a", short),)), *reads("b", "c", "d")], dialect)
    assert one.apply(messages, dialect=dialect) is messages
    content_of(messages, "a")[0]["text"] = "a" * 100
    assert len(content_of(one.apply(messages, dialect=dialect), "a")[0]["text"]) == 31


@in_every_dialect
def test_a_list_that_is_sent_again_counts_no_view(dialect: str) -> None:
    one, told = gate(), list[tp.Edit]()
    again = gate(on_edit=told.append)
    for held in plain_gate.requests(LIVED, dialect):
        came = send(one, LIVED[:held], dialect)
        assert [send(again, LIVED[:held], dialect) for _ in range(3)] == [came] * 3
    assert len(told) == 1


@dataclass
class Met:
    """A result over the threshold that an open gate has met."""

    call_id: str
    text: str
    state: str
    contexts: list[list[Message]] = field(default_factory=list)
    """Every two messages behind which it stood."""


@dataclass
class Model:
    """What is remembered, worked out by going over everything again; no two results of one list have one text."""

    dialect: str
    latch: str
    opened: bool = False
    met: list[Met] = field(default_factory=list)

    def apply(self, steps: Sequence[Step]) -> list[Step]:
        frozen_before = self.open(steps)
        found: dict[plain_gate.Place, Met] = {}
        for place, result in plain_gate.places(steps):
            if self.opened and len(str(result.content)) > CUT.threshold:
                state = "frozen" if place[0] < frozen_before else "waiting"
                found[place] = self.known(steps, place, result) or Met(result.call_id, str(result.content), state)
        for place, met in found.items():
            if met.state == "waiting" and plain_gate.views(steps, place, self.dialect) >= 3:
                met.state = "cut"
            met.contexts.append(self.context(steps, place))
        self.met += [met for met in found.values() if not any(met is other for other in self.met)]
        return plain_gate.with_cuts(steps, [place for place, met in found.items() if met.state == "cut"], LIMITS)

    def open(self, steps: Sequence[Step]) -> int:
        """Open the gate where this list does; before which step results are frozen for it."""
        if self.opened:
            return 0
        first = len(plain_gate.requests(steps, self.dialect)) - 1 if self.latch == "process" else 0
        limits = Limits(LATCH, 3, 0, tp.DEFAULT_TOOLS, LIMITS)
        held = plain_gate.opening(steps, self.dialect, limits, first)
        self.opened = held is not None
        return held or 0

    def known(self, steps: Sequence[Step], place: plain_gate.Place, result: Result) -> Met | None:
        """The one that a result is by its id and text: first by the messages before it, else the latest.

        Where it was cut, has an id that others have had, and few responses behind it, the model asked for it again.
        """
        alike = [met for met in self.met if (met.call_id, met.text) == (result.call_id, str(result.content))]
        for met in alike:
            if self.context(steps, place) in met.contexts:
                return met
        own_id = bool(result.call_id) and sum(met.call_id == result.call_id for met in self.met) == 1
        seen = plain_gate.views(steps, place, self.dialect) >= 3
        return alike[-1] if alike and (seen or own_id or alike[-1].state != "cut") else None

    def context(self, steps: Sequence[Step], place: plain_gate.Place) -> list[Message]:
        position = len(written(steps[: place[0]], self.dialect)) + (place[1] if self.dialect != "anthropic" else 0)
        return written(steps, self.dialect)[max(position - 2, 0) : position]


def is_written_into(before: list[Message], messages: list[Message]) -> bool:
    """Whether a list goes on from the one before but for a single message."""
    same = [old == new for old, new in zip(before, messages, strict=False)]
    return len(messages) >= len(before) and same.count(False) == 1


@st.composite
def histories(draw: st.DrawFn) -> list[list[Step]]:
    """The list of each request, as a host has it that reads on, trims, summarises, rewinds and goes back."""
    chunks: list[list[Step]] = [[User("go")]]
    sent: list[list[list[Step]]] = []
    for number in range(draw(st.integers(4, 16))):
        at = draw(st.integers(0, len(chunks)))
        kind = draw(st.sampled_from(["read"] * 7 + ["text", "trim", "summarise", "rewind", "go back"]))
        if kind == "read":
            size = draw(st.sampled_from([100, 100, 200, 40]))
            call_id = draw(st.sampled_from(["same", "other", "", f"call_{number}"]))
            names = [f"{number:02}{each}" for each in "abc"[: draw(st.sampled_from([1, 1, 2, 3]))]]
            # Each in a response of its own, or all in one.
            made = draw(st.sampled_from([reads, side_by_side]))(*names, call_id=call_id, size=size)
            chunks = [*chunks, made]
        elif kind == "text":
            chunks = [*chunks, [Response("Done.")], [User("Go on.")]]
        elif kind == "trim":
            chunks = chunks[at:]
        elif kind == "summarise":
            chunks = [chunks[0], [User("What happened.")], *chunks[max(at, 1) :]] if chunks else chunks
        elif kind == "rewind":
            chunks = chunks[:at]
        elif sent:
            chunks = draw(st.sampled_from(sent))
        sent.append(chunks)
    return [[step for chunk in each for step in chunk] for each in sent]


@given(histories(), st.sampled_from(DIALECTS), st.sampled_from(["derived", "process"]))
@settings(max_examples=200, deadline=None)
def test_whatever_the_host_does_open_stays_open_frozen_stays_whole_and_cut_stays_cut(
    lists: list[list[Step]], dialect: str, latch: str
) -> None:
    one, model, before = gate(latch=latch), Model(dialect, latch), list[Message]()
    for steps in lists:
        # What is frozen where the host writes is another question.
        if not is_written_into(before, written(steps, dialect)):
            before = written(steps, dialect)
            assert send(one, steps, dialect) == written(model.apply(steps), dialect)


class Session:
    """A host's session, which compares equal to any other."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Session)

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "b"),
        (1, "1"),
        (None, "None"),
        (("app", "a"), ("app", "b")),
        (UUID(int=1), UUID(int=2)),
        (Session(), Session()),
    ],
)
def test_two_sessions_of_one_gate_do_not_mix(first: Any, second: Any) -> None:
    one, trimmed = gate(), written(reads("c", "d"), "anthropic")
    live(one, LIVED, "anthropic", session=first)
    assert one.apply(trimmed, session=second) is trimmed
    assert cut_in(one.apply(trimmed, session=first), "cd") == "c"


@pytest.mark.parametrize("session", ["a", 7, ("app", 7), UUID(int=7)])
def test_an_id_that_is_equal_is_the_same_session(session: Any) -> None:
    one = gate()
    live(one, LIVED, "openai-chat", session=session)
    equal = {"a": "".join(["a"]), 7: int("7"), ("app", 7): ("app", int("7")), UUID(int=7): UUID(int=7)}[session]
    assert cut_in(send(one, reads("c", "d"), "openai-chat", equal), "cd") == "c"


def test_without_a_session_a_gate_is_one_conversation_and_two_gates_are_two() -> None:
    one = gate()
    live(one, LIVED, "openai-chat")
    assert cut_in(send(one, reads("c", "d"), "openai-chat"), "cd") == "c"
    assert cut_in(send(gate(), reads("c", "d"), "openai-chat"), "cd") == ""


class Text(str):
    """A text that can be held by weak reference."""

    __slots__ = ("__weakref__",)


def test_a_session_object_is_not_kept_and_what_was_remembered_goes_with_it() -> None:
    one, session = gate(), Session()
    text = Text("u" * 400)
    remembered = weakref.ref(text)
    one.apply([{"role": "user", "content": text}], session=session)
    live(one, LIVED, "openai-chat", session=session)
    one.apply([{"role": "user", "content": text}], session=session)
    held = weakref.ref(session)
    del session, text
    gc.collect()
    assert held() is None
    assert remembered() is None


def test_a_new_session_object_in_the_place_of_an_old_one_starts_anew() -> None:
    one, trimmed = gate(), written(reads("c", "d"), "openai-chat")
    for _ in range(20):
        session = Session()
        assert one.apply(trimmed, session=session) is trimmed
        live(one, LIVED, "openai-chat", session=session)
        assert cut_in(one.apply(trimmed, session=session), "cd") == "c"
        del session


def test_threads_that_share_a_gate_get_what_each_would_get_alone() -> None:
    told: list[tp.Edit] = []
    one = gate(on_edit=told.append)
    start = threading.Barrier(6)
    came: dict[int, list[list[Message]]] = {}

    def converse(number: int) -> None:
        dialect = DIALECTS[number % 3]
        steps = [*LIVED, *reads(*(f"{number}{name}" for name in "ghijklmnopq"))]
        start.wait(timeout=30)
        came[number] = [send(one, steps[:held], dialect, number) for held in plain_gate.requests(steps, dialect)]

    threads = [threading.Thread(target=converse, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(6):
        dialect, alone = DIALECTS[number % 3], gate()
        steps = [*LIVED, *reads(*(f"{number}{name}" for name in "ghijklmnopq"))]
        assert came[number] == [send(alone, steps[:held], dialect) for held in plain_gate.requests(steps, dialect)]
    # c, d, e, f and g to n: of 17 results two are frozen, and the last three have been seen less than three times.
    assert len(told) == 6 * 12


class Counted(dict[str, Any]):
    """A message that counts how often something of it is looked up."""

    looked_up = 0

    def get(self, *arguments: Any) -> Any:
        Counted.looked_up += 1
        return super().get(*arguments)

    def __getitem__(self, key: str) -> Any:
        Counted.looked_up += 1
        return super().__getitem__(key)


@in_every_dialect
def test_a_message_is_read_once_however_many_requests_hold_it(dialect: str) -> None:
    # The latch is open, and nothing is over the threshold: what is cut must be written anew for each request.
    steps = [User("u" * 400), *reads(*map(str, range(1000)), size=50)]
    messages = [Counted(message) for message in written(steps, dialect)]
    one, looked_up = gate(), list[int]()
    for held in range(1, len(messages) + 1, 2):
        before = Counted.looked_up
        one.apply(messages[:held], dialect=dialect)
        looked_up.append(Counted.looked_up - before)
    assert len(looked_up) == 1001
    assert set(looked_up[1:]) == {looked_up[1]}


LONG = "x" * 100
SEEN: list[Step] = [Response("ok"), User("on")] * 3


def whole_or_cut(one: tp.Gate, steps: Sequence[Step], call_id: str, occurrence: int = 0) -> int:
    """The length of a result, whole (100) or cut (31), in the coming request."""
    return len(content_of(send(one, steps, "openai-chat"), call_id, occurrence))


def read_as(call_id: str, text: str) -> list[Step]:
    return [Response(calls=(Call(call_id, "read"),)), Results((Result(call_id, text),))]


def test_a_branch_in_its_place_does_not_undo_a_cut() -> None:
    one, opening = gate(), User("u" * 400)
    first: list[Step] = [opening, *read_as("s", "A" + LONG)]
    lived = [*first, *read_as("s", "B" + LONG), *SEEN]
    for held in (1, 3, 5, len(lived)):
        send(one, lived[:held], "openai-chat")
    assert [whole_or_cut(one, lived, "s", at) for at in (0, 1)] == [31, 31]
    assert whole_or_cut(one, first, "s") == 31
    assert whole_or_cut(one, [opening, *read_as("s", "C" + LONG)], "s") == 101
    assert whole_or_cut(one, first, "s") == 31


def test_a_large_result_in_the_place_of_a_small_one_is_not_taken_for_a_frozen_one() -> None:
    one = gate()
    frozen: list[Step] = [User("u" * 400), *read_as("old", "F" + LONG)]
    send(one, frozen, "openai-chat")
    send(one, [*frozen, *read_as("n", "n")], "openai-chat")
    send(one, read_as("old", "small"), "openai-chat")
    later = [*read_as("old", "N" + LONG), *SEEN]
    assert whole_or_cut(one, later[:2], "old") == 101
    assert whole_or_cut(one, later, "old") == 31


def test_an_id_that_two_results_have_is_no_ones_own() -> None:
    one = gate()
    lived: list[Step] = [User("u" * 400), *read_as("1", LONG), *SEEN]
    for held in (1, 3, 5, 7, 9):
        send(one, lived[:held], "openai-chat")
    assert whole_or_cut(one, lived, "1") == 31
    again: list[Step] = [User("a summary"), *read_as("1", LONG + "?"), *read_as("1", LONG)]
    assert whole_or_cut(one, again, "1", 1) == 100


def test_the_same_request_asked_about_twice_stays_over_the_line() -> None:
    """33 + 10 + 34 tokens are 77: with an overhead of 30 the first asking is over it, and the second would not be."""
    one = gate()
    steps: list[Step] = [User("u" * 100), *read_as("a", "A" + LONG)]
    messages = written(steps, "openai-chat")
    assert one.apply(messages, overhead_tokens=30) is messages
    assert one.apply(messages) is messages
    later = [*steps, *read_as("b", "B" + LONG), *SEEN]
    assert [whole_or_cut(one, later, call_id) for call_id in "ab"] == [101, 31]
