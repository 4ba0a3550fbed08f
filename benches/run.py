"""The benchmarks: whole processes beside their peers and beside the floor, written to RESULTS.md.

usage: python benches/run.py [--gigabytes 1] [--runs 5] [--only SECTION …]

Answers are compared before a time is reported. Files lie in memory while they are read (/dev/shm where it has room).
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measure import Candidate, Timed, interleave, last_json, run_once
from tables import table, write_section

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
RESULTS = HERE / "RESULTS.md"
TOOLPRUNE = str(Path(sysconfig.get_path("scripts")) / "toolprune")
PEERS = HERE / "peers"
RUST_PEERS = {
    "serde_json": "serde_json",
    "sonic-rs": "sonic-rs",
    "simd-json": "simd-json",
    "serde_json, whole values": "serde_json-values",
}
"""Each by its name in the table, with the argument that chooses it."""
PYTHON_PEERS = ("json", "orjson", "msgspec", "pysimdjson")
HOW_PEERS_READ = (
    'The peers parse the lines that hold `"tool_`, Rust\'s into types; only "whole values" parses every line. '
    "Of lines with a lone surrogate: serde_json is asked for bytes, where it gives one as three; sonic-rs puts another "
    "code point in its place; simd-json and whole values refuse the line, and serde_json's types read it; orjson, "
    "msgspec and pysimdjson refuse it, and json reads it."
)
SHARED_MEMORY = Path("/dev/shm")
MEBIBYTE = 1 << 20
GIGABYTE = 1e9


@dataclass(frozen=True)
class Bench:
    """What every section works with."""

    gigabytes: float
    runs: int
    memory: Path
    """A folder in memory, for logs."""

    @property
    def scratch(self) -> str:
        """Where a process leaves what it prints."""
        return str(self.memory / "printed")


# What is measured against


def floor_program() -> str:
    """The floor, built for this machine."""
    program = DATA / "floor"
    DATA.mkdir(exist_ok=True)
    flags = ["-O3", "-march=native", "-pthread"]
    subprocess.run(["gcc", *flags, "-o", str(program), str(HERE / "floor.c")], check=True)
    return str(program)


def rust_program() -> str:
    """The Rust peers, built for this machine."""
    target = DATA / "rust-peers"
    building = ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(target)]
    flags = {"RUSTFLAGS": "-C target-cpu=native"}
    subprocess.run(building, check=True, cwd=PEERS / "rust", env={**os.environ, **flags})
    return str(target / "release" / "rust-peers")


def shared_generator() -> Path | None:
    """The generator that the project's targets were set on, where it is present."""
    beside = HERE.parents[1] / "shared"
    path = Path(os.environ.get("TOOLPRUNE_SHARED", beside)) / "tools" / "make_big_log.py"
    return path if path.exists() else None


def big_log(bench: Bench, generator: Path, gigabytes: float) -> Path:
    """A generated log in memory; it is made once and kept in the data folder."""
    name = f"{'shared' if generator.parent != HERE else 'own'}-{gigabytes:g}.jsonl"
    kept, used = DATA / name, bench.memory / name
    if not kept.exists():
        making = kept.with_suffix(".part")
        subprocess.run([sys.executable, str(generator), str(gigabytes), str(making)], check=True)
        making.rename(kept)
    if not used.exists():
        shutil.copyfile(kept, used)
    return used


def toolprune(path: Path, threads: int) -> Candidate:
    """The scan, as a whole process."""
    command = [TOOLPRUNE, "scan", "--threads", str(threads), "--format", "json", str(path)]
    return Candidate("toolprune scan", command, threads)


def peers(path: Path, threads: int) -> list[Candidate]:
    """Every exact peer on this many threads, or processes for Python's."""
    program, script = rust_program(), str(PEERS / "python_peers.py")
    commands = {name: [program, engine] for name, engine in RUST_PEERS.items()}
    commands |= {name: [sys.executable, script, name] for name in PYTHON_PEERS}
    return [Candidate(name, [*command, str(path), str(threads)], threads) for name, command in commands.items()]


def reading(floor: str, path: Path) -> Candidate:
    """A reading of the file that is not timed, so that every one that is finds the caches alike."""
    return Candidate("reading", [floor, str(path), "2"], 2)


VERSION = Candidate("toolprune --version", [TOOLPRUNE, "--version"])


# Answers


