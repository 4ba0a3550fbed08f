"""`toolprune scan`: what it prints, what it says, and how it ends."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import make_logs
from scanning import command

TOTALS = [
    "files",
    "bytes",
    "lines",
    "malformed_lines",
    "tool_results",
    "code_points",
    "over_threshold",
    "already_cut",
    "ui_copy_bytes",
    "forgotten_calls",
]


def claude_code(path: Path, *results: tuple[str, str, str]) -> Path:
    """A log with these calls, each with its tool, its id and the text of its result: two lines a call."""
    lines: list[object] = []
    for tool, call_id, text in results:
        lines.append(make_logs.assistant(make_logs.tool_use(call_id, tool)))
        lines.append(make_logs.user(make_logs.tool_result(call_id, text)))
    path.write_bytes(make_logs.log(*lines))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three results: 9,000 and 12,345 code points of Read, 5 of Bash."""
    results = [("Read", "a", "x" * 9000), ("Bash", "b", "short"), ("Read", "c", "字" * 12_345)]
    return claude_code(tmp_path / "log.jsonl", *results)


def found(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    done = command("scan", "--format", "json", *arguments)
    assert done.returncode == code
    assert done.stdout.endswith(b"}\n")
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command after some code of the test's own."""
    argv = ["toolprune", *map(str, arguments)]
    program = f"import sys\nsys.argv = {argv!r}\n{code}\nfrom toolprune.cli import main\nmain()"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)


def raising(error: str) -> str:
    return f"import toolprune.logs.scan as scan\ndef scan_files(*_, **__): raise {error}\nscan.scan_files = scan_files"


def test_json_is_one_object_with_the_totals_and_the_rows(log: Path) -> None:
    whole = found(log)
    assert list(whole) == [*TOTALS, "by_tool", "malformed", "skipped", "results_truncated", "results"]
    assert [whole[name] for name in TOTALS] == [1, log.stat().st_size, 6, 0, 3, 21_350, 2, 0, 0, 0]
    assert whole["by_tool"] == [
        {"tool": "Read", "results": 2, "code_points": 21_345, "over_threshold": 2},
        {"tool": "Bash", "results": 1, "code_points": 5, "over_threshold": 0},
    ]
    assert (whole["malformed"], whole["skipped"], whole["results_truncated"]) == ([], [], False)
    assert [(row["call_id"], row["code_points"], row["line"]) for row in whole["results"]] == [
        ("c", 12_345, 6),
        ("a", 9000, 2),
    ]
    assert whole["results"][1] == {
        "path": str(log),
        "format": "claude-code",
        "session": "s",
        "line": 2,
        "offset": log.read_bytes().index(b"\n") + 1,
        "seq": None,
        "turn": None,
        "step": None,
        "tool": "Read",
        "call_id": "a",
        "is_error": False,
        "code_points": 9000,
        "tokens": 9000 // 4 + 4 + 4 + 4,
        "already_cut": False,
        "sidechain": False,
    }


def test_all_lists_every_result_in_the_order_of_the_log(log: Path) -> None:
    whole = found(log, "--all")
    assert sorted(whole) == sorted(found(log))
    assert [row["call_id"] for row in whole["results"]] == ["a", "b", "c"]
    assert whole["over_threshold"] == 2


def test_all_of_nothing_is_an_object_too(tmp_path: Path) -> None:
    assert found(claude_code(tmp_path / "empty.jsonl"), "--all")["results"] == []


@pytest.mark.parametrize(("options", "ids"), [([], ["a", "c"]), (["--all"], ["a", "b", "c"])])
def test_ndjson_is_one_result_a_line(log: Path, options: list[str], ids: list[str]) -> None:
    done = command("scan", "--format", "ndjson", *options, log)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["call_id"] for row in rows] == ids


def test_the_threshold_is_a_number_of_code_points(log: Path) -> None:
    assert found(log, "--threshold", "12344")["over_threshold"] == 1
    assert found(log, "--threshold", "12345")["over_threshold"] == 0


