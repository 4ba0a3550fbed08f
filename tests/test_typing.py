"""What a type checker says of a user's own file, which knows nothing of pydantic's plugin for it."""

import subprocess
import sys
from pathlib import Path

RIGHT = """
from typing import Any

import toolprune as tp


def told(edit: tp.Edit) -> None:
    print(edit.key, edit.code_points_before - edit.code_points_after, edit.tool)


cut = tp.CutConfig(threshold=80, head=20, tail=10, marker="[…]")
gates = [
    tp.Gate(),
    tp.Gate(tp.GateConfig(tools={"search_docs", "run_sql"})),
    tp.Gate(tp.GateConfig(tools={*tp.DEFAULT_TOOLS, "look_up"}, cut=cut, keep_views=2), on_edit=told),
    tp.Gate(tp.GateConfig(tools="*", meter="host", latch="process"), on_edit=print),
    tp.Gate(tp.GateConfig(tools=lambda name: name.startswith("get_"), shadow=True)),
]


def ask(messages: list[dict[str, Any]], thread_id: str) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = gates[0].apply(messages)
    return gates[1].apply(sent, session=thread_id, overhead_tokens=12_000)


shortened: str | None = tp.cut("text", cut)
"""

WRONG = """
import toolprune as tp

tp.GateConfig(keep_view=2)
tp.CutConfig(treshold=80)
tp.GateConfig(latch_tokens="100000")
tp.GateConfig(latch="never")
tp.Gate().apply("hello")
tp.Gate().apply([], overhead=12_000)
tp.Gate(on_edit=7)
"""


def test_a_users_file_is_right_without_a_plugin_and_a_wrong_key_or_value_is_named(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text("[mypy]\n", encoding="utf-8")
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    options = ["--strict", "--config-file", "mypy.ini", "--cache-dir", "cache", "--no-error-summary", "--no-pretty"]
    line = [sys.executable, "-m", "mypy", *options, "right.py", "wrong.py"]
    checked = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert checked.stderr == ""
    said = [each for each in checked.stdout.splitlines() if ": error: " in each]
    places = [each.partition(": error: ")[0] for each in said]
    codes = [each.rpartition("[")[2].rstrip("]") for each in said]
    kinds = ["call-arg", "call-arg", "arg-type", "arg-type", "arg-type", "call-arg", "arg-type"]
    assert places == [f"wrong.py:{number}" for number in range(4, 11)], checked.stdout
    assert codes == kinds, checked.stdout
    assert '"keep_view"' in said[0]
    assert '"treshold"' in said[1]
