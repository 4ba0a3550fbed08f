"""The plugin's copy in a DSH home, its row in a profile, and what was there before, so that it can come back.

- `<home>/toolprune/plugin-<version>/`: a copy of the plugin, one for all profiles;
- `<home>/toolprune/install-<profile>.json`: what `Record` says;
- `<home>/profiles/<profile>/cordis.patch.yml`: the file that gets the row.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolprune._core import __version__
from toolprune.errors import ToolpruneError, shown
from toolprune.hosts.dsh.patch import ID, Patch

if TYPE_CHECKING:
    from collections.abc import Callable

PLUGIN = Path(__file__).with_name("plugin")
ENTRY = "index.js"

ANSWERS_WITHIN = 20.0
"""Seconds that an interpreter has to say its toolprune's version."""


def default_home() -> str:
    """Where the host keeps its profiles when nobody says otherwise: $DSH_HOME, else ~/.dsh."""
    return os.environ.get("DSH_HOME") or os.path.expanduser("~/.dsh")


@dataclass(frozen=True)
class Profile:
    """A profile of the host. Raises ToolpruneError for a name that is none."""

    home: Path
    """Absolute."""
    name: str

    def __post_init__(self) -> None:
        if self.name in ("", ".", "..") or any(each in self.name for each in "/\\\0"):
            raise ToolpruneError(f"--profile is {shown(self.name)}, and must be the name of a folder in profiles")

    @property
    def patch_file(self) -> Path:
        """The file of its own rows."""
        return self.home / "profiles" / self.name / "cordis.patch.yml"

    @property
    def ours(self) -> Path:
        """The folder of all that is toolprune's in this home."""
        return self.home / "toolprune"

    @property
    def record_file(self) -> Path:
        """Where its record is."""
        return self.ours / f"install-{self.name}.json"


@dataclass(frozen=True)
class Record:
    """What an installation keeps for the day it is taken out."""

    version: str
    plugin: str
    files: dict[str, str]
    """SHA-256 of each file of the plugin's copy, by its path in it."""
    original: str | None
    """The bytes of the patch file before us, in base64; None where there was no file."""
    written: str
    """SHA-256 of the patch file as we left it."""
    folders: list[str]
    """Folders that we made for it, the outermost first."""


@dataclass
class Changes:
    """What is done to files, said as it is done; with `dry` only said."""

    dry: bool
    said: list[str] = field(default_factory=list)

    def do(self, what: str, action: Callable[[], object]) -> None:
        """Do it, unless nothing is to be done. `what` begins with a past participle."""
        self.said.append(f"would have {what}" if self.dry else what)
        if not self.dry:
            action()


@dataclass(frozen=True)
class Status:
    """What a profile has of us; None where its row does not say it, or there is no row."""

    profile: str
    home: str
    patch_file: str
    row: bool
    plugin: str | None = None
    plugin_version: str | None = None
    plugin_present: bool = False
    python: str | None = None
    python_present: bool = False


def install(profile: Profile, *, dry_run: bool = False) -> list[str]:
    """Copy the plugin and put its row into the profile, or bring both up to date. Returns what was done.

    Raises ToolpruneError for a patch file that cannot be edited, before anything is written, and OSError where the
    file system refuses.
    """
    python = _interpreter()
    files = _files(PLUGIN)
    if ENTRY not in files:
        raise ToolpruneError(f"{PLUGIN} has no {ENTRY}: this toolprune is not whole, install it again")
    before, record = _read(profile.patch_file), _record(profile)
    patch = _patch(profile.patch_file, before)
    row = patch.row
    folder = profile.ours / f"plugin-{__version__}"
    new = patch.put(str(folder / ENTRY), python)
    after = new.text.encode()
    made = _missing_folders(profile.patch_file.parent)
    kept = Record(
        version=__version__,
        plugin=str(folder / ENTRY),
        files={name: _sha256(data) for name, data in files.items()},
        original=_original(patch, before, record),
        written=_sha256(after),
        folders=list(dict.fromkeys([*(record.folders if record else []), *made])),
    )

    changes = Changes(dry_run)
    if _files(folder) != files:
        changes.do(f"copied the plugin to {folder}", lambda: _copy(files, folder))
    # Before the row, so that a row that is there can always be taken out again.
    if kept != record:
        data = json.dumps(asdict(kept), indent=2).encode()
        changes.do(f"noted in {profile.record_file} what was there before", lambda: _write(profile.record_file, data))
    if after != before:
        what = f"added the row {ID} to" if row is None else f"updated the row {ID} in"
        changes.do(f"{what} {profile.patch_file}", lambda: _write(profile.patch_file, after))
    return changes.said or [f"nothing to do: the row {ID} in {profile.patch_file} is up to date"]


