"""The `toolprune` command: one module a verb."""

import sys


def main() -> None:
    """Run the command line and leave with its exit code (`outcome`)."""
    try:
        import typer

        from toolprune.cli.app import app
        from toolprune.cli.outcome import refuse

        try:
            sys.exit(app(prog_name="toolprune", standalone_mode=False))
        except typer.Abort:
            sys.exit(130)
        except Exception as error:
            sys.exit(refuse(error))
    except KeyboardInterrupt:
        sys.exit(130)
