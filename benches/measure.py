"""Whole processes side by side: wall time and peak memory of each, the runs interleaved."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

# A process's peak includes that of the process it was forked from, so a small one stands between it and us.
LAUNCHER = """
import os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
began = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - began, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Something to time: a name for the table, and its command."""

    name: str
    command: Sequence[str]
    threads: int = 1


@dataclass
class Timed:
    """The runs of one candidate: seconds, the most memory in bytes, and what the last run printed."""

    seconds: list[float] = field(default_factory=list)
    peak: int = 0
    printed: bytes = b""

    @property
    def median(self) -> float:
        """The median of the runs, in seconds."""
        return statistics.median(self.seconds)


def environment() -> dict[str, str]:
    """Ours without the settings in it: one alone makes the command load all of its settings."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith("TOOLPRUNE_")}


def run_once(command: Sequence[str], timed: Timed, scratch: str) -> None:
    """Run a command to its end and note what it took."""
    launching = [sys.executable, "-S", "-E", "-c", LAUNCHER, scratch, *command]
    launched = subprocess.run(launching, capture_output=True, check=True, text=True, env=environment())
    seconds, peak, code = launched.stdout.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(command)} ended with {code}: {launched.stderr.strip()}")
    timed.seconds.append(float(seconds))
    timed.peak = max(timed.peak, int(peak) * 1024)
    with open(scratch, "rb") as file:
        timed.printed = file.read()
    os.unlink(scratch)


def interleave(
    candidates: Sequence[Candidate], runs: int, scratch: str, before: Candidate | None = None
) -> dict[Candidate, Timed]:
    """Run every candidate once, then every one again: a busy moment meets them all. One round before warms up.

    `before` is run before each of them, untimed: whoever follows a reader of the same file finds it in the processor's
    cache, and so all must.
    """

    def run(candidate: Candidate, timed: Timed) -> None:
        if before is not None:
            run_once(before.command, Timed(), scratch)
        run_once(candidate.command, timed, scratch)

    for candidate in candidates:
        run(candidate, Timed())
    timed = {candidate: Timed() for candidate in candidates}
    for _ in range(runs):
        for candidate in candidates:
            run(candidate, timed[candidate])
    return timed


def last_json(timed: Timed) -> dict[str, object]:
    """The object that the last run printed."""
    printed: dict[str, object] = json.loads(timed.printed)
    return printed
