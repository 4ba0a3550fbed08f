"""Recorded sessions, read by the scan and by the slow reader: equal to the last row. Skipped where they are absent."""

import json
from pathlib import Path

import pytest

import plain_reader
from scanning import assert_same, comparable, scan, shared

FOLDERS = {"claude_code": ("corpus", "claude_code"), "dsh": ("fixtures", "dsh"), "edge": ("fixtures", "edge")}


def recorded(name: str) -> Path:
    """A folder of recorded sessions."""
    folder = shared(*FOLDERS[name])
    if not folder.is_dir():
        pytest.skip("the recorded sessions are not here: set TOOLPRUNE_SHARED to the folder that holds them")
    return folder


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("all_results", [False, True])
def test_a_folder(name: str, all_results: bool) -> None:
    found = assert_same(recorded(name), all_results=all_results)
    assert found["tool_results"] > 0


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("threshold", [1, 5158, 5159])
def test_a_folder_over_another_threshold(name: str, threshold: int) -> None:
    assert_same(recorded(name), threshold=threshold)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_without_repeats(name: str) -> None:
    assert_same(recorded(name), recorded(name).parent, unique=True, all_results=True)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_in_strict_mode(name: str) -> None:
    assert_same(recorded(name), strict=True)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_log_torn_anywhere(name: str, tmp_path: Path) -> None:
    """A log that ends where it likes is read up to there."""
    path = tmp_path / "s.jsonl"
    for file in sorted(recorded(name).rglob("*.jsonl"))[:8]:
        whole = file.read_bytes()[:40_000]
        for cut in range(1, len(whole), max(1, len(whole) // 12)):
            path.write_bytes(whole[:cut])
            assert_same(path, threads=(2,), all_results=True)


def test_the_host_counts_the_tokens_of_a_pruned_result_alike() -> None:
    """A prune records what the host took its result to cost: an estimate that is not ours."""
    counted = 0
    for file in sorted(recorded("dsh").glob("*.jsonl")):
        tokens = {row["seq"]: row["tokens"] for row in scan(file, all_results=True)["results"]}
        for line in file.read_bytes().split(b"\n"):
            event = json.loads(line) if line else {}
            if event.get("type") == "compaction/prune":
                [seq] = event["data"]["shadowedSeqs"]
                assert tokens[seq] == event["data"]["shadowedTokenCount"]
                counted += 1
    assert counted > 0


def test_one_scan_of_everything_is_the_sum_of_its_files() -> None:
    files = plain_reader.files_of([str(recorded(name)) for name in FOLDERS])
    together = scan(*files, all_results=True, threads=2)
    rows = [row for file in files for row in scan(file, all_results=True, threads=1)["results"]]
    assert comparable(together)["results"] == rows
