"""How the tests call the scan: as a function, as a command, and beside the slow reader."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import zstandard

import plain_reader
import toolprune

Found: TypeAlias = dict[str, Any]
PathLike: TypeAlias = "str | os.PathLike[str]"


def scan(*paths: PathLike, **options: Any) -> Found:
    """What `toolprune.scan` finds, with the keys of `toolprune scan --format json`."""
    found = toolprune.scan(paths, **options)
    return {
        **found.totals,
        "by_tool": found.by_tool,
        "malformed": found.malformed,
        "skipped": found.skipped,
        "results": found.results,
    }


def comparable(found: Found) -> Found:
    """Without the reasons, which are for people, and with both kinds of skipped paths in one order."""
    located = [{name: row[name] for name in ("path", "line", "offset")} for row in found["malformed"]]
    skipped = sorted(row["path"] for row in found["skipped"])
    return {**found, "malformed": located, "skipped": skipped}


def assert_same(*paths: PathLike, threads: Sequence[int] = (1, 2), **options: Any) -> Found:
    """Hold the scan against the slow reader, on each number of threads; what the reader found."""
    expected = plain_reader.read(paths, **options)
    for count in threads:
        found = comparable(scan(*paths, threads=count, **options))
        for name, value in comparable(expected).items():
            assert found[name] == value, f"{name} on {count} threads: {found[name]!r}, the slow reader: {value!r}"
        assert found.keys() == expected.keys()
    return expected


def command(*arguments: PathLike, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run `toolprune` and wait for it."""
    line = [sys.executable, "-m", "toolprune", *(os.fspath(argument) for argument in arguments)]
    return subprocess.run(line, capture_output=True, check=False, timeout=120, **options)


def command_json(*arguments: PathLike, **options: Any) -> Found:
    """What `toolprune scan --format json` prints for these arguments."""
    found: Found = json.loads(command("scan", "--format", "json", *arguments, **options).stdout)
    return found


def shared(*parts: str) -> Path:
    """A place among the shared fixtures, which are not part of the project."""
    beside = Path(__file__).resolve().parents[1].parent / "shared"
    return Path(os.environ.get("TOOLPRUNE_SHARED", beside)).joinpath(*parts)


def write_pieces(path: Path, *pieces: bytes | tuple[bytes, int]) -> None:
    """Write pieces one after the other; a piece with a number stands that many times."""
    with path.open("wb") as file:
        for piece in pieces:
            part, times = piece if isinstance(piece, tuple) else (piece, 1)
            for _ in range(times):
                file.write(part)


def write_frame(path: Path, pieces: Iterable[bytes]) -> None:
    """Write pieces as one zstd frame."""
    with path.open("wb") as file, zstandard.ZstdCompressor(level=1).stream_writer(file) as writer:
        for piece in pieces:
            writer.write(piece)


def figures(found: Found) -> tuple[int, int, int, int]:
    """Lines, malformed lines, tool results, code points."""
    return found["lines"], found["malformed_lines"], found["tool_results"], found["code_points"]


def interruptible() -> None:
    """Run in a child before its program: Ctrl-C reaches it, though whoever started the tests may ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# A process's peak includes that of the process it was forked from, so a small one stands between it and the tests.
LAUNCHER = """
import resource, subprocess, sys
with open(sys.argv[1], "wb") as output:
    done = subprocess.run(sys.argv[2:], stdout=output)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


def peak_into(output: Path, *arguments: PathLike) -> int:
    """Run `toolprune scan`, its output into a file, and give the most memory that it held, in bytes."""
    scanning = [sys.executable, "-m", "toolprune", "scan", *map(str, arguments)]
    line = [sys.executable, "-S", "-c", LAUNCHER, str(output), *scanning]
    done = subprocess.run(line, capture_output=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return int(done.stdout) * 1024


def command_peak(*arguments: PathLike) -> tuple[Found, int]:
    """What `toolprune scan --format json` prints, and the most memory that it held, in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output.json"
        peak = peak_into(output, "--format", "json", *arguments)
        found: Found = json.loads(output.read_bytes())
    return found, peak
