"""What people read: the tables of a scan and of the settings."""

from __future__ import annotations

import heapq
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolprune.cli.figures import bytes_for_people, count_for_people, harmless, plural
from toolprune.cli.streams import USUAL_HEIGHT, terminal_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolprune._core import ResultRow
    from toolprune.logs.scan import Scan

LISTED = 20
"""Rows of a table; what is beyond is counted."""

NAME_WIDTH = 48
"""Characters of a name; an id of some kilobytes would push the numbers out of sight."""

GAP = 3
"""Blanks between columns."""

LEAST_WIDTH = 40
"""Columns of the narrowest terminal that is laid out for."""

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
    _print(console, [_totals(found, threshold), *_by_tool(found, threshold, console.width)])
    _print(console, _longest(results, what, count, every=every, width=console.width))
    _print(console, _not_read(found, console.width))


def settings_table(rows: Sequence[dict[str, Any]], files: Sequence[dict[str, Any]]) -> None:
    """Print settings, their values and where they came from, and the files that were looked for."""
    table = _table("setting", "value", "source")
    for row in rows:
        value = row["value"]
        table.add_row(row["setting"], Text(repr(value) if isinstance(value, str) else str(value)), _cell(row["source"]))
    places = Table.grid(padding=(0, 2))
    for file in files:
        places.add_row("read" if file["present"] else "not there", _cell(file["path"]))
    _print(_console(), [table, _title("Files, the first that sets a value wins"), places])


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


def _by_tool(found: Scan, threshold: int, width: int) -> list[Table | Text]:
    rows = found.by_tool
    if not rows:
        return []
    listed = rows[:LISTED]
    everything = found.totals["code_points"] or 1
    columns = [
        Column("tool", [_name(row["tool"]) for row in listed], least=8),
        Column("results", [f"{row['results']:,}" for row in listed], number=True),
        Column("characters", [count_for_people(row["code_points"]) for row in listed], number=True),
        Column("share", [f"{row['code_points'] / everything:.1%}" for row in listed], number=True, leaves=12),
        Column(f"over {threshold:,}", [f"{row['over_threshold']:,}" for row in listed], number=True, leaves=8),
    ]
    fitted = _fitted(columns, "tool", width)
    return [_title("By tool"), fitted, *_beyond(len(rows) - LISTED, "more tool", "`--format json` lists every one")]


def _longest(results: Sequence[ResultRow], what: str, count: int, *, every: bool, width: int) -> list[Table | Text]:
    if not count:
        return [Text(f"\nNo {what}.")]
    listed = results[:LISTED]
    columns = [
        Column("characters", [f"{row['code_points']:,}" for row in listed], number=True),
        Column("tokens", [f"{row['tokens']:,}" for row in listed], number=True, leaves=24),
        Column("tool", [_name(row["tool"]) for row in listed], least=8),
        Column("turn", ["" if row["turn"] is None else str(row["turn"]) for row in listed], number=True, leaves=24),
        Column("session", [_name(row["session"] or "") for row in listed], leaves=40),
        Column("where", [harmless(f"{row['path']}:{row['line']}") for row in listed], least=16, path=True),
    ]
    flags = "--all --format ndjson" if every else "--format ndjson"
    beyond = _beyond(
        count - len(listed), f"more {what.partition(' ')[0].removesuffix('s')}", f"`{flags}` lists every one"
    )
    return [_title(f"Longest {what}"), *([_fitted(columns, "where", width)] if listed else []), *beyond]


def _not_read(found: Scan, width: int) -> list[Table | Text]:
    malformed = [(f"{row['path']}:{row['line']}", row["reason"]) for row in found.malformed]
    skipped = [(row["path"], row["reason"]) for row in found.skipped]
    shown: list[Table | Text] = []
    for title, what, rows, count in (
        ("Malformed lines", "malformed line", malformed, found.totals["malformed_lines"]),
        ("Skipped paths", "skipped path", skipped, len(skipped)),
    ):
        if rows:
            lists = "lists every one" if count == len(rows) else f"lists the first {len(rows)}"
            shown += [_title(title), _reasons(rows[:LISTED], width)]
            shown += _beyond(count - LISTED, f"more {what}", f"`--format json` {lists}")
    return shown


