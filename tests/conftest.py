"""What every test stands on: no settings and no sessions of whoever runs it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ELSEWHERE = {
    *("DSH_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"),
    *("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"),
}
"""Variables that say where someone's files are, and what their terminal is like."""

SHARED_MEMORY = Path("/dev/shm")

# Its assertions say what differs, as those of a test do.
pytest.register_assert_rewrite("scanning")


@pytest.fixture(autouse=True)
def _nobodys_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home, and no variable that is a setting."""
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in list(os.environ):
        setting = name.startswith("TOOLPRUNE_") and name != "TOOLPRUNE_SHARED"
        if setting or name in ELSEWHERE:
            monkeypatch.delenv(name)


@pytest.fixture
def roomy() -> Iterator[Path]:
    """A folder for large files, in memory where there is room."""
    in_memory = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > 4 << 30
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY if in_memory else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parents[1]
