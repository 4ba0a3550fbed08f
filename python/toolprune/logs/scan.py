"""The scan of session logs: which tool results they hold, and how long each is (`docs/formats.md`)."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolprune import _core, defaults
from toolprune.errors import shown
from toolprune.logs.discover import Found, discover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from toolprune._core import MalformedRow, ResultRow, SkippedRow, ToolRow, Totals
    from toolprune.config import CutConfig


PACKERS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
}
"""What a file begins with that someone packed, and who packs so. A scan unpacks zstd only."""


@dataclass(frozen=True, repr=False)
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
        return list(self._skipped)

    @property
    def results(self) -> list[ResultRow]:
        """The longest results over the threshold, longest first; every result, in the order of the logs, on request.

        Of the results over the threshold, `largest` are kept at most: `totals` says how many there are.
        """
        return self._found.results

    def __repr__(self) -> str:
        totals: Mapping[str, object] = self.totals
        figures = ("files", "malformed_lines", "tool_results", "code_points", "over_threshold", "already_cut")
        return f"<Scan: {', '.join(f'{name} {totals[name]}' for name in figures)}, skipped {len(self._skipped)}>"

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
        largest: how many results over the threshold are kept, the longest of them; with `all_results` and `on_results`
            it has no say.
        threads: 0 is one for each processor.
        cut: the cut whose outcome counts as already cut; the default is the host's.
        progress: called about ten times a second with the bytes read so far.
        on_results: called with batches of result rows, in the order of the logs, while the scan runs; none is kept.

    Returns:
        The totals and rows. A path that does not exist or is no log is a row of `skipped`, never an exception, and a
        line that cannot be read is one of `malformed`.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a number is out of range.
        KeyboardInterrupt: within 200 ms of Ctrl-C.
        Whatever a callback raises.
    """
    return scan_files(
        discover(_named(paths)),
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
    _check_callables(progress=progress, on_results=on_results)
    _check_cut(cut)
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
    unread: list[SkippedRow] = [{**row, "reason": _packed(row["path"]) or row["reason"]} for row in rows.skipped]
    return Scan(rows, (*found.skipped, *unread))


def _named(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The paths as text, whether one was given or several."""
    if isinstance(paths, str | bytes | os.PathLike):
        paths = [paths]
    elif not hasattr(paths, "__iter__"):
        raise TypeError(f"paths is {type(paths).__name__}, and must be a path or an iterable of paths")
    named = []
    for path in paths:
        text = os.fspath(path) if isinstance(path, os.PathLike) else path
        if not isinstance(text, str):
            raise TypeError(f"a path is {shown(path)}, and must be a str or an os.PathLike of str")
        named.append(text)
    return named


def _packed(path: str) -> str | None:
    """Why a packed file is no log to the scan; None for any other."""
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError:
        return None
    packer = next((name for magic, name in PACKERS.items() if start.startswith(magic)), None)
    return packer and f"compressed with {packer}: unpack it first"


def _check(name: str, value: int, *, least: int) -> None:
    allowed = f"must be an integer from {least} to 2**63 - 1"
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name} is {shown(value)}, and {allowed}") from error
    if not least <= number < 2**63:
        raise ValueError(f"{name} is {shown(number)}, and {allowed}")


def _check_callables(**callbacks: Callable[..., None] | None) -> None:
    for name, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise TypeError(f"{name} is {shown(callback)}, and must be something to call, or None")


def _check_cut(cut: CutConfig | None) -> None:
    if cut is None:
        return
    # Whoever has a CutConfig has loaded the validator already; whoever has none does without.
    from toolprune.config import CutConfig

    if not isinstance(cut, CutConfig):
        raise TypeError(f"cut is {shown(cut)}, and must be a CutConfig, or None")
