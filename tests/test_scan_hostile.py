"""Logs that have broken tools like this one: none crashes a scan, hangs it or is passed in silence."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from make_logs import assistant, frames, line, log, skippable, text, tool_result, tool_use, user
from scanning import assert_same, command, command_json, figures, interruptible, scan, write_pieces

MEBIBYTE = 1 << 20
ONE = line(user(tool_result("a", "x")))

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="names and counters are those of Linux")


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"":', b"}"), (b'[{"":', b"}]")])
def test_a_million_levels(tmp_path: Path, opening: bytes, closing: bytes) -> None:
    path = tmp_path / "s.jsonl"
    deep = opening * 1_000_000 + b"0" + closing * 1_000_000
    path.write_bytes(ONE[:-1] + b',"v":' + deep + b"}\n" + ONE[:-1] + b',"v":' + deep[:-1] + b"}\n")
    assert figures(scan(path)) == (2, 1, 1, 1)


# Files that move


def test_a_log_that_grows_is_read_as_it_was_at_some_moment(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(*[user(tool_result("a", "x" * 1000))] * 1000))
    written = 1000
    stop = threading.Event()

    def grow() -> None:
        nonlocal written
        with path.open("ab", buffering=0) as file:
            while not stop.is_set():
                # In two parts, so that a scan may meet half a line.
                file.write(ONE[:50])
                file.write(ONE[50:] + b"\n")
                written += 1

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        for _ in range(8):
            before = written
            found = scan(path, threads=2)
            assert before <= found["tool_results"] <= written + 1
            assert found["lines"] - found["malformed_lines"] == found["tool_results"]
            assert found["malformed_lines"] <= 1
    finally:
        stop.set()
        writer.join()


def test_what_is_appended_during_a_scan_is_not_read(roomy: Path) -> None:
    path = roomy / "s.jsonl"
    whole = log(user(tool_result("a", "x" * 100_000))) * 4000
    path.write_bytes(whole)
    appended = 0

    def append(_: int) -> None:
        nonlocal appended
        with path.open("ab") as file:
            file.write(ONE + b"\n")
        appended += 1

    found = scan(path, threads=1, progress=append)
    assert appended > 0
    assert (found["tool_results"], found["bytes"]) == (4000, len(whole))


def test_a_log_that_shrinks_ends_where_it_ends(roomy: Path) -> None:
    path = roomy / "s.jsonl"
    one = log(user(tool_result("a", "x" * 100_000)))

    def truncate(_: int) -> None:
        os.truncate(path, len(one))

    path.write_bytes(one * 4000)
    found = scan(path, threads=2, progress=truncate)
    assert path.stat().st_size == len(one)
    assert found["files"] == 1
    assert found["tool_results"] <= 4000
    assert found["code_points"] == 100_000 * found["tool_results"]
    assert scan(path)["tool_results"] == 1


# Paths that are no logs


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(ONE)
    inside = tmp_path / "s.jsonl" / "t.jsonl"
    found = scan(tmp_path / "s.jsonl", inside)
    assert (found["files"], [row["path"] for row in found["skipped"]]) == (1, [str(inside)])
    assert found["skipped"][0]["reason"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads any directory")
def test_a_directory_without_permission(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(ONE)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    try:
        found = scan(tmp_path)
    finally:
        closed.chmod(0o700)
    assert (found["files"], [row["path"] for row in found["skipped"]]) == (1, [str(closed)])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFO")
def test_a_fifo_never_hangs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.jsonl")
    (tmp_path / "s.jsonl").write_bytes(ONE)
    (tmp_path / "l.jsonl").symlink_to("f.jsonl")
    for arguments in ([tmp_path], [tmp_path / "f.jsonl", tmp_path / "l.jsonl", tmp_path / "s.jsonl"]):
        found = command_json(*arguments)
        assert found["files"] == 1
        assert {Path(row["path"]).name for row in found["skipped"]} == {"f.jsonl", "l.jsonl"}
        assert all(row["reason"] for row in found["skipped"])


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_a_device(tmp_path: Path, device: str) -> None:
    if not os.path.exists(device):
        pytest.skip(f"this system has no {device}")
    (tmp_path / "s.jsonl").write_bytes(ONE)
    found = command_json(device, tmp_path)
    assert (found["files"], [row["path"] for row in found["skipped"]]) == (1, [device])


def test_a_directory_with_a_logs_name(tmp_path: Path) -> None:
    inside = tmp_path / "x.jsonl" / "y.json" / "s.jsonl"
    inside.parent.mkdir(parents=True)
    inside.write_bytes(ONE)
    for path in (tmp_path, tmp_path / "x.jsonl"):
        found = assert_same(path, all_results=True)
        assert [row["path"] for row in found["results"]] == [str(inside)]


def test_other_names_are_not_opened_unless_they_are_named(tmp_path: Path) -> None:
    for name in ("a.txt", "b.jsonl.gz", "jsonl", "c.jsonl~", "d.JSONL", ".jsonl.swp"):
        (tmp_path / name).write_bytes(ONE)
    for name in ("1.jsonl", "2.json", "3.jsonl.zst", "4.jsonl.zstd", "5.json.zst", "6.json.zstd", ".7.jsonl"):
        (tmp_path / name).write_bytes(ONE)
    found = assert_same(tmp_path)
    assert (found["files"], found["skipped"]) == (7, [])
    assert assert_same(tmp_path / "a.txt")["files"] == 1


def test_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "s.jsonl").write_bytes(ONE)
    seen = tmp_path / "seen"
    seen.mkdir()
    (seen / "folder.jsonl").symlink_to("../real")
    (seen / "circle").symlink_to(".")
    (seen / "file.jsonl").symlink_to("../real/s.jsonl")
    (seen / "again.jsonl").symlink_to("../real/s.jsonl")
    (seen / "nowhere.jsonl").symlink_to("nothing")
    (seen / "itself.jsonl").symlink_to("itself.jsonl")
    found = scan(seen)
    assert (found["files"], found["tool_results"]) == (1, 1)
    assert {"nowhere.jsonl", "itself.jsonl"} <= {Path(row["path"]).name for row in found["skipped"]}


def test_a_file_named_twice_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(ONE)
    monkeypatch.chdir(tmp_path)
    found = scan(path, "s.jsonl", "./s.jsonl", tmp_path, all_results=True)
    assert (found["files"], [row["path"] for row in found["results"]]) == (1, [str(path)])


NO_LOGS = {
    "words": b"a plain text\nabout tool_result and tool_use\n",
    "a picture": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10" + bytes(range(256)) * 40,
    "a database": b"SQLite format 3\x00\x10\x00\x01\x01\x00@  \x00\x00\x00\x01" + b"\x00" * 8000,
    "other JSON": b'{"name":"tide","version":"1.0.0","dependencies":{}}\n',
    "JSON over many lines": json.dumps({"message": {"content": []}, "type": "user"}, indent=2).encode(),
    "a list of messages": b'[{"role":"user","content":"hello"}]\n',
    "scalars": b"1\n2\nnull\n",
    "NUL bytes": b"\x00" * 5000,
    "an archive": b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(range(255, -1, -1)) * 10,
    "a gzip file": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + bytes(range(256)),
    "one byte": b"x",
    "a brace": b"{",
    "a mark": b"\xef\xbb\xbf{}",
}


@pytest.mark.parametrize("written", NO_LOGS.values(), ids=NO_LOGS)
def test_a_file_that_is_not_a_log(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(written)
    found = assert_same(path)
    assert figures(found) == (0, 0, 0, 0)
    assert [row["path"] for row in scan(path)["skipped"]] == [str(path)]
    printed = command("scan", path)
    assert printed.returncode in (1, 2)
    assert str(path).encode() in printed.stderr
    assert b"Traceback" not in printed.stderr


# Names and ids that terminals and encodings dislike


@on_linux
def test_a_file_name_that_is_no_utf8(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.jsonl")
    Path(path).write_bytes(ONE)
    found = assert_same(tmp_path, all_results=True)
    assert [row["path"] for row in found["results"]] == [path]
    assert [row["path"] for row in command_json("--all", tmp_path)["results"]] == [path]
    for form in ("table", "ndjson"):
        assert command("scan", "--all", "--format", form, tmp_path).returncode == 0


HOSTILE = [
    "\x1b[31mred\x1b]0;title\x07",
    "[bold]no[/bold] [/] [link=x]",
    "\ud83d",
    "a\nb\r\tc",
    "\x00",
    "\u202eabc",
    "潮🌊",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_shown_harmless_and_told_exactly(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(assistant(tool_use(name, name)), user(tool_result(name, "x" * 9000), sessionId=name)))
    shown = command("scan", path)
    assert shown.returncode == 0
    assert shown.stderr == b""
    assert b"\x1b" not in shown.stdout
    assert b"\x00" not in shown.stdout
    assert b"\r" not in shown.stdout
    assert (b"[bold]no[/bold] [/] [link=x]" in shown.stdout) == name.startswith("[bold]")
    for form in ("json", "ndjson"):
        printed = command("scan", "--format", form, path)
        assert printed.returncode == 0
        row = json.loads(printed.stdout)
        row = row["results"][0] if form == "json" else row
        assert (row["tool"], row["call_id"], row["session"]) == (name, name, name)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("form", ["table", "json", "ndjson"])
def test_any_encoding_of_the_terminal_will_do(tmp_path: Path, encoding: str, form: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(assistant(tool_use("潮\ud83d", "🌊")), user(tool_result("潮\ud83d", "x"))))
    done = command("scan", "--all", "--format", form, path, env={**os.environ, "PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")


# Compressed logs that are not whole


def many_lines(count: int) -> bytes:
    """Lines that zstd cannot shrink below a block a hundred of them."""
    filler = (hashlib.sha256(b"%d" % number).hexdigest() * 20 for number in range(count))
    return log(*(user(tool_result(f"r{number}", words)) for number, words in enumerate(filler)))


def test_a_torn_last_frame_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    first, second = log(user(tool_result("a", "1"))), log(user(tool_result("b", "22")))
    packed, last = frames(first), frames(second)
    for kept in range(1, len(last)):
        path.write_bytes(packed + last[:kept])
        found = scan(path, all_results=True)
        assert [row["call_id"] for row in found["results"]][:1] == ["a"]
        assert (found["malformed_lines"], found["files"]) == (1, 1)
        assert found["malformed"][0]["offset"] >= len(first)
    path.write_bytes(packed + last)
    assert figures(assert_same(path)) == (2, 0, 2, 3)


def test_whole_lines_before_a_break_count(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    packed = frames(many_lines(600))
    path.write_bytes(packed[: len(packed) * 2 // 3])
    found = assert_same(path, all_results=True)
    assert 100 < found["tool_results"] < 600
    assert found["code_points"] == found["tool_results"] * 64 * 20
    assert found["malformed_lines"] == 1
    assert found["malformed"][0]["line"] == found["tool_results"] + 1


def test_a_frame_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    before, packed = frames(ONE + b"\n"), bytearray(frames(many_lines(600)))
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(before + bytes(packed) + frames(ONE + b"\n"))
    found = scan(path)
    assert found["files"] == 1
    assert found["tool_results"] >= 1
    assert found["malformed_lines"] >= 1


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (frames(b""), (0, 0, 0, 0)),
        (frames(b"", b"", ONE, b"", b"\n" + ONE), (2, 0, 2, 2)),
        (skippable(b""), (0, 0, 0, 0)),
        (skippable(b"x" * 100_000, 7) + frames(ONE) + skippable(b"y"), (1, 0, 1, 1)),
    ],
    ids=["an empty frame", "empty frames between", "a skippable frame alone", "skippable frames around"],
)
def test_frames_without_text(tmp_path: Path, stored: bytes, expected: tuple[int, int, int, int]) -> None:
    path = tmp_path / "s.jsonl.zst"
    path.write_bytes(stored)
    found = assert_same(path)
    assert (figures(found), found["files"]) == (expected, 1)


@pytest.mark.parametrize(
    "stored",
    [
        b"\x28\xb5\x2f\xfd",
        b"\x28\xb5\x2f\xfd\x04",
        b"\x28\xb5\x2f",
        b"\x28\xb5\x2f\xfd" + b"\xff" * 100,
        skippable(b"x" * 100)[:50],
        skippable(b"")[:6],
        frames(b"no log at all\n"),
    ],
)
def test_a_compressed_file_of_no_use_is_told(tmp_path: Path, stored: bytes) -> None:
    path = tmp_path / "s.jsonl.zst"
    path.write_bytes(stored)
    found = scan(path)
    assert found["tool_results"] == 0
    assert found["malformed_lines"] + len(found["skipped"]) == 1
    printed = command("scan", path)
    assert printed.returncode in (1, 2)
    assert b"Traceback" not in printed.stderr


def test_what_follows_the_last_frame_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    path.write_bytes(frames(ONE + b"\n") + b"and then some")
    found = scan(path)
    assert (found["tool_results"], found["malformed_lines"]) == (1, 1)


# Many files


def test_two_thousand_small_files_with_few_descriptors(tmp_path: Path) -> None:
    for number in range(2000):
        folder = tmp_path / f"{number % 50}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.jsonl").write_bytes(log(assistant(tool_use("a", "Bash")), user(tool_result("a", "xy"))))

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    found = command_json(tmp_path, "--threads", "2", preexec_fn=few)
    assert (found["files"], found["skipped"]) == (2000, [])
    assert figures(found) == (4000, 0, 2000, 4000)
    assert found["by_tool"] == [{"tool": "Bash", "results": 2000, "code_points": 4000, "over_threshold": 0}]


def test_one_bad_file_does_not_touch_the_others(tmp_path: Path) -> None:
    for number, written in enumerate([ONE, *NO_LOGS.values(), b"", frames(ONE)[:-3], ONE]):
        (tmp_path / f"{number:02}.jsonl").write_bytes(written)
    found = assert_same(tmp_path)
    assert found["tool_results"] >= 2
    assert len(found["skipped"]) >= len(NO_LOGS)


def test_two_large_files_on_any_number_of_threads(roomy: Path) -> None:
    """Ranges of both wait for each other in the order of the logs, and none for ever."""
    for name in ("1", "2"):
        pairs = (
            log(assistant(tool_use(f"c{number}", f"T{number % 7}")), user(tool_result(f"c{number - 1000}", "xyz")))
            for number in range(210_000)
        )
        write_pieces(roomy / f"{name}.jsonl", *pairs, log(user(tool_result("c0", "x" * 9000 + name))))
        assert (roomy / f"{name}.jsonl").stat().st_size > 40_000_000
    found = [command_json("--threads", str(threads), roomy) for threads in (1, 2, 3, 8)]
    assert found[0] == found[1] == found[2] == found[3]
    assert figures(found[0]) == (840_002, 0, 420_002, 420_000 * 3 + 2 * 9001)
    # The first thousand results of either file have no call. Of the others the tools take turns, and T0 has the last.
    results = {row["tool"]: row["results"] for row in found[0]["by_tool"]}
    turns = [2 * len(range(tool, 209_000, 7)) for tool in range(7)]
    turns[0] += 2
    assert results == {None: 2000} | {f"T{tool}": turns[tool] for tool in range(7)}
    assert [row["line"] for row in found[0]["results"]] == [420_001, 420_001]


# No trace, and an end when it is asked for


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every path below a folder with its mode, time of change and content."""
    seen = {}
    for path in sorted([folder, *folder.rglob("*")]):
        state = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        seen[str(path)] = (state.st_mode, state.st_mtime_ns, content)
    return seen


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["scan"],
        ["scan", "."],
        ["scan", "--format", "ndjson", "--all"],
        ["config", "show"],
        ["scan", "-x"],
    ],
)
def test_reading_leaves_no_trace(tmp_path: Path, arguments: list[str]) -> None:
    home = tmp_path / "home"
    places = [".claude/projects/p", ".dsh/sessions/--w--/s", ".codex/sessions", ".config/toolprune", "work"]
    for place in places:
        (home / place).mkdir(parents=True)
    (home / ".claude/projects/p/s.jsonl").write_bytes(ONE + b"\n" + b"{torn tool_result")
    (home / ".claude/settings.json").write_bytes(b'{"hooks":{}}')
    (home / ".dsh/sessions/--w--/s/session.jsonl.zstd").write_bytes(frames(ONE)[:-2])
    (home / "work/t.jsonl").write_bytes(ONE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "TOOLPRUNE_", "DSH_"))}
    before = tree(home)
    done = command(*arguments, env={**kept, "HOME": str(home), "TMPDIR": str(home)}, cwd=home / "work")
    assert done.returncode in (0, 1, 2)
    assert b"Traceback" not in done.stderr
    assert tree(home) == before


