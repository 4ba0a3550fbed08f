"""Memory: whatever a log holds, a scan stays within its bound, and its answer is exact."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest

from make_logs import assistant, line, log, tool_result, tool_use, user
from scanning import command_peak, figures, peak_into, write_frame, write_pieces

MEBIBYTE = 1 << 20
MOST_MEMORY = 96 * MEBIBYTE
ONE = line(user(tool_result("a", "x")))

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is measured as Linux reports it")


# Lines without measure


@on_linux
def test_a_line_of_600_megabytes(roomy: Path) -> None:
    path = roomy / "s.jsonl"
    head, tail = line(user(tool_result("a", "?"))).split(b"?")
    write_pieces(path, ONE, b"\n", head, (b"x" * MEBIBYTE, 600), tail, b"\n", ONE, b"\n")
    found, peak = command_peak(path)
    assert figures(found) == (3, 0, 3, 600 * MEBIBYTE + 2)
    assert found["results"][0]["code_points"] == 600 * MEBIBYTE
    assert peak <= MOST_MEMORY


@on_linux
def test_a_line_of_600_megabytes_of_copies(roomy: Path) -> None:
    path = roomy / "s.jsonl"
    head, tail = line(user(tool_result("a", "x"), toolUseResult="?")).split(b"?")
    write_pieces(path, head, (b"x" * MEBIBYTE, 200), tail, b"\n", ONE, b"\n")
    found, peak = command_peak(path)
    assert figures(found) == (2, 0, 2, 2)
    assert found["ui_copy_bytes"] == 200 * MEBIBYTE + 2
    assert peak <= MOST_MEMORY


MANY = 10 * MEBIBYTE
UNENDING: dict[str, tuple[tuple[bytes | tuple[bytes, int], ...], tuple[int, int, int, int]]] = {
    "brackets in a result's line": (
        (ONE[:-1], b',"v":', (b"[" * MEBIBYTE, 10), (b"]" * MEBIBYTE, 10), b"}"),
        (2, 0, 2, 2),
    ),
    "brackets, one short": (
        (ONE[:-1], b',"v":', (b"[" * MEBIBYTE, 10), (b"]" * MEBIBYTE, 9), b"]" * (MEBIBYTE - 1), b"}"),
        (2, 1, 1, 1),
    ),
    "objects in a result's line": (
        (ONE[:-1], b',"v":', (b'{"":' * MEBIBYTE, 5), b"0", (b"}" * MEBIBYTE, 5), b"}"),
        (2, 0, 2, 2),
    ),
    "brackets alone": (((b"[" * MEBIBYTE, 10), (b"]" * MEBIBYTE, 10)), (2, 0, 1, 1)),
    "brackets that never close": (((b"[" * MEBIBYTE, 20),), (2, 1, 1, 1)),
    "braces that never close": (((b'{"":' * MEBIBYTE, 5),), (2, 1, 1, 1)),
    "a number alone": (((b"1" * MEBIBYTE, 64),), (2, 1, 1, 1)),
    "a number in a result's line": ((ONE[:-1], b',"v":', (b"1" * MEBIBYTE, 64), b"}"), (2, 1, 1, 1)),
    "a number in a line of no account": ((b'{"v":', (b"1" * MEBIBYTE, 64), b"}"), (2, 0, 1, 1)),
    "NUL bytes": (((b"\x00" * MEBIBYTE, 64),), (2, 1, 1, 1)),
    "white space": (((b" " * MEBIBYTE, 64),), (2, 0, 1, 1)),
    "commas": (((b"," * MEBIBYTE, 20),), (2, 1, 1, 1)),
    "quotes": (((b'"' * MEBIBYTE, 20),), (2, 1, 1, 1)),
    "backslashes in a string": ((b'"', (b"\\" * MEBIBYTE, 20), b'"'), (2, 0, 1, 1)),
    "a name": ((ONE[:-1], b',"', (b"k" * MEBIBYTE, 40), b'":0}'), (2, 0, 2, 2)),
    "empty strings in a list": ((ONE[:-1], b',"v":[""', (b',""' * MEBIBYTE, 8), b"]}"), (2, 0, 2, 2)),
    "an id": (
        (b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"', (b"i" * MEBIBYTE, 8), b'"}]}}'),
        (2, 0, 2, 1),
    ),
}


@on_linux
@pytest.mark.parametrize(("pieces", "expected"), UNENDING.values(), ids=UNENDING)
def test_an_unending_line(
    roomy: Path, pieces: tuple[bytes | tuple[bytes, int], ...], expected: tuple[int, int, int, int]
) -> None:
    path = roomy / "s.jsonl"
    # A first line that tells the format, and it is the only other one.
    write_pieces(path, ONE, b"\n", *pieces, b"\n")
    found, peak = command_peak(path)
    assert figures(found) == expected
    assert peak <= MOST_MEMORY


@on_linux
def test_gigabytes_of_nothing(roomy: Path) -> None:
    """Lost data reads as NUL bytes: 2 GiB of them in one line, and the lines around it stand."""
    path = roomy / "s.jsonl"
    write_pieces(path, ONE, b"\n")
    os.truncate(path, 2 << 30)
    with path.open("ab") as file:
        file.write(b"\n" + ONE + b"\n")
    found, peak = command_peak(path)
    assert figures(found) == (3, 1, 2, 2)
    assert (found["malformed"][0]["line"], found["malformed"][0]["offset"]) == (2, len(ONE) + 1)
    assert peak <= MOST_MEMORY


@on_linux
def test_many_calls_and_their_results(roomy: Path) -> None:
    """What is kept does not grow with the log: calls are joined without holding every id."""
    path = roomy / "s.jsonl"
    with path.open("wb") as file:
        for number in range(200_000):
            file.write(b'{"message":{"content":[{"type":"tool_use","id":"toolu_%024d","name":"Bash"}]}}\n' % number)
            file.write(
                b'{"type":"user","message":{"content":[{"type":"tool_result",'
                b'"tool_use_id":"toolu_%024d","content":"x"}]}}\n' % number
            )
    found, peak = command_peak(path)
    assert figures(found) == (400_000, 0, 200_000, 200_000)
    assert found["by_tool"] == [{"tool": "Bash", "results": 200_000, "code_points": 200_000, "over_threshold": 0}]
    assert peak <= MOST_MEMORY


@on_linux
def test_a_frame_that_unpacks_to_a_gigabyte(roomy: Path) -> None:
    """A line of a gigabyte in some kilobytes."""
    path = roomy / "s.jsonl.zst"
    head, tail = line(user(tool_result("a", "?"))).split(b"?")
    write_frame(path, [head, *[b"x" * MEBIBYTE] * 1024, tail, b"\n"])
    found, peak = command_peak(path)
    assert figures(found) == (1, 0, 1, 1 << 30)
    assert peak <= MOST_MEMORY


# Lines without number


def small_result(call_id: bytes) -> bytes:
    """A line of one result of three code points."""
    block = b'{"type":"tool_result","tool_use_id":"' + call_id + b'","content":"abc"}'
    return b'{"type":"user","message":{"content":[' + block + b"]}}\n"


def small_call(call_id: bytes) -> bytes:
    """A line of one call."""
    return b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"' + call_id + b'","name":"Bash"}]}}\n'


def thousands(count: int, each: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """Lines with the ids 0000000 to `count`, a thousand at a time."""
    for start in range(0, count, 1000):
        yield b"".join(each(b"%07d" % number) for number in range(start, start + 1000))


@on_linux
def test_every_one_of_many_results_as_lines(roomy: Path) -> None:
    path, output = roomy / "s.jsonl", roomy / "output"
    write_pieces(path, *thousands(600_000, small_result))
    assert path.stat().st_size > 60_000_000
    assert peak_into(output, "--all", "--format", "ndjson", path) <= MOST_MEMORY
    with output.open("rb") as rows:
        for number, row in enumerate(rows):
            # Only some are parsed: it is the number of them that is large.
            if number % 50_000 == 0 or number == 599_999:
                found = json.loads(row)
                assert (found["line"], found["call_id"], found["code_points"]) == (number + 1, f"{number:07}", 3)
    assert number == 599_999


@on_linux
def test_every_one_of_many_results_as_one_object(roomy: Path) -> None:
    path, output = roomy / "s.jsonl", roomy / "output"
    write_pieces(path, *thousands(600_000, small_result))
    assert peak_into(output, "--all", "--format", "json", path) <= MOST_MEMORY
    printed = output.read_bytes()
    assert printed.count(b'"call_id": ') == 600_000
    # What stands after the rows is small.
    tail = json.loads(b"{" + printed[printed.rindex(b'], "files": ') + len(b"], ") :])
    assert figures(tail) == (600_000, 0, 600_000, 1_800_000)
    assert tail["by_tool"] == [{"tool": None, "results": 600_000, "code_points": 1_800_000, "over_threshold": 0}]


@on_linux
def test_many_unmatched_results_in_a_compressed_log(roomy: Path) -> None:
    path = roomy / "s.jsonl.zst"
    write_frame(path, thousands(1_500_000, small_result))
    found, peak = command_peak(path)
    assert figures(found) == (1_500_000, 0, 1_500_000, 4_500_000)
    assert found["by_tool"] == [{"tool": None, "results": 1_500_000, "code_points": 4_500_000, "over_threshold": 0}]
    assert found["forgotten_calls"] == 0
    assert peak <= MOST_MEMORY


@on_linux
def test_many_calls_in_a_compressed_log(roomy: Path) -> None:
    """The earliest are forgotten, and that is said; the latest are known."""
    path = roomy / "s.jsonl.zst"
    results = small_result(b"0000000") + small_result(b"0999999") + small_result(b"0800000")
    write_frame(path, chain(thousands(1_000_000, small_call), [results]))
    found, peak = command_peak(path)
    assert figures(found) == (1_000_003, 0, 3, 9)
    assert found["by_tool"] == [
        {"tool": "Bash", "results": 2, "code_points": 6, "over_threshold": 0},
        {"tool": None, "results": 1, "code_points": 3, "over_threshold": 0},
    ]
    assert found["forgotten_calls"] == 1
    assert peak <= MOST_MEMORY


# Lines of very many members


@on_linux
def test_a_line_of_very_many_results_is_refused(roomy: Path) -> None:
    path = roomy / "s.jsonl"
    head, tail = line(user("?")).split(b'"?"')
    block = b'{"type":"tool_result"},'
    write_pieces(path, ONE, b"\n", head, (block * 1000, 2600), b"1", tail, b"\n", ONE, b"\n")
    found, peak = command_peak(path)
    assert figures(found) == (3, 1, 2, 2)
    [row] = found["malformed"]
    assert (row["line"], row["offset"]) == (2, len(ONE) + 1)
    assert "more tool results" in row["reason"]
    assert peak <= MOST_MEMORY


@on_linux
def test_a_line_that_says_its_session_again_and_again(roomy: Path) -> None:
    """Of duplicate keys the last wins; the earlier ones take no room."""
    path = roomy / "s.jsonl"
    again = b'"sessionId":"' + b"s" * 50 + b'",'
    content = line(user(tool_result("a", "x" * 9000), sessionId="the last"))[1:]
    write_pieces(path, b"{", (again * 1000, 940), content, b"\n")
    assert path.stat().st_size > 60_000_000
    found, peak = command_peak(path)
    assert figures(found) == (1, 0, 1, 9000)
    assert found["results"][0]["session"] == "the last"
    assert peak <= MOST_MEMORY


@on_linux
def test_long_results_with_the_longest_ids(roomy: Path) -> None:
    """A thousand rows are kept, each with an id and a session of 4,096 bytes."""
    path = roomy / "s.jsonl"

    def pair(number: int) -> bytes:
        call_id, session = f"c{number:04095}", f"s{number:04095}"
        called = assistant(tool_use(call_id, "Bash"), sessionId=session)
        return log(called, user(tool_result(call_id, "x" * (8193 + number)), sessionId=session))

    write_pieces(path, *map(pair, range(2000)))
    found, peak = command_peak(path)
    assert (found["tool_results"], found["over_threshold"], len(found["results"])) == (2000, 2000, 1000)
    for place in (0, 999):
        row = found["results"][place]
        number = f"{1999 - place:04095}"
        assert row["code_points"] == 8193 + 1999 - place
        assert (row["call_id"], row["session"], row["tool"]) == ("c" + number, "s" + number, "Bash")
    assert peak <= MOST_MEMORY


# Files that wait for another


@on_linux
@pytest.mark.parametrize("threads", [2, 8])
def test_many_results_behind_a_slow_first_file(roomy: Path, threads: int) -> None:
    """What the other files hold is put together after the first: it waits within the bound, and nothing hangs."""
    call = small_call(b"0000000")
    write_frame(roomy / "0.jsonl.zst", chain([call], [b" " * MEBIBYTE] * 600, [b"\n", call]))
    for number in range(1, 6):
        write_pieces(roomy / f"{number}.jsonl", *thousands(150_000, small_result))
    found, peak = command_peak("--threads", str(threads), roomy)
    assert found["files"] == 6
    assert figures(found) == (750_003, 0, 750_000, 2_250_000)
    assert found["by_tool"] == [{"tool": None, "results": 750_000, "code_points": 2_250_000, "over_threshold": 0}]
    assert peak <= MOST_MEMORY
