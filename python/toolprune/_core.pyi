"""The compiled half of toolprune."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, final

__version__: str

class Totals(TypedDict):
    """Sums over every log that was read. The contract of each figure is `docs/formats.md`.

    `bytes` are those of the files on disk, `ui_copy_bytes` those of copies that no model sees; `code_points` are
    characters of the results' text. `over_threshold` and `already_cut` count results. `forgotten_calls` counts results
    that found no call in a log so long that its earliest calls were forgotten.
    """

    files: int
    bytes: int
    lines: int
    malformed_lines: int
    tool_results: int
    code_points: int
    over_threshold: int
    already_cut: int
    ui_copy_bytes: int
    forgotten_calls: int

class ToolRow(TypedDict):
    """The results of one tool: how many, their code points, how many are over the threshold.

    `tool` is None for results whose call is nowhere.
    """

    tool: str | None
    results: int
    code_points: int
    over_threshold: int

class ResultRow(TypedDict):
    """One tool result, where it stands and how long it is.

    `line` counts from 1, `offset` is in bytes from 0 (of the decompressed text of a compressed log), `tokens` is
    the host's estimate. What a format does not know is None.
    """

    path: str
    format: str
    session: str | None
    line: int
    offset: int
    seq: int | None
    turn: int | None
    step: int | None
    tool: str | None
    call_id: str | None
    is_error: bool
    code_points: int
    tokens: int
    already_cut: bool
    sidechain: bool | None

class MalformedRow(TypedDict):
    """A line that could not be read: its number from 1, the byte at which it begins, and what is wrong with it."""

    path: str
    line: int
    offset: int
    reason: str

class SkippedRow(TypedDict):
    """A file that was not read, or not to its end, and why."""

    path: str
    reason: str

@final
class Scan:
    """What a scan found. Immutable; each property makes its rows anew."""

    @property
    def totals(self) -> Totals:
        """Sums over every log that was read."""
    @property
    def by_tool(self) -> list[ToolRow]:
        """One row a tool, the most code points first, then by name."""
    @property
    def malformed(self) -> list[MalformedRow]:
        """The first 100, in the order of the files."""
    @property
    def skipped(self) -> list[SkippedRow]:
        """In the order of the files."""
    @property
    def results(self) -> list[ResultRow]:
        """The longest over the threshold, longest first; or all results, in the order of the logs."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows of `results` as an Arrow stream of record batches, for polars, DuckDB, pandas and pyarrow.

        A lone surrogate, which UTF-8 has no form for, becomes U+FFFD. `requested_schema` is not looked at.
        """

def scan(
    files: Sequence[str],
    *,
    threshold: int,
    head: int,
    tail: int,
    marker: str,
    largest: int,
    all_results: bool,
    unique: bool,
    strict: bool,
    threads: int,
    progress: Callable[[int], None] | None = None,
    on_results: Callable[[list[ResultRow]], None] | None = None,
) -> Scan:
    """Scan these files, in this order, on `threads` threads (0: one for each processor).

    `progress` is called about ten times a second with the bytes read so far. With `on_results`, every result over the
    threshold (every result with `all_results`) is handed over in the order of the logs while the scan runs, and none is
    kept. `head`, `tail` and `marker` say what counts as already cut, `largest` how many results are kept.

    A file that cannot be opened or read is in `Scan.skipped`, and no reason to raise.

    Raises ValueError when head + marker + tail is more than 10,922 code points, KeyboardInterrupt within 200 ms of
    Ctrl-C, and whatever a callback raises.
    """

@final
class Cut:
    """A cut to `head` code points, `marker` and `tail` code points, of what is longer than `threshold`. Immutable.

    Lengths are code points, as Python's `len` counts them; lone surrogates are code points like any other. `boundary`
    is "code_point", or "grapheme" or "line", for which head and tail are each shortened to such a boundary.

    `numbered` is a marker of two texts with the number of code points that go between them. It stands in the place of
    `marker` where what is left is within the threshold.

    Raises ValueError when a limit is below 0 or above 2**64 - 1, when `threshold` is 0, when head + marker + tail is
    more than `threshold`, and for another boundary. Raises TypeError for a value of the wrong type.

    Source: `docs/policies.md`, "The cut".
    """

    def __new__(cls, *, threshold: int, head: int, tail: int, marker: str, boundary: str) -> Cut: ...
    def text(self, text: str, /, numbered: tuple[str, str] | None = None) -> str | None:
        """Cut a text; None when it is within the threshold."""
    def blocks(
        self, blocks: Sequence[dict[str, Any]], types: frozenset[str], /, numbered: tuple[str, str] | None = None
    ) -> list[dict[str, Any]] | None:
        """Cut the text blocks of one tool result, taken together; None when they are within the threshold.

        A text block is a dict whose "type" is in `types` and whose "text" is a str. It comes back as a new dict with
        its other keys in their order, or not at all when no text is left of it. Anything else comes back as the same
        object, in its place. `blocks` and the dicts in it stay as they were.

        Raises TypeError when `blocks` is not a sequence, or is a str.
        """

def is_cut(text: str, *, head: int, tail: int, marker: str) -> bool:
    """Whether a text is exactly `head` code points, `marker` and `tail` code points.

    With an empty marker, every text of head + tail code points is.

    Raises ValueError when a limit is below 0 or above 2**64 - 1, TypeError for a value of the wrong type.

    Source: `docs/policies.md`, "The cut".
    """

def code_points(data: bytes | bytearray | memoryview, /) -> int:
    """Count the code points in UTF-8: what `len(data.decode())` gives, without decoding.

    `bytes` are read in place, other bytes-like objects are copied first. Above 64 KiB the GIL is released.

    Raises ValueError when `data` is not UTF-8, with the byte offset of the first fault; TypeError when it is not
    bytes-like.
    """

def snapshot(value: Any, depth: int, /) -> Any:
    """Copy the dicts and lists of a value, `depth` levels of them; everything else is in the copy as the same object.

    A subclass of dict or list is copied to a dict or a list. Texts, which make up the size of a conversation, are not
    copied. Raises OverflowError when `depth` is below 0 or above 2**32 - 1.
    """