def _reasons(rows: Sequence[tuple[str, str]], width: int) -> Table:
    wheres = [harmless(where) for where, _ in rows]
    # The reason may go on below, the place may not.
    room = min(max(map(cell_len, wheres)), max(width // 2, width - GAP - max(cell_len(why) for _, why in rows)))
    table = _table("where", "why")
    table.columns[0].no_wrap = True
    for where, (_, why) in zip(wheres, rows, strict=True):
        table.add_row(Text(_end_of(where, room)), _cell(why))
    return table


def _beyond(count: int, what: str, how: str) -> list[Text]:
    return [Text(f"and {plural(count, what)}: {how}")] if count > 0 else []


@dataclass
class Column:
    """A column of a table that fits its terminal. Texts are harmless already."""

    header: str
    cells: list[str]
    number: bool = False
    leaves: int = 0
    """The column is left out where the one that stretches would have less room than this."""
    least: int = 0
    """Room that a column of texts can do with."""
    path: bool = False
    """What does not fit is missing at the start: the end says more."""

    @property
    def width(self) -> int:
        """Room that shows every cell whole."""
        return max(map(cell_len, [self.header, *self.cells]))

    def cut_to(self, width: int) -> None:
        """Shorten the cells. Numbers are never cut."""
        self.cells = [(_end_of if self.path else _start_of)(cell, width) for cell in self.cells]


def _fitted(columns: Sequence[Column], stretches: str, width: int) -> Table:
    """A table of the columns for which there is room, each row on one line.

    Columns without a cell go first, then the last of those that may go, until the column that stretches has its room.
    """
    kept = [each for each in columns if any(each.cells)]
    stretching = next(each for each in kept if each.header == stretches)
    for column in reversed(columns):
        if column.leaves and column in kept and _room(kept, stretching, width) < min(column.leaves, stretching.width):
            kept.remove(column)
    for column in kept:
        lacking = stretching.least - _room(kept, stretching, width)
        if column.least and column is not stretching and lacking > 0:
            column.cut_to(max(column.least, column.width - lacking))
    stretching.cut_to(max(stretching.least, _room(kept, stretching, width)))
    table = _table(*(each.header for each in kept))
    for shown, column in zip(table.columns, kept, strict=True):
        shown.no_wrap = True
        shown.justify = "right" if column.number else "left"
    for row in zip(*(each.cells for each in kept), strict=True):
        table.add_row(*map(Text, row))
    return table


def _room(columns: Sequence[Column], stretching: Column, width: int) -> int:
    return width - sum(each.width + GAP for each in columns if each is not stretching)


def _start_of(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    kept = text[: width - 1]
    while cell_len(kept) > width - 1:
        kept = kept[:-1]
    return f"{kept}…"


def _end_of(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    kept = text[len(text) - width + 1 :]
    while cell_len(kept) > width - 1:
        kept = kept[1:]
    return f"…{kept}"


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _name(text: str | None) -> str:
    return "(call not found)" if text is None else _start_of(harmless(text), NAME_WIDTH)


def _cell(text: str) -> Text:
    # As Text, so that square brackets of a path or an id are no markup.
    return Text(harmless(text))


def _console() -> Console:
    console = Console(highlight=False, width=PIPE_WIDTH, height=USUAL_HEIGHT)
    if console.is_terminal:
        console.width = max(terminal_width(sys.stdout), LEAST_WIDTH)
    return console


def _print(console: Console, parts: Iterable[Table | Text]) -> None:
    with console.capture() as shown:
        for part in parts:
            console.print(part)
    # Cells are padded to their column; nobody wants the blanks at a line's end.
    sys.stdout.write("\n".join(line.rstrip() for line in shown.get().split("\n")))
