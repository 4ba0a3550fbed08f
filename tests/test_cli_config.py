"""`toolprune config show`."""

import json
from pathlib import Path

import pytest

from scanning import command
from toolprune.cli import settings


def show(cwd: Path) -> dict[str, tuple[object, str]]:
    done = command("config", "show", "--format", "json", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = json.loads(done.stdout)["settings"]
    return {row["setting"]: (row["value"], row["source"]) for row in rows}


def test_every_setting_is_shown_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toolprune.toml").write_text("[cut]\nhead = 100\n", encoding="utf-8")
    monkeypatch.setenv("TOOLPRUNE_SCAN__LARGEST", "5")
    assert show(tmp_path) == {
        "cut.threshold": (8192, "default"),
        "cut.head": (100, "toolprune.toml"),
        "cut.tail": (1024, "default"),
        "cut.marker": ("\n\n[... tool result middle pruned ...]\n\n", "default"),
        "cut.boundary": ("code_point", "default"),
        "cut.note": (False, "default"),
        "scan.threshold": (8192, "default"),
        "scan.threads": (0, "default"),
        "scan.largest": (5, "TOOLPRUNE_SCAN__LARGEST"),
    }


def test_the_table_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPRUNE_CUT__MARKER", "[bold]\x1b[31m")
    lines = command("config", "show", cwd=tmp_path).stdout.decode().splitlines()
    cells = [line.split(maxsplit=2) for line in lines]
    assert ["scan.threshold", "8192", "default"] in cells
    assert ["cut.marker", r"'[bold]\x1b[31m'", "TOOLPRUNE_CUT__MARKER"] in cells


def test_the_files_that_were_looked_for_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "toolprune.toml").write_text("", encoding="utf-8")
    user = str(settings.user_file())
    done = command("config", "show", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["files"] == [
        {"path": "toolprune.toml", "present": True},
        {"path": user, "present": False},
    ]
    lines = command("config", "show", cwd=tmp_path).stdout.decode().splitlines()
    assert [line.split() for line in lines[-2:]] == [["read", "toolprune.toml"], ["not", "there", user]]


def test_a_setting_that_is_refused_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPRUNE_SCAN__THREADS", "-1")
    sentence = "scan.threads = -1 (from TOOLPRUNE_SCAN__THREADS): it should be greater than or equal to 0"
    for verb in (("config", "show"), ("scan", ".")):
        done = command(*verb, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode() == f"toolprune: {sentence}\n"
