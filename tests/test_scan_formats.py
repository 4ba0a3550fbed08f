"""What a scan finds in each format: joins, contents, errors, copies, detection. Values are worked out on paper."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings

from make_logs import (
    assistant,
    call,
    claude_code_logs,
    dsh_logs,
    frames,
    line,
    log,
    result_v0,
    result_v4,
    session,
    skippable,
    text,
    tool_result,
    tool_use,
    user,
)
from scanning import Found, assert_same, command_json, comparable, figures, scan

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
IMAGE = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}
GENERATED = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Write a log, scan it beside the slow reader, and give what both found."""

    def write(*lines: Any, name: str = "s.jsonl", **options: Any) -> Found:
        path = tmp_path / name
        path.write_bytes(log(*lines))
        return assert_same(path, all_results=True, **options)

    return write


def column(found: Found, name: str) -> list[Any]:
    """One column of the results."""
    return [row[name] for row in found["results"]]


# Calls and results


def test_a_result_has_the_tool_that_its_call_names(written: Any) -> None:
    found = written(assistant(tool_use("a", "Bash")), user(tool_result("a", "four")))
    assert column(found, "tool") == ["Bash"]
    assert found["by_tool"] == [{"tool": "Bash", "results": 1, "code_points": 4, "over_threshold": 0}]


def test_two_calls_in_one_message_keep_their_results_apart(written: Any) -> None:
    calls = assistant(tool_use("a", "Bash"), text("and"), tool_use("b", "Read"))
    found = written(calls, user(tool_result("b", "bb"), text("both"), tool_result("a", "a")))
    assert column(found, "tool") == ["Read", "Bash"]
    assert column(found, "code_points") == [2, 1]
    assert column(found, "line") == [2, 2]


def test_of_two_calls_with_one_id_the_nearest_earlier_names_the_tool(written: Any) -> None:
    found = written(
        user(tool_result("a", "0")),
        assistant(tool_use("a", "Bash")),
        user(tool_result("a", "1")),
        assistant(tool_use("a", "Read"), tool_use("a", "Grep")),
        user(tool_result("a", "2"), tool_use("a", "Glob"), tool_result("a", "3")),
    )
    assert column(found, "tool") == [None, "Bash", "Grep", "Glob"]


def test_a_call_in_another_file_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_bytes(log(assistant(tool_use("a", "Bash"))))
    (tmp_path / "2.jsonl").write_bytes(log(user(tool_result("a", "x"))))
    found = assert_same(tmp_path / "1.jsonl", tmp_path / "2.jsonl", all_results=True)
    assert column(found, "tool") == [None]


@pytest.mark.parametrize(
    "call_id", ["", "a" * 1536, "a\nb", "\x00", "\x1b[31m", "../x", "NUL", "a:b", "\ud83d", "潮🌊"]
)
def test_any_text_is_an_id(written: Any, call_id: str) -> None:
    other = call_id + "x"
    found = written(
        assistant(tool_use(call_id, "Bash"), tool_use(other, "Read")),
        user(tool_result(call_id, "1"), tool_result(other, "2")),
    )
    assert column(found, "call_id") == [call_id, other]
    assert column(found, "tool") == ["Bash", "Read"]


def test_ids_and_names_compare_as_decoded_text(written: Any) -> None:
    block = rb'{"type":"tool_use","id":"\u0061\/\ud83c\udf0a","name":"B\u0061sh"}'
    spelled = b'{"type":"assistant","message":{"content":[' + block + b"]}}"
    found = written(spelled, user(tool_result("a/🌊", "x"), tool_result("a/\\ud83c", "x")))
    assert column(found, "tool") == ["Bash", None]


@pytest.mark.parametrize(
    ("block", "tool"),
    [
        # The later value of a key counts, and an empty text stands behind the earlier one.
        (b'{"type":"tool_use","id":"x","name":"","id":""}', ""),
        (b'{"type":"tool_use","name":"x","id":"","name":null}', None),
    ],
)
def test_an_empty_text_behind_one_that_a_later_value_replaces_is_an_empty_text(
    written: Any, block: bytes, tool: str | None
) -> None:
    called = (
        b'{"type":"assistant","uuid":"a","sessionId":"s","message":{"role":"assistant","content":[' + block + b"]}}"
    )
    found = written(user(text("go")), called, user(tool_result("", "four"), tool_result("x", "one")))
    assert figures(found) == (3, 0, 2, 7)
    assert column(found, "call_id") == ["", "x"]
    assert column(found, "tool") == [tool, None]


