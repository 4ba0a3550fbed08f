"""The command line's root: its verbs and its global options."""

from typing import Annotated

import typer

from toolprune.cli import config, scan

app = typer.Typer(
    help="Keep tool results from filling an agent's context, and see from your own session logs what fills it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("scan")(scan.scan)
app.add_typer(config.app, name="config")


def _print_version(wanted: bool) -> None:
    if wanted:
        from toolprune import __version__

        typer.echo(f"toolprune {__version__}")
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before the verb."""
