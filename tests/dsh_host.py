"""Runs the DeepSeek Harness for a test: without a terminal, in a home of its own, with no way out but loopback."""

import contextlib
import importlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""A row of the host's patch file: what is changed in its profile, or put in."""

Event: TypeAlias = dict[str, Any]
"""An event of a session's log."""

PLUGINS = Path(__file__).with_name("dsh_plugins")

MISSING = (
    "the DeepSeek Harness is not installed: 'pip install -c constraints.txt --group hosts' brings it "
    "where it has a wheel, on Linux, macOS and Windows"
)

NO_MODEL = "http://127.0.0.1:9/v1"
"""An address at which nobody answers, for a run that asks no model."""

KEPT = ("PATH", "SYSTEMROOT")
"""All that the host gets of the environment: no key, address or setting of whoever runs the tests."""


def program() -> Path | None:
    """The host's program, or None where the host is not installed."""
    try:
        from deepseek_harness_runtime import bundled_runtime_path
    except ImportError:
        return None
    return Path(bundled_runtime_path())


def plugin(file: Path, **config: Any) -> Row:
    """The row that loads a plugin."""
    return {"insert": [{"id": f"toolprune-test-{file.stem}", "name": str(file), "config": config}]}


def plain_logs(folder: Path) -> Row:
    """The row that has the logs of sessions in `folder` written as plain JSON lines."""
    return {"id": "session-persistence-jsonl", "config": {"root": str(_sessions(folder)), "compression": "none"}}


def log_file(folder: Path) -> Path:
    """The log of the one session that there is in `folder`, if its logs are plain ones."""
    [file] = _sessions(folder).rglob("session.*.jsonl")
    return file


def events(folder: Path) -> list[Event]:
    """What stands in that log behind its header."""
    _, *lines = log_file(folder).read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def session_id(folder: Path) -> str:
    """The id of that session, as `--session-id` takes it."""
    return log_file(folder).parent.name


def environment(home: Path, temporary: Path, model: str) -> dict[str, str]:
    """The host's environment: its folders, and the address of a model's server."""
    return {
        **{name: os.environ[name] for name in KEPT if name in os.environ},
        **dict.fromkeys(("HOME", "USERPROFILE", "DSH_HOME"), str(home)),
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
        "DEEPSEEK_BASE_URL": model,
        "DEEPSEEK_API_KEY": "none",
        "DSH_PERMISSION_MODE": "danger-full-access",
        "DSH_TELEMETRY_DISABLED": "1",
    }


def run(
    folder: Path, *arguments: str, rows: Sequence[Row] = (), model: str = NO_MODEL, seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run the host on its headless profile, to its end with status 0; what it wrote to stdout and stderr.

    `folder` takes all that the host writes: its home, the folder it works in, temporary files. Runs in one share them.

    Raises RuntimeError, with what the host wrote to stderr, when it fails or takes more than `seconds`.
    """
    executable = program()
    if executable is None:
        raise RuntimeError(MISSING)
    home, workspace, temporary = _folders(folder)
    try:
        return subprocess.run(
            [executable, "--profile", "headless", "--patch", _patch(folder, rows), *arguments],
            cwd=workspace,
            env=environment(home, temporary, model),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"the host ended with {error.returncode}:\n{error.stderr[-4000:]}") from error
    except subprocess.TimeoutExpired as error:
        written = (error.stderr or b"")[-4000:].decode(errors="replace")
        raise RuntimeError(f"the host was still running after {seconds} s:\n{written}") from error


@contextlib.contextmanager
def conversation(folder: Path, rows: Sequence[Row], model: str, session: str) -> Iterator[Callable[[str], str]]:
    """One process of the host and one session in it: a function that says something and waits for the turn's end.

    It returns the kind of the turn's end. `folder` as for `run`.
    """
    home, workspace, temporary = _folders(folder)
    harness = importlib.import_module("deepseek_harness").DeepSeekHarness(
        cwd=str(workspace),
        dsh_home=str(home),
        patches=(str(_patch(folder, rows)),),
        env=environment(home, temporary, model),
    )
    with harness:
        process = harness.client._proc
        yield lambda text: str(harness.start_session(session).run(text).finish_reason)
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()  # the SDK leaves it to whoever collects the garbage


def _folders(folder: Path) -> tuple[Path, Path, Path]:
    folders = (folder / "home", folder / "workspace", folder / "temporary")
    for each in folders:
        each.mkdir(exist_ok=True)
    return folders


def _sessions(folder: Path) -> Path:
    return folder / "home" / "sessions"


def _patch(folder: Path, rows: Sequence[Row]) -> Path:
    patch = folder / "patch.yml"
    patch.write_text(json.dumps(list(rows)), encoding="ascii")  # JSON is YAML
    return patch
