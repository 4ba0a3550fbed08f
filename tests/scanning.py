"""How the tests call the scan: as a function, as a command, and beside the slow reader."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

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


# A process's peak includes that of the process it was forked from, so a small one stands between it and the tests.
LAUNCHER = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
sys.stdout.buffer.write(b"%d\\n" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss + done.stdout)
sys.exit(done.returncode)
"""


def command_peak(*arguments: PathLike) -> tuple[Found, int]:
    """What `toolprune scan --format json` prints, and the most memory that it held, in bytes."""
    scanning = [sys.executable, "-m", "toolprune", "scan", "--format", "json", *map(str, arguments)]
    line = [sys.executable, "-S", "-c", LAUNCHER, *scanning]
    done = subprocess.run(line, capture_output=True, check=False, timeout=120)
    peak, _, printed = done.stdout.partition(b"\n")
    found: Found = json.loads(printed)
    return found, int(peak) * 1024
