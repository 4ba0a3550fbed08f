"""`toolprune config`: the settings in force."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from toolprune.cli.outcome import Outcome, ends

app = typer.Typer(help="The settings in force.", no_args_is_help=True)


class Format(str, Enum):
    """How settings are written."""

    TABLE = "table"
    JSON = "json"


@app.callback()
def _group() -> None:
    """Keep `show` a name of its own while it is the only verb of its kind."""


@app.command("show")
@ends
def show(
    context: typer.Context,
    format: Annotated[Format, typer.Option("--format", help="How to write them.")] = Format.TABLE,
) -> Outcome:
    """Show every setting, its value and where it came from: a variable, a file, a default."""
    import json

    from toolprune.cli.settings import load

    loaded = load()
    tree = loaded.settings.model_dump()
    rows = []
    for key, source in loaded.sources.items():
        section, name = key.split(".")
        rows.append({"setting": key, "value": tree[section][name], "source": source})
    if format is Format.JSON:
        print(json.dumps({"settings": rows}))
    else:
        from toolprune.cli.tables import settings_table

        settings_table(rows)
    return Outcome.DONE
