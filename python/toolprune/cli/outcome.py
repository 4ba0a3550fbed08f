"""How a verb ends: its exit code, and one sentence for whatever went wrong.

0 done; 1 done, with something the user must know, said on standard error; 2 wrong usage, or nothing that was named
could be read; 130 interrupted.
"""

from __future__ import annotations

import functools
import io
import os
import sys
import traceback
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, ParamSpec, cast

import typer

from toolprune.cli.figures import harmless
from toolprune.cli.words import wrong_usage
from toolprune.errors import ToolpruneError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")


class Outcome(IntEnum):
    """The exit codes."""

    DONE = 0
    NOTED = 1
    REFUSED = 2
    INTERRUPTED = 130


DEBUG = "toolprune.debug"


def _remember(context: typer.Context, wanted: bool) -> bool:
    # Before the verb or after it: a context shares its `meta` with those inside it.
    if wanted:
        context.meta[DEBUG] = True
    return wanted


Debug = Annotated[
    bool, typer.Option("--debug", callback=_remember, help="Show the traceback of an error that has one.")
]
"""The option that every verb takes, and that may stand before it too."""


def say(sentence: str) -> None:
    """Tell the user something on standard error."""
    # Where it is closed, print would take standard output.
    if sys.stderr is not None:
        print(f"toolprune: {harmless(sentence)}", file=sys.stderr)


def ends(verb: Callable[P, Outcome]) -> Callable[P, None]:
    """Make a verb's outcome the exit code, and its errors one sentence each. The verb has a parameter `context`."""

    @functools.wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            _accept_any_text()
            outcome = verb(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough.
            _drop_output()
            outcome = Outcome.DONE
        except KeyboardInterrupt:
            say("interrupted")
            outcome = Outcome.INTERRUPTED
        except Exception as error:
            _drop_output()
            if cast("typer.Context", kwargs["context"]).meta.get(DEBUG):
                traceback.print_exc()
            outcome = refuse(error)
        raise typer.Exit(outcome)

    return run


def refuse(error: Exception) -> Outcome:
    """Say what is wrong, in one sentence."""
    say(wrong_usage(error) or _sentence(error))
    return Outcome.REFUSED


def _accept_any_text() -> None:
    """Let what the output's encoding lacks, lone surrogates above all, come out as an escape."""
    if sys.stdout is None:
        raise ToolpruneError("standard output is closed: open it, or send it to a file")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that it cannot fail again when Python flushes it at the end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception) -> str:
    if isinstance(error, ToolpruneError | ValueError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{where}{error.strerror.lower()}"
    return f"{type(error).__name__}: {error}; this is a fault of toolprune, and `toolprune --debug …` shows where"
