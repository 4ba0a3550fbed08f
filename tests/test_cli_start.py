"""What is loaded to start, and what is not."""

import ast
import subprocess
import sys

import toolprune

HEAVY = ("typer", "rich", "pydantic", "pydantic_settings", "platformdirs", "tomli", "tomllib")


def loaded_by(code: str) -> set[str]:
    """The heavy packages that are loaded once this code has run."""
    report = f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    program = f"import sys\ntry:\n    exec({code!r})\nfinally:\n    {report}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    return set(ast.literal_eval(done.stderr.splitlines()[-1]))


def command(*arguments: str) -> str:
    return f"import sys\nsys.argv = {['toolprune', *arguments]!r}\nfrom toolprune.cli import main\nmain()"


def test_importing_loads_nothing_heavy() -> None:
    assert loaded_by("import toolprune") == set()


def test_cutting_and_scanning_load_the_validator_at_most() -> None:
    assert loaded_by("import toolprune as tp; tp.cut('x'); tp.CutConfig()") == {"pydantic"}
    assert loaded_by("import toolprune as tp; tp.scan([])") == set()


def test_the_version_needs_the_command_line_only() -> None:
    assert loaded_by(command("--version")) == {"typer"}


def test_a_scan_without_settings_needs_no_validator_and_json_no_tables() -> None:
    assert loaded_by(command("scan", "--format", "json")) == {"typer", "platformdirs"}


def test_the_public_names_are_there_and_are_all() -> None:
    names = [
        "DEFAULT_TOOLS",
        "CutConfig",
        "Edit",
        "Gate",
        "GateConfig",
        "ToolpruneError",
        "__version__",
        "code_points",
        "cut",
        "cut_blocks",
        "is_cut",
        "scan",
    ]
    assert toolprune.__all__ == names
    assert dir(toolprune) == sorted(names)
    assert toolprune.__version__ == "0.1.0"
    assert not hasattr(toolprune, "prune")


def test_the_version_is_printed_in_one_line() -> None:
    done = subprocess.run([sys.executable, "-m", "toolprune", "--version"], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"toolprune 0.1.0\n"
    assert done.stderr == b""
