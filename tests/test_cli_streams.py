"""The command where standard output or standard error is closed, full, read by nobody, or a terminal of odd size."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import make_logs
from scanning import command

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device here is always full")
needs_shell = pytest.mark.skipif(os.name != "posix", reason="only a POSIX shell closes a stream")

FILL = "toolprune: no space left on device\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One result of 9,000 code points."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(make_logs.log(make_logs.user(make_logs.tool_result("a", "x" * 9000))))
    return path


def shell(redirection: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = f'exec "$@" {redirection}'
    whole = ["sh", "-c", line, "sh", sys.executable, "-m", "toolprune", *map(str, arguments)]
    return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=60)


@needs_shell
@pytest.mark.parametrize(("beside", "code"), [([], 0), (["missing"], 1)])
def test_with_standard_error_closed_standard_output_holds_the_json_alone(
    log: Path, beside: list[str], code: int
) -> None:
    done = shell("2>&-", "scan", "--format", "json", log, *beside)
    assert done.returncode == code
    assert json.loads(done.stdout)["over_threshold"] == 1


@needs_shell
@pytest.mark.parametrize("arguments", [["scan", "--bogus"], ["scan", "missing"], ["scan", "missing", "--debug"], []])
def test_with_standard_error_closed_nothing_is_said_elsewhere(arguments: list[str]) -> None:
    done = shell("2>&-", *arguments)
    assert (done.returncode, done.stdout) == (2, "")


@needs_shell
@pytest.mark.parametrize("arguments", [["--version"], ["scan", "missing"]])
def test_standard_output_that_is_closed_is_one_sentence(arguments: list[str]) -> None:
    done = shell(">&-", *arguments)
    assert (done.returncode, done.stderr) == (
        2,
        "toolprune: standard output is closed: open it, or send it to a file\n",
    )


@needs_shell
@needs_full
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["scan", "--help"], ["config", "show"]])
def test_a_full_device_is_one_sentence(arguments: list[str]) -> None:
    done = shell(f">{FULL}", *arguments)
    assert (done.returncode, done.stderr) == (2, FILL)


@needs_shell
@needs_full
@pytest.mark.parametrize("arguments", [["scan", "--bogus"], ["scan", "missing"], ["config"], []])
def test_a_full_device_for_standard_error_changes_no_exit_code(arguments: list[str]) -> None:
    done = shell(f"2>{FULL}", *arguments)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["scan", "--help"]])
def test_a_reader_that_has_gone_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "toolprune", *arguments]
    done = subprocess.run(line, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [["scan", "--bogus"], ["scan", "missing"], ["config"], []])
def test_a_reader_of_standard_error_that_has_gone_changes_no_exit_code(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "toolprune", *arguments]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=writer, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("columns", ["0", "-5", "many", "²", ""])
def test_a_width_that_is_none_is_taken_for_the_usual(log: Path, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    for name, value in (("TTY_COMPATIBLE", "1"), ("TERM", "xterm"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    usual = command("scan", log)
    assert (usual.returncode, usual.stderr) == (0, b"")
    assert b"9,000" in usual.stdout
    monkeypatch.setenv("COLUMNS", columns)
    assert command("scan", log).stdout == usual.stdout


def on_a_terminal(*arguments: str | Path) -> tuple[bytes, bytes]:
    """Standard output, and what a terminal for standard error gets of a bar that is drawn at once."""
    pty = pytest.importorskip("pty", reason="this system has no pseudoterminals")
    program = (
        f"import sys\nsys.argv = {['toolprune', *map(str, arguments)]!r}\n"
        "import toolprune.cli.progress as progress\nprogress.PATIENCE = 0\n"
        "import toolprune.logs.scan as scan\nscan_files = scan.scan_files\n"
        "def early(found, *, progress, **options):\n"
        "    progress(1)\n"
        "    return scan_files(found, progress=progress, **options)\n"
        "scan.scan_files = early\n"
        "from toolprune.cli import main\nmain()"
    )
    terminal, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=inner, env=environment, check=True, timeout=60
    )
    os.close(inner)
    shown = b""
    try:
        while part := os.read(terminal, 65_536):
            shown += part
    except OSError:
        # What Linux says of a terminal that nobody holds any more.
        pass
    os.close(terminal)
    return done.stdout, shown


@pytest.mark.parametrize("every", [[], ["--all"]])
def test_rows_go_to_standard_output_beside_a_bar(log: Path, every: list[str]) -> None:
    output, shown = on_a_terminal("scan", "--format", "ndjson", *every, log)
    assert [json.loads(line)["code_points"] for line in output.splitlines()] == [9000]
    assert "━".encode() in shown
    assert b"code_points" not in shown


def test_a_bar_leaves_the_cursor_alone(log: Path) -> None:
    _, shown = on_a_terminal("scan", log)
    assert "━".encode() in shown
    assert b"\x1b[?25l" not in shown