def answer_of_toolprune(timed: Timed) -> Any:
    """The peers' answer, from what a scan prints."""
    found: Any = last_json(timed)
    sums = {row["tool"]: [row["results"], row["code_points"], row["over_threshold"]] for row in found["by_tool"]}
    longest = [[row["code_points"], row["call_id"], row["tool"]] for row in found["results"]]
    return sums, longest


def answer_of_peer(timed: Timed) -> Any:
    """A peer's answer: sums by tool, and the longest."""
    found: Any = last_json(timed)
    return {row[0]: row[1:] for row in found["by_tool"]}, found["longest"]


def assert_agree(timed: dict[Candidate, Timed]) -> int:
    """Hold every answer against the first; how many results they found."""
    answers = {}
    for candidate, runs in timed.items():
        if candidate.name == "floor" or candidate == VERSION:
            continue
        read = answer_of_toolprune if candidate.name.startswith("toolprune") else answer_of_peer
        answers[f"{candidate.name} on {candidate.threads}"] = read(runs)
    first_name, first = next(iter(answers.items()))
    for name, answer in answers.items():
        if answer != first:
            raise AssertionError(f"{name} and {first_name} give different answers: no times are reported")
    return sum(sums[0] for sums in first[0].values())


# Sections


def speed(bench: Bench, generator: Path) -> str:
    """The scan, its floor and its peers on one file, on 1 and 2 threads."""
    path = big_log(bench, generator, bench.gigabytes)
    size = path.stat().st_size
    floor = floor_program()
    candidates = [VERSION]
    for threads in (1, 2):
        candidates.append(Candidate("floor", [floor, str(path), str(threads)], threads))
        candidates.append(toolprune(path, threads))
        candidates += peers(path, threads)
    timed = interleave(candidates, bench.runs, bench.scratch, before=reading(floor, path))
    count = assert_agree(timed)
    start = timed[VERSION].median
    seconds = {
        (candidate.name, candidate.threads): runs.median - (start if candidate.name == "toolprune scan" else 0)
        for candidate, runs in timed.items()
    }
    rows = [
        [
            candidate.name,
            candidate.threads,
            f"{(taken := seconds[candidate.name, candidate.threads]):.3f}",
            f"{size / taken / GIGABYTE:.2f}",
            f"{seconds['floor', candidate.threads] / taken:.2f}",
            f"{runs.peak / MEBIBYTE:.0f}",
        ]
        for candidate, runs in timed.items()
        if candidate != VERSION
    ]
    what = (
        f"{size:,} bytes in memory, {count:,} tool results; median of {bench.runs} interleaved runs of processes, "
        f"from the scan's the {start:.3f} s of `toolprune --version` taken off. All give the same answer: sums by tool "
        f"and the 1,000 longest results. {HOW_PEERS_READ}\n"
    )
    headers = ["engine", "threads", "seconds", "GB/s", "of the floor", "peak MiB"]
    return f"{what}\n{table(headers, rows)}\n{ratios(seconds)}"


def ratios(seconds: dict[tuple[str, int], float]) -> str:
    """The scan beside its floor and, on 2 threads, beside the best two of each group of peers."""
    scan = {threads: seconds["toolprune scan", threads] for threads in (1, 2)}
    times = {name: seconds[name, 2] / scan[2] for name in (*RUST_PEERS, *PYTHON_PEERS)}
    best = min(times, key=times.__getitem__)
    sentences = [
        f"Of the floor: {seconds['floor', 1] / scan[1]:.2f} on 1 thread, {seconds['floor', 2] / scan[2]:.2f} on 2.",
        f"The best exact peer on 2 threads, {best}, takes {times[best]:.1f} times as long.",
    ]
    for language, group in (("Rust", RUST_PEERS), ("Python", PYTHON_PEERS)):
        first, second, *_ = sorted(group, key=times.__getitem__)
        sentences.append(
            f"Of {language}'s, {first} takes {times[first]:.1f} times as long, the second best, {second}, "
            f"{times[second]:.1f} times."
        )
    return f"{' '.join(sentences)}\n"


