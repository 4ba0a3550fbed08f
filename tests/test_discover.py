"""From paths to the files that a scan reads."""

import os
import socket
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolprune.logs.discover import discover, usual_places


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


def files(*paths: Path) -> list[str]:
    return discover(str(path) for path in paths).files


def skipped(*paths: Path) -> dict[str, str]:
    found = discover(str(path) for path in paths)
    assert found.files == []
    return {row["path"]: row["reason"] for row in found.skipped}


def test_a_directory_gives_its_logs_at_any_depth_sorted_by_name(tmp_path: Path) -> None:
    write(tmp_path, "b.jsonl", "a/z.json", "a/b/c/d.jsonl.zst", "a.json.zstd", "c.jsonl.zstd", "C.json.zst")
    expected = ["C.json.zst", "a/b/c/d.jsonl.zst", "a/z.json", "a.json.zstd", "b.jsonl", "c.jsonl.zstd"]
    assert files(tmp_path) == [str(tmp_path / name) for name in expected]


def test_what_is_skipped_comes_in_the_order_of_the_names(tmp_path: Path) -> None:
    write(tmp_path, "b/x.jsonl", "d.jsonl")
    for name in ("a.jsonl", "c.jsonl", "b/m.jsonl", "b/n.jsonl", "e.jsonl"):
        os.mkfifo(tmp_path / name)
    found = discover([str(tmp_path)])
    expected = ["a.jsonl", "b/m.jsonl", "b/n.jsonl", "c.jsonl", "e.jsonl"]
    assert [row["path"] for row in found.skipped] == [str(tmp_path / name) for name in expected]
    assert found.files == [str(tmp_path / "b/x.jsonl"), str(tmp_path / "d.jsonl")]


def test_other_names_in_a_directory_are_not_mentioned(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "jsonl", "x.jsonl.gz", "x.jsonl~", "x.JSONL", "x.zst")
    assert skipped(tmp_path) == {}


def test_an_explicit_path_is_tried_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, "notes")
    assert files(tmp_path / "notes") == [str(tmp_path / "notes")]


def test_paths_keep_their_order_and_a_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "a/1.jsonl", "a/2.jsonl", "b/1.jsonl")
    (tmp_path / "b" / "2.jsonl").symlink_to(tmp_path / "a" / "2.jsonl")
    again = tmp_path / "a" / ".." / "a" / "1.jsonl"
    assert files(tmp_path / "b", tmp_path / "a", again) == [
        str(tmp_path / name) for name in ("b/1.jsonl", "b/2.jsonl", "a/1.jsonl")
    ]


def test_two_links_to_one_file_are_two_names(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl")
    os.link(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert len(files(tmp_path)) == 2


def test_a_directory_with_a_logs_name_is_a_directory(tmp_path: Path) -> None:
    write(tmp_path, "x.jsonl/a.jsonl")
    assert files(tmp_path) == [str(tmp_path / "x.jsonl" / "a.jsonl")]


def test_links_to_directories_are_followed_only_when_named(tmp_path: Path) -> None:
    write(tmp_path, "real/a.jsonl")
    (tmp_path / "tree").mkdir()
    link = tmp_path / "tree" / "link"
    link.symlink_to(tmp_path / "real", target_is_directory=True)
    assert skipped(tmp_path / "tree") == {str(link): "a link to a directory, which is not followed"}
    assert files(link) == [str(link / "a.jsonl")]


def test_a_link_that_leads_round_in_a_circle_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "a/b.jsonl")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    assert files(tmp_path) == [str(tmp_path / "a" / "b.jsonl")]


@pytest.mark.parametrize("explicit", [True, False])
def test_what_is_no_regular_file_is_skipped_with_its_kind(tmp_path: Path, explicit: bool) -> None:
    fifo, server = tmp_path / "fifo.jsonl", tmp_path / "socket.jsonl"
    os.mkfifo(fifo)
    device, dangling = tmp_path / "device.jsonl", tmp_path / "dangling.jsonl"
    device.symlink_to("/dev/null")
    dangling.symlink_to(tmp_path / "nowhere")
    # A socket's name may have a hundred bytes only.
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(tmp_path)
        try:
            listener.bind(server.name)
        finally:
            os.chdir(here)
        assert skipped(*([fifo, server, device, dangling] if explicit else [tmp_path])) == {
            str(fifo): "a FIFO, not a regular file",
            str(server): "a socket, not a regular file",
            str(device): "a character device, not a regular file",
            str(dangling): "a link that leads nowhere: check where it should lead"
            if explicit
            else "no such file or directory",
        }


def test_what_cannot_be_reached_is_skipped_with_the_systems_reason(tmp_path: Path) -> None:
    write(tmp_path, "file")
    missing, through, endless = tmp_path / "missing", tmp_path / "file" / "x.jsonl", tmp_path / ("x" * 300)
    assert skipped(missing, through, endless) == {
        str(missing): "no such file or directory: check the path",
        str(through): "not a directory",
        str(endless): "file name too long",
    }
    assert discover(["a\0b"]).skipped == [{"path": "a\0b", "reason": "a NUL character stands in no path"}]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every directory")
def test_a_directory_without_permission_is_skipped(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    try:
        assert skipped(tmp_path) == {str(closed): "permission denied"}
    finally:
        closed.chmod(0o700)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems want names in UTF-8")
def test_a_name_that_is_not_utf8_is_a_name(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.jsonl"
    with open(path, "wb"):
        pass
    found = discover([str(tmp_path)]).files
    assert [os.fsencode(name) for name in found] == [path]


def test_a_tree_may_be_deeper_than_a_call_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = sys.getrecursionlimit() + 200
    deep = "d/" * depth
    monkeypatch.chdir(tmp_path)
    for level in range(1, depth + 1):
        os.mkdir("d/" * level)
    log = Path(deep, "x.jsonl")
    log.touch()
    try:
        assert discover(["d"]).files == [f"{deep}x.jsonl"]
    finally:
        # Whoever clears temporary directories away may use the call stack.
        log.unlink()
        os.removedirs(deep)


names = st.lists(st.sampled_from(["a", "b", "c.jsonl", "d.json"]), min_size=1, max_size=4).map("/".join)


@given(tree=st.sets(names, max_size=8), order=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_list_does_not_depend_on_the_order_in_which_files_came(
    tmp_path_factory: pytest.TempPathFactory, tree: set[str], order: Random
) -> None:
    def made(sequence: list[str]) -> list[str]:
        root = tmp_path_factory.mktemp("tree")
        for name in sequence:
            path = root / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return [os.path.relpath(file, root) for file in files(root)]

    there = sorted(tree)
    expected = made(there)
    order.shuffle(there)
    assert made(there) == expected
    assert sorted(expected) == sorted(f"{name}.json" for name in tree)


def test_the_usual_places_follow_the_hosts_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [(place.host, place.path) for place in usual_places()] == [
        ("DSH", f"{tmp_path}/.dsh/sessions"),
        ("Claude Code", f"{tmp_path}/.claude/projects"),
        ("Codex", f"{tmp_path}/.codex/sessions"),
        ("pi", f"{tmp_path}/.pi/agent/sessions"),
    ]
    monkeypatch.setenv("DSH_HOME", "/d")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/k")
    monkeypatch.setenv("CODEX_HOME", "/c")
    assert [place.path for place in usual_places()][:3] == ["/d/sessions", "/k/projects", "/c/sessions"]
