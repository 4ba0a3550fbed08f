"""The numbers that everything starts from.

They stand apart from the validated tree in `config` because a command line that was given no setting needs nothing
more, and starts without loading a validator.
"""

THRESHOLD = 8192
"""Code points of a tool result above which it is cut, and above which a scan lists it."""

HEAD = 4096
"""Code points that a cut keeps of the start."""

TAIL = 1024
"""Code points that a cut keeps of the end."""

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
"""What stands for the middle: 39 code points, the host's own."""

LARGEST = 1000
"""Results that a scan keeps, the longest first."""

THREADS = 0
"""Threads of a scan; 0 is one for each processor."""
