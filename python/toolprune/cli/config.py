"""`toolprune config`: the settings in force."""

from __future__ import annotations

from typing import Annotated

import typer

from toolprune.cli.options import one_of
from toolprune.cli.outcome import Debug, Outcome
from toolprune.cli.words import Command, Group, help_when_bare

app = typer.Typer(cls=Group, invoke_without_command=True)


@app.callback()
def _group(context: typer.Context, debug: Debug = False) -> None:
    """Say which settings are in force."""
    help_when_bare(context)


@app.command("show", cls=Command)
def show(
    format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="table for people, json for one object; table without it.")
    ] = "table",
    debug: Debug = False,
) -> Outcome:
    """Show every setting, its value and its source.

    A source is a TOOLPRUNE_* variable, a file or a default. The files that are looked for are named too, the strongest
    first.
    """
    import json
    import os

    from toolprune.cli.settings import files, load

    format = one_of("--format", format, ("table", "json"))
    loaded = load()
    tree = loaded.settings.model_dump()
    rows = []
    for key, source in loaded.sources.items():
        section, name = key.split(".")
        rows.append({"setting": key, "value": tree[section][name], "source": source})
    looked_for = [{"path": str(path), "present": os.path.lexists(path)} for path in files()]
    if format == "json":
        print(json.dumps({"settings": rows, "files": looked_for}))
    else:
        from toolprune.cli.tables import settings_table

        settings_table(rows, looked_for)
    return Outcome.DONE
