"""Lists of messages in each dialect: what is read of them, how a dialect is told, and what a rewrite leaves alone."""

import copy
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from talk import DIALECTS as NAMES
from talk import Call, Response, Results, Step, User, written
from talk import Result as Returned
from toolprune.dialects import DIALECTS, named, read, reader, recognised
from toolprune.errors import MessageError, ToolpruneError
from toolprune.transcript import Message, Part, Role, Usage

CHAT, RESPONSES, ANTHROPIC = NAMES
every_dialect = pytest.mark.parametrize("dialect", NAMES)

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
"""As JSON without spaces 16 + 10 + 16 + 25 + 13 + 2 = 82 units."""

TOOL_RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "x"}

TOOL_USE = {"type": "tool_use", "id": "a", "name": "read", "input": {}}


def one(message: Any, dialect: str) -> Message:
    """How a dialect reads a message."""
    transcript = read([message], dialect)
    assert len(transcript.messages) == 1
    return transcript.messages[0]


def text(value: str) -> Part:
    return Part("text", (value,))


def other(units: int) -> Part:
    return Part("other", others=(units,))


def call(call_id: str, tool: str, arguments: str) -> Part:
    return Part("call", (tool, arguments), (), call_id, tool)


def chat_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def attributes(value: Any) -> Any:
    """Dicts as objects with attributes, as SDKs return them."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: attributes(each) for key, each in value.items()})
    return [attributes(each) for each in value] if isinstance(value, list) else value


# OpenAI chat


@pytest.mark.parametrize(
    ("role", "read_as"),
    [("system", "system"), ("developer", "system"), ("user", "user"), ("assistant", "assistant"), ("critic", "user")],
)
@every_dialect
def test_who_says_a_message_is_its_role(role: str, read_as: Role, dialect: str) -> None:
    assert one({"role": role, "content": "hi"}, dialect) == Message(read_as, (text("hi"),))


@pytest.mark.parametrize("content", [None, [], ()])
@every_dialect
def test_a_message_without_content_says_nothing(content: Any, dialect: str) -> None:
    assert one({"role": "user", "content": content}, dialect) == Message("user", ())
    assert one({"role": "assistant", "content": content}, dialect) == Message("assistant", ())
    assert one({"role": "assistant"}, dialect) == Message("assistant", ())


@every_dialect
def test_blocks_may_stand_in_a_tuple(dialect: str) -> None:
    blocks = ({"type": "text", "text": "a"}, {"type": "text", "text": "b"})
    assert one({"role": "user", "content": blocks}, dialect) == Message("user", (text("a"), text("b")))


def test_blocks_of_a_chat_message_are_texts_refusals_and_others() -> None:
    content = [
        {"type": "text", "text": "look"},
        {"type": "refusal", "refusal": "no"},
        {"type": "image_url", "image_url": {"url": "x"}},  # without spaces 1 + 18 + 1 + 12 + 11 + 1 = 44 units
        {"type": "text", "text": None},  # `{"type":"text","text":null}`: 1 + 13 + 1 + 11 + 1 = 27
    ]
    assert one({"role": "user", "content": content}, CHAT).parts == (text("look"), text("no"), other(44), other(27))


def test_a_chat_response_is_its_reasoning_its_text_and_its_calls_in_this_order() -> None:
    message = {
        "role": "assistant",
        "tool_calls": [
            chat_call("a", "read", '{"path": "é"}'),
            {"id": "b", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
        ],
        "content": "Both.",
        "reasoning_content": "Hm.",
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }
    assert one(message, CHAT) == Message(
        "assistant",
        (
            Part("reasoning", ("Hm.",)),
            text("Both."),
            call("a", "read", '{"path": "é"}'),
            call("b", "patch", "*** Begin"),
        ),
        Usage(input_missed=10, output=2),
    )


def test_a_chat_result_is_a_message_of_its_own_and_never_an_error() -> None:
    message = {"role": "tool", "tool_call_id": "a", "content": "Error: no such file", "is_error": True}
    assert one(message, CHAT) == Message("tool", (Part("result", ("Error: no such file",), (), "a"),))


def test_a_chat_result_may_bear_the_name_of_its_tool() -> None:
    result = {"role": "tool", "tool_call_id": "a", "name": "read", "content": "x"}
    assert one(result, CHAT).parts[0].tool == "read"
    assert one({**result, "name": ""}, CHAT).parts[0].tool is None
    # The call says it better.
    called = {"role": "assistant", "tool_calls": [chat_call("a", "grep", "{}")]}
    assert read([called, result]).results[0].tool == "grep"


def test_an_older_chat_result_is_of_role_function_and_bears_its_tool_in_place_of_an_id() -> None:
    called = {"role": "assistant", "content": "Both.", "function_call": {"name": "read", "arguments": "{}"}}
    result = {"role": "function", "name": "read", "content": "x"}
    assert one(result, CHAT) == Message("tool", (Part("result", ("x",), (), "", "read"),))
    assert one(called, CHAT) == Message("assistant", (text("Both."), call("", "read", "{}")))
    assert [(each.key, each.tool) for each in read([called, result, result]).results] == [
        (("", 0), "read"),
        (("", 1), "read"),
    ]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_chat_response_may_have_its_reasoning_under_either_name(name: str) -> None:
    message = {"role": "assistant", "content": "hi", name: "Hm."}
    assert one(message, CHAT) == Message("assistant", (Part("reasoning", ("Hm.",)), text("hi")))
    assert one({**message, name: {"summary": "Hm."}}, CHAT) == Message("assistant", (text("hi"),))


@pytest.mark.parametrize(
    ("arguments", "read_as"), [('{"a": 1}', '{"a": 1}'), ({"a": [1, "é"]}, '{"a":[1,"é"]}'), (None, ""), ("", "")]
)
@every_dialect
def test_arguments_are_the_text_that_they_are_or_their_json(arguments: Any, read_as: str, dialect: str) -> None:
    messages = {
        CHAT: {"role": "assistant", "content": None, "tool_calls": [chat_call("a", "read", arguments)]},
        RESPONSES: {"type": "function_call", "call_id": "a", "name": "read", "arguments": arguments},
        ANTHROPIC: {"role": "assistant", "content": [{**TOOL_USE, "input": arguments}]},
    }
    assert one(messages[dialect], dialect).parts == (call("a", "read", read_as),)


# OpenAI Responses


def test_the_items_of_a_responses_list_are_read_each_for_itself() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "x"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "zzz"},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm, hm."}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "On it.", "annotations": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {"type": "function_call", "call_id": "a", "id": "fc_1", "name": "read", "arguments": '{"path": "é"}'},
        {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "*** Begin"},
        {"type": "function_call_output", "call_id": "a", "output": "text"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "ok"}]},
    ]
    assert read(items).messages == [
        # `{"type":"input_image","image_url":"x"}`: 1 + 20 + 1 + 15 + 1 = 38
        Message("user", (text("hi"), other(38))),
        Message("assistant", (Part("reasoning", ("Hm.",)),)),
        Message("assistant", (Part("reasoning", ("Hm, hm.",)),)),
        Message("assistant", (text("On it."), text("no"))),
        Message("assistant", (call("a", "read", '{"path": "é"}'),)),
        Message("assistant", (call("b", "patch", "*** Begin"),)),
        Message("tool", (Part("result", ("text",), (), "a"),)),
        Message("tool", (Part("result", ("ok",), (), "b"),)),
    ]


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("web_search_call", "assistant"),
        ("computer_call", "assistant"),
        ("shell_call", "assistant"),
        ("tool_search_call", "assistant"),
        ("something_new_call", "assistant"),
        ("program", "assistant"),
        ("mcp_list_tools", "assistant"),
        ("mcp_approval_request", "assistant"),
        ("computer_call_output", "tool"),
        ("local_shell_call_output", "tool"),
        ("mcp_approval_response", "tool"),
        ("shell_call_output", "tool"),
        ("something_new_output", "tool"),
        ("compaction", "other"),
        ("item_reference", "other"),
        ("configuration_update", "other"),
        ("something_new", "other"),
    ],
)
def test_whose_an_item_is_its_type_says_and_one_that_is_not_known_is_nobodys(kind: str, role: Role) -> None:
    # `{"type":"…","output":"漢"}`: 1 + 7 + 2 + the kind + 1 + 9 + 3 + 1
    item = {"type": kind, "output": "漢"}
    assert one(item, RESPONSES) == Message(role, (other(24 + len(kind)),))
    assert read([item], RESPONSES).results == []


@pytest.mark.parametrize("kind", ["tool_search_output", "shell_call_output", "program_output", "something_new_output"])
def test_an_output_with_an_id_is_of_the_providers_own_tool(kind: str) -> None:
    assert one({"type": kind, "id": "x_1", "output": "x" * 9000}, RESPONSES).role == "other"
    assert read([{"type": kind, "id": "x_1", "output": "x" * 9000}], RESPONSES).results == []


@pytest.mark.parametrize("kind", ["computer_call_output", "local_shell_call_output", "mcp_approval_response"])
def test_an_output_of_the_hosts_may_have_an_id(kind: str) -> None:
    assert one({"type": kind, "id": "x_1", "output": "x"}, RESPONSES).role == "tool"


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_a_result_may_have_an_id_of_its_own(kind: str) -> None:
    item = {"type": kind, "id": "fco_1", "call_id": "a", "output": "x"}
    assert one(item, RESPONSES) == Message("tool", (Part("result", ("x",), (), "a"),))


def test_a_reference_may_have_its_id_alone() -> None:
    # `{"id":"msg_1"}`: 1 + 5 + 7 + 1
    assert one({"id": "msg_1"}, RESPONSES) == Message("other", (other(14),))
    assert one({"id": "msg_1", "type": None}, RESPONSES).role == "other"


REPORTED = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2}


@pytest.mark.parametrize(
    "item",
    [
        {"type": "message", "role": "assistant", "content": "hi"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "a", "name": "read", "input": ""},
        {"type": "reasoning", "summary": []},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "program", "id": "p_1"},
    ],
)
def test_usage_is_read_on_each_item_of_the_models(item: dict[str, Any]) -> None:
    assert one(item, RESPONSES).usage is None
    assert one({**item, "usage": REPORTED}, RESPONSES).usage == Usage(input_missed=6, input_cached=4, output=2)


def test_the_items_that_the_model_wrote_in_a_row_are_one_response() -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
    called = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}
    thought = {"type": "reasoning", "summary": []}
    returned = {"type": "function_call_output", "call_id": "a", "output": "x"}
    asked = {"role": "user", "content": "go on"}
    items = [asked, thought, said, called, called, returned, returned, called, asked, said, thought, asked, asked, said]
    transcript = read(items, RESPONSES)
    assert transcript.responses == [1, 7, 9, 13]
    assert [(each.position, each.responses) for each in transcript.results] == [(5, 1), (6, 1)]
    assert transcript.turn == 4


@pytest.mark.parametrize(
    "between",
    [
        {"type": "tool_search_output", "id": "tso_1", "tools": []},
        {"type": "shell_call_output", "id": "sho_1", "output": []},
        {"type": "program_output", "id": "po_1", "output": "4"},
        {"type": "compaction", "id": "c_1", "encrypted_content": "zzz"},
        {"type": "item_reference", "id": "msg_1"},
        {"id": "msg_1"},
        {"type": "configuration_update"},
        {"type": "something_new"},
    ],
)
def test_what_is_nobodys_neither_ends_a_response_nor_begins_one(between: dict[str, Any]) -> None:
    searched = {"type": "tool_search_call", "id": "tsc_1"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
    asked = {"role": "user", "content": "go on"}
    items = [between, asked, between, searched, between, said, between, asked, between, said]
    assert read(items, RESPONSES).responses == [3, 9]
    assert read(items, RESPONSES).turn == 2


@pytest.mark.parametrize(
    "returned",
    [
        {"type": "computer_call_output", "id": "cco_1", "call_id": "b", "output": {}},
        {"type": "mcp_approval_response", "approval_request_id": "b", "approve": True},
        {"type": "shell_call_output", "call_id": "b", "output": []},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
    ],
)
def test_what_the_host_returned_ends_a_response(returned: dict[str, Any]) -> None:
    called = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}
    assert read([called, called, returned, called], RESPONSES).responses == [0, 3]


def test_a_run_that_two_lists_bring_is_one_response() -> None:
    items: list[Any] = [
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"},
    ]
    grows = reader(items[:2])
    assert grows.follow(items[:2])
    assert grows.follow(items)
    assert grows.transcript.responses == [1]


@pytest.mark.parametrize("dialect", [CHAT, ANTHROPIC])
def test_each_message_of_the_model_is_a_response(dialect: str) -> None:
    said = {"role": "assistant", "content": "hi"}
    assert read([said, said, {"role": "user", "content": "go on"}, said], dialect).responses == [0, 1, 3]


# Anthropic


def test_blocks_of_an_anthropic_response_are_texts_thoughts_calls_and_others() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "zzz"},
        {"type": "redacted_thinking", "data": "zz"},  # 1 + 26 + 1 + 11 + 1 = 40
        {"type": "text", "text": "On it."},
        {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "é", "n": [1, 2.0]}},
        {"type": "server_tool_use", "id": "b", "name": "web_search", "input": {}},
    ]
    usage = {"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3, "output_tokens": 4}
    assert one({"role": "assistant", "content": content, "usage": usage}, ANTHROPIC) == Message(
        "assistant",
        (
            Part("reasoning", ("Hm.",)),
            other(40),
            text("On it."),
            call("a", "read", '{"path":"é","n":[1,2.0]}'),
            call("b", "web_search", "{}"),
        ),
        Usage(1, 2, 3, 4),
    )


def test_results_of_anthropic_are_blocks_of_a_user_message_beside_its_texts() -> None:
    content = [
        {"type": "tool_result", "tool_use_id": "a", "content": "text"},
        {"type": "text", "text": "and this?"},
        {
            "type": "tool_result",
            "tool_use_id": "b",
            "content": [{"type": "text", "text": "x"}, IMAGE],
            "is_error": False,
        },
        {"type": "tool_result", "tool_use_id": "c", "content": "no such file", "is_error": True},
        {"type": "tool_result", "tool_use_id": "d"},
        {"type": "tool_result", "tool_use_id": "e", "content": None, "is_error": None},
    ]
    assert one({"role": "user", "content": content}, ANTHROPIC) == Message(
        "user",
        (
            Part("result", ("text",), (), "a", wrapped=True, place=0),
            text("and this?"),
            Part("result", ("x",), (82,), "b", wrapped=True, place=2),
            Part("result", ("no such file",), (), "c", is_error=True, wrapped=True, place=3),
            Part("result", (), (), "d", wrapped=True, place=4),
            Part("result", (), (), "e", wrapped=True, place=5),
        ),
    )


def test_a_result_in_a_message_of_the_model_is_the_providers_own_and_never_one_of_a_tool() -> None:
    found = {"type": "web_search_tool_result", "tool_use_id": "b", "content": [{"type": "web_search_result"}]}
    searched = {"type": "server_tool_use", "id": "b", "name": "web_search", "input": {}}
    assert read([{"role": "assistant", "content": [searched, found]}]).results == []


def test_an_anthropic_list_may_begin_with_a_system_message() -> None:
    said = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}
    assert one(said, ANTHROPIC) == Message("system", (text("Be brief."),))


# What all of them have in common

CONVERSATION: list[Step] = [
    User("Find it."),
    Response("Both.", (Call("a", "read", {"path": "é"}), Call("b", "grep", {"n": 1}))),
    Results((Returned("a", "héé"), Returned("b", [{"type": "text", "text": "x"}, {"type": "text", "text": "yz"}]))),
    Response(calls=(Call("a", "bash"),)),
    Results((Returned("a", None),), "and now?"),
    Response("Done."),
]
"""The id `a` comes twice, of two tools; each dialect has its own number of messages."""


@every_dialect
def test_results_are_read_alike_in_every_dialect(dialect: str) -> None:
    results = read(written(CONVERSATION, dialect)).results
    assert [(r.key, r.tool, r.code_points, r.responses, r.turn) for r in results] == [
        (("a", 0), "read", 3, 1, 1),
        (("b", 0), "grep", 3, 1, 1),
        (("a", 1), "bash", 0, 2, 1),
    ]


@pytest.mark.parametrize(
    ("dialect", "places", "responses"),
    [
        (CHAT, [(2, None), (3, None), (5, None)], [1, 4, 7]),
        (RESPONSES, [(4, None), (5, None), (7, None)], [1, 6, 9]),
        (ANTHROPIC, [(2, 0), (2, 1), (4, 0)], [1, 3, 5]),
    ],
)
def test_a_result_says_in_which_message_and_at_which_place_it_stands(
    dialect: str, places: list[tuple[int, int | None]], responses: list[int]
) -> None:
    transcript = read(written(CONVERSATION, dialect))
    assert [(each.position, each.place) for each in transcript.results] == places
    assert transcript.responses == responses
    assert [transcript.part_of(each).texts for each in transcript.results] == [("héé",), ("x", "yz"), ()]


@pytest.mark.parametrize(("dialect", "turns"), [(CHAT, 2), (RESPONSES, 2), (ANTHROPIC, 1)])
def test_text_beside_results_begins_no_turn(dialect: str, turns: int) -> None:
    # In the OpenAI dialects it is a message of its own.
    assert read(written(CONVERSATION, dialect)).turn == turns


@every_dialect
def test_a_result_without_a_call_has_no_tool(dialect: str) -> None:
    only = read(written([User("u"), Results((Returned("lost", "x"),))], dialect)).results
    assert [(each.key, each.tool) for each in only] == [(("lost", 0), None)]


@every_dialect
def test_ids_that_are_no_texts_are_empty(dialect: str) -> None:
    steps: list[Step] = [Response(calls=(Call(None, "read"),)), Results((Returned(None, "x"),))]  # type: ignore[arg-type]
    only = read(written(steps, dialect)).results
    assert [(each.key, each.tool) for each in only] == [(("", 0), "read")]


BLOCKS: dict[str, list[Any]] = {
    CHAT: [{"type": "text", "text": "ab"}, {"type": "input_text", "text": "no"}],
    RESPONSES: [
        {"type": "input_text", "text": "a"},
        {"type": "output_text", "text": "b"},
        {"type": "image", "text": ""},
    ],
    ANTHROPIC: [{"type": "text", "text": "ab"}, {"type": "input_text", "text": "no"}],
}


def result_of(content: Any, dialect: str) -> dict[str, Any]:
    """A message that holds this as a result."""
    messages = {
        CHAT: {"role": "tool", "tool_call_id": "a", "content": content},
        RESPONSES: {"type": "function_call_output", "call_id": "a", "output": content},
        ANTHROPIC: {"role": "user", "content": [{**TOOL_RESULT, "content": content}]},
    }
    return messages[dialect]


@every_dialect
def test_a_result_counts_the_texts_that_the_cut_would_count(dialect: str) -> None:
    odd = [*BLOCKS[dialect], {"type": "text", "text": None}, {"type": 7, "text": "no"}]
    transcript = read([result_of(odd, dialect)])
    assert transcript.results[0].code_points == 2
    part = transcript.part_of(transcript.results[0])
    assert "".join(part.texts) == "ab"
    assert len(part.texts) + len(part.others) == len(odd)


@every_dialect
def test_messages_of_the_model_may_be_objects_with_attributes(dialect: str) -> None:
    messages = written(CONVERSATION, dialect)
    mixed = [
        attributes(message) if message.get("role") == "assistant" or message.get("type") == "function_call" else message
        for message in messages
    ]
    # An object is no dict: a call's arguments in Anthropic's messages stay one there.
    for message in mixed:
        for block in getattr(message, "content", None) or []:
            if getattr(block, "type", None) == "tool_use":
                block.input = vars(block.input)
    assert read(mixed).messages == read(messages).messages
    assert read(mixed).results == read(messages).results


@every_dialect
def test_blocks_of_the_model_may_be_objects_in_a_dict(dialect: str) -> None:
    blocks = {CHAT: "text", RESPONSES: "output_text", ANTHROPIC: "text"}
    said = {"role": "assistant", "content": [attributes({"type": blocks[dialect], "text": "hi"})]}
    assert one(said, dialect) == Message("assistant", (text("hi"),))


@every_dialect
def test_blocks_of_a_result_may_be_objects_in_a_dict(dialect: str) -> None:
    kind = "input_text" if dialect == RESPONSES else "text"
    blocks = [attributes({"type": kind, "text": "x"}), attributes({"type": "other", "text": "y"})]
    (part,) = one(result_of(blocks, dialect), dialect).parts
    assert part.texts == ("x",)
    # `"SimpleNamespace"`: what JSON has no form for
    assert part.others == (17,)


@every_dialect
def test_reading_changes_nothing(dialect: str) -> None:
    messages = written(CONVERSATION, dialect)
    before = copy.deepcopy(messages)
    read(messages)
    assert messages == before


# Messages that cannot be read


SPOKEN = {
    CHAT: "assistant, user, system, developer, tool, function",
    RESPONSES: "assistant, user, system, developer",
    ANTHROPIC: "assistant, user, system, developer",
}
"""The roles that each dialect has."""


def refused(messages: list[Any], dialect: str | None = None) -> str:
    """The sentence about a list that cannot be read."""
    with pytest.raises(MessageError) as caught:
        read(messages, dialect)
    assert isinstance(caught.value, ToolpruneError)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def sentence(position: int, kind: str, dialect: str, reason: str) -> str:
    return (
        f"messages[{position}], a {kind}, cannot be read as {dialect}: {reason}; give OpenAI chat messages, OpenAI "
        "Responses items or Anthropic messages, or name their dialect"
    )


@pytest.mark.parametrize(
    ("message", "kind", "role"),
    [
        (None, "NoneType", None),
        ("hi", "str", None),
        (7, "int", None),
        ([], "list", None),
        ({}, "dict", None),
        ({"content": "hi"}, "dict", None),
        ({"role": None, "content": "hi"}, "dict", None),
        ({"role": 7, "content": "hi"}, "dict", 7),
        ({"role": ["user"], "content": "hi"}, "dict", ["user"]),
        ({"role": "", "content": "hi"}, "dict", ""),
        # One that is not known, and no content either
        ({"role": "critic"}, "dict", "critic"),
        ({"role": "critic", "content": None}, "dict", "critic"),
        # Gemini's
        ({"role": "model", "parts": [{"text": "hi"}]}, "dict", "model"),
        # LangChain's, as objects and as their dicts
        *[
            (message, kind, None)
            for name in ("human", "ai", "tool", "system", "function", "chat", "remove")
            for message, kind in (
                (SimpleNamespace(type=name, content="hi", tool_call_id="a", id="run-1"), "SimpleNamespace"),
                ({"type": name, "content": "hi"}, "dict"),
            )
        ],
    ],
)
@pytest.mark.parametrize("dialect", [None, *NAMES])
def test_a_message_of_nobodys_is_refused_by_its_index_and_its_type(
    message: Any, kind: str, role: object, dialect: str | None
) -> None:
    read_as = dialect or CHAT
    reason = f"its role is {role!r}, and should be one of {SPOKEN[read_as]}"
    assert refused([{"role": "user", "content": "hi"}, message], dialect) == sentence(1, kind, read_as, reason)


@pytest.mark.parametrize("role", ["tool", "function"])
@pytest.mark.parametrize("dialect", [RESPONSES, ANTHROPIC])
def test_a_result_of_a_chat_in_another_dialect_is_refused(role: str, dialect: str) -> None:
    result = {"role": role, "tool_call_id": "a", "name": "read", "content": "x"}
    reason = f"its role is {role!r}, and should be one of {SPOKEN[dialect]}"
    assert refused([result], dialect) == sentence(0, "dict", dialect, reason)
    # Recognised by what stands before it.
    shows = {RESPONSES: {"type": "reasoning", "summary": []}, ANTHROPIC: {"role": "user", "content": [TOOL_RESULT]}}
    assert refused([shows[dialect], result]) == sentence(1, "dict", dialect, reason)


def test_an_item_of_responses_in_another_dialect_is_refused() -> None:
    item = {"type": "function_call_output", "call_id": "a", "output": "x"}
    for dialect in (CHAT, ANTHROPIC):
        assert refused([item], dialect).startswith(
            f"messages[0], a dict, cannot be read as {dialect}: its role is None, "
        )


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"text": "hi"}, "{'text': 'hi'}"),
        ({"toolUse": {"toolUseId": "a"}}, "{'toolUse': {'toolUseId': 'a'}}"),
        ({"type": None}, "{'type': None}"),
        ("hi", "'hi'"),
        (None, "None"),
        (7, "7"),
    ],
)
@every_dialect
def test_a_block_without_a_type_is_refused(block: Any, shown: str, dialect: str) -> None:
    for role in ("user", "assistant", "system"):
        spoken = [{"role": "user", "content": "hi"}, {"role": role, "content": [{"type": "text", "text": "a"}, block]}]
        reason = f"it has a block without a type, {shown}"
        assert refused(spoken, dialect) == sentence(1, "dict", dialect, reason)
    result = result_of([{"type": "text", "text": "a"}, block], dialect)
    assert refused([result], dialect) == sentence(0, "dict", dialect, f"it has a block without a type, {shown}")


@pytest.mark.parametrize(
    ("content", "shown"), [(7, "7"), ({"type": "text", "text": "hi"}, "{'text': 'hi', 'type': 'text'}"), (b"x", "b'x'")]
)
@every_dialect
def test_content_that_is_neither_text_nor_list_is_refused(content: Any, shown: str, dialect: str) -> None:
    reason = f"its content is {shown}, and should be a list"
    for role in ("user", "assistant", "system"):
        assert refused([{"role": role, "content": content}], dialect) == sentence(0, "dict", dialect, reason)
    field = "output" if dialect == "openai-responses" else "content"
    reason = f"its {field} is {shown}, and should be a list"
    assert refused([result_of(content, dialect)], dialect) == sentence(0, "dict", dialect, reason)


@every_dialect
def test_blocks_that_can_be_read_only_once_are_refused(dialect: str) -> None:
    for message in ({"role": "user", "content": iter(["hi"])}, result_of(iter(["hi"]), dialect)):
        assert re.search("its (content|output) is <list_iterato", refused([message], dialect))


def test_other_fields_that_should_be_lists_are_refused_by_their_name() -> None:
    spoken = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": 5}]
    assert refused(spoken) == sentence(1, "dict", CHAT, "its tool_calls is 5, and should be a list")
    thought = [{"type": "reasoning", "summary": "Hm."}]
    assert refused(thought) == sentence(0, "dict", RESPONSES, "its summary is 'Hm.', and should be a list")


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_call_without_a_name_is_refused(name: Any) -> None:
    reason = f"it has a call whose name is {name!r}, and should be a text"
    calls: list[tuple[str, dict[str, Any]]] = [
        (CHAT, {"role": "assistant", "content": None, "tool_calls": [chat_call("a", name, "{}")]}),
        (CHAT, {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": "{}"}}),
        (RESPONSES, {"type": "function_call", "call_id": "a", "name": name, "arguments": "{}"}),
        (RESPONSES, {"type": "custom_tool_call", "call_id": "a", "name": name, "input": ""}),
        (ANTHROPIC, {"role": "assistant", "content": [{**TOOL_USE, "name": name}]}),
    ]
    for dialect, message in calls:
        assert refused([message], dialect) == sentence(0, "dict", dialect, reason)


@pytest.mark.parametrize("kind", [["text"], {"a": 1}, 7, True])
def test_a_type_that_is_no_text_raises_no_bare_error(kind: Any) -> None:
    for message in ({"type": kind}, {"type": kind, "role": "user"}, {"role": "user", "content": [{"type": kind}]}):
        assert recognised([message]) is None
        for dialect in (None, *NAMES):
            with suppress(MessageError):
                read([message], dialect)


@pytest.mark.parametrize("dialect", [CHAT, ANTHROPIC])
def test_a_block_that_json_cannot_hold_is_named_by_the_index_of_its_message(dialect: str) -> None:
    circle: dict[str, Any] = {"type": "image"}
    circle["self"] = circle
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    try:
        for block in (circle, {"type": "image", ("a", "key"): 1}, {"type": "image", "data": deep}):
            with pytest.raises(MessageError, match=rf"^messages\[0\], a dict, cannot be read as {dialect}: "):
                read([{"role": "user", "content": [block]}], dialect)
    finally:
        while deep:  # taken apart from outside: older Pythons do it by recursion
            deep = deep.pop()


def test_what_json_has_no_form_for_is_counted_by_the_name_of_its_type() -> None:
    # `{"type":"image","data":"bytes"}`: 1 + 14 + 1 + 14 + 1
    assert one({"role": "user", "content": [{"type": "image", "data": b"\x00" * 4000}]}, ANTHROPIC).parts == (
        other(31),
    )


# Telling the dialects apart

EVIDENCE: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"role": "tool", "tool_call_id": "a", "content": "x"}),
    (CHAT, {"role": "function", "name": "read", "content": "x"}),
    (CHAT, {"role": "assistant", "content": None, "tool_calls": [chat_call("a", "read", "{}")]}),
    (RESPONSES, {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}),
    (RESPONSES, {"type": "function_call_output", "call_id": "a", "output": "x"}),
    (RESPONSES, {"type": "reasoning", "summary": []}),
    (RESPONSES, {"type": "item_reference", "id": "msg_1"}),
    (RESPONSES, {"id": "msg_1"}),
    (RESPONSES, {"type": "something_new"}),
    (RESPONSES, {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
    (RESPONSES, {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}),
    (RESPONSES, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}),
    (ANTHROPIC, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}]}),
    (ANTHROPIC, {"role": "assistant", "content": [{"type": "server_tool_use", "id": "a", "name": "x", "input": {}}]}),
    (ANTHROPIC, {"role": "assistant", "content": [{"type": "mcp_tool_use", "id": "a", "name": "x", "input": {}}]}),
    (ANTHROPIC, {"role": "user", "content": [{"type": "text", "text": "see"}, TOOL_RESULT]}),
]

OPEN: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "hi"},
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {"role": "assistant", "content": "hello"},
    {"role": "assistant", "content": None, "tool_calls": None},
    {"role": "assistant", "content": "hello", "tool_calls": []},
    {"type": "message", "role": "user", "content": "hi"},
    # Blocks that no dialect needs for its calls or results, so that others borrow them.
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
    {"role": "user", "content": [{"type": "file", "file": {}}]},
    {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]},
    {"role": "user", "content": [{"type": "document", "source": {}}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}]},
    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": ""}]},
]
"""Messages that may be of any dialect, or of two."""


@pytest.mark.parametrize(("dialect", "message"), EVIDENCE)
def test_one_message_of_a_dialect_shows_it_wherever_it_stands(dialect: str, message: dict[str, Any]) -> None:
    for messages in ([message], [*OPEN, message], [message, *OPEN], [attributes(message)]):
        assert recognised(messages) is DIALECTS[dialect]


@pytest.mark.parametrize("message", OPEN)
def test_a_message_that_may_be_of_any_dialect_shows_none(message: dict[str, Any]) -> None:
    assert recognised([message]) is None
    assert recognised([attributes(message)]) is None


@pytest.mark.parametrize("kind", ["human", "ai", "tool", "system", "function", "chat", "remove"])
def test_a_message_of_langchains_shows_no_dialect(kind: str) -> None:
    assert recognised([{"type": kind, "content": "hi", "id": "run-1"}]) is None
    assert recognised([SimpleNamespace(type=kind, content="hi", tool_calls=[], id="run-1")]) is None


def test_no_messages_show_no_dialect() -> None:
    assert recognised([]) is None
    assert read([]).messages == []


def test_the_first_message_that_shows_a_dialect_decides() -> None:
    assert recognised([EVIDENCE[0][1], EVIDENCE[-1][1]]) is DIALECTS[CHAT]
    assert recognised([EVIDENCE[-1][1], EVIDENCE[0][1]]) is DIALECTS[ANTHROPIC]


def test_a_dialect_that_is_named_beats_what_the_messages_show() -> None:
    result = {"role": "user", "content": [TOOL_RESULT]}
    assert len(read([result]).results) == 1
    assert read([result], CHAT).results == []


def test_until_a_dialect_shows_a_list_is_read_as_any() -> None:
    unsure = reader([{"role": "user", "content": "hi"}])
    assert not unsure.certain
    assert reader([{"role": "user", "content": "hi"}], ANTHROPIC).certain
    assert reader([EVIDENCE[-1][1]]).certain


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("openai", "'openai'; did you mean openai-chat?"),
        ("antropic", "'antropic'; did you mean anthropic?"),
        ("openai_responses", "'openai_responses'; did you mean openai-responses?"),
        ("gemini", "'gemini'; there are openai-chat, openai-responses, anthropic"),
        ("", "''; there are openai-chat, openai-responses, anthropic"),
        (7, "7; there are openai-chat, openai-responses, anthropic"),
        (["openai-chat"], "['openai-chat']; there are openai-chat, openai-responses, anthropic"),
    ],
)
def test_a_dialect_that_is_not_known_is_refused_with_the_nearest(name: Any, end: str) -> None:
    with pytest.raises(MessageError) as caught:
        named(name)
    assert str(caught.value) == f"there is no dialect {end}"


# Rewriting


def shortened(content: Any) -> Any:
    return "short" if isinstance(content, str) else [{"type": "text", "text": "short"}]


@pytest.mark.parametrize(
    ("dialect", "message", "place", "field"),
    [
        (
            CHAT,
            {"x": [1], "content": "long", "tool_call_id": "a", "role": "tool", "name": None, "y": {"z": 1.0}},
            None,
            ("content",),
        ),
        (
            RESPONSES,
            {"id": "fco_1", "output": "long", "type": "function_call_output", "status": "completed", "call_id": "a"},
            None,
            ("output",),
        ),
        (
            RESPONSES,
            {"call_id": "a", "type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "long"}]},
            None,
            ("output",),
        ),
        (
            ANTHROPIC,
            {
                "content": [
                    {"type": "text", "text": "before", "cache_control": {"type": "ephemeral"}},
                    {
                        "cache_control": {"type": "ephemeral", "ttl": "1h"},
                        "content": [{"type": "text", "text": "long"}, IMAGE],
                        "is_error": False,
                        "tool_use_id": "a",
                        "type": "tool_result",
                    },
                    IMAGE,
                ],
                "role": "user",
                "x": None,
            },
            1,
            ("content", 1, "content"),
        ),
    ],
)
def test_a_rewrite_changes_the_content_of_one_result_and_nothing_else(
    dialect: str, message: dict[str, Any], place: int | None, field: tuple[str | int, ...]
) -> None:
    before = json.dumps(message)
    after = DIALECTS[dialect].rewrite(message, {place: shortened})
    assert json.dumps(message) == before
    expected: Any = json.loads(before)
    held = expected
    for key in field[:-1]:
        held = held[key]
    held[field[-1]] = shortened(held[field[-1]])
    # As JSON, so that the order of keys counts too.
    assert json.dumps(after) == json.dumps(expected)


def test_the_blocks_beside_a_rewritten_result_are_the_same_objects() -> None:
    content: list[Any] = [
        {"type": "tool_result", "tool_use_id": "a", "content": "x"},
        {"type": "tool_result", "tool_use_id": "b", "content": "long"},
        {"type": "text", "text": "and now?"},
    ]
    message = {"role": "user", "content": content}
    after = DIALECTS[ANTHROPIC].rewrite(message, {1: shortened})
    assert [new is old for new, old in zip(after["content"], content, strict=True)] == [True, False, True]
    assert after["content"][1] == {"type": "tool_result", "tool_use_id": "b", "content": "short"}


# Following a list that grows


@every_dialect
def test_only_what_is_new_of_a_list_is_read(dialect: str) -> None:
    messages = written(CONVERSATION, dialect)
    grows = reader(messages)
    for length in range(len(messages) + 1):
        assert grows.follow(messages[:length])
        assert len(grows.transcript.messages) == length
    assert grows.transcript.messages == read(messages).messages
    assert grows.transcript.results == read(messages).results
    assert grows.follow(copy.deepcopy(messages))


def without(messages: Sequence[Any], position: int) -> list[Any]:
    return [*messages[:position], *messages[position + 1 :]]


@every_dialect
def test_a_list_that_does_not_go_on_from_the_last_is_not_read(dialect: str) -> None:
    messages = written(CONVERSATION, dialect)
    grows = reader(messages)
    grows.follow(messages)
    before = list(grows.transcript.messages)
    summary = {"role": "user", "content": "So far: nothing."}
    for other_list in (messages[:-1], [], without(messages, 1), [summary, *messages[1:]], [summary, *messages]):
        assert not grows.follow(other_list)
    assert grows.transcript.messages == before
    assert grows.follow([*messages, summary])


@every_dialect
def test_a_message_that_was_changed_where_it_stands_is_noticed(dialect: str) -> None:
    messages = written(CONVERSATION, dialect)
    grows = reader(messages)
    grows.follow(messages)
    messages[0]["content"] = "Find something else."
    assert not grows.follow(messages)


def test_a_block_that_was_changed_where_it_stands_is_noticed() -> None:
    messages = written(CONVERSATION, ANTHROPIC)
    grows = reader(messages)
    grows.follow(messages)
    messages[2]["content"][1]["content"][0]["text"] = "w"
    assert not grows.follow(messages)


def test_a_mark_for_the_cache_may_move() -> None:
    messages = written(CONVERSATION, ANTHROPIC)
    grows = reader(messages)
    for marked in (2, 4, None):
        moved = copy.deepcopy(messages)
        if marked is not None:
            moved[marked]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        assert grows.follow(moved)
    assert grows.transcript.results == read(messages).results


def test_objects_that_cannot_be_compared_are_read_again() -> None:
    class Sulking(SimpleNamespace):
        __hash__ = None

        def __eq__(self, _: object) -> bool:
            raise RuntimeError("not now")

    said = Sulking(role="assistant", content="hi")
    grows = reader([said])
    assert grows.follow([said])
    assert grows.follow([Sulking(role="assistant", content="hi"), {"role": "user", "content": "hi"}])
    assert not grows.follow([Sulking(role="assistant", content="ho"), {"role": "user", "content": "hi"}])


def test_a_refusal_in_a_chat_is_a_text_of_the_models() -> None:
    read_ = read([{"role": "assistant", "content": None, "refusal": "No."}], "openai-chat")
    assert read_.messages == [Message("assistant", (Part("text", ("No.",)),))]


def test_audio_shows_no_dialect_since_two_have_it() -> None:
    heard = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]}
    assert not reader([heard]).certain
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    chat = [
        heard,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ]
    assert [result.tool for result in read(chat).results] == ["read"]


def test_what_a_server_names_twice_was_thought_once() -> None:
    message = {"role": "assistant", "content": "a", "reasoning_content": "hm", "reasoning": "hm"}
    assert read([message], "openai-chat").messages[0].parts == (Part("reasoning", ("hm",)), Part("text", ("a",)))
