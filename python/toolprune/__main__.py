"""`python -m toolprune` is `toolprune`."""

from toolprune.cli import main

main()