def growth(bench: Bench) -> str:
    """The scan of 0.1, 1 and 4 GB, and of one line of 600 MB: time grows with the bytes, memory does not."""
    floor = floor_program()
    rows = []
    for gigabytes in (0.1, 1.0, 4.0):
        path = big_log(bench, HERE / "make_big_log.py", gigabytes)
        rows += growth_rows(bench, f"{gigabytes:g} GB", path, floor)
        path.unlink()
    line = bench.memory / "line.jsonl"
    with line.open("wb") as file:
        file.write(b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"')
        for _ in range(600):
            file.write(b"x" * 1_000_000)
        file.write(b'"}]}}\n')
    rows += growth_rows(bench, "one line of 600 MB", line, floor)
    line.unlink()
    return table(["log", "threads", "seconds", "GB/s", "of the floor", "peak MiB"], rows)


def growth_rows(bench: Bench, name: str, path: Path, floor: str) -> list[list[object]]:
    """One log on 1 and 2 threads."""
    candidates = [VERSION]
    for threads in (1, 2):
        candidates += [Candidate("floor", [floor, str(path), str(threads)], threads), toolprune(path, threads)]
    timed = interleave(candidates, bench.runs, bench.scratch, before=reading(floor, path))
    assert_agree(timed)
    start, rows = timed[VERSION].median, []
    for candidate, runs in timed.items():
        if candidate.name == "toolprune scan":
            taken = runs.median - start
            bound = next(t.median for c, t in timed.items() if (c.name, c.threads) == ("floor", candidate.threads))
            speed_reached = f"{path.stat().st_size / taken / GIGABYTE:.2f}"
            peak = f"{runs.peak / MEBIBYTE:.0f}"
            rows.append([name, candidate.threads, f"{taken:.3f}", speed_reached, f"{bound / taken:.2f}", peak])
    return rows


def small_files(bench: Bench) -> str:
    """100,000 small logs, beside `cat` over them."""
    folder = bench.memory / "small"
    line = b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}}\n'
    for number in range(100_000):
        inside = folder / f"{number // 1000}"
        if number % 1000 == 0:
            inside.mkdir(parents=True)
        (inside / f"{number}.jsonl").write_bytes(line * 4)
    cat = Candidate("cat", ["sh", "-c", f"find {folder} -name '*.jsonl' -print0 | xargs -0 cat | wc -c"])
    candidates = [VERSION, cat, toolprune(folder, 2)]
    timed = interleave(candidates, bench.runs, bench.scratch)
    found: Any = last_json(timed[candidates[2]])
    if (found["files"], found["tool_results"]) != (100_000, 400_000):
        raise AssertionError("the small logs hold 400,000 results in 100,000 files, and the scan says otherwise")
    shutil.rmtree(folder)
    start = timed[VERSION].median
    taken = {"find and cat": timed[cat].median, "toolprune scan": timed[candidates[2]].median - start}
    rows = [[name, f"{seconds:.3f}", f"{seconds / taken['find and cat']:.2f}"] for name, seconds in taken.items()]
    return table(["100,000 logs of 400 bytes", "seconds", "of cat"], rows)


