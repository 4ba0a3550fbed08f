"""The command line's root: its verbs and its global options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolprune.cli import config, dsh, scan
from toolprune.cli.outcome import Asked, Debug, Outcome, conclude
from toolprune.cli.words import Command, Group, help_when_bare

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("scan", cls=Command)(scan.scan)
app.add_typer(dsh.app, name="dsh")
app.add_typer(config.app, name="config")


def _print_version(wanted: bool) -> None:
    if wanted:
        from toolprune import __version__

        typer.echo(f"toolprune {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """See what tool results fill your agents' context.

    They are read from the session logs that coding agents keep.
    """
    help_when_bare(context)


def run(arguments: Sequence[str]) -> int:
    """Run the command line. Returns its exit code."""

    def command(asked: Asked) -> Outcome:
        # Not by calling the app, whose own words for an interrupt and a broken pipe would come first.
        verb = typer.main.get_command(app)
        with verb.make_context("toolprune", list(arguments), obj=asked) as context:
            outcome: Outcome = verb.invoke(context)
            return outcome

    return conclude(command)
