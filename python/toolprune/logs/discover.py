"""From the paths that someone named to the files that are logs (`docs/formats.md`, "Which files")."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolprune._core import SkippedRow

SUFFIXES = tuple(f".{text}{packed}" for text in ("jsonl", "json") for packed in ("", ".zst", ".zstd"))

STREAMS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Names of standard input, which is a regular file only where the shell has put one there."""

STANDARD_INPUT = "standard input is not read: write it to a file, and name that"


@dataclass
class Found:
    """The files to read, in order, each once, and what was passed over."""

    files: list[str] = field(default_factory=list)
    skipped: list[SkippedRow] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """Note why nothing is read at `path`."""
        self.skipped.append({"path": path, "reason": reason})


class Place(NamedTuple):
    """Where a host keeps its session logs."""

    host: str
    path: str


def usual_places() -> list[Place]:
    """Where hosts keep their session logs, whether or not the directory is there."""

    def home_of(variable: str, default: str) -> str:
        return os.environ.get(variable) or os.path.expanduser(default)

    return [
        Place("DSH", os.path.join(home_of("DSH_HOME", "~/.dsh"), "sessions")),
        Place("Claude Code", os.path.join(home_of("CLAUDE_CONFIG_DIR", "~/.claude"), "projects")),
        Place("Codex", os.path.join(home_of("CODEX_HOME", "~/.codex"), "sessions")),
        Place("pi", os.path.expanduser("~/.pi/agent/sessions")),
    ]


def discover(paths: Iterable[str]) -> Found:
    """The files that these paths stand for: an explicit path is always tried, a directory is searched at any depth.

    Paths keep the order in which they are given, and a directory's entries are sorted by name, so that the same tree
    gives the same list. A file that is named twice is kept once, by its real path. Nothing is opened, and whatever
    cannot be a log is in `skipped` with its reason.
    """
    found = Found()
    seen: set[str] = set()
    for path in paths:
        try:
            mode = os.stat(path).st_mode
            real = os.path.realpath(path)
        except FileNotFoundError:
            found.skip(path, _absent(path))
            continue
        except (OSError, ValueError) as error:
            found.skip(path, _reason(error))
            continue
        if stat.S_ISDIR(mode):
            files = _walk(path, real, found)
        elif stat.S_ISREG(mode):
            files = iter([(path, real)])
        else:
            found.skip(path, STANDARD_INPUT if path in STREAMS else f"{_kind(mode)}, not a regular file")
            continue
        for file, real_file in files:
            if real_file not in seen:
                seen.add(real_file)
                found.files.append(file)
    return found


class _Kept(NamedTuple):
    path: str
    real: str
    is_directory: bool


def _walk(path: str, real: str, found: Found) -> Iterator[tuple[str, str]]:
    """The files of a directory with a log's name, each with its real path."""
    # A stack of its own: a tree may be deeper than Python's.
    pending = [(entry, real) for entry in _inside(path, found)]
    while pending:
        kept = _keep(*pending.pop(), found)
        if kept is None:
            continue
        if kept.is_directory:
            pending.extend((entry, kept.real) for entry in _inside(kept.path, found))
        else:
            yield kept.path, kept.real


def _inside(path: str, found: Found) -> list[os.DirEntry[str]]:
    """A directory's entries, the last by name first."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name, reverse=True)
    except OSError as error:
        found.skip(path, _reason(error))
        return []


def _keep(entry: os.DirEntry[str], real_directory: str, found: Found) -> _Kept | None:
    """What to do next with a directory's entry; None for nothing, noted where a log may be missed by it."""
    named = entry.name.endswith(SUFFIXES)
    try:
        linked = entry.is_symlink()
        mode = _mode(entry)
    except OSError as error:
        if named:
            found.skip(entry.path, _reason(error))
        return None
    if stat.S_ISDIR(mode) and linked:
        found.skip(entry.path, "a link to a directory, which is not followed")
        return None
    if not named and not stat.S_ISDIR(mode):
        return None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        found.skip(entry.path, f"{_kind(mode)}, not a regular file")
        return None
    real = os.path.realpath(entry.path) if linked else os.path.join(real_directory, entry.name)
    return _Kept(entry.path, real, stat.S_ISDIR(mode))


def _mode(entry: os.DirEntry[str]) -> int:
    """The kind of what an entry leads to, without a system call for a plain file or directory."""
    if entry.is_file(follow_symlinks=False):
        return stat.S_IFREG
    if entry.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    return entry.stat().st_mode


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a character device",
        stat.S_IFBLK: "a block device",
    }
    return kinds.get(stat.S_IFMT(mode), "something unknown")


def _absent(path: str) -> str:
    if not path:
        return "the path is empty: name a file or a directory"
    if path == "-":
        return STANDARD_INPUT
    if os.path.islink(path):
        return "a link that leads nowhere: check where it should lead"
    return "no such file or directory: check the path"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a lone surrogate stands in no path"
    if isinstance(error, ValueError):
        return "a NUL character stands in no path"
    return (error.strerror or type(error).__name__).lower()