def test_names_that_only_the_spelling_parts_are_one_tool(written: Any) -> None:
    spelled = rb'{"message":{"content":[{"type":"tool_use","id":"b","name":"\u0042ash"}]}}'
    found = written(assistant(tool_use("a", "Bash")), spelled, user(tool_result("a", "1"), tool_result("b", "2")))
    assert found["by_tool"] == [{"tool": "Bash", "results": 2, "code_points": 2, "over_threshold": 0}]


def test_types_and_members_may_be_spelled_with_escapes(written: Any) -> None:
    spelled = rb'{"ty\u0070e":"us\u0065r","message":{"content":[{"type":"tool\u005fresult","content":"x"}],"usage":0}}'
    assert written(spelled)["tool_results"] == 1


def test_an_id_of_the_wrong_kind_is_absent(written: Any) -> None:
    found = written(
        assistant(tool_use("a", "Bash"), tool_use(7, "Seven"), tool_use(None, "None")),
        user(tool_result(7, "x"), tool_result(None, "x"), tool_result({"id": "a"}, "x")),
    )
    assert column(found, "call_id") == [None, None, None]
    assert column(found, "tool") == [None, None, None]


@pytest.mark.parametrize(
    ("spelled", "is_one"),
    [
        (b"i" * 4096, True),
        (b"i" * 4097, False),
        # As it stands in the log, and not as it decodes: 4,096 and 4,098 bytes.
        (rb"\u0069" * 682 + b"i" * 4, True),
        (rb"\u0069" * 683, False),
        ("潮".encode() * 1365 + b"i", True),
        ("潮".encode() * 1366, False),
    ],
)
def test_an_id_or_a_name_of_more_than_4096_bytes_is_none(written: Any, spelled: bytes, is_one: bool) -> None:
    decoded = json.loads(b'"' + spelled + b'"') if is_one else None
    by_id = (line(assistant(tool_use("?", "Bash"))), line(user(tool_result("?", "x"))))
    found = written(*(each.replace(b"?", spelled) for each in by_id))
    assert (column(found, "call_id"), column(found, "tool")) == ([decoded], ["Bash" if is_one else None])
    by_name = line(assistant(tool_use("a", "?"))).replace(b"?", spelled)
    assert column(written(by_name, user(tool_result("a", "x"))), "tool") == [decoded]
    in_session = line(user(tool_result("a", "x"), sessionId="?")).replace(b"?", spelled)
    assert column(written(in_session), "session") == [decoded]
    in_head = line(session("?")).replace(b"?", spelled)
    assert column(written(in_head, result_v4("a", [])), "session") == [decoded]


@pytest.mark.parametrize(("others", "expected"), [(65_535, (1, 0, 65_536)), (65_536, (1, 1, 0))])
def test_a_line_of_more_than_65536_calls_and_results_is_malformed(
    tmp_path: Path, others: int, expected: tuple[int, int, int]
) -> None:
    path = tmp_path / "s.jsonl"
    # Blocks of other kinds do not count.
    path.write_bytes(log(user(*[tool_result("a", "")] * others, text("x"), tool_result("b", ""))))
    found = assert_same(path)
    assert (found["lines"], found["malformed_lines"], found["tool_results"]) == expected


@pytest.mark.parametrize(("name", "malformed"), [("n" * 4095, 0), ("n" * 4096, 1)])
def test_a_line_whose_ids_and_names_take_more_than_8_mebibytes_is_malformed(
    tmp_path: Path, name: str, malformed: int
) -> None:
    path = tmp_path / "s.jsonl"
    # The session's one byte, 2,047 ids of 4,096 bytes, and one id and name that fill the rest or go one byte beyond.
    calls = [*[tool_use("i" * 4096, None)] * 2047, tool_use("", name)]
    path.write_bytes(log(assistant(*calls), user(tool_result("", "x"))))
    found = assert_same(path, all_results=True)
    assert found["malformed_lines"] == malformed
    assert column(found, "tool") == [None if malformed else name]


@pytest.mark.parametrize("name", [None, 7, ["Bash"]])
def test_a_call_without_a_name_is_still_the_nearest(written: Any, name: Any) -> None:
    found = written(assistant(tool_use("a", "Bash")), assistant(tool_use("a", name)), user(tool_result("a", "x")))
    assert column(found, "tool") == [None]


def test_a_call_stands_anywhere_but_a_result_only_in_a_user_line(written: Any) -> None:
    elsewhere = {**user(tool_result("a", "no")), "type": "assistant"}
    calls = {**assistant(tool_use("a", "Bash")), "type": "progress"}
    found = written(calls, elsewhere, user(tool_result("a", "yes")))
    assert column(found, "code_points") == [3]
    assert column(found, "tool") == ["Bash"]


