"""Which conversation a session names, and how long it is remembered."""

import gc
import threading
import weakref
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from toolprune.policy.conversations import Conversations


def conversations(most: int = 10) -> Conversations[int]:
    """Conversations whose memories are numbered from 0 in the order in which they are made."""
    numbers = count()
    return Conversations(lambda: next(numbers), most)


@dataclass
class Session:
    """A session of a host's: equal to any other of its name, and without a hash."""

    name: str = ""


def test_without_a_session_there_is_one_conversation() -> None:
    known = conversations()
    assert [known.of(None), known.of(None), known.of("None"), known.of(None)] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("session", "equal", "other"),
    [
        ("a", "".join(["a"]), "A"),
        ("", "".join([]), " "),
        (7, int("7"), "7"),
        (0, int("0"), ""),
        (10**30, 10**30, 10**30 + 1),
        (UUID(int=7), UUID(int=7), str(UUID(int=7))),
        (("user", 7), ("user", int("7")), ("user", "7")),
        ((), (), ((),)),
        ((UUID(int=7), ("a", 1)), (UUID(int=7), ("a", 1)), (UUID(int=7), ("a", 2))),
    ],
)
def test_an_id_names_a_conversation_by_what_it_is_equal_to(session: Any, equal: Any, other: Any) -> None:
    known = conversations()
    assert [known.of(session), known.of(other), known.of(equal), known.of(other)] == [0, 1, 0, 1]


def test_an_object_names_a_conversation_by_itself_whatever_it_is_equal_to() -> None:
    known = conversations()
    one, equal = Session("a"), Session("a")
    assert one == equal
    assert len({known.of(one), known.of(equal), known.of("a")}) == 3
    assert known.of(one) == known.of(one) != known.of(equal)


def test_an_object_that_changes_names_the_same_conversation() -> None:
    known, session = conversations(), Session("a")
    assert known.of(session) == 0
    session.name = "b"
    assert known.of(session) == 0


@pytest.mark.parametrize("session", [1.5, b"a", ["a"], {"id": "a"}])
def test_what_can_be_no_session_is_refused_in_one_sentence(session: Any) -> None:
    with pytest.raises(TypeError) as caught:
        conversations().of(session)
    assert str(caught.value) == (
        f"session is {session!r}, and should be an id (str, int, UUID, or a tuple of these) or an object that can be "
        "held by weak reference"
    )


def test_of_conversations_named_by_id_the_one_longest_unused_is_forgotten() -> None:
    known = conversations(most=2)
    assert [known.of(each) for each in ("a", "b", "a")] == [0, 1, 0]
    assert known.of("c") == 2
    # b was forgotten and is made anew, in place of a.
    assert [known.of("c"), known.of("b"), known.of("c"), known.of("a")] == [2, 3, 2, 4]


def test_one_conversation_is_enough_to_be_remembered() -> None:
    known = conversations(most=1)
    assert [known.of(each) for each in ("a", "a", "b", "b", "a")] == [0, 0, 1, 1, 2]


def test_as_many_conversations_are_remembered_as_objects_are_held() -> None:
    known = conversations(most=1)
    held = [Session() for _ in range(50)]
    numbers = [known.of(session) for session in held]
    known.of("a")
    known.of("b")
    assert [known.of(session) for session in held] == numbers
    assert len(set(numbers)) == 50


class Memory:
    """What is remembered of a conversation, to see how long it lives."""


def test_what_is_remembered_goes_with_the_object_that_named_it() -> None:
    known = Conversations(Memory, 10)
    session = Session()
    remembered, held = weakref.ref(known.of(session)), weakref.ref(session)
    gc.collect()
    assert known.of(session) is remembered()
    del session
    gc.collect()
    assert held() is None
    assert remembered() is None


def test_an_object_in_a_circle_goes_with_its_memory_when_it_is_collected() -> None:
    class Circle:
        def __init__(self) -> None:
            self.itself = self

    known = Conversations(Memory, 10)
    session = Circle()
    remembered = weakref.ref(known.of(session))
    del session
    gc.collect()
    assert remembered() is None


def test_a_new_object_has_a_new_conversation_though_an_old_one_lay_where_it_lies() -> None:
    known = conversations()
    numbers = []
    for _ in range(100):
        session = Session()
        numbers += [known.of(session), known.of(session)]
        del session
    # Each object made one memory, and the second time found it.
    assert numbers[::2] == numbers[1::2]
    assert len(set(numbers)) == 100


def test_what_is_remembered_of_a_forgotten_id_goes() -> None:
    known = Conversations(Memory, 1)
    remembered = weakref.ref(known.of("a"))
    gc.collect()
    assert remembered() is not None
    known.of("b")
    gc.collect()
    assert remembered() is None


@pytest.mark.parametrize("session", ["a", Session("a")])
def test_threads_that_ask_at_once_get_one_memory(session: Any) -> None:
    known = Conversations(Memory, 10)
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait(timeout=30)
        found.append(known.of(session))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_the_conversation_without_a_session_is_not_forgotten_for_those_with_one() -> None:
    kept = conversations(most=1)
    unnamed = kept.of(None)
    assert [kept.of(name) for name in "ab"] != [unnamed, unnamed]
    assert kept.of(None) == unnamed
