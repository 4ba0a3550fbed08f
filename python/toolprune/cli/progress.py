"""A progress bar with bytes per second, for work that takes longer than it takes to wonder."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from toolprune.cli.streams import USUAL_HEIGHT, terminal_width

if TYPE_CHECKING:
    from types import TracebackType

    import rich.progress

PATIENCE = 0.5
"""Seconds before a bar appears."""


class Progress:
    """A bar on standard error, drawn once the work has lasted `PATIENCE` seconds."""

    def __init__(self, files: list[str]) -> None:
        self._files = files
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def update(self, done: int) -> None:
        """Show that `done` bytes have been read."""
        if self._bar is None:
            if time.monotonic() - self._began < PATIENCE:
                return
            self._bar = self._draw()
        task = self._bar.tasks[0]
        if task.total is not None and done > task.total:
            # A compressed log holds more text than its size says.
            task.total = None
        self._bar.update(task.id, completed=done)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _draw(self) -> rich.progress.Progress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        class Visible(Console):
            """A console that never hides the cursor: a signal that ends the scan would leave it hidden."""

            def show_cursor(self, show: bool = True) -> bool:
                return False

        # Redirected, rows that go to standard output while the bar is there would come out above it.
        bar = Progress(
            BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
            console=Visible(stderr=True, width=terminal_width(sys.stderr), height=USUAL_HEIGHT),
            transient=True, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        bar.start()
        bar.add_task("scan", total=self._size())
        return bar

    def _size(self) -> int:
        size = 0
        for file in self._files:
            # A log that has gone meanwhile is the scan's to report.
            with suppress(OSError):
                size += os.stat(file).st_size
        return size