def test_what_looks_like_a_result_elsewhere_is_none(written: Any) -> None:
    found = written(
        user(text('{"type":"tool_result","content":"x"}')),
        user(tool_result("a", [tool_result("b", "nested")])),
        {**user(), "toolUseResult": [tool_result("c", "copy")]},
        {"type": "user", "content": [tool_result("d", "not in a message")], "sessionId": "s"},
        {"type": "user", "message": {"content": tool_result("e", "no list")}},
        {"type": "user", "message": [tool_result("f", "no object")]},
    )
    assert column(found, "call_id") == ["a"]
    assert found["code_points"] == 0


def test_the_order_of_keys_does_not_matter(written: Any) -> None:
    block = b'{"content":"four","tool_use_id":"a","type":"tool_result"}'
    turned = b'{"type":"tool_result","tool_use_id":"a","content":"four"}'
    first = b'{"message":{"content":[' + block + b']},"sessionId":"s","type":"user"}'
    second = b'{"type":"user","sessionId":"s","message":{"content":[' + turned + b"]}}"
    found = written(first, second)
    assert column(found, "code_points") == [4, 4]
    assert column(found, "session") == ["s", "s"]


# Contents: code points and the host's tokens. A result costs 4 for its message and 4 for its wrapper.


@pytest.mark.parametrize(
    ("content", "code_points", "tokens"),
    [
        ("", 0, 8 + 4),
        ("four", 4, 8 + 1 + 4),
        ("fives", 5, 8 + 2 + 4),
        ("🌊🌊", 2, 8 + 1 + 4),
        ("🌊🌊🌊", 3, 8 + 2 + 4),
        ("\ud83d", 1, 8 + 1 + 4),
        ("潮汐", 2, 8 + 1 + 4),
        ([], 0, 8),
        (None, 0, 8),
        (7, 0, 8),
        (text("not in a list"), 0, 8),
        ([text("")], 0, 8 + 4),
        ([text("ab"), text("cde")], 5, 8 + 5 + 5),
        ([text("ab"), IMAGE, text("cde")], 5, 8 + 5 + (4 + 17) + 5),
        ([None, 7, "string", ["list"], text("x")], 1, 8 + 5),
        ([{"type": "tool_reference", "text": "hidden"}], 0, 8 + 4 + 11),
        ([text("\ud83d"), text("\ude00")], 2, 8 + 5 + 5),
    ],
)
def test_claude_code_content(written: Any, content: Any, code_points: int, tokens: int) -> None:
    # The image takes 65 bytes in the log, the reference 41: 17 and 11 tokens, rounded up.
    assert len(line(IMAGE)) == 65
    assert len(line({"type": "tool_reference", "text": "hidden"})) == 41
    found = written(user(tool_result("a", content)))
    assert column(found, "code_points") == [code_points]
    assert column(found, "tokens") == [tokens]


def test_a_block_that_is_no_text_costs_what_it_takes_in_the_log(written: Any) -> None:
    # 17 bytes as it stands, 5 tokens rounded up; the tab after it is not part of it.
    block = b'{ "type" : "x"  }\t'
    head, tail = line(user(tool_result("a", ["BLOCK"]))).split(b'"BLOCK"')
    found = written(head + block + tail)
    assert column(found, "tokens") == [8 + 4 + 5]


def test_a_missing_content_is_no_block(written: Any) -> None:
    found = written(user({"type": "tool_result", "tool_use_id": "a"}))
    assert (column(found, "code_points"), column(found, "tokens")) == ([0], [8])


def test_a_text_block_whose_text_is_no_string_is_an_empty_one(written: Any) -> None:
    found = written(user(tool_result("a", [text(None), text(["x"]), {"type": "text"}, text("x")])))
    assert (column(found, "code_points"), column(found, "tokens")) == ([1], [8 + 4 + 4 + 4 + 5])


# DSH


@pytest.mark.parametrize("version", [0, 4])
@pytest.mark.parametrize(
    ("content", "code_points", "tokens"),
    [
        ([text("four")], 4, 4 + 5),
        ([text("ab"), IMAGE, text("cde")], 5, 4 + 5 + 21 + 5),
        ([], 0, 4),
        (None, 0, 4),
        ("a string", 8, 4 + 6),
        (["no object", text("x")], 1, 4 + 5),
    ],
)
def test_dsh_content(written: Any, version: int, content: Any, code_points: int, tokens: int) -> None:
    shape, wrapper = (result_v0, 4) if version == 0 else (result_v4, 0)
    found = written(session(), call("a", "bash"), shape("a", content))
    assert column(found, "code_points") == [code_points]
    assert column(found, "tokens") == [tokens + wrapper]
    assert column(found, "tool") == ["bash"]


