"""`toolprune.scan` as a function is called: what it shows of itself, and what it says of arguments that do not fit."""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import make_logs
import toolprune


def test_a_scan_shows_its_totals(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(make_logs.log(make_logs.user(make_logs.tool_result("a", "x" * 9000))) + b'{"tool_result"')
    assert repr(toolprune.scan([path, tmp_path / "missing"])) == (
        "<Scan: files 1, malformed_lines 1, tool_results 1, code_points 9000, over_threshold 1, "
        "already_cut 0, skipped 1>"
    )


class Bytes(os.PathLike[bytes]):
    """A path of bytes."""

    def __fspath__(self) -> bytes:
        return b"x"

    def __repr__(self) -> str:
        return "<a path of bytes>"


LIMITS = "must be an integer from 1 to 2**63 - 1"


@pytest.mark.parametrize(
    ("paths", "options", "error", "sentence"),
    [
        (5, {}, TypeError, "paths is int, and must be a path or an iterable of paths"),
        (None, {}, TypeError, "paths is NoneType, and must be a path or an iterable of paths"),
        ([5], {}, TypeError, "a path is 5, and must be a str or an os.PathLike of str"),
        (b"x", {}, TypeError, "a path is b'x', and must be a str or an os.PathLike of str"),
        (Bytes(), {}, TypeError, "a path is <a path of bytes>, and must be a str or an os.PathLike of str"),
        ([], {"threshold": "8192"}, TypeError, f"threshold is '8192', and {LIMITS}"),
        ([], {"threshold": 0.5}, TypeError, f"threshold is 0.5, and {LIMITS}"),
        ([], {"threshold": 0}, ValueError, f"threshold is 0, and {LIMITS}"),
        ([], {"threshold": 2**63}, ValueError, f"threshold is 9223372036854775808, and {LIMITS}"),
        ([], {"threshold": 10**5000}, ValueError, f"threshold is int of very many digits, and {LIMITS}"),
        ([], {"threads": -1}, ValueError, "threads is -1, and must be an integer from 0 to 2**63 - 1"),
        ([], {"largest": None}, TypeError, "largest is None, and must be an integer from 0 to 2**63 - 1"),
        ([], {"cut": {"head": 1}}, TypeError, "cut is {'head': 1}, and must be a CutConfig, or None"),
        ([], {"progress": 5}, TypeError, "progress is 5, and must be something to call, or None"),
        ([], {"on_results": []}, TypeError, "on_results is [], and must be something to call, or None"),
    ],
)
def test_an_argument_that_does_not_fit_is_named_in_one_sentence(
    paths: Any, options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        toolprune.scan(paths, **options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("path", "reason"),
    [("\ud800", "a lone surrogate stands in no path"), ("a\0b", "a NUL character stands in no path")],
)
def test_a_path_that_no_system_has_is_skipped(path: str, reason: str) -> None:
    assert toolprune.scan(path).skipped == [{"path": path, "reason": reason}]


def test_a_cut_wants_a_cut_config() -> None:
    sentence = "config is dict, and must be a CutConfig, as CutConfig(threshold=8192)"
    config: Any = {"threshold": 8192}
    calls: list[tuple[Callable[..., object], object]] = [
        (toolprune.cut, "x"),
        (toolprune.is_cut, "x"),
        (toolprune.cut_blocks, []),
    ]
    for call, content in calls:
        with pytest.raises(TypeError) as caught:
            call(content, config)
        assert str(caught.value) == sentence


@pytest.mark.parametrize(("packer", "pack"), [("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress)])
def test_a_packed_file_says_what_packed_it(tmp_path: Path, packer: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(pack(make_logs.log(make_logs.user(make_logs.tool_result("a", "x")))))
    found = toolprune.scan(tmp_path)
    assert found.skipped == [{"path": str(path), "reason": f"compressed with {packer}: unpack it first"}]
    assert found.totals["files"] == 0
