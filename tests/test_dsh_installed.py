"""What a user types, in a home that has never seen the host: install, work, uninstall."""

import subprocess
import sys
from pathlib import Path

import pytest

import dsh_host
from test_dsh_gate import CUT_IN, DUE, FROZEN, SCRIPT, Played, cut, play, reopened, sent, warnings

pytestmark = pytest.mark.skipif(dsh_host.program() is None, reason=dsh_host.MISSING)


def toolprune(folder: Path, *arguments: str) -> str:
    """What the command prints; it ends with status 0 and nothing on stderr."""
    command = [sys.executable, "-m", "toolprune", "dsh", *arguments, "--dsh-home", str(folder / "home")]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_from_install_to_uninstall(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    toolprune(tmp_path, "install", "--profile", "headless")
    toolprune(tmp_path, "doctor", "--profile", "headless")
    played: Played = play(tmp_path, SCRIPT)
    assert warnings(played.stderr) == []
    for number, request in enumerate(played.requests, 1):
        for call, whole in {**FROZEN, **DUE}.items():
            if call in str(request):
                due = call in DUE and number >= CUT_IN
                assert sent(request, call) == (cut(whole) if due else whole)
    assert len(played.replacements) == len(DUE)
    toolprune(tmp_path, "uninstall", "--profile", "headless", "--purge")
    assert not (home / "profiles" / "headless" / "cordis.patch.yml").exists()  # there was none before
    assert not (home / "toolprune").exists()
    again = reopened(tmp_path)
    assert {call: sent(again, call) for call in DUE} == {call: cut(whole) for call, whole in DUE.items()}


def test_a_dry_run_leaves_the_host_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    dsh_host.run(tmp_path, "--dump-config")
    profile = tmp_path / "home" / "profiles" / "headless"
    before = {path: path.read_bytes() for path in profile.rglob("*") if path.is_file()}
    assert "cordis.patch.yml" in toolprune(tmp_path, "install", "--profile", "headless", "--dry-run")
    assert {path: path.read_bytes() for path in profile.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "home" / "toolprune").exists()