def test_a_dsh_result_says_where_it_stands(written: Any) -> None:
    found = written(session("session-1"), call("a", "bash", 7), result_v4("a", [text("x")], 8, isError=True))
    [row] = found["results"]
    assert (row["format"], row["session"], row["seq"], row["turn"], row["step"]) == ("dsh", "session-1", 8, 1, 1)
    assert (row["line"], row["offset"]) == (3, len(line(session("session-1"))) + len(line(call("a", "bash", 7))) + 2)
    assert (row["is_error"], row["sidechain"]) == (True, None)


def test_a_claude_code_result_says_where_it_stands(written: Any) -> None:
    found = written(user(tool_result("a", "x"), isSidechain=True, sessionId="s-1"))
    [row] = found["results"]
    assert (row["format"], row["session"], row["seq"], row["turn"], row["step"]) == (
        "claude-code",
        "s-1",
        None,
        None,
        None,
    )
    assert (row["line"], row["offset"], row["sidechain"]) == (1, 0, True)


def test_the_session_of_a_dsh_log_is_that_of_its_first_session_line(written: Any) -> None:
    lines = [
        result_v4("a", []),
        session(7),
        session("first"),
        result_v4("b", []),
        session("second"),
        result_v4("c", []),
    ]
    assert column(written(*lines), "session") == ["first"] * 3


def test_a_broken_session_line_names_no_session(written: Any) -> None:
    broken = line(session("broken")).replace(b"}", b",}")
    assert column(written(broken, session("whole"), result_v4("a", [])), "session") == ["whole"]


@pytest.mark.parametrize(("end", "expected"), [(1 << 20, "late"), ((1 << 20) + 1, None)])
def test_the_session_is_named_within_the_first_mebibyte(tmp_path: Path, end: int, expected: str | None) -> None:
    # `end` bytes come before the newline of the session's line.
    path = tmp_path / "s.jsonl"
    first, late = log({"seq": 1, "v": "?"}), log(session("late"))
    first = first.replace(b"?", b"x" * (end - len(first) + 1 - len(late) + 1))
    path.write_bytes(first + late + log(result_v4("a", [])))
    assert path.read_bytes()[end : end + 1] == b"\n"
    assert column(assert_same(path, all_results=True), "session") == [expected]


def test_the_id_of_a_dsh_result_is_the_first_of_three(written: Any) -> None:
    def result(message_id: Any, block_id: Any, data_id: Any) -> Any:
        event = result_v0(block_id, [text("x")])
        event["data"]["message"]["toolCallId"] = message_id
        event["data"]["callId"] = data_id
        return event

    found = written(
        session(), result("m", "b", "d"), result(None, "b", "d"), result(7, {}, "d"), result(None, None, None)
    )
    assert column(found, "call_id") == ["m", "b", "d", None]


def test_a_dsh_result_without_a_message_has_its_content_in_the_data(written: Any) -> None:
    data = {"callId": "a", "content": [text("four")], "isError": True}
    found = written(session(), call("a", "bash"), {"type": "tool/result", "seq": 3, "data": data})
    assert column(found, "code_points") == [4]
    assert column(found, "tool") == ["bash"]
    assert column(found, "is_error") == [True]


@pytest.mark.parametrize("holder", ["message", "block", "data"])
@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), (False, False), (None, False), ("true", False), (1, False)]
)
def test_a_dsh_error_stands_in_one_of_three_places(written: Any, holder: str, value: Any, expected: bool) -> None:
    event = result_v0("a", [text("x")])
    data = event["data"]
    holders = {"message": data["message"], "block": data["message"]["content"][0], "data": data}
    holders[holder]["isError"] = value
    assert column(written(session(), event), "is_error") == [expected]


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), (False, False), (None, False), ("true", False), (1, False)]
)
def test_a_claude_code_error(written: Any, value: Any, expected: bool) -> None:
    assert column(written(user(tool_result("a", "x", is_error=value))), "is_error") == [expected]


def test_rows_of_deltas_and_other_events_count_nothing(written: Any) -> None:
    found = written(
        session(version=0),
        {"type": "text-chunks", "seq0": 3, "data": {"turn": 1, "texts": ["tool/result", "x"]}},
        {"type": "assistant/message", "seq": 5, "data": {"message": {"content": [tool_result("a", "x")]}}},
        {"type": "unheard/of", "seq": 6, "data": {"message": {"content": [text("x")]}}},
        {"type": "compaction/prune", "seq": 7, "data": {"shadowedSeqs": [2]}},
    )
    assert (found["lines"], found["tool_results"], found["malformed_lines"]) == (5, 0, 0)


