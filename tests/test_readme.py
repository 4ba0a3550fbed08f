"""Every snippet of the README runs, and prints what the README says; the Chinese one has the same snippets."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolprune
from toolprune.cli import settings
from toolprune.config import CutConfig, GateConfig, ScanConfig

READMES = ("README.md", "README.zh-CN.md")

BUILDS = {"make demo": "toolprune scan samples"}
"""Commands that would build the package again, and what they run once it is built."""


def blocks(repository: Path, language: str) -> list[str]:
    text = (repository / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output that is shown for it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run(command: str, repository: Path) -> str:
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command, shell=True, cwd=repository, env=environment, capture_output=True, check=False, timeout=120
    )
    assert done.stderr.decode() == ""
    assert done.returncode == 0
    return done.stdout.decode()


def matches(shown: str, printed: str) -> bool:
    """Whether the output is as shown, a line that is an ellipsis standing for any lines."""
    pattern = "".join("(?:.*\n)*?" if line == "…\n" else re.escape(line) for line in shown.splitlines(keepends=True))
    return re.fullmatch(pattern, printed) is not None


def test_console_snippets_print_what_is_shown(repository: Path) -> None:
    shown = [each for block in blocks(repository, "console") for each in commands(block)]
    assert len(shown) == 3
    for command, output in shown:
        assert matches(output, printed := run(BUILDS.get(command, command), repository)), (
            f"{command} printed\n{printed}"
        )


@pytest.mark.parametrize(("target", "command"), BUILDS.items())
def test_a_target_runs_what_stands_for_it_here(repository: Path, target: str, command: str) -> None:
    recipe = re.search(rf"^{target.removeprefix('make ')}: build\n\t(.*)$", (repository / "Makefile").read_text(), re.M)
    assert recipe is not None
    assert recipe[1] == f"@$(BIN)/{command}"


def test_python_snippets_give_what_is_shown(repository: Path, tmp_path: Path) -> None:
    found = blocks(repository, "pycon")
    assert len(found) == 2
    session = tmp_path / "readme.txt"
    session.write_text("\n".join(found), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "doctest", str(session)],
        cwd=repository,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout.decode()


def test_the_loop_sends_a_large_result_whole_three_times_and_then_cut(repository: Path) -> None:
    """A conversation of 25 reads of 20,000 characters: 5,000 tokens each, so that request 22 holds 100,000."""
    (example,) = blocks(repository, "python")
    script = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": str(number), "function": {"name": "read"}}]}
        for number in range(25)
    ]
    script.append({"role": "assistant", "content": "done"})
    sent: list[list[dict[str, Any]]] = []

    def complete(messages: list[dict[str, Any]]) -> dict[str, Any]:
        sent.append(list(messages))  # the very list, where nothing is cut, and it grows
        return script[len(sent) - 1]

    original = "x" * 20_000
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    exec(example, {"messages": messages, "complete": complete, "run": lambda call: original})
    assert all(message["content"] == original for message in messages if message["role"] == "tool")
    seen: dict[int, list[int]] = {number: [] for number in range(25)}
    for request in sent:
        for message in request:
            if message["role"] == "tool":
                seen[int(message["tool_call_id"])].append(len(message["content"]))
    # "go" is 9 tokens, each call 9, each result 5,008: 19 reads are 95,332, and 20 are 100,349, in request 21.
    assert [lengths for number, lengths in seen.items() if number < 20] == [
        [20_000] * (25 - number) for number in range(20)
    ]
    assert seen[20] == [20_000] * 3 + [5159] * 2
    assert seen[21] == [20_000] * 3 + [5159]
    assert seen[22] == [20_000] * 3
    assert [len(request) for request in sent] == [1 + 2 * reads for reads in range(26)]


def test_every_key_of_the_gate_is_in_the_table(repository: Path) -> None:
    table = (
        (repository / "README.md").read_text(encoding="utf-8").partition("says what is cut")[2].partition("\n## ")[0]
    )
    named = re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)
    assert named == list(GateConfig.model_fields)


def test_the_settings_that_are_shown_are_settings(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = blocks(repository, "toml")
    (tmp_path / "toolprune.toml").write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    loaded = settings.load().settings
    assert loaded.scan == ScanConfig(threshold=12_000, threads=0, largest=100)
    assert loaded.cut == CutConfig(head=2048)


def test_every_key_of_json_is_in_the_table(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    table = text.partition("### What comes out as JSON")[2].partition("| key | means |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() for name in re.findall("`([a-z_]+)`", row.split("|")[1] if row else "")}
    printed = json.loads(run("toolprune scan samples --format json", repository))
    assert named == set(printed)
    sentence = text.partition("A result has ")[2].partition("; null where")[0]
    assert set(re.findall("`([a-z_]+)`", sentence)) == set(printed["results"][0])


def test_every_public_name_is_in_the_table(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    table = text.partition("| name | does |")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines() for name in re.findall("`(\\w+)`", row.split("|")[1] if row else "")]
    assert sorted([*named, "__version__"]) == sorted(toolprune.__all__)


def test_both_readmes_have_the_same_snippets_and_table_rows(repository: Path) -> None:
    english, chinese = ((repository / name).read_text(encoding="utf-8") for name in READMES)
    fenced = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
    row = re.compile(r"^\| (`.*?`|\d+) \|", flags=re.MULTILINE)
    for part in (fenced, row):
        assert part.findall(english)
        assert part.findall(chinese) == part.findall(english)


@pytest.mark.parametrize("name", READMES)
def test_links_lead_somewhere(repository: Path, name: str) -> None:
    text = (repository / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert set(READMES) & set(links) == set(READMES) - {name}  # each leads to the other
    assert [link for link in links if not (repository / link).exists()] == []
