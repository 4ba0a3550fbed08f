"""Standard output and standard error, which may be closed, full, or read by nobody any more."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from toolprune.cli.figures import harmless
from toolprune.errors import ToolpruneError

USUAL_WIDTH = 80
"""Columns where nothing says how many there are."""

USUAL_HEIGHT = 25
"""Lines, on which nothing depends; rich asks the environment for both sizes unless both are given."""


def prepare() -> None:
    """Make both streams fit to be written to. Raises ToolpruneError where standard output is closed."""
    if sys.stderr is None:
        # A print to it would go to standard output.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it stays open to the end
    if sys.stdout is None:
        raise ToolpruneError("standard output is closed: open it, or send it to a file")
    for stream in (sys.stdout, sys.stderr):
        # What the encoding lacks, lone surrogates above all, comes out as an escape.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(sentence: str) -> None:
    """Tell the user something on standard error."""
    tell(f"toolprune: {harmless(sentence)}\n")


def tell(text: str) -> None:
    """Write to standard error. Where that fails, nobody is left to be told, and all else goes on."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO | None) -> None:
    """Send what is still buffered nowhere, so that it cannot fail again when Python flushes it at the end."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def terminal_width(stream: TextIO) -> int:
    """Columns of the terminal behind a stream: what `COLUMNS` says where that is a size, else the terminal itself."""
    with suppress(ValueError):
        columns = int(os.environ.get("COLUMNS", ""))
        if columns > 0:
            return columns
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or USUAL_WIDTH
    return USUAL_WIDTH
