"""The row in a profile's patch file, and the files of an installation."""

import base64
import json
import os
import stat
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import dsh_host
import toolprune
from toolprune.hosts.dsh import install as installing
from toolprune.hosts.dsh.install import Profile, doctor, install, status, uninstall
from toolprune.hosts.dsh.patch import Patch

TEMPLATE = b"""\
# Your patch layer for this profile:
# a list of rows (`!!js` expressions allowed).
[]
"""

ROW = """\
- insert:
    - id: toolprune
      name: "/p/index.js"
      config:
        python: "/bin/python"
"""

PLUGIN, PYTHON = "/p/index.js", "/bin/python"


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path / "home", "headless")


def wrote(profile: Profile, data: bytes) -> bytes:
    profile.patch_file.parent.mkdir(parents=True, exist_ok=True)
    profile.patch_file.write_bytes(data)
    return data


def tree(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Each path in a folder with its mode and its bytes."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


def put(text: str) -> str:
    return Patch("patch.yml", text).put(PLUGIN, PYTHON).text


def taken(text: str) -> str:
    return Patch("patch.yml", text).take().text


UNUSUAL = """\
- {id: persistence, config: {root: !!js dshHomePath('sessions'),   compression: none}}   # as it was
- !other [ 1,
    2 ]
- id:   'a'
  text: >-
    folded
    text
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ROW),
        ("# a comment\n", "# a comment\n" + ROW),
        ("# a comment", "# a comment\n" + ROW),
        ("# a comment\n[]\n", "# a comment\n" + ROW),
        ("[] # none\n", ROW[:-1] + " # none\n"),
        ("---\n", "---\n" + ROW),
        ("- id: a\n", "- id: a\n" + ROW),
        ("- id: a", "- id: a\n" + ROW),
        ("- id: a\n# after\n", "- id: a\n# after\n" + ROW),
        (UNUSUAL, UNUSUAL + ROW),
        ("- &a b\n- &a c\n- *a\n", "- &a b\n- &a c\n- *a\n" + ROW),
        ("\ufeff- id: a\n", "\ufeff- id: a\n" + ROW),
        ("- id: a\r\n", "- id: a\r\n" + ROW.replace("\n", "\r\n")),
        (
            "[{id: a}, ] # b\n",
            '[{id: a}, {"insert": [{"id": "toolprune", "name": "/p/index.js", "config": {"python": "/bin/python"}}]}, '
            "] # b\n",
        ),
        (
            "--- []\n",
            '--- [{"insert": [{"id": "toolprune", "name": "/p/index.js", "config": {"python": "/bin/python"}}]}]\n',
        ),
    ],
)
def test_the_row_is_put_beside_bytes_that_all_stay(before: str, after: str) -> None:
    assert put(before) == after
    assert put(after) == after


def test_the_row_stands_as_far_in_as_the_others() -> None:
    indented = "".join(f"  {line}" for line in ROW.splitlines(keepends=True))
    assert put("  - id: a\n") == "  - id: a\n" + indented


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The name and the interpreter change, and nothing else of the row.
        (
            "- insert:\n  - id: toolprune # ours\n    config: {latchTokens: 5, python: /old} # mine\n"
            "    name: /old.js\n",
            '- insert:\n  - id: toolprune # ours\n    config: {latchTokens: 5, python: "/bin/python"} # mine\n'
            '    name: "/p/index.js"\n',
        ),
        (
            "- insert: [{id: b}, {id: toolprune}]\n",
            '- insert: [{id: b}, {config: {python: "/bin/python"}, name: "/p/index.js", id: toolprune}]\n',
        ),
        (
            "- insert:\n  - id: toolprune\n    name: /p/index.js\n    config:\n      shadow: true\n",
            '- insert:\n  - id: toolprune\n    name: /p/index.js\n    config:\n      python: "/bin/python"\n'
            "      shadow: true\n",
        ),
        (
            "- insert:\n  - id: toolprune\n    name: /p/index.js\n    config:\n",
            '- insert:\n  - id: toolprune\n    name: /p/index.js\n    config: {python: "/bin/python"}\n',
        ),
        (
            "- insert:\n  - id: toolprune\n    name: /p/index.js\n    config: {}\n- id: b\n",
            '- insert:\n  - id: toolprune\n    name: /p/index.js\n    config: {python: "/bin/python"}\n- id: b\n',
        ),
    ],
)
def test_a_row_that_is_there_is_brought_up_to_date_in_place(before: str, after: str) -> None:
    assert put(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ROW, "[]\n"),
        ("# c\n" + ROW + "# d\n", "# c\n[]\n# d\n"),
        ("- id: a\n" + ROW + "# about b\n- id: b\n", "- id: a\n# about b\n- id: b\n"),
        (UNUSUAL + ROW, UNUSUAL),
        (ROW + UNUSUAL, UNUSUAL),
        ("- id: a\r\n" + ROW.replace("\n", "\r\n"), "- id: a\r\n"),
        ("- id: a\n-\n  # a-b\n  insert: [{id: toolprune}]\n", "- id: a\n"),
        # Others in our list, and our list in another's row.
        ("- insert:\n  - id: toolprune\n    name: x\n  - id: b\n", "- insert:\n  - id: b\n"),
        ("- id: group\n  insert:\n  - id: toolprune\n- id: b\n", "- id: group\n  insert:\n   []\n- id: b\n"),
        ("[{insert: [{id: toolprune}]}, {id: b}]", "[{id: b}]"),
        ("[{id: b}, {insert: [{id: toolprune}]}, ]", "[{id: b}, ]"),
        ("- insert: [{id: toolprune}, {id: b}]\n", "- insert: [{id: b}]\n"),
        # However many there are.
        (ROW + "- id: a\n" + ROW, "- id: a\n"),
        ("- insert:\n  - id: toolprune\n  - id: toolprune\n", "[]\n"),
        ("- id: a\n", "- id: a\n"),
    ],
)
def test_the_row_is_taken_out_and_nothing_else(before: str, after: str) -> None:
    assert taken(before) == after


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id: a\n", "p.yml is no list of rows, as the host wants it: mend it first"),
        ("~\n", "p.yml is no list of rows, as the host wants it: mend it first"),
        ("- a\n---\n- b\n", "p.yml, line 2 is not YAML: but found another document; mend it first"),
        ("- [a\n", "p.yml, line 2 is not YAML: expected ',' or ']', but got '<stream end>'; mend it first"),
        ("[" * 5000, "p.yml is nested too deeply: a row is a mapping in a list"),
        # A row behind the end of the document would be another document's.
        (
            "- a\n...\n",
            "p.yml is written in a way that cannot be edited safely: edit its row with the id toolprune by hand",
        ),
        (
            "- &a [*a]\n",
            "p.yml is written in a way that cannot be edited safely: edit its row with the id toolprune by hand",
        ),
    ],
)
def test_what_cannot_be_edited_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(toolprune.ToolpruneError) as raised:
        Patch("p.yml", text).put(PLUGIN, PYTHON)
    assert str(raised.value) == sentence


def test_paths_are_written_so_that_yaml_reads_them_again() -> None:
    for path in ('C:\\new "x"\\index.js', "/a: b #c/é😀/'index.js", "/{a}/[b], c", "/- a"):
        row = Patch("p.yml", "[]\n").put(path, path).row
        assert row is not None
        assert (row.plugin, row.python) == (path, path)


def test_a_patch_file_gets_its_bytes_and_its_mode_back(profile: Profile) -> None:
    wrote(profile, TEMPLATE)
    profile.patch_file.chmod(0o640)
    before = tree(profile.home)
    install(profile)
    text = profile.patch_file.read_text(encoding="utf-8")
    plugin = profile.home / "toolprune" / f"plugin-{toolprune.__version__}" / "index.js"
    assert text.partition("- insert")[0].encode() == TEMPLATE.removesuffix(b"[]\n")
    row = Patch("", text).row
    assert row is not None
    assert row == (str(plugin), sys.executable, False)
    assert plugin.read_bytes() == (installing.PLUGIN / "index.js").read_bytes()
    assert stat.S_IMODE(profile.patch_file.stat().st_mode) == 0o640
    uninstall(profile)
    assert tree(profile.home) == before


def test_what_was_not_there_before_is_not_there_after(profile: Profile) -> None:
    install(profile)
    assert profile.patch_file.is_file()
    uninstall(profile)
    assert not profile.home.exists()


def test_folders_with_something_else_in_them_stay(profile: Profile) -> None:
    install(profile)
    other = profile.patch_file.with_name("package.json")
    other.write_bytes(b"{}")
    uninstall(profile)
    assert [path for path in profile.home.rglob("*") if path.is_file()] == [other]


def test_a_file_that_was_edited_since_loses_our_row_only(profile: Profile) -> None:
    wrote(profile, TEMPLATE)
    install(profile)
    with profile.patch_file.open("ab") as file:
        file.write(b"# mine\n- {id: a, config: !!js f('x')}\n")
    uninstall(profile)
    comments = TEMPLATE.removesuffix(b"[]\n")
    assert profile.patch_file.read_bytes() == comments + b"# mine\n- {id: a, config: !!js f('x')}\n"


def test_a_file_of_ours_goes_when_only_our_row_was_edited(profile: Profile) -> None:
    install(profile)
    with profile.patch_file.open("ab") as file:
        file.write(b"        latchTokens: 5\n")
    uninstall(profile)
    assert not profile.home.exists()


def test_a_second_install_changes_nothing_and_says_so(profile: Profile) -> None:
    wrote(profile, TEMPLATE)
    install(profile)
    before = tree(profile.home)
    assert install(profile) == [f"nothing to do: the row toolprune in {profile.patch_file} is up to date"]
    assert tree(profile.home) == before


def test_a_second_install_brings_the_row_up_to_date(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    before = wrote(profile, TEMPLATE)
    monkeypatch.setattr(installing, "__version__", "0.0.1")
    install(profile)
    monkeypatch.undo()
    with profile.patch_file.open("ab") as file:
        file.write(b"        latchTokens: 5\n")
    said = install(profile)
    assert said[-1] == f"updated the row toolprune in {profile.patch_file}"
    assert profile.patch_file.read_bytes().endswith(b"        latchTokens: 5\n")
    assert status(profile).plugin_version == toolprune.__version__
    # The first file is still what it goes back to.
    uninstall(profile)
    assert profile.patch_file.read_bytes() == before
    assert not (profile.home / "toolprune").exists()


def test_a_link_to_a_patch_file_stays_a_link(profile: Profile, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.yml"
    kept.write_bytes(TEMPLATE)
    profile.patch_file.parent.mkdir(parents=True)
    profile.patch_file.symlink_to(kept)
    install(profile)
    assert profile.patch_file.is_symlink()
    assert b"toolprune" in kept.read_bytes()
    uninstall(profile)
    assert profile.patch_file.is_symlink()
    assert kept.read_bytes() == TEMPLATE


def test_the_copy_stays_while_another_profile_needs_it(profile: Profile) -> None:
    other = Profile(profile.home, "web")
    install(profile)
    install(other)
    with pytest.raises(toolprune.ToolpruneError) as raised:
        uninstall(profile, purge=True)
    ours = profile.home / "toolprune"
    assert str(raised.value) == f"{other.patch_file} still loads the plugin from {ours}: uninstall there first"
    uninstall(profile)
    assert status(other).plugin_present
    uninstall(other)
    assert [path for path in profile.home.rglob("*") if path.is_file()] == []


def test_purge_removes_what_is_ours_and_no_more(profile: Profile) -> None:
    wrote(profile, TEMPLATE)
    before = tree(profile.home)
    install(profile)
    (profile.home / "toolprune" / "state").write_bytes(b"x")
    uninstall(profile)
    assert (profile.home / "toolprune" / "state").is_file()
    uninstall(profile, purge=True)
    assert tree(profile.home) == before


def test_a_row_without_a_record_is_taken_out_all_the_same(profile: Profile) -> None:
    for record in (None, b"not JSON", b"[]", b'{"version": 1}', json.dumps(base64.b64encode(b"x").decode()).encode()):
        wrote(profile, TEMPLATE)
        install(profile)
        profile.record_file.unlink()
        if record is not None:
            profile.record_file.write_bytes(record)
        uninstall(profile)
        assert profile.patch_file.read_bytes() == TEMPLATE


@pytest.mark.parametrize("data", [b"a: 1\n", b"- \xff\n", b"- [\n"])
def test_a_file_that_is_refused_leaves_everything_as_it_was(profile: Profile, data: bytes) -> None:
    wrote(profile, data)
    before = tree(profile.home)
    for verb in (install, uninstall):
        with pytest.raises(toolprune.ToolpruneError, match="mend it first"):
            verb(profile)
    assert tree(profile.home) == before


def test_a_dry_run_says_the_same_and_writes_nothing(profile: Profile, tmp_path: Path) -> None:
    def told(dry: list[str], done: list[str]) -> None:
        assert dry == [f"would have {sentence}" for sentence in done]

    for data in (None, TEMPLATE):
        if data is not None:
            wrote(profile, data)
        before = tree(tmp_path)
        dry = install(profile, dry_run=True)
        assert tree(tmp_path) == before
        told(dry, install(profile))
        before = tree(tmp_path)
        for purge in (True, False):
            dry = uninstall(profile, purge=purge, dry_run=True)
            assert tree(tmp_path) == before
        told(dry, uninstall(profile))


def test_the_doctor_is_content_with_a_fresh_installation(profile: Profile) -> None:
    install(profile)
    assert doctor(profile) == []


def test_the_doctor_finds_that_there_is_no_row(profile: Profile) -> None:
    assert doctor(profile) == [
        f"there is no row toolprune in {profile.patch_file}: run `toolprune dsh install --profile headless`"
    ]


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(mode)
    return path


def with_python(profile: Profile, python: Path) -> None:
    patch = Patch("", profile.patch_file.read_text(encoding="utf-8"))
    assert patch.row is not None
    assert patch.row.plugin is not None
    profile.patch_file.write_text(patch.put(patch.row.plugin, str(python)).text, encoding="utf-8")


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands in for the interpreter")
def test_the_doctor_finds_what_is_wrong_with_the_interpreter(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(profile)
    again = "run `toolprune dsh install --profile headless`"
    gone = tmp_path / "gone"
    with_python(profile, gone)
    assert doctor(profile) == [f"the interpreter {gone} is gone: {again} from an environment that is there"]
    kept = script(tmp_path / "kept", "", 0o644)
    with_python(profile, kept)
    assert doctor(profile) == [f"the interpreter {kept} cannot be executed: {again} from an environment that can"]
    bare = script(tmp_path / "bare", "exit 1")
    with_python(profile, bare)
    assert doctor(profile) == [
        f"the interpreter {bare} cannot import toolprune: install it there, or {again} from another"
    ]
    old = script(tmp_path / "old", "echo 0.0.1")
    with_python(profile, old)
    assert doctor(profile) == [
        f"the interpreter {old} has toolprune 0.0.1, the plugin is of {toolprune.__version__}: {again} from there"
    ]
    monkeypatch.setattr(installing, "ANSWERS_WITHIN", 0.5)
    slow = script(tmp_path / "slow", "exec tail -f /dev/null")
    with_python(profile, slow)
    assert doctor(profile) == [f"the interpreter {slow} did not answer within 0.5 s: {again} from another"]


def test_the_doctor_finds_a_plugin_that_is_changed_or_gone(profile: Profile) -> None:
    install(profile)
    plugin = profile.home / "toolprune" / f"plugin-{toolprune.__version__}" / "index.js"
    again = "run `toolprune dsh install --profile headless`"
    plugin.write_bytes(plugin.read_bytes() + b"\n")
    assert doctor(profile) == [f"the plugin in {plugin.parent} is not as it was installed: {again}"]
    plugin.unlink()
    assert doctor(profile) == [f"the plugin {plugin} is gone: {again}"]
    assert install(profile) == [f"copied the plugin to {plugin.parent}"]
    assert doctor(profile) == []


def test_the_doctor_finds_other_rows_that_shorten_the_same_results(profile: Profile) -> None:
    install(profile)
    fine = profile.patch_file.read_bytes()
    rows = (
        "- insert:\n"
        "  - {id: clear, name: dsh-clear-tool-results}\n"
        "  - {id: my-microcompact, name: /x.js}\n"
        "  - {id: off, name: dsh-clear-tool-results, disabled: true}\n"
        "  - {id: toolprune, name: /x.js}\n"
        "  - {id: tool-result-pruner, name: '@deepseek-ai/dsh-compaction-tool-result-pruner'}\n"
    )
    wrote(profile, fine + rows.encode())
    end = "shortens the same results: remove it, or add `disabled: true` to it"
    assert doctor(profile) == [
        f"the row {each} in {profile.patch_file} {end}" for each in ("clear", "my-microcompact", "toolprune")
    ]
    wrote(profile, fine)
    shared = profile.home / "cordis.patch.yml"
    shared.write_text(ROW, encoding="utf-8")
    assert doctor(profile) == [f"the row toolprune in {shared} {end}"]


@pytest.mark.parametrize("off", ["      disabled: true\n", "- {id: toolprune, disabled: true}\n"])
def test_the_doctor_finds_that_the_row_is_disabled(profile: Profile, off: str) -> None:
    install(profile)
    with profile.patch_file.open("ab") as file:
        file.write(off.encode())
    assert doctor(profile) == [f"the row toolprune in {profile.patch_file} is disabled: remove its `disabled: true`"]


def dumped(folder: Path) -> str:
    return dsh_host.run(folder, "--dump-config").stdout


@pytest.mark.skipif(dsh_host.program() is None, reason=dsh_host.MISSING)
def test_the_host_itself_loads_the_row_and_is_left_as_it_was(tmp_path: Path) -> None:
    profile = Profile(tmp_path / "home", "headless")
    assert "toolprune" not in dumped(tmp_path)
    made = tree(profile.home)
    install(profile)
    loaded = dumped(tmp_path)
    plugin = profile.home / "toolprune" / f"plugin-{toolprune.__version__}" / "index.js"
    rows = [row for row in YAML(typ="rt", pure=True).load(loaded) if row["id"] == "toolprune"]
    assert rows == [{"id": "toolprune", "name": plugin.as_uri(), "config": {"python": sys.executable}}]
    uninstall(profile)
    assert tree(profile.home) == made
    assert "toolprune" not in dumped(tmp_path)