def uninstall(profile: Profile, *, purge: bool = False, dry_run: bool = False) -> list[str]:
    """Take the row out of the profile, and the plugin's copy out of the home when no profile needs it.

    A patch file that nobody has edited since gets its former bytes back. With `purge` all that is toolprune's in the
    home goes too, which raises ToolpruneError while another profile has a row that leads there. Returns what was done.
    """
    users = _users(profile, profile.ours)
    if purge and users:
        raise ToolpruneError(f"{users[0]} still loads the plugin from {profile.ours}: uninstall there first")
    before, record = _read(profile.patch_file), _record(profile)
    patch = _patch(profile.patch_file, before)
    changes = Changes(dry_run)
    if before is not None and patch.row is not None:
        _take_out(profile, patch, before, record, changes)
    if record is not None:
        changes.do(f"removed {profile.record_file}", profile.record_file.unlink)
    for folder in sorted(profile.ours.glob("plugin-*")):
        if not purge and not _users(profile, folder):
            changes.do(f"removed {folder}", partial(shutil.rmtree, folder))
    if purge and profile.ours.is_dir():
        changes.do(f"removed {profile.ours} and all that was in it", lambda: shutil.rmtree(profile.ours))
    if not dry_run:
        _remove_empty([*(record.folders if record else []), str(profile.ours)])
    return changes.said or [f"nothing to do: there is no row {ID} in {profile.patch_file}"]


def status(profile: Profile) -> Status:
    """What this profile has of us."""
    row = _patch(profile.patch_file, _read(profile.patch_file)).row
    found = Status(profile.name, str(profile.home), str(profile.patch_file), row is not None)
    if row is None:
        return found
    folder = Path(row.plugin).parent.name if row.plugin else ""
    return replace(
        found,
        plugin=row.plugin,
        plugin_version=folder.removeprefix("plugin-") if folder.startswith("plugin-") else None,
        plugin_present=row.plugin is not None and os.path.isfile(row.plugin),
        python=row.python,
        python_present=row.python is not None and _runs(row.python),
    )


def doctor(profile: Profile) -> list[str]:
    """What keeps the plugin from working in this profile: a sentence each, which says how to mend it."""
    again = f"run `toolprune dsh install --profile {profile.name}`"
    found = status(profile)
    patch = _patch(profile.patch_file, _read(profile.patch_file))
    row = patch.row
    if row is None:
        return [f"there is no row {ID} in {profile.patch_file}: {again}"]
    sentences = []
    if row.disabled:
        sentences.append(f"the row {ID} in {profile.patch_file} is disabled: remove its `disabled: true`")
    sentences += _about_plugin(found, _record(profile), again)
    sentences += _about_python(found, again)
    shared = profile.home / "cordis.patch.yml"
    for file, rivals in (
        (profile.patch_file, patch.rivals),
        (shared, _rivals_everywhere(shared)),
    ):
        sentences += [
            f"the row {each} in {file} shortens the same results: remove it, or add `disabled: true` to it"
            for each in rivals
        ]
    return sentences


def _about_plugin(found: Status, record: Record | None, again: str) -> list[str]:
    if found.plugin is None:
        return [f"the row {ID} in {found.patch_file} names no plugin: {again}"]
    if not found.plugin_present:
        return [f"the plugin {found.plugin} is gone: {again}"]
    folder = Path(found.plugin).parent
    if record is not None and record.plugin == found.plugin:
        there = {name: _sha256(data) for name, data in _files(folder).items()}
        if there != record.files:
            return [f"the plugin in {folder} is not as it was installed: {again}"]
    return []


def _about_python(found: Status, again: str) -> list[str]:
    if found.python is None:
        return [f"the row {ID} in {found.patch_file} names no interpreter: {again}"]
    if not os.path.lexists(found.python):
        return [f"the interpreter {found.python} is gone: {again} from an environment that is there"]
    if not found.python_present:
        return [f"the interpreter {found.python} cannot be executed: {again} from an environment that can"]
    return _about_version(found.python, found.plugin_version, again)


def _about_version(python: str, wanted: str | None, again: str) -> list[str]:
    try:
        version = _version_of(python)
    except subprocess.TimeoutExpired:
        return [f"the interpreter {python} did not answer within {ANSWERS_WITHIN:g} s: {again} from another"]
    if version is None:
        return [f"the interpreter {python} cannot import toolprune: install it there, or {again} from another"]
    if wanted not in (None, version):
        return [f"the interpreter {python} has toolprune {version}, the plugin is of {wanted}: {again} from there"]
    return []