# Already cut

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
CUT = "h" * 4096 + MARKER + "t" * 1024


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([text(CUT)], True),
        ([text("🌊" * 4096 + MARKER + "潮" * 1024)], True),
        ([text(CUT[:4090]), IMAGE, text(CUT[4090:4110]), text(CUT[4110:])], True),
        (CUT, True),
        ([text(CUT + "\n")], False),
        ([text(CUT[1:])], False),
        ([text("x" + CUT[:-1])], False),
        ([text("h" * 4096 + MARKER.replace("pruned", "Pruned") + "t" * 1024)], False),
        ([text(CUT + MARKER)], False),
        ([text("\U0001f30a" * 2048 + MARKER + "t" * 3072)], False),
    ],
)
@pytest.mark.parametrize("shape", [result_v0, result_v4, None])
def test_already_cut_is_exact(written: Any, shape: Any, content: Any, expected: bool) -> None:
    event = user(tool_result("a", content)) if shape is None else shape("a", content)
    found = written(session() if shape is not None else user(), event)
    assert column(found, "already_cut") == [expected]
    assert found["already_cut"] == int(expected)


def test_a_cut_result_spelled_with_escapes_is_cut(written: Any) -> None:
    spelled = json.dumps(user(tool_result("a", "潮" * 4096 + MARKER + "🌊" * 1024))).encode()
    assert column(written(spelled), "already_cut") == [True]


def test_a_result_over_the_threshold_that_holds_the_marker_is_not_cut(written: Any) -> None:
    found = written(user(tool_result("a", MARKER * 300)))
    assert (found["over_threshold"], found["already_cut"]) == (1, 0)


# The threshold, the order of rows


def test_over_the_threshold_is_more_than_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(user(tool_result("a", "潮" * 8192), tool_result("b", "🌊" * 8193))))
    found = assert_same(path)
    assert (found["over_threshold"], column(found, "call_id")) == (1, ["b"])
    assert assert_same(path, threshold=8193)["over_threshold"] == 0
    assert assert_same(path, threshold=1)["over_threshold"] == 2


def test_the_longest_come_first_and_equals_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lengths = [9, 11, 10, 11, 2]
    path.write_bytes(log(*(user(tool_result(f"r{place}", "x" * length)) for place, length in enumerate(lengths))))
    assert column(assert_same(path, threshold=8), "call_id") == ["r1", "r3", "r2", "r0"]
    assert column(assert_same(path, threshold=8, all_results=True), "call_id") == ["r0", "r1", "r2", "r3", "r4"]


def test_a_thousand_of_the_longest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(*(user(tool_result(f"r{length}", "x" * length)) for length in range(1, 1201))))
    found = assert_same(path, threshold=100)
    assert found["over_threshold"] == 1100
    assert column(found, "code_points") == list(range(1200, 200, -1))


def test_tools_come_by_code_points_then_by_name(written: Any) -> None:
    calls = [tool_use(name, name) for name in ["b", "a", "潮", "c"]]
    results = [tool_result(name, "xx") for name in ["b", None, "a", "潮"]]
    found = written(assistant(*calls), user(*results, tool_result("c", "xxx")))
    assert [row["tool"] for row in found["by_tool"]] == ["c", None, "a", "b", "潮"]


# Copies for the user interface


def test_copies_are_counted_in_bytes_as_they_stand(written: Any) -> None:
    found = written(
        '{"type":"user","sessionId":"s","toolUseResult":  {"stdout": "潮"} ,"v":1}'.encode(),
        b'{"type":"user","sessionId":"s","toolUseResult":"four"}',
        b'{"type":"user","sessionId":"s","toolUseResult":[]}',
        b'{"type":"user","sessionId":"s","nested":{"toolUseResult":"not at the top"}}',
        b'{"type":"user","sessionId":"s","toolUseResult":"forgotten","toolUseResult":null}',
    )
    # {"stdout": "潮"} is 17 bytes, "four" 6, [] 2, null 4.
    assert found["ui_copy_bytes"] == 17 + 6 + 2 + 4
    assert found["tool_results"] == 0


# Which format

TELLS: list[tuple[Any, str]] = [
    ({"payload": 1}, "codex"),
    ({"type": "session_meta", "payload": {}, "timestamp": ""}, "codex"),
    ({"type": "session", "id": "x"}, "pi"),
    ({"type": "message", "message": {}}, "pi"),
    ({"type": "session", "id": "x", "createdAt": 1}, "dsh"),
    ({"data": 1}, "dsh"),
    ({"seq": 1}, "dsh"),
    ({"seq0": 1}, "dsh"),
    *(
        ({name: None}, "claude-code")
        for name in (
            "message",
            "sessionId",
            "leafUuid",
            "parentUuid",
            "toolUseResult",
            "snapshot",
            "isSnapshotUpdate",
        )
    ),
]


