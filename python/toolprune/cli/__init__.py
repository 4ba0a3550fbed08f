"""The `toolprune` command: one module a verb."""

import sys


def main() -> None:
    """Run the command line and leave with its exit code (`outcome`)."""
    try:
        from toolprune.cli.app import app

        app(prog_name="toolprune")
    except KeyboardInterrupt:
        sys.exit(130)
