"""A snapshot copies the dicts and lists of a value, and holds everything else as the same objects."""

from collections import OrderedDict
from typing import Any

import pytest

from toolprune._core import snapshot


def test_dicts_and_lists_are_copied_and_texts_are_the_same_objects() -> None:
    text = "漢" * 1000
    message: dict[str, Any] = {"role": "tool", "content": [{"type": "text", "text": text}], "extra": (1, [2])}
    copied = snapshot(message, 32)
    assert copied == message
    assert copied is not message
    assert copied["content"] is not message["content"]
    assert copied["content"][0] is not message["content"][0]
    assert copied["content"][0]["text"] is text
    assert copied["extra"] is message["extra"]
    assert list(copied) == list(message)


def test_a_change_where_it_stands_does_not_reach_the_snapshot() -> None:
    message: dict[str, Any] = {"content": [{"text": "a"}]}
    copied = snapshot(message, 32)
    message["content"][0]["text"] = "b"
    message["content"].append({"text": "c"})
    assert copied == {"content": [{"text": "a"}]}


def test_what_lies_deeper_is_the_same_object() -> None:
    value: list[Any] = [[[[]]]]
    assert snapshot(value, 0) is value
    assert snapshot(value, 1)[0] is value[0]
    assert snapshot(value, 2)[0] is not value[0]
    assert snapshot(value, 2)[0][0] is value[0][0]


@pytest.mark.parametrize("value", ["text", 1, None, object(), (1, 2)])
def test_what_is_neither_dict_nor_list_is_its_own_snapshot(value: object) -> None:
    assert snapshot(value, 32) is value


def test_a_subclass_of_dict_is_copied_to_a_dict() -> None:
    copied = snapshot(OrderedDict(a=[1]), 32)
    assert type(copied) is dict
    assert copied == {"a": [1]}


def test_a_depth_that_is_no_depth_is_refused() -> None:
    with pytest.raises(OverflowError):
        snapshot({}, -1)
