"""The rows of a scan as Arrow: what `results` holds, column by column, for whoever takes tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nanoarrow  # type: ignore[import-untyped]
import pytest

import toolprune
from make_logs import assistant, call, log, result_v0, result_v4, session, text, tool_result, tool_use, user
from toolprune.logs.scan import Scan

BATCH = 16_384
TYPES = {
    "path": "string",
    "format": "string",
    "session": "string",
    "line": "int64",
    "offset": "int64",
    "seq": "int64",
    "turn": "int64",
    "step": "int64",
    "tool": "string",
    "call_id": "string",
    "is_error": "bool",
    "code_points": "int64",
    "tokens": "int64",
    "already_cut": "bool",
    "sidechain": "bool",
}
NULLABLE = {"session", "seq", "turn", "step", "tool", "call_id", "sidechain"}


def table(found: Scan) -> list[dict[str, Any]]:
    """The rows that the stream hands over."""
    rows: list[dict[str, Any]] = nanoarrow.Array(found).to_pylist()
    return rows


def batches(found: Scan) -> list[int]:
    """How many rows each batch has."""
    return [len(chunk) for chunk in nanoarrow.ArrayStream(found).iter_chunks()]


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """A log of either format, with each column set in one row and null in another where it can be."""
    claude_code, dsh = tmp_path / "c.jsonl", tmp_path / "d.jsonl"
    cut = "h" * 4096 + "\n\n[... tool result middle pruned ...]\n\n" + "t" * 1024
    claude_code.write_bytes(
        log(
            assistant(tool_use("a", "Bash"), tool_use("潮", "Read")),
            user(tool_result("a", "x" * 9000, is_error=True), isSidechain=True),
            user(tool_result("潮", cut), sessionId=None),
            user(tool_result(None, "🌊")),
        )
    )
    bare = {"type": "tool/result", "data": {"content": [text("four")]}}
    dsh.write_bytes(
        log(session("s-1"), call("a", "bash"), result_v4("a", [text("xy")], 8), result_v0("b", [], -9), bare)
    )
    return [claude_code, dsh]


def test_the_table_has_the_rows_and_columns_of_the_results(logs: list[Path]) -> None:
    found = toolprune.scan(logs, all_results=True)
    rows = table(found)
    assert rows == found.results
    assert [list(row) for row in rows] == [list(TYPES)] * 6
    columns = {name: [row[name] for row in rows] for name in TYPES}
    assert columns["path"] == [str(logs[0])] * 3 + [str(logs[1])] * 3
    assert columns["format"] == ["claude-code"] * 3 + ["dsh"] * 3
    assert columns["session"] == ["s", None, "s", "s-1", "s-1", "s-1"]
    assert columns["line"] == [2, 3, 4, 3, 4, 5]
    assert columns["offset"][0] == len(log(assistant(tool_use("a", "Bash"), tool_use("潮", "Read"))))
    assert columns["seq"] == [None, None, None, 8, -9, None]
    assert columns["turn"] == columns["step"] == [None, None, None, 1, 1, None]
    assert columns["tool"] == ["Bash", "Read", None, "bash", None, None]
    assert columns["call_id"] == ["a", "潮", None, "a", "b", None]
    assert columns["is_error"] == [True, False, False, False, False, False]
    assert columns["code_points"] == [9000, 5159, 1, 2, 0, 4]
    assert columns["tokens"] == [8 + 2254, 8 + 1294, 8 + 5, 4 + 5, 4 + 4, 4 + 5]
    assert columns["already_cut"] == [False, True, False, False, False, False]
    assert columns["sidechain"] == [True, False, False, None, None, None]


def test_the_schema_names_types_and_what_may_be_null(logs: list[Path]) -> None:
    schema = nanoarrow.ArrayStream(toolprune.scan(logs)).schema
    fields: Sequence[Any] = list(schema.fields)
    assert {field.name: field.type.name.lower() for field in fields} == TYPES
    assert {field.name for field in fields if field.nullable} == NULLABLE


def test_the_longest_come_first_in_the_table_too(logs: list[Path]) -> None:
    found = toolprune.scan(logs, threshold=3)
    assert [row["code_points"] for row in table(found)] == [9000, 5159, 4]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(BATCH, [BATCH]), (BATCH + 1, [BATCH, 1]), (2 * BATCH + 7, [BATCH, BATCH, 7])],
)
def test_many_rows_are_several_batches(tmp_path: Path, rows: int, expected: list[int]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(*(user(*[tool_result("a", "x")] * some) for some in (rows // 2, rows - rows // 2))))
    found = toolprune.scan(path, all_results=True)
    assert batches(found) == expected
    assert table(found) == found.results


def test_a_lone_surrogate_which_utf8_has_not_is_a_replacement_character(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    name = "a\ud83db\ude00"
    path.write_bytes(log(assistant(tool_use(name, name)), user(tool_result(name, "x"), sessionId=name)))
    found = toolprune.scan(path, all_results=True)
    [row], [expected] = table(found), found.results
    assert (expected["tool"], expected["call_id"], expected["session"]) == (name, name, name)
    replaced = "a\ufffdb\ufffd"
    assert row == {**expected, "tool": replaced, "call_id": replaced, "session": replaced}


def test_the_stream_may_be_taken_again(logs: list[Path]) -> None:
    found = toolprune.scan(logs, all_results=True)
    first, second = nanoarrow.ArrayStream(found), nanoarrow.ArrayStream(found)
    assert second.read_all().to_pylist() == found.results
    # One stream does not depend on the other, nor on the scan.
    expected = found.results
    del found
    assert first.read_all().to_pylist() == expected


def test_a_wish_for_a_schema_may_be_made(logs: list[Path]) -> None:
    found = toolprune.scan(logs, all_results=True)
    wish = nanoarrow.c_schema(nanoarrow.ArrayStream(found).schema)
    assert nanoarrow.ArrayStream(found.__arrow_c_stream__(wish.__arrow_c_schema__())).read_all().to_pylist() == table(
        found
    )


def test_a_scan_without_results_is_a_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(session()))
    for found in (toolprune.scan(path, all_results=True), toolprune.scan(path), toolprune.scan([])):
        stream = nanoarrow.ArrayStream(found)
        assert [field.name for field in stream.schema.fields] == list(TYPES)
        assert stream.read_all().to_pylist() == []


def test_rows_that_were_handed_over_are_not_in_the_table(logs: list[Path]) -> None:
    handed: list[Any] = []
    found = toolprune.scan(logs, all_results=True, on_results=handed.extend)
    assert (len(handed), table(found)) == (6, [])


def test_twenty_thousand_rows_of_the_longest_names_fit(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    longest = "n" * 4096
    path.write_bytes(log(session(longest), call("a", longest)) + log(result_v4("a", [])) * 20_000)
    found = toolprune.scan(path, all_results=True)
    assert batches(found) == [BATCH, 20_000 - BATCH]
    chunks = nanoarrow.ArrayStream(found).iter_chunks()
    for chunk in chunks:
        for name in ("session", "tool"):
            values = chunk.child(list(TYPES).index(name)).iter_py()
            assert all(value == longest for value in values)
