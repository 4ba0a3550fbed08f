"""The `toolprune` command: one module a verb."""

import sys


def main() -> None:
    """Run the command line and leave with its exit code (`outcome`)."""
    # Whatever else is imported is imported inside, so that Ctrl-C is quiet from the first moment on.
    try:
        from toolprune.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