def test_the_threshold_may_come_from_a_variable_and_the_flag_wins(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPRUNE_SCAN__THRESHOLD", "4")
    assert found(log)["over_threshold"] == 3
    assert found(log, "--threshold", "10000")["over_threshold"] == 1


def test_what_counts_as_cut_and_how_much_is_listed_are_settings(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HEAD", "2"), ("TAIL", "1"), ("MARKER", "or"), ("THRESHOLD", "8")):
        monkeypatch.setenv(f"TOOLPRUNE_CUT__{name}", value)
    monkeypatch.setenv("TOOLPRUNE_SCAN__LARGEST", "1")
    whole = found(log)
    assert whole["already_cut"] == 1  # "sh" + "or" + "t"
    assert [row["call_id"] for row in whole["results"]] == ["c"]


def test_the_table_has_totals_tools_and_the_longest_results(log: Path) -> None:
    done = command("scan", log)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert ["tool", "results", "3", "with", "21.4", "k", "characters", "that", "the", "model", "sees"] in lines
    assert ["over", "8,192", "2"] in lines
    assert ["Read", "2", "21.3", "k", "100.0%", "2"] in lines
    assert ["Bash", "1", "5", "0.0%", "0"] in lines
    assert lines.index(["12,345", "3,099", "Read", "s", f"{log}:6"]) + 1 == lines.index(
        ["9,000", "2,262", "Read", "s", f"{log}:2"]
    )
    assert not any("UI" in line for line in lines)


def test_the_table_of_all_has_the_longest_of_all(tmp_path: Path) -> None:
    sizes = [5, 30, 7, 30, *range(8, 29)]
    results = [("Read", f"id{at}", "x" * size) for at, size in enumerate(sizes)]
    text = command("scan", "--all", claude_code(tmp_path / "log.jsonl", *results)).stdout.decode()
    listed = text[text.index("Longest results\n") :].splitlines()[3:]
    assert [line.split()[0] for line in listed] == ["30", "30", *map(str, range(28, 10, -1)), "and"]
    assert [line.rsplit(":", 1)[1] for line in listed[:2]] == ["4", "8"]
    assert listed[-1] == "and 5 more results: `--all --format ndjson` lists every one"


def test_copies_for_the_interface_are_counted_apart(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(make_logs.log(make_logs.user(make_logs.tool_result("a", "seen"), toolUseResult="x" * 1498)))
    assert found(path)["ui_copy_bytes"] == 1500
    assert "UI copies     1.5 kB that no model sees, in no other figure" in command("scan", path).stdout.decode()


def test_a_malformed_line_is_said_and_all_others_stand(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b'{"type":"user","message":{"content":[{"type":"tool_result"')
    whole = found(log, code=1)
    assert (whole["malformed_lines"], whole["tool_results"]) == (1, 3)
    done = command("scan", log)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"toolprune: 1 malformed line was passed over: {log}:7: ")
    assert f"{log}:7" in done.stdout.decode().split("Malformed lines")[1]


def test_a_missing_path_beside_a_log_is_said(log: Path) -> None:
    missing = log.with_name("missing.jsonl")
    whole = found(missing, log, code=1)
    assert whole["skipped"] == [{"path": str(missing), "reason": "no such file or directory: check the path"}]
    done = command("scan", missing, log)
    assert done.returncode == 1
    sentence = f"toolprune: 1 path was skipped: {missing}: no such file or directory: check the path\n"
    assert done.stderr.decode() == sentence
    assert str(missing) in done.stdout.decode().split("Skipped paths")[1]
    done = command("scan", missing, log, log.with_name("other"))
    assert done.stderr.decode().startswith(f"toolprune: 2 paths were skipped, first {missing}: no such file")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("missing", "missing: no such file or directory: check the path"),
        ("", "'': the path is empty: name a file or a directory"),
        ("-", "-: standard input is not read: write it to a file, and name that"),
        ("/dev/stdin", "/dev/stdin: standard input is not read: write it to a file, and name that"),
        ("notes.json", "notes.json: not a session log of DSH or Claude Code"),
        ("packed.jsonl", "packed.jsonl: compressed with gzip: unpack it first"),
    ],
)
def test_where_nothing_could_be_read_the_reason_stands_on_standard_error_alone(
    tmp_path: Path, path: str, sentence: str
) -> None:
    (tmp_path / "notes.json").write_bytes(b'{"to": "do"}\n')
    (tmp_path / "packed.jsonl").write_bytes(gzip.compress(b"{}\n"))
    for form, printed in (("table", False), ("ndjson", False), ("json", True)):
        done = command("scan", path, "--format", form, cwd=tmp_path, stdin=subprocess.PIPE)
        assert (done.returncode, done.stderr.decode()) == (2, f"toolprune: {sentence}\n")
        assert bool(done.stdout) is printed
        if printed:
            assert len(json.loads(done.stdout)["skipped"]) == 1


