"""Runs the DeepSeek Harness for a test: without a terminal, in a home of its own, with no way out but loopback."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
"""A row of the host's patch file: what is changed in its profile, or put in."""

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


def run(folder: Path, *arguments: str, rows: Sequence[Row] = (), model: str = NO_MODEL, seconds: float = 60) -> str:
    """Run the host on its headless profile and return what it wrote to stdout.

    `folder` takes all that the host writes: its home, the folder it works in, temporary files. Runs in one share them.

    Raises RuntimeError, with what the host wrote to stderr, when it fails or takes more than `seconds`.
    """
    executable = program()
    if executable is None:
        raise RuntimeError(MISSING)
    home, workspace, temporary = (folder / name for name in ("home", "workspace", "temporary"))
    for each in (home, workspace, temporary):
        each.mkdir(exist_ok=True)
    patch = folder / "patch.yml"
    patch.write_text(json.dumps(list(rows)), encoding="ascii")  # JSON is YAML
    try:
        done = subprocess.run(
            [executable, "--profile", "headless", "--patch", patch, *arguments],
            cwd=workspace,
            env=environment(home, temporary, model),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"the host ended with {error.returncode}:\n{_last(error.stderr)}") from error
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"the host was still running after {seconds} s:\n{_last(error.stderr)}") from error
    return done.stdout.decode()


def _last(written: bytes | None) -> str:
    return (written or b"").decode(errors="replace")[-4000:]