def _rivals_everywhere(shared: Path) -> list[str]:
    """The rivals in the rows that apply to every profile; a row of ours there is one."""
    patch = _patch(shared, _read(shared))
    return ([ID] if patch.row is not None and not patch.row.disabled else []) + patch.rivals


def _interpreter() -> str:
    if not sys.executable or not os.path.isabs(sys.executable):
        raise ToolpruneError("Python does not say where its interpreter is: run toolprune from a usual environment")
    # Not resolved: the link is what makes an environment of it.
    return sys.executable


def _version_of(python: str) -> str | None:
    """The version of an interpreter's toolprune; None where it has none. Raises subprocess.TimeoutExpired."""
    code = "import toolprune; print(toolprune.__version__)"
    try:
        # Not where we are: what lies there would be imported first.
        done = subprocess.run(
            [python, "-c", code],
            cwd=os.path.dirname(python),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=ANSWERS_WITHIN,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode(errors="replace").strip()


def _runs(python: str) -> bool:
    return os.path.isfile(python) and os.access(python, os.X_OK)


def _take_out(profile: Profile, patch: Patch, before: bytes, record: Record | None, changes: Changes) -> None:
    file = profile.patch_file
    if record is not None and _sha256(before) == record.written:
        after = None if record.original is None else base64.b64decode(record.original)
        what = f"restored {file} to what it was"
    else:
        rest = patch.take()
        ours = record is not None and record.original is None and rest.holds_nothing
        after = None if ours else rest.text.encode()
        what = f"removed the row {ID} from {file}"
    if after is None:
        changes.do(f"removed {file}, which held nothing else", file.unlink)
    else:
        changes.do(what, lambda: _write(file, after))


def _original(patch: Patch, before: bytes | None, record: Record | None) -> str | None:
    """The bytes, in base64, that the patch file gets back; None where it is to go."""
    if before is not None and patch.row is not None:
        if record is not None and record.written == _sha256(before):
            return record.original
        rest = patch.take()
        if record is not None and record.original is None and rest.holds_nothing:
            return None
        before = rest.text.encode()
    return None if before is None else base64.b64encode(before).decode()


def _users(profile: Profile, folder: Path) -> list[Path]:
    """The patch files but this profile's that may name a file in this folder.

    By the folder's name alone: the way to it may go over a link, and YAML has many ways to write a path.
    """
    files = [profile.home / "cordis.patch.yml", *sorted(profile.home.glob("profiles/*/cordis.patch.yml"))]
    name = os.fsencode(folder.name)
    return [file for file in files if file != profile.patch_file and file.is_file() and name in file.read_bytes()]


def _record(profile: Profile) -> Record | None:
    """What was kept; None where nothing was, or nothing that can be used."""
    try:
        record = Record(**json.loads(profile.record_file.read_bytes()))
        base64.b64decode(record.original or "", validate=True)
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None
    return record


def _patch(path: Path, data: bytes | None) -> Patch:
    try:
        return Patch(str(path), (data or b"").decode())
    except UnicodeDecodeError as error:
        raise ToolpruneError(f"{path} is not UTF-8, at byte {error.start}: mend it first") from error


def _read(path: Path) -> bytes | None:
    """A file's bytes; None where there is no file."""
    if not os.path.lexists(path):
        return None
    if not path.is_file():
        raise ToolpruneError(f"{path} is no regular file: mend it, or remove it")
    return path.read_bytes()


def _files(folder: Path) -> dict[str, bytes]:
    """The files in a folder at any depth, by their path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def _copy(files: dict[str, bytes], folder: Path) -> None:
    for name in _files(folder).keys() - files.keys():
        (folder / name).unlink()
    for name, data in files.items():
        _write(folder / name, data)


def _write(path: Path, data: bytes) -> None:
    """Write a file in one step: whoever reads it has the old bytes or the new. A link stays, and so does the mode."""
    real = os.path.realpath(path)
    directory = os.path.dirname(real)
    os.makedirs(directory, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".toolprune-", dir=directory)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.chmod(temporary, os.stat(real).st_mode if os.path.exists(real) else 0o666 & ~_umask())
            os.fsync(file.fileno())
        os.replace(temporary, real)
    except BaseException:
        os.unlink(temporary)
        raise
    if os.name == "posix":
        # The rename too.
        opened = os.open(directory, os.O_RDONLY)
        os.fsync(opened)
        os.close(opened)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _missing_folders(folder: Path) -> list[str]:
    """The folders that have to be made for this one to be there, the outermost first."""
    return [str(each) for each in (*reversed(folder.parents), folder) if not each.exists()]


def _remove_empty(folders: list[str]) -> None:
    for folder in sorted(set(folders), key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
