"""`toolprune scan`: what tool results fill these logs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolprune import defaults
from toolprune.cli.figures import plural
from toolprune.cli.options import integer, one_of
from toolprune.cli.outcome import Debug, Outcome
from toolprune.cli.streams import say

if TYPE_CHECKING:
    from toolprune._core import ResultRow
    from toolprune.logs.scan import Scan

REASONS = 20
"""Sentences about what could not be read; what is beyond is counted."""


def scan(
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH]…")] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="table for people, json for one object, ndjson for one result a line; table without it.",
        ),
    ] = "table",
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            metavar="N",
            help=f"List results of more than N code points; {defaults.THRESHOLD} without it.",
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option("--threads", metavar="N", help="Threads; 0, as without it, is one for each processor."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Every line must be whole JSON.")] = False,
    unique: Annotated[bool, typer.Option("--unique", help="Count a result once where sessions repeat it.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List every result, not only those over the threshold.")] = False,
    debug: Debug = False,
) -> Outcome:
    """See what tool results fill these session logs.

    It says how many there are, how long, of which tools, and which are the longest. It writes no file.

    PATH is a log, or a directory that is searched at any depth. Without one, the usual places are:

    \b
      DSH          $DSH_HOME/sessions, or ~/.dsh/sessions
      Claude Code  $CLAUDE_CONFIG_DIR/projects, or ~/.claude/projects
      Codex        $CODEX_HOME/sessions, or ~/.codex/sessions
      pi           ~/.pi/agent/sessions

    \b
    Exit codes:
      0    done
      1    done, with something you must know: standard error says it
      2    wrong usage, or nothing that was named could be read
      130  interrupted

    \b
    Example:
      toolprune scan ~/.claude/projects --threshold 20000
    """  # noqa: D301 - the line of a \b keeps the paragraph after it from being filled
    scan_as = _SCANS[one_of("--format", format, list(_SCANS))]
    options = {"strict": strict, "unique": unique}
    options |= _settings(integer("--threshold", threshold, least=1), integer("--threads", threads, least=0))
    places = paths or _usual_places()
    found = scan_as(places, every, options)
    return _end(found, places, named=bool(paths))


def _settings(threshold: int | None, threads: int | None) -> dict[str, Any]:
    """The scan's options after flags, variables, files and defaults."""
    from toolprune.cli.settings import anything_set, load

    given = {name: value for name, value in (("threshold", threshold), ("threads", threads)) if value is not None}
    if not anything_set():
        return given
    settings = load({f"scan.{name}": value for name, value in given.items()}).settings
    return {**settings.scan.model_dump(), "cut": settings.cut}


def _usual_places() -> list[str]:
    from toolprune.logs.discover import usual_places

    places = usual_places()
    there = [place for place in places if os.path.isdir(place.path)]
    missing = [place for place in places if place not in there]
    for verb, places in (("looking in", there), ("there is no", missing)):
        if places:
            say(f"{verb} {', '.join(f'{place.path} ({place.host})' for place in places)}")
    return [place.path for place in there]


def _run(places: list[str], **options: Any) -> Scan:
    from toolprune.logs.discover import discover
    from toolprune.logs.scan import scan_files

    found = discover(places)
    if not sys.stderr.isatty():
        return scan_files(found, **options)
    from toolprune.cli.progress import Progress

    with Progress(found.files) as progress:
        return scan_files(found, progress=progress.update, **options)


def _as_table(places: list[str], every: bool, options: dict[str, Any]) -> Scan:
    from toolprune.cli.tables import LISTED, Longest, scan_table

    options["largest"] = min(LISTED, options.get("largest", defaults.LARGEST))
    if every:
        longest = Longest(LISTED)
        found = _run(places, all_results=True, on_results=longest.add, **options)
        results = longest.results()
    else:
        found = _run(places, **options)
        results = found.results
    if found.totals["files"]:
        scan_table(found, results, threshold=options.get("threshold", defaults.THRESHOLD), every=every)
    return found


def _as_json(places: list[str], every: bool, options: dict[str, Any]) -> Scan:
    import json

    write = sys.stdout.write
    if every:
        # Results first and as they come, so that memory does not grow with them.
        first = True

        def add(rows: list[ResultRow]) -> None:
            nonlocal first
            for row in rows:
                write(("" if first else ", ") + json.dumps(row))
                first = False

        write('{"results": [')
        found = _run(places, all_results=True, on_results=add, **options)
        write("], " + json.dumps({**_summary(found), "results_truncated": False})[1:] + "\n")
    else:
        found = _run(places, **options)
        results = found.results
        truncated = len(results) < found.totals["over_threshold"]
        write(json.dumps({**_summary(found), "results_truncated": truncated, "results": results}) + "\n")
    return found


def _as_ndjson(places: list[str], every: bool, options: dict[str, Any]) -> Scan:
    import json

    def add(rows: list[ResultRow]) -> None:
        sys.stdout.write("".join(json.dumps(row) + "\n" for row in rows))

    return _run(places, all_results=every, on_results=add, **options)


_SCANS = {"table": _as_table, "json": _as_json, "ndjson": _as_ndjson}


def _summary(found: Scan) -> dict[str, Any]:
    return {**found.totals, "by_tool": found.by_tool, "malformed": found.malformed, "skipped": found.skipped}


def _end(found: Scan, places: list[str], *, named: bool) -> Outcome:
    """Say on standard error what the user must know, and choose the exit code."""
    notes = _notes(found) if found.totals["files"] else _nothing_read(found, places)
    for note in notes:
        say(note)
    if named and found.skipped and not found.totals["files"]:
        return Outcome.REFUSED
    return Outcome.NOTED if notes else Outcome.DONE


def _nothing_read(found: Scan, places: list[str]) -> list[str]:
    skipped = found.skipped
    if not skipped:
        where = f"in {', '.join(places)}" if places else "in the usual places"
        return [f"no session log {where}: name the directory where your agent keeps its *.jsonl files"]
    reasons = [f"{row['path'] or repr('')}: {row['reason']}" for row in skipped[:REASONS]]
    beyond = len(skipped) - len(reasons)
    return [*reasons, f"and {plural(beyond, 'more file')} that could not be read"] if beyond else reasons


def _notes(found: Scan) -> list[str]:
    totals, skipped = found.totals, found.skipped
    notes = []
    if count := totals["malformed_lines"]:
        first = found.malformed[0]
        where = f"{first['path']}:{first['line']}: {first['reason']}"
        notes.append(_passed_over(count, "malformed line", "passed over", where))
    if skipped:
        where = f"{skipped[0]['path'] or repr('')}: {skipped[0]['reason']}"
        notes.append(_passed_over(len(skipped), "path", "skipped", where))
    if totals["forgotten_calls"]:
        results = plural(totals["forgotten_calls"], "result has", "results have")
        notes.append(f"{results} no tool, perhaps because their logs hold more calls than a scan remembers")
    return notes


def _passed_over(count: int, what: str, done: str, first: str) -> str:
    if count == 1:
        return f"1 {what} was {done}: {first}"
    return f"{count:,} {what}s were {done}, first {first}"
