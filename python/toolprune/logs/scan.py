"""The scan of session logs: which tool results they hold, and how long each is (`docs/formats.md`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolprune import _core, defaults
from toolprune.logs.discover import Found, discover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolprune._core import MalformedRow, ResultRow, SkippedRow, ToolRow, Totals
    from toolprune.config import CutConfig


@dataclass(frozen=True)
class Scan:
    """What a scan found. Lengths are code points, sizes bytes, lines count from 1, offsets are bytes from 0.

    `polars.DataFrame(scan)`, `duckdb.from_arrow(scan)` or `pyarrow.table(scan)` takes the rows of `results` as Arrow.
    """

    _found: _core.Scan
    _skipped: tuple[SkippedRow, ...]

    @property
    def totals(self) -> Totals:
        """Sums over every log that was read."""
        return self._found.totals

    @property
    def by_tool(self) -> list[ToolRow]:
        """One row a tool, the most code points first, then by name; `tool` is None where no call names it."""
        return self._found.by_tool

    @property
    def malformed(self) -> list[MalformedRow]:
        """The first 100 lines that could not be read, in the order of the files."""
        return self._found.malformed

    @property
    def skipped(self) -> list[SkippedRow]:
        """Paths that were not read, each with its reason: first those that cannot be logs, then those that are none."""
        return [*self._skipped, *self._found.skipped]

    @property
    def results(self) -> list[ResultRow]:
        """The longest results over the threshold, longest first; every result, in the order of the logs, on request."""
        return self._found.results

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows of `results` as an Arrow stream of record batches (the Arrow PyCapsule interface)."""
        return self._found.__arrow_c_stream__(requested_schema)


def scan(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    threshold: int = defaults.THRESHOLD,
    all_results: bool = False,
    unique: bool = False,
    strict: bool = False,
    largest: int = defaults.LARGEST,
    threads: int = defaults.THREADS,
    cut: CutConfig | None = None,
    progress: Callable[[int], None] | None = None,
    on_results: Callable[[list[ResultRow]], None] | None = None,
) -> Scan:
    """Scan session logs, in bounded memory and without holding the GIL.

    Args:
        paths: one path or several. A directory is searched at any depth for files with a log's name, any other path is
            tried as it is; a file that is named twice is read once.
        threshold: code points; a longer result is over the threshold.
        all_results: keep every result, in the order of the logs, in place of the longest over the threshold.
        unique: count a result once where resumed sessions repeat it.
        strict: every line must be whole JSON, not only those that bear on what is counted.
        largest: how many results over the threshold are kept.
        threads: 0 is one for each processor.
        cut: the cut whose outcome counts as already cut; the default is the host's.
        progress: called about ten times a second with the bytes read so far.
        on_results: called with batches of result rows, in the order of the logs, while the scan runs; none is kept.

    Returns:
        The totals and rows. A path that does not exist or is no log is a row of `skipped`, never an exception, and a
        line that cannot be read is one of `malformed`.

    Raises:
        ValueError: a number is out of range.
        KeyboardInterrupt: within 200 ms of Ctrl-C.
        Whatever a callback raises.
    """
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    return scan_files(
        discover(os.fspath(path) for path in named),
        threshold=threshold,
        all_results=all_results,
        unique=unique,
        strict=strict,
        largest=largest,
        threads=threads,
        cut=cut,
        progress=progress,
        on_results=on_results,
    )


def scan_files(
    found: Found,
    *,
    threshold: int = defaults.THRESHOLD,
    all_results: bool = False,
    unique: bool = False,
    strict: bool = False,
    largest: int = defaults.LARGEST,
    threads: int = defaults.THREADS,
    cut: CutConfig | None = None,
    progress: Callable[[int], None] | None = None,
    on_results: Callable[[list[ResultRow]], None] | None = None,
) -> Scan:
    """Scan what was discovered; the rest is as `scan` says."""
    _check("threshold", threshold, least=1)
    _check("largest", largest, least=0)
    _check("threads", threads, least=0)
    rows = _core.scan(
        found.files,
        threshold=threshold,
        head=defaults.HEAD if cut is None else cut.head,
        tail=defaults.TAIL if cut is None else cut.tail,
        marker=defaults.MARKER if cut is None else cut.marker,
        largest=largest,
        all_results=all_results,
        unique=unique,
        strict=strict,
        threads=threads,
        progress=progress,
        on_results=on_results,
    )
    return Scan(rows, tuple(found.skipped))


def _check(name: str, value: int, *, least: int) -> None:
    if not least <= value < 2**63:
        raise ValueError(f"{name} is {value}, and must be an integer from {least} to 2**63 - 1")
