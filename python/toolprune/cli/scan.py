"""`toolprune scan`: what tool results fill these logs."""

from __future__ import annotations

import os
import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolprune import defaults
from toolprune.cli.figures import plural
from toolprune.cli.outcome import Outcome, ends, say

if TYPE_CHECKING:
    from toolprune._core import ResultRow
    from toolprune.logs.scan import Scan

MOST = 2**63 - 1


class Format(str, Enum):
    """How a scan is written."""

    TABLE = "table"
    JSON = "json"
    NDJSON = "ndjson"


@ends
def scan(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Session logs or directories of them; none: the usual places."),
    ] = None,
    format: Annotated[
        Format, typer.Option("--format", help="table for people, json for one object, ndjson for one result a line.")
    ] = Format.TABLE,
    threshold: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, show_default=str(defaults.THRESHOLD), help="List results of more code points than this."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=0, max=MOST, show_default="one for each processor", help="Threads.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Every line must be whole JSON.")] = False,
    unique: Annotated[bool, typer.Option("--unique", help="Count a result once where sessions repeat it.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List every result, not only those over the threshold.")] = False,
) -> Outcome:
    """Say what tool results fill these session logs: how many, how long, of which tools. Nothing is written."""
    places = paths or _usual_places()
    options: dict[str, Any] = {"strict": strict, "unique": unique, **_settings(threshold, threads)}
    found = _SCANS[format](places, every, options)
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

    options["largest"] = LISTED
    if every:
        longest = Longest(LISTED)
        found = _run(places, all_results=True, on_results=longest.add, **options)
        results = longest.results()
    else:
        found = _run(places, **options)
        results = found.results
    # One path that was skipped is said in the closing sentence already.
    if found.totals["files"] or len(found.skipped) > 1:
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
        write("], " + json.dumps(_summary(found))[1:] + "\n")
    else:
        found = _run(places, **options)
        write(json.dumps({**_summary(found), "results": found.results}) + "\n")
    return found


def _as_ndjson(places: list[str], every: bool, options: dict[str, Any]) -> Scan:
    import json

    def add(rows: list[ResultRow]) -> None:
        sys.stdout.write("".join(json.dumps(row) + "\n" for row in rows))

    return _run(places, all_results=every, on_results=add, **options)


_SCANS = {Format.TABLE: _as_table, Format.JSON: _as_json, Format.NDJSON: _as_ndjson}


def _summary(found: Scan) -> dict[str, Any]:
    return {**found.totals, "by_tool": found.by_tool, "malformed": found.malformed, "skipped": found.skipped}


def _end(found: Scan, places: list[str], *, named: bool) -> Outcome:
    """Say on standard error what the user must know, and choose the exit code."""
    if not found.totals["files"]:
        unreadable = [path for path in places if named and not os.access(path, os.R_OK)]
        if unreadable:
            reasons = {row["path"]: row["reason"] for row in found.skipped}
            say("; ".join(f"{path}: {reasons.get(path, 'cannot be read')}" for path in unreadable))
            return Outcome.REFUSED
        if not found.skipped:
            where = f"in {', '.join(places)}" if places else "in the usual places"
            say(f"no session log {where}: name the directory where your agent keeps its *.jsonl files")
            return Outcome.NOTED
    notes = _notes(found)
    for note in notes:
        say(note)
    return Outcome.NOTED if notes else Outcome.DONE


def _notes(found: Scan) -> list[str]:
    totals, skipped = found.totals, found.skipped
    notes = []
    if totals["malformed_lines"]:
        first = found.malformed[0]
        count = plural(totals["malformed_lines"], "malformed line was", "malformed lines were")
        notes.append(f"{count} passed over, first {first['path']}:{first['line']}: {first['reason']}")
    if skipped:
        count = plural(len(skipped), "file was", "files were")
        notes.append(f"{count} skipped, first {skipped[0]['path']}: {skipped[0]['reason']}")
    if totals["forgotten_calls"]:
        count = plural(totals["forgotten_calls"], "result has", "results have")
        notes.append(f"{count} no tool, perhaps because their logs hold more calls than a scan remembers")
    return notes