INTERRUPTING = """
import os, signal, sys, toolprune
def interrupt(_): os.kill(os.getpid(), signal.SIGINT)
try: toolprune.scan([sys.argv[1]], progress=interrupt)
except KeyboardInterrupt: sys.exit(77)
"""


def endless(path: Path, *, compressed: bool) -> None:
    """A log that begins with many results and goes on with 64 GiB: whoever ends it early was told to."""
    results = log(user(tool_result("a", "x"))) * 20_000
    if compressed:
        spaces = frames(b" " * MEBIBYTE * 256)
        write_pieces(path, frames(results), (spaces, 256))
    else:
        write_pieces(path, results)
        os.truncate(path, 1 << 36)


@pytest.mark.parametrize("compressed", [False, True])
def test_an_interrupt_within_a_scan_is_an_interrupt(roomy: Path, compressed: bool) -> None:
    path = roomy / "s.jsonl"
    endless(path, compressed=compressed)
    words = [sys.executable, "-c", INTERRUPTING, str(path)]
    done = subprocess.run(words, capture_output=True, check=False, timeout=60, preexec_fn=interruptible)
    assert (done.returncode, done.stdout, done.stderr) == (77, b"", b"")


@pytest.mark.parametrize("compressed", [False, True])
def test_ctrl_c_ends_the_command_with_130(roomy: Path, compressed: bool) -> None:
    path = roomy / "s.jsonl"
    endless(path, compressed=compressed)
    words = [sys.executable, "-u", "-m", "toolprune", "scan", "--all", "--format", "ndjson", str(path)]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=interruptible,  # noqa: PLW1509 - the tests have no thread by then
    )
    try:
        assert process.stdout is not None
        # Rows come while the log is read.
        assert process.stdout.readline().startswith(b'{"path": ')
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert said.count(b"\n") == 1
    assert b"Traceback" not in said


def test_an_exception_of_the_callback_is_the_scans(roomy: Path) -> None:
    path = roomy / "s.jsonl"
    path.write_bytes(log(user(tool_result("a", [text("x" * 100_000)]))) * 4000)

    def fail(_: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        scan(path, progress=fail)