def start_up(bench: Bench) -> str:
    """What it takes to start: the command, the import beside pydantic's, and the size of the wheel."""
    python = [sys.executable, "-c"]
    candidates = [
        VERSION,
        Candidate("python -c pass", [*python, "pass"]),
        Candidate("import pydantic", [*python, "import pydantic"]),
        Candidate("import toolprune", [*python, "import toolprune"]),
        Candidate("import toolprune, every name", [*python, "from toolprune import *"]),
    ]
    timed = interleave(candidates, 5 * bench.runs, bench.scratch)
    rows = [
        [candidate.name, f"{runs.median * 1000:.0f} ms", f"{runs.peak / MEBIBYTE:.0f}"]
        for candidate, runs in timed.items()
    ]
    milliseconds = {candidate.name: runs.median * 1000 for candidate, runs in timed.items()}
    more = milliseconds["import toolprune, every name"] - milliseconds["import pydantic"]
    sizes = [f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB\n" for wheel in wheels()]
    difference = f"Every name of `toolprune` takes {more:.0f} ms more than `import pydantic` alone.\n"
    return f"{table(['process', 'median', 'peak MiB'], rows)}\n{difference}\n{''.join(sizes)}"


def wheels() -> list[Path]:
    """The wheels that the build left."""
    return sorted(Path(sys.prefix).glob("wheels/*.whl"))


GATE_TARGETS = (("toolprune, from scratch", 1 / 3), ("toolprune, the next request", 1 / 20))
LANGCHAIN = "LangChain's ContextEditingMiddleware"


def gate(bench: Bench) -> str:
    """The gate beside LangChain's context editing, and the cut beside slices, in one process."""
    timed = Timed()
    run_once([sys.executable, str(PEERS / "gate.py"), str(5 * bench.runs)], timed, bench.scratch)
    found: Any = last_json(timed)
    conversation = found["gate"]
    medians = {name: statistics.median(seconds) for name, seconds in conversation["seconds"].items()}
    rows = [[name, f"{s * 1000:.2f} ms", f"{s / medians[LANGCHAIN]:.3f}"] for name, s in medians.items()]
    what = (
        f"One conversation of {conversation['messages']:,} messages, {conversation['tokens']:,} tokens by the host's "
        f"estimate. LangChain clears {conversation['cleared']:,} results, the gate cuts {conversation['cuts']}: each "
        f"is held to its own rule first. Median of {5 * bench.runs} interleaved runs in one process; "
        f"LangChain {version('langchain')}.\n"
    )
    kept = [
        f"{name.partition(', ')[2]} {medians[name] / medians[LANGCHAIN]:.3f} (at most {most:.3f})"
        for name, most in GATE_TARGETS
    ]
    body = (
        f"{what}\n{table(['one request', 'median', 'of LangChain'], rows)}\nOf LangChain's time: {', '.join(kept)}.\n"
    )
    return f"{body}\n{cuts(found['cut'])}"


def cuts(found: dict[str, dict[str, list[float]]]) -> str:
    """The cut of 10,000 strings beside the same by slices."""
    parts = []
    for name, ways in found.items():
        medians = {way: statistics.median(seconds) for way, seconds in ways.items()}
        best = min(s for way, s in medians.items() if way != "toolprune.cut")
        rows = [[way, f"{s * 1000:.2f} ms", f"{s / best:.2f}"] for way, s in medians.items()]
        parts.append(table([f"10,000 strings of {name}", "median", "of the best slice"], rows))
    return "\n".join(parts)


def machine() -> str:
    """Where and when, and with what."""
    processor = platform.processor()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, check=True, text=True).stdout.split()[1]
    peers_used = [f"{name} {version(name)}" for name in PYTHON_PEERS if name != "json"]
    peers_used += [f"{crate} {locked(crate)}" for crate in ("serde_json", "sonic-rs", "simd-json")]
    return (
        f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC; {processor}, {os.cpu_count()} processors, "
        f"Linux {platform.release()}; Python {platform.python_version()}, Rust {rustc}; "
        f"toolprune {version('toolprune')}, {', '.join(peers_used)}.\n"
    )


def locked(crate: str) -> str:
    """The version of a crate that the Rust peers are built with."""
    lock = (PEERS / "rust" / "Cargo.lock").read_text(encoding="utf-8")
    return lock.partition(f'name = "{crate}"\nversion = "')[2].partition('"')[0]


def sections() -> dict[str, Callable[[Bench], str]]:
    """Every benchmark by the name of its section. A later one is one more line here."""
    own = HERE / "make_big_log.py"
    every: dict[str, Callable[[Bench], str]] = {"Scan speed": lambda bench: speed(bench, own)}
    generator = shared_generator()
    if generator is not None:
        every["Scan speed, on the log of the targets"] = lambda bench: speed(bench, generator)
    every["Growth"] = growth
    every["Small files"] = small_files
    every["Start and size"] = start_up
    every["The gate and the cut"] = gate
    return every


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder in memory where there is room for the largest log, else on disk; gone afterwards."""
    in_memory = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > 8e9
    with tempfile.TemporaryDirectory(prefix="toolprune-bench-", dir=SHARED_MEMORY if in_memory else DATA) as folder:
        yield Path(folder)


def main() -> None:
    """Run the sections that were asked for and write each as it is done."""
    every = sections()
    parser = argparse.ArgumentParser(description="Benchmarks of toolprune, written to benches/RESULTS.md.")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the log (1)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each process (5)")
    parser.add_argument("--only", nargs="+", choices=list(every), default=list(every), help="sections to run (all)")
    arguments = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    with memory_folder() as folder:
        bench = Bench(arguments.gigabytes, arguments.runs, folder)
        for name in arguments.only:
            print(f"{name} …", file=sys.stderr)
            body = f"{every[name](bench)}\n{machine()}"
            write_section(RESULTS, name, body)
            print(body)


if __name__ == "__main__":
    main()
