"""How the command ends: its exit code, and one sentence for whatever went wrong.

0 done; 1 done, with something the user must know, said on standard error; 2 wrong usage, or nothing that was named
could be read; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated

import typer

from toolprune.cli.streams import drop, prepare, say, tell
from toolprune.cli.words import wrong_usage
from toolprune.errors import ToolpruneError

if TYPE_CHECKING:
    from collections.abc import Callable


class Outcome(IntEnum):
    """The exit codes."""

    DONE = 0
    NOTED = 1
    REFUSED = 2
    INTERRUPTED = 130


@dataclass
class Asked:
    """What was asked of the command as a whole, whichever verb it was said to; a context's `obj`."""

    debug: bool = False


def _remember(context: typer.Context, wanted: bool) -> bool:
    # Before the verb or after it.
    if wanted:
        context.ensure_object(Asked).debug = True
    return wanted


Debug = Annotated[
    bool, typer.Option("--debug", callback=_remember, help="Show the traceback of an error that has one.")
]
"""The option that every verb takes, and that may stand before it too."""


def conclude(command: Callable[[Asked], Outcome]) -> int:
    """Run the command: its outcome as exit code, and its errors as one sentence each."""
    asked = Asked()
    try:
        prepare()
        code = int(_exit_code(command, asked))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough.
        drop(sys.stdout)
        return Outcome.DONE
    except KeyboardInterrupt:
        say("interrupted")
        return Outcome.INTERRUPTED
    except SystemExit:
        raise
    # A panic of the core is no Exception.
    except BaseException as error:
        drop(sys.stdout)
        if asked.debug:
            tell(traceback.format_exc())
        say(wrong_usage(error) or _sentence(error))
        return Outcome.REFUSED
    return code


def _exit_code(command: Callable[[Asked], Outcome], asked: Asked) -> int:
    try:
        return command(asked)
    except typer.Exit as leaving:
        return leaving.exit_code


def _sentence(error: BaseException) -> str:
    if isinstance(error, ToolpruneError | ValueError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{where}{error.strerror.lower()}"
    return f"{type(error).__name__}: {error}; this is a fault of toolprune, and `toolprune --debug …` shows where"