@pytest.mark.parametrize(("event", "expected"), TELLS)
def test_the_first_line_that_tells_decides(tmp_path: Path, event: Any, expected: str) -> None:
    # Either format's result follows: only the one that was told is counted.
    path = tmp_path / "s.jsonl"
    before = [b"", b"null", b"[1]", b'{"version":3}', b'{"v":']
    path.write_bytes(log(*before, event, user(tool_result("c", "c")), result_v4("d", [text("d")])))
    found = assert_same(path, all_results=True)
    if expected in ("codex", "pi"):
        assert [row["path"] for row in found["skipped"]] == [str(path)]
        assert (found["files"], found["lines"]) == (0, 0)
        assert expected in scan(path)["skipped"][0]["reason"].casefold()
    else:
        assert column(found, "format") == [expected]
        assert column(found, "call_id") == ["d" if expected == "dsh" else "c"]


@pytest.mark.parametrize(
    "torn",
    [
        b'{"type":"user","message":{"content":[{"type":"tool_result","content',
        b'{"sessionId":"s","v":NaN}',
        b'{"sessionId":"s","v":"\xff"}',
        b'{"sessionId":"s"',
        b'{"sessionId":"s',
        b'{"v":"\xff","sessionId":"s"}',
        b'{"v":"\x01\\x","sessionId":"s"}',
    ],
)
def test_a_broken_line_tells_by_what_comes_before_the_break(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(torn, result_v4("d", [text("d")]), user(tool_result("c", "c"))))
    found = assert_same(path, all_results=True)
    assert column(found, "call_id") == ["c"]


ORDER: list[tuple[Any, str]] = [
    ({"message": {}, "sessionId": "s", "data": 1, "payload": 1}, "codex"),
    ({"type": "session", "message": {}, "data": 1, "seq": 1, "leafUuid": None}, "claude-code"),
    ({"type": "session", "message": {}, "seq0": 1}, "dsh"),
    ({"type": "session", "createdAt": 1, "message": {}}, "dsh"),
    ({"type": "session", "message": {}}, "pi"),
    ({"type": "message", "createdAt": 1, "message": {}}, "pi"),
    ({"type": "message", "sessionId": "s", "message": {}}, "claude-code"),
    ({"type": "user", "createdAt": 1, "message": {}}, "claude-code"),
]


@pytest.mark.parametrize(("event", "expected"), ORDER)
def test_of_what_a_line_tells_the_first_row_counts(tmp_path: Path, event: Any, expected: str) -> None:
    path = tmp_path / "s.jsonl"
    for members in (event, dict(reversed(event.items()))):
        path.write_bytes(log(members, user(tool_result("c", "c")), result_v4("d", [text("d")])))
        found = assert_same(path, all_results=True)
        if expected in ("codex", "pi"):
            assert expected in scan(path)["skipped"][0]["reason"].casefold()
            assert found["files"] == 0
        else:
            assert column(found, "format") == [expected]


@pytest.mark.parametrize(
    "torn",
    [
        # A number or a word that is not one is the break, and its member's value begins there.
        b'{"sessionId":nul',
        b'{"sessionId":nullx,"v":1}',
        b'{"sessionId":null"v"}',
        b'{"sessionId":1.}',
        b'{"sessionId":' + b"1" * 100_001 + b"}",
        b'{"v":' + b"1" * 100_001 + b',"sessionId":"s"}',
        b'{"v":NaN,"sessionId":"s"}',
        b'{"sessionId":}',
        b'{"sessionId"',
    ],
)
def test_a_broken_line_tells_nothing_by_what_comes_from_the_break_on(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(torn, result_v4("d", [text("d")]), user(tool_result("c", "c"))))
    found = assert_same(path, all_results=True)
    assert column(found, "call_id") == ["d"]