def test_every_path_that_could_not_be_read_has_its_sentence(tmp_path: Path) -> None:
    done = command("scan", *(f"no{at}" for at in range(22)), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    sentences = [f"toolprune: no{at}: no such file or directory: check the path" for at in range(20)]
    assert done.stderr.decode().splitlines() == [*sentences, "toolprune: and 2 more files that could not be read"]


def test_a_directory_of_nothing_but_other_files_could_not_be_read(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    notes.write_bytes(b'{"to": "do"}\n')
    whole = found(tmp_path, code=2)
    assert [row["path"] for row in whole["skipped"]] == [str(notes)]


def test_no_more_is_listed_than_the_setting_says(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPRUNE_SCAN__LARGEST", "1")
    lines = command("scan", log).stdout.decode().splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["12,345", "and"]
    assert lines[-1] == "and 1 more result: `--format ndjson` lists every one"
    whole = found(log)
    assert (len(whole["results"]), whole["results_truncated"]) == (1, True)
    every = found(log, "--all")
    assert (len(every["results"]), every["results_truncated"]) == (3, False)
    assert len(command("scan", log, "--format", "ndjson").stdout.splitlines()) == 2
    monkeypatch.setenv("TOOLPRUNE_SCAN__LARGEST", "0")
    assert command("scan", log).stdout.decode().endswith("and 2 more results: `--format ndjson` lists every one\n")


def test_the_table_lists_twenty_and_counts_the_rest(tmp_path: Path) -> None:
    path = claude_code(tmp_path / "log.jsonl", *(("Read", f"id{at}", "x" * 9000) for at in range(23)))
    lines = command("scan", path).stdout.decode().splitlines()
    assert lines[-1] == "and 3 more results: `--format ndjson` lists every one"
    assert sum(line.endswith(f"{path}:2") for line in lines) == 1
    assert sum(f"{path}:" in line for line in lines) == 20


def test_more_malformed_lines_than_json_lists_are_not_promised(tmp_path: Path) -> None:
    path = claude_code(tmp_path / "log.jsonl", ("Read", "a", "x"))
    with path.open("ab") as file:
        file.write(b'{"tool_result"\n' * 103)
    text = command("scan", path).stdout.decode()
    assert text.endswith("and 83 more malformed lines: `--format json` lists the first 100\n")


def test_results_whose_calls_may_be_forgotten_are_said(log: Path) -> None:
    forgetful = """
from types import SimpleNamespace
import toolprune.logs.scan as scan
real = scan.scan_files
def scan_files(*args, **options):
    found = real(*args, **options)
    totals = {**found.totals, "forgotten_calls": 2}
    return SimpleNamespace(totals=totals, by_tool=[], malformed=[], skipped=[], results=[])
scan.scan_files = scan_files
"""
    done = python(forgetful, "scan", log)
    assert done.returncode == 1
    assert done.stderr == (
        "toolprune: 2 results have no tool, perhaps because their logs hold more calls than a scan remembers\n"
    )


def test_nothing_found_is_one_sentence_and_what_to_try(tmp_path: Path) -> None:
    done = command("scan", tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        f"toolprune: no session log in {tmp_path}: name the directory where your agent keeps its *.jsonl files\n"
    )


def test_without_a_path_the_usual_places_are_read_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    projects = tmp_path / ".claude" / "projects"
    projects.mkdir(parents=True)
    claude_code(projects / "log.jsonl", ("Read", "a", "text"))
    done = command("scan", "--format", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["tool_results"] == 1
    looking, absent = done.stderr.decode().splitlines()
    assert looking == f"toolprune: looking in {projects} (Claude Code)"
    assert absent == (
        f"toolprune: there is no {tmp_path}/.dsh/sessions (DSH), {tmp_path}/.codex/sessions (Codex), "
        f"{tmp_path}/.pi/agent/sessions (pi)"
    )


HOSTILE = "\x1b[31mred\x1b]0;title\x07[bold]x[/bold][/]\u202e\n:smile:"
HARMLESS = r"\x1b[31mred\x1b]0;title\x07[bold]x[/bold][/]\u202e\n:smile:"


def test_names_ids_and_paths_are_shown_without_effect(tmp_path: Path) -> None:
    path = claude_code(tmp_path / "[red]\x1b[2J.jsonl", (HOSTILE, HOSTILE, "x" * 9000))
    with path.open("ab") as file:
        file.write(b'{"type":"user","tool_result')
    done = command("scan", path)
    assert done.returncode == 1
    shown = done.stdout.decode() + done.stderr.decode()
    assert not set(shown.replace("\n", "")) & {"\x1b", "\x07", "\u202e"}
    assert shown.count("[red]\\x1b[2J.jsonl") == 3
    assert HARMLESS[:40] in shown
    row = found(path, code=1)["results"][0]
    assert (row["tool"], row["call_id"], row["path"]) == (HOSTILE, HOSTILE, str(path))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_half_a_pair_and_any_script_fit_any_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    path = claude_code(tmp_path / "log.jsonl", ("half \ud83d", "id \udc00", "x" * 9000), ("日本", "b", "x" * 9000))
    table = command("scan", path)
    assert (table.returncode, table.stderr) == (0, b"")
    text = table.stdout.decode(encoding)
    assert r"half \ud83d" in text
    assert ("日本" if encoding == "utf-8" else r"\u65e5\u672c") in text
    for arguments in (["json"], ["json", "--all"], ["ndjson"]):
        done = command("scan", path, "--format", *arguments)
        assert done.returncode == 0
        assert done.stdout.isascii()
    assert {(row["tool"], row["call_id"]) for row in found(path)["results"]} == {
        ("half \ud83d", "id \udc00"),
        ("日本", "b"),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="other systems want names in UTF-8")
def test_a_path_that_is_not_utf8_comes_back_as_the_system_knows_it(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.jsonl")
    claude_code(path, ("Read", "a", "x" * 9000))
    assert os.fsencode(found(tmp_path)["results"][0]["path"]) == os.fsencode(path)
    assert r"/\udcff.jsonl:2" in command("scan", tmp_path).stdout.decode()


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int, *arguments: str | Path) -> list[str]:
    """The lines that a terminal of so many columns shows."""
    for name, value in (("TTY_COMPATIBLE", "1"), ("TERM", "xterm"), ("COLUMNS", str(columns))):
        monkeypatch.setenv(name, value)
    text = re.sub("\x1b\\[[0-9;]*m", "", command("scan", *arguments).stdout.decode())
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= columns
    return lines


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_numbers_stay_whole_on_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    path = tmp_path / ("d" * 120) / "log.jsonl"
    path.parent.mkdir()
    blanks = b"\n" * 123_456
    path.write_bytes(blanks + make_logs.log(make_logs.user(make_logs.tool_result("a", "x" * 12_345))))
    text = "\n".join(on_a_terminal(monkeypatch, columns, path))
    for number in ("12,345", "g.jsonl:123457", "12.3 k"):
        assert number in text


# characters 10 + tool 4 + tokens 6 + turn 4 + a session of 36, and 3 between two: with turn, the path begins at 41.
@pytest.mark.parametrize(
    ("columns", "headers"),
    [
        (40, "characters tool where"),  # 40 - 10 - 6 - 4 - 9 = 11 for the path: tokens go too, and leave 20
        (60, "characters tokens tool turn where"),  # 60 - 10 - 6 - 4 - 4 - 12 = 24
        (59, "characters tokens tool where"),  # 23 with turn, 30 without
        (120, "characters tokens tool turn session where"),  # 120 - 60 - 15 = 45
        (114, "characters tokens tool turn where"),  # 39 with the session
        (200, "characters tokens tool turn session where"),
    ],
)
def test_columns_go_where_the_path_needs_their_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, headers: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("d" * 60, "log.jsonl")
    path.parent.mkdir()
    session = {"type": "session", "id": "i" * 36, "createdAt": "2026-01-01T00:00:00Z"}
    message = {"role": "tool", "toolCallId": "a", "content": [{"type": "text", "text": "x" * 9000}]}
    call = {"type": "tool/call", "seq": 1, "data": {"callId": "a", "name": "bash", "turn": 1}}
    result = {"type": "tool/result", "seq": 2, "data": {"turn": 1, "message": message}}
    path.write_bytes(make_logs.log(session, call, result))
    lines = on_a_terminal(monkeypatch, columns, path)
    at = lines.index("Longest results over 8,192 characters") + 1
    assert lines[at].split() == headers.split()
    row = lines[at + 2]
    assert row.split()[0] == "9,000"
    assert row.endswith("/log.jsonl:3")
    # The path takes all the room that there is, up to its 72 characters.
    where = row.split()[-1]
    assert len(where) == 72 if columns in {114, 200} else len(row) == columns
    assert where.startswith("…") is (len(where) < 72)


def test_a_column_without_a_cell_is_left_out(log: Path) -> None:
    lines = command("scan", log).stdout.decode().splitlines()
    assert ["characters", "tokens", "tool", "session", "where"] in [line.split() for line in lines]


def test_a_pipe_gets_whole_lines_without_colour(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    path = claude_code(deep / "log.jsonl", ("Read", "a", "x" * 9000))
    lines = command("scan", path).stdout.decode().splitlines()
    assert any(line.endswith(f"{path}:2") for line in lines)
    assert all(line == line.rstrip() for line in lines)


def test_a_reader_that_has_seen_enough_ends_the_scan_quietly(tmp_path: Path) -> None:
    results = [("Read", f"id{at}", "x") for at in range(5000)]
    path = claude_code(tmp_path / "log.jsonl", *results)
    line = [sys.executable, "-m", "toolprune", "scan", "--all", "--format", "ndjson", str(path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"{"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
def test_output_that_cannot_be_written_is_one_sentence(log: Path) -> None:
    line = [sys.executable, "-m", "toolprune", "scan", str(log)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"toolprune: no space left on device\n")


def test_an_interrupt_ends_with_130_and_no_traceback(log: Path) -> None:
    done = python(raising("KeyboardInterrupt"), "scan", log)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "toolprune: interrupted\n")


def test_an_interrupt_of_the_first_imports_is_quiet(log: Path) -> None:
    early = (
        "class Early:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Early())"
    )
    done = python(early, "scan", log)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_panic_of_the_core_is_one_sentence_and_a_traceback_only_on_request(log: Path) -> None:
    panic = f"class PanicException(BaseException): pass\n{raising('PanicException(0)')}"
    sentence = "toolprune: PanicException: 0; this is a fault of toolprune, and `toolprune --debug …` shows where\n"
    done = python(panic, "scan", log)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)
    done = python(panic, "--debug", "scan", log)
    assert done.returncode == 2
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith(f"\n{sentence}")


def test_a_cut_too_long_to_be_told_is_one_sentence(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # 9,860 + 39 + 1,024 is one more than 10,922.
    monkeypatch.setenv("TOOLPRUNE_CUT__THRESHOLD", "20000")
    monkeypatch.setenv("TOOLPRUNE_CUT__HEAD", "9859")
    assert command("scan", log).returncode == 0
    monkeypatch.setenv("TOOLPRUNE_CUT__HEAD", "9860")
    done = command("scan", log)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"toolprune: head + marker + tail is 10923, and a scan tells cut results of at most 10922 code points: "
        b"give smaller ones\n"
    )
    assert done.stderr.count(b"\n") == 1


def test_a_fault_is_one_sentence_and_a_traceback_only_on_request(log: Path) -> None:
    done = python(raising("RuntimeError('no luck')"), "scan", log)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "toolprune: RuntimeError: no luck; this is a fault of toolprune, and `toolprune --debug …` shows where\n"
    )
    for before, after in (["--debug"], []), ([], ["--debug"]):
        done = python(raising("RuntimeError('no luck')"), *before, "scan", log, *after)
        assert done.returncode == 2
        assert done.stderr.startswith("Traceback (most recent call last):\n")
        assert done.stderr.splitlines()[-1].startswith("toolprune: RuntimeError: no luck; ")
    missing = command("scan", "missing", "--debug")
    assert missing.stderr == b"toolprune: missing: no such file or directory: check the path\n"


ARGUMENTS = "--format, --threshold, --threads, --strict, --unique, --all, --debug, --help"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["scan", "--threshold", "0"], "--threshold is '0', and must be an integer from 1 to 2**63 - 1"),
        (["scan", "--threshold", "many"], "--threshold is 'many', and must be an integer from 1 to 2**63 - 1"),
        (
            ["scan", "--threshold", str(2**63)],
            "--threshold is '9223372036854775808', and must be an integer from 1 to 2**63 - 1",
        ),
        (["scan", "--threads", "-1"], "--threads is '-1', and must be an integer from 0 to 2**63 - 1"),
        (["scan", "--format", "x"], "--format is 'x', and must be table, json or ndjson"),
        (["config", "show", "--format", "ndjson"], "--format is 'ndjson', and must be table or json"),
        (["scan", "--tresh", "5"], "`toolprune scan` has no option --tresh; did you mean --threshold?"),
        (["scan", "-x"], f"`toolprune scan` has no option -x; there are {ARGUMENTS}"),
        (["scan", "--threads"], "option '--threads' requires an argument; `toolprune --help` says what there is"),
        (["scann"], "`toolprune` has no verb scann; did you mean scan?"),
        (["config", "hide"], "`toolprune config` has no verb hide; there are show"),
        (["config", "show", "x"], "`toolprune config show` takes no argument x; leave it out"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], sentence: str) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"toolprune: {sentence}\n")


@pytest.mark.parametrize("verb", [[], ["config"]])
def test_without_a_verb_there_is_help(verb: list[str]) -> None:
    done = command(*verb)
    assert (done.returncode, done.stdout) == (2, b"")
    asked = command(*verb, "--help")
    assert (asked.returncode, asked.stderr) == (0, b"")
    assert done.stderr == asked.stdout


def test_the_help_of_scan_fits_a_terminal_and_says_places_codes_and_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = command("scan", "--help").stdout.decode()
    assert text.startswith(
        "Usage: toolprune scan [OPTIONS] [PATH]…\n\n  See what tool results fill these session logs.\n"
    )
    assert max(map(len, text.splitlines())) <= 80
    for part in (
        "$CLAUDE_CONFIG_DIR/projects, or ~/.claude/projects\n",
        "    2    wrong usage, or nothing that was named could be read\n",
        "    toolprune scan ~/.claude/projects --threshold 20000\n",
        "  --threshold N    List results of more than N code points; 8192 without it.\n",
    ):
        assert part in text
    # Whole sentences beside the verbs.
    verbs = command("--help").stdout.decode().partition("Verbs:\n")[2].splitlines()
    assert [line.endswith(".") for line in verbs] == [True, True, True]
