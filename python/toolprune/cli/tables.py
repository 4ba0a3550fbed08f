"""What people read: the tables of a scan and of the settings."""

from __future__ import annotations

import heapq
import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolprune.cli.figures import bytes_for_people, count_for_people, harmless, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolprune._core import ResultRow
    from toolprune.logs.scan import Scan

LISTED = 20
"""Rows of a table; what is beyond is counted."""

NAME_WIDTH = 48
"""Characters of a name; an id of some kilobytes would push the numbers out of sight."""

SHORT_WIDTH = 16
"""Characters of a session on a narrow terminal, where the path needs the room."""

WIDE = 140
"""Columns of a terminal that has room for a whole session id and `path:line`."""

PIPE_WIDTH = 100_000
"""Columns where nobody looks: a pipe gets whole lines."""


class Longest:
    """The longest of the results that pass by, longest first, equals in the order in which they came."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._seen = 0
        self._heap: list[tuple[int, int, ResultRow]] = []

    def add(self, rows: Sequence[ResultRow]) -> None:
        """Take in a batch."""
        for row in rows:
            self._seen += 1
            # The running number settles every tie before two rows would be compared.
            item = (row["code_points"], -self._seen, row)
            if len(self._heap) < self._kept:
                heapq.heappush(self._heap, item)
            else:
                heapq.heappushpop(self._heap, item)

    def results(self) -> list[ResultRow]:
        """The rows, longest first."""
        return [row for _, _, row in sorted(self._heap, reverse=True)]


def scan_table(found: Scan, results: Sequence[ResultRow], *, threshold: int, every: bool) -> None:
    """Print a scan: totals, tools, the longest results, what could not be read."""
    console = _console()
    what = "results" if every else f"results over {threshold:,} characters"
    count = found.totals["tool_results" if every else "over_threshold"]
    _print(console, [_totals(found, threshold), *_by_tool(found, threshold)])
    _print(console, _longest(results, what, count, wide=console.width >= WIDE))
    _print(console, _not_read(found))


def settings_table(rows: Sequence[dict[str, Any]]) -> None:
    """Print settings, their values and where they came from."""
    table = _table("setting", "value", "source")
    for row in rows:
        value = row["value"]
        table.add_row(row["setting"], Text(repr(value) if isinstance(value, str) else str(value)), _cell(row["source"]))
    _print(_console(), [table])


def _totals(found: Scan, threshold: int) -> Table:
    totals = found.totals
    size = bytes_for_people(totals["bytes"])
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column()
    grid.add_row("logs", f"{plural(totals['files'], 'file')}, {size}, {plural(totals['lines'], 'line')}")
    grid.add_row(
        "tool results",
        f"{totals['tool_results']:,} with {count_for_people(totals['code_points'])} characters that the model sees",
    )
    grid.add_row(f"over {threshold:,}", f"{totals['over_threshold']:,}")
    grid.add_row("already cut", f"{totals['already_cut']:,}")
    if totals["ui_copy_bytes"]:
        size = bytes_for_people(totals["ui_copy_bytes"])
        grid.add_row("UI copies", f"{size} that no model sees, in no other figure")
    return grid


def _by_tool(found: Scan, threshold: int) -> list[Table | Text]:
    rows = found.by_tool
    if not rows:
        return []
    everything = found.totals["code_points"] or 1
    table = _table("tool", "results", "characters", "share", f"over {threshold:,}", numbers=(1, 2, 3, 4))
    for row in rows[:LISTED]:
        table.add_row(
            _name(row["tool"], "(call not found)"),
            f"{row['results']:,}",
            count_for_people(row["code_points"]),
            f"{row['code_points'] / everything:.1%}",
            f"{row['over_threshold']:,}",
        )
    return [_title("By tool"), table, *_beyond(len(rows), "tool")]


def _longest(results: Sequence[ResultRow], what: str, count: int, *, wide: bool) -> list[Table | Text]:
    if not results:
        return [Text(f"\nNo {what}.")]
    # Folding `path:line` would break the line's number in two.
    where = ("where",) if wide else ("line", "path")
    table = _table(
        "characters", "tokens", "tool", "turn", "session", *where, numbers=(0, 1, 3) if wide else (0, 1, 3, 5)
    )
    for row in results[:LISTED]:
        path, line = row["path"], str(row["line"])
        table.add_row(
            f"{row['code_points']:,}",
            f"{row['tokens']:,}",
            _name(row["tool"], "(call not found)"),
            "" if row["turn"] is None else str(row["turn"]),
            _name(row["session"], "", NAME_WIDTH if wide else SHORT_WIDTH),
            *((_cell(f"{path}:{line}"),) if wide else (line, _cell(path))),
        )
    return [_title(f"Longest {what}"), table, *_beyond(count, "result")]


def _not_read(found: Scan) -> list[Table | Text]:
    shown: list[Table | Text] = []
    for title, rows, count in (
        ("Malformed lines", [(f"{row['path']}:{row['line']}", row["reason"]) for row in found.malformed],
         found.totals["malformed_lines"]),
        ("Skipped files", [(row["path"], row["reason"]) for row in found.skipped], len(found.skipped)),
    ):  # fmt: skip
        if rows:
            table = _table("where", "why")
            for where, why in rows[:LISTED]:
                table.add_row(_cell(where), _cell(why))
            shown += [_title(title), table, *_beyond(count, title.lower().removesuffix("s"))]
    return shown


def _beyond(count: int, what: str) -> list[Text]:
    return [Text(f"and {plural(count - LISTED, f'more {what}')} (--format json)")] if count > LISTED else []


def _table(*headers: str, numbers: Iterable[int] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for position, header in enumerate(headers):
        # Numbers stay whole on a narrow terminal; names and paths fold.
        if position in numbers:
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold")
    return table


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _name(text: str | None, absent: str, width: int = NAME_WIDTH) -> Text:
    if text is None:
        return Text(absent, style="dim")
    shown = harmless(text)
    return Text(shown if len(shown) <= width else f"{shown[: width - 1]}…")


def _cell(text: str) -> Text:
    # As Text, so that square brackets of a path or an id are no markup.
    return Text(harmless(text))


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def _print(console: Console, parts: Iterable[Table | Text]) -> None:
    with console.capture() as shown:
        for part in parts:
            console.print(part)
    # Cells are padded to their column; nobody wants the blanks at a line's end.
    sys.stdout.write("\n".join(line.rstrip() for line in shown.get().split("\n")))
