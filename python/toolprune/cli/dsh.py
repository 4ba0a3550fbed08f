"""`toolprune dsh`: the plugin in a profile of the DeepSeek Harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolprune.cli.options import one_of
from toolprune.cli.outcome import Debug, Outcome
from toolprune.cli.streams import say
from toolprune.cli.words import Command, Group, help_when_bare
from toolprune.errors import ToolpruneError

if TYPE_CHECKING:
    from toolprune.hosts.dsh.install import Profile, Status

app = typer.Typer(cls=Group, invoke_without_command=True)

Name = Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The host's profile, as headless or web.")]
Home = Annotated[
    str | None,
    typer.Option("--dsh-home", metavar="DIR", help="The host's home; $DSH_HOME without it, else ~/.dsh."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done; write nothing.")]


@app.callback()
def _group(context: typer.Context, debug: Debug = False) -> None:
    """Put the plugin into the DeepSeek Harness, or take it out."""
    help_when_bare(context)


@app.command("install", cls=Command)
def install(profile: Name = None, dsh_home: Home = None, dry_run: DryRun = False, debug: Debug = False) -> Outcome:
    """Copy the plugin to the host's home and add its row to a profile.

    The row goes into the profile's cordis.patch.yml, of which all else stays as it is. It names this Python. Where the
    row is there, it is brought up to date. Sessions that are running go on as they began.
    """
    from toolprune.hosts.dsh import install as installing

    return _told(installing.install(_profile(profile, dsh_home), dry_run=dry_run))


@app.command("uninstall", cls=Command)
def uninstall(
    profile: Name = None,
    dsh_home: Home = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Remove all that is toolprune's in the host's home, too.")
    ] = False,
    dry_run: DryRun = False,
    debug: Debug = False,
) -> Outcome:
    """Take the row out of a profile, and a plugin that none needs.

    A cordis.patch.yml that nobody has edited since gets its former bytes back; else only the row is taken out.
    """
    from toolprune.hosts.dsh import install as installing

    return _told(installing.uninstall(_profile(profile, dsh_home), purge=purge, dry_run=dry_run))


@app.command("status", cls=Command)
def status(
    profile: Name = None,
    dsh_home: Home = None,
    format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="table for people, json for one object; table without it.")
    ] = "table",
    debug: Debug = False,
) -> Outcome:
    """Say which row, plugin and Python a profile has."""
    import json
    from dataclasses import asdict

    from toolprune.hosts.dsh import install as installing

    format = one_of("--format", format, ("table", "json"))
    found = installing.status(_profile(profile, dsh_home))
    if format == "json":
        print(json.dumps(asdict(found)))
    else:
        _print_status(found)
    return Outcome.DONE


@app.command("doctor", cls=Command)
def doctor(profile: Name = None, dsh_home: Home = None, debug: Debug = False) -> Outcome:
    """Find what keeps the plugin from working, and how to mend it.

    \b
    Exit codes:
      0    all is well
      1    something is not: standard error says what
      2    wrong usage, or the profile could not be read
    """  # noqa: D301 - the line of a \b keeps the paragraph after it from being filled
    from toolprune.hosts.dsh import install as installing

    place = _profile(profile, dsh_home)
    sentences = installing.doctor(place)
    for sentence in sentences:
        say(sentence)
    if sentences:
        return Outcome.NOTED
    return _told([f"all is well with toolprune in {place.patch_file}"])


def _profile(name: str | None, home: str | None) -> Profile:
    import os
    from pathlib import Path

    from toolprune.hosts.dsh.install import Profile, default_home

    if name is None:
        raise ToolpruneError("--profile is missing: name the host's profile, as headless or web")
    return Profile(Path(os.path.abspath(default_home() if home is None else home)), name)


def _told(sentences: list[str]) -> Outcome:
    from toolprune.cli.figures import harmless

    for sentence in sentences:
        print(harmless(sentence))
    return Outcome.DONE


def _print_status(found: Status) -> None:
    def there(present: bool) -> str:
        return "there" if present else "gone"

    lines = [f"profile  {found.profile}", f"row      {'there' if found.row else 'not there'}: {found.patch_file}"]
    if found.row:
        version = f", version {found.plugin_version}" if found.plugin_version else ""
        lines += [
            f"plugin   {there(found.plugin_present)}{version}: {found.plugin or 'not named'}",
            f"python   {there(found.python_present)}: {found.python or 'not named'}",
        ]
    _told(lines)
