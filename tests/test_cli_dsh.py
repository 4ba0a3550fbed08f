"""`toolprune dsh`."""

import json
import sys
from pathlib import Path

import pytest

import toolprune
from scanning import command


def dsh(*arguments: str) -> tuple[int, str, str]:
    done = command("dsh", *arguments)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_profile_gets_the_plugin_and_loses_it_again(tmp_path: Path) -> None:
    where = ("--profile", "web", "--dsh-home", str(tmp_path))
    patch = tmp_path / "profiles" / "web" / "cordis.patch.yml"
    ours = tmp_path / "toolprune"
    folder = ours / f"plugin-{toolprune.__version__}"
    assert dsh("install", *where, "--dry-run") == (
        0,
        f"would have copied the plugin to {folder}\n"
        f"would have noted in {ours / 'install-web.json'} what was there before\n"
        f"would have added the row toolprune to {patch}\n",
        "",
    )
    assert list(tmp_path.iterdir()) == []
    assert dsh("install", *where)[0] == 0
    assert dsh("doctor", *where) == (0, f"all is well with toolprune in {patch}\n", "")
    code, out, err = dsh("status", *where, "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "profile": "web",
        "home": str(tmp_path),
        "patch_file": str(patch),
        "row": True,
        "plugin": str(folder / "index.js"),
        "plugin_version": toolprune.__version__,
        "plugin_present": True,
        "python": sys.executable,
        "python_present": True,
    }
    assert dsh("status", *where)[1].splitlines() == [
        "profile  web",
        f"row      there: {patch}",
        f"plugin   there, version {toolprune.__version__}: {folder / 'index.js'}",
        f"python   there: {sys.executable}",
    ]
    assert dsh("uninstall", *where, "--purge")[0] == 0
    assert list(tmp_path.iterdir()) == []
    assert dsh("uninstall", *where) == (0, f"nothing to do: there is no row toolprune in {patch}\n", "")


def test_the_home_is_the_one_that_is_named_then_the_variables_then_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def home(*arguments: str) -> str:
        found: str = json.loads(dsh("status", "--profile", "p", "--format", "json", *arguments)[1])["home"]
        return found

    assert home() == str(Path.home() / ".dsh")
    monkeypatch.setenv("DSH_HOME", "")
    assert home() == str(Path.home() / ".dsh")
    monkeypatch.setenv("DSH_HOME", str(tmp_path))
    assert home() == str(tmp_path)
    assert home("--dsh-home", str(tmp_path / "other")) == str(tmp_path / "other")


def test_what_is_wrong_is_said_on_standard_error_with_code_1(tmp_path: Path) -> None:
    patch = tmp_path / "profiles" / "web" / "cordis.patch.yml"
    assert dsh("doctor", "--profile", "web", "--dsh-home", str(tmp_path)) == (
        1,
        "",
        f"toolprune: there is no row toolprune in {patch}: run `toolprune dsh install --profile web`\n",
    )
    assert dsh("status", "--profile", "web", "--dsh-home", str(tmp_path)) == (
        0,
        f"profile  web\nrow      not there: {patch}\n",
        "",
    )


@pytest.mark.parametrize("verb", ["install", "uninstall", "status", "doctor"])
def test_what_cannot_be_done_is_one_sentence_with_code_2(tmp_path: Path, verb: str) -> None:
    assert dsh(verb) == (2, "", "toolprune: --profile is missing: name the host's profile, as headless or web\n")
    for name in ("", "..", "a/b"):
        sentence = f"--profile is {name!r}, and must be the name of a folder in profiles"
        assert dsh(verb, "--profile", name) == (2, "", f"toolprune: {sentence}\n")
    patch = tmp_path / "profiles" / "web" / "cordis.patch.yml"
    patch.parent.mkdir(parents=True)
    patch.write_text("a: 1\n", encoding="utf-8")
    assert dsh(verb, "--profile", "web", "--dsh-home", str(tmp_path)) == (
        2,
        "",
        f"toolprune: {patch} is no list of rows, as the host wants it: mend it first\n",
    )


def test_without_a_verb_there_is_help_with_each_verb_on_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = dsh()
    assert (code, out) == (2, "")
    verbs = err.partition("Verbs:\n")[2].splitlines()
    assert [line.split()[0] for line in verbs] == ["install", "uninstall", "status", "doctor"]
    assert all(line.endswith(".") for line in verbs)