def test_a_blank_head_tells_nothing_and_what_follows_within_the_mebibyte_does(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    told = log(user(tool_result("c", "c")))
    room = (1 << 20) - len(told)
    for blank in (b" " * (room - 1) + b"\n", b"\n" * 2000 + b"\t\n" + b"\r" * (room - 2003) + b"\n"):
        assert len(blank) == room
        for stored in (blank + told, frames(blank + told)):
            path.write_bytes(stored)
            found = assert_same(path)
            assert (found["tool_results"], found["lines"]) == (1, blank.count(b"\n") + 1)


def test_a_blank_file_is_a_log_up_to_a_mebibyte(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for size, files in (((1 << 20) - 1, 1), (1 << 20, 0), (3 << 20, 0)):
        blank = b"\n" * 9 + b" " * (size - 9)
        for stored in (blank, frames(blank)):
            path.write_bytes(stored)
            found = assert_same(path)
            assert (found["files"], found["lines"], len(found["skipped"])) == (files, files * 10, 1 - files)


def test_members_below_the_top_tell_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log({"v": {"message": 1, "seq": 2, "payload": 3}}, ["sessionId"], "parentUuid"))
    found = assert_same(path)
    assert (found["files"], len(found["skipped"])) == (0, 1)


def test_a_name_spelled_with_escapes_tells(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(rb'{"session\u0049d":"s"}', user(tool_result("c", "c"))))
    assert assert_same(path)["tool_results"] == 1


def test_after_a_mebibyte_nothing_tells(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    early, late = ({"v": "x" * (size - len(b'{"v":""}\n'))} for size in ((1 << 20) - 300, 1 << 20))
    path.write_bytes(log(early, user(tool_result("c", "c"))))
    assert assert_same(path)["tool_results"] == 1
    path.write_bytes(log(late, user(tool_result("c", "c"))))
    assert len(assert_same(path)["skipped"]) == 1


def test_a_first_line_of_more_than_a_mebibyte_tells_by_its_start(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(user(tool_result("c", "x" * 3_000_000))))
    found = assert_same(path)
    assert found["code_points"] == 3_000_000


# Compressed logs


def test_frames_are_one_text(tmp_path: Path) -> None:
    whole = log(session(), call("a", "bash"), result_v4("a", [text("潮" * 9000)]), result_v4("a", [text("x")]))
    path = tmp_path / "session.v4.jsonl.zstd"
    pieces = [whole[:30], whole[30:31], b"", whole[31:5000], whole[5000:]]
    path.write_bytes(skippable(b"note") + frames(*pieces[:3]) + skippable(b"", 15) + frames(*pieces[3:]))
    found = assert_same(path, all_results=True)
    plain = tmp_path / "session.v4.jsonl"
    plain.write_bytes(whole)
    unpacked = scan(plain, all_results=True)
    drop = {"path"}
    rows = [{name: value for name, value in row.items() if name not in drop} for row in found["results"]]
    assert rows == [{name: value for name, value in row.items() if name not in drop} for row in unpacked["results"]]
    assert column(found, "tool") == ["bash", "bash"]
    assert (found["bytes"], unpacked["bytes"]) == (path.stat().st_size, len(whole))


def test_compression_is_told_by_the_bytes_and_not_by_the_name(tmp_path: Path) -> None:
    whole = log(session(), result_v4("a", [text("x")]))
    (tmp_path / "packed.jsonl").write_bytes(frames(whole))
    (tmp_path / "plain.jsonl.zst").write_bytes(whole)
    found = assert_same(tmp_path / "packed.jsonl", tmp_path / "plain.jsonl.zst")
    assert (found["files"], found["tool_results"]) == (2, 2)


# Many ranges: what stands far apart is joined, whatever the threads


def test_a_call_far_before_its_result_names_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    filler = log(user(tool_result("other", "🌊" * 20_000))) * 500
    first = log(assistant(tool_use("a", "Bash"), tool_use("b", "Read")))
    middle = log(assistant(tool_use("a", "Grep")))
    path.write_bytes(first + filler + middle + filler + log(user(tool_result("a", "x"), tool_result("b", "yy"))))
    assert path.stat().st_size > 5 * (16 << 20) // 2
    found = [scan(path, threads=threads, all_results=True) for threads in (1, 2, 3)]
    assert found[0] == found[1] == found[2]
    assert column(found[0], "tool")[-2:] == ["Grep", "Read"]
    assert found[0]["by_tool"] == [
        {"tool": None, "results": 1000, "code_points": 20_000_000, "over_threshold": 1000},
        {"tool": "Read", "results": 1, "code_points": 2, "over_threshold": 0},
        {"tool": "Grep", "results": 1, "code_points": 1, "over_threshold": 0},
    ]
    assert [row["line"] for row in found[0]["results"]] == [*range(2, 502), *range(503, 1003), 1003, 1003]


def test_the_earliest_calls_of_a_long_log_are_forgotten_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    called = log(assistant(tool_use("?", "Bash")))
    calls = b"".join(called.replace(b"?", b"c%d" % number) for number in range(400_000))
    results = log(user(tool_result("c0", "x"), tool_result("c399999", "x"), tool_result("none", "x")))
    path.write_bytes(log(user(tool_result("none", "before any is forgotten"))) + calls + results)
    for threads in (1, 2, 3):
        found = scan(path, all_results=True, threads=threads)
        assert column(found, "tool") == [None, None, "Bash", None]
        assert found["forgotten_calls"] == 2


# Every log, whole


@GENERATED
@given(claude_code_logs)
def test_any_claude_code_log_is_read_as_the_slow_reader_reads_it(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(written)
    for strict in (False, True):
        assert_same(path, all_results=True, strict=strict)


@GENERATED
@given(dsh_logs)
def test_any_dsh_log_is_read_as_the_slow_reader_reads_it(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(written)
    for strict in (False, True):
        assert_same(path, all_results=True, strict=strict)


@GENERATED
@given(dsh_logs, claude_code_logs)
def test_files_do_not_touch_each_other(tmp_path: Path, first: bytes, second: bytes) -> None:
    paths = [tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "3.jsonl.zst"]
    for path, written in zip(paths, [first, second, frames(first)], strict=True):
        path.write_bytes(written)
    assert_same(*paths, threshold=3)


@GENERATED
@given(dsh_logs, claude_code_logs)
def test_repeats_are_left_out_in_any_file(tmp_path: Path, first: bytes, second: bytes) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(4)]
    for path, written in zip(paths, [first, second, second, first], strict=True):
        path.write_bytes(written)
    assert_same(*paths, threshold=3, unique=True, all_results=True)


# The samples


def generator() -> ModuleType:
    """The program that writes the samples."""
    spec = importlib.util.spec_from_file_location("generate_samples", SAMPLES / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_samples_are_what_their_generator_writes() -> None:
    for name, make in generator().SAMPLES.items():
        expected, stored = make(), (SAMPLES / name).read_bytes()
        if name.endswith(".zstd"):
            # The compressed bytes are those of the library's version; the text is ours.
            expected, stored = unpacked(expected), unpacked(stored)
        assert stored == expected, name


def unpacked(stored: bytes) -> bytes:
    """The text of zstd frames."""
    with zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True) as reader:
        return reader.read()


def test_the_samples_hold_what_their_rows_add_up_to() -> None:
    found = assert_same(SAMPLES)
    main = {
        "Read": [240 * 50, 120 * 72, 0, 100 * 50],
        "Bash": [12 + 20 * 44, 200 * 64, 4096 + 39 + 1024, 14],
        "Grep": [36 * 60],
        "Glob": [len("/home/noor/tidewater/tides/") * 3 + len("api.py\nharmonics.py\nstations.py\n")],
        "Task": [10 * 60],
        "WebFetch": [10 * 50 + 10 * 70],
        "Edit": [len("The file has been updated.")],
        None: [5 * 64],
    }
    agent = {"Grep": [40 * 60], "Read": [250 * 50], "Bash": [12 * 44]}
    alerts = {
        "bash": [200 * 64, 4096 + 39 + 1024, len("[exit code: 3]")],
        "read": [150 * 72, 4096 + 39 + 1024, 9 + 9],
        "grep": [30 * 60],
        "edit": [len("Error: old text not found in tides/alerts.py")],
    }
    imports = {"bash": [160 * 64, 4096 + 39 + 1024, len("nothing to commit 🌊\n")], "read": [40 * 50], "glob": [0]}
    release = {"read": [180 * 50], "bash": [25 * 64], "write": [len("Wrote NOTES.md")]}
    tools: dict[str | None, list[int]] = {}
    for sizes in (main, agent, alerts, imports, release):
        for tool, lengths in sizes.items():
            tools.setdefault(tool, []).extend(lengths)
    assert {row["tool"]: (row["results"], row["code_points"]) for row in found["by_tool"]} == {
        tool: (len(lengths), sum(lengths)) for tool, lengths in tools.items()
    }
    assert (found["files"], found["tool_results"], found["malformed_lines"]) == (5, 14 + 3 + 8 + 5 + 3, 0)
    # 12,000 8,640 12,800; 12,500; 12,800 10,800; 10,240; 9,000
    assert (found["over_threshold"], found["already_cut"]) == (3 + 1 + 2 + 1 + 1, 1 + 0 + 2 + 1 + 0)
    assert found["code_points"] == 48_924 + 15_428 + 35_794 + 17_419 + 10_614


def test_the_samples_copies_stand_last_in_their_lines() -> None:
    expected = 0
    for path in SAMPLES.glob("claude_code/**/*.jsonl"):
        for written in path.read_bytes().splitlines():
            _, found, copy = written.partition(b',"toolUseResult":')
            expected += len(copy) - len(b"}") if found else 0
    assert assert_same(SAMPLES)["ui_copy_bytes"] == expected > 0


def test_the_command_prints_what_the_function_finds() -> None:
    printed = command_json("--all", SAMPLES)
    # Whether rows are left out is the command's to say: the function's caller chose how many there are.
    assert printed.pop("results_truncated") is False
    assert comparable(printed) == comparable(scan(SAMPLES, all_results=True))
