"""RESULTS.md: one section a benchmark, each replaced by itself, so that one can be run again without the others."""

from collections.abc import Sequence
from pathlib import Path

TITLE = "# Results\n"


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; the first column reads from the left, the others are figures."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def write_section(path: Path, name: str, body: str) -> None:
    """Put a section in place of the one with its name, or at the end."""
    heading = f"## {name}\n"
    text = path.read_text(encoding="utf-8") if path.exists() else TITLE
    sections = text.split("\n## ")
    kept = [f"## {section}" if number else section for number, section in enumerate(sections)]
    new = f"{heading}\n{body.strip()}\n"
    for number, section in enumerate(kept):
        if section.startswith(heading):
            kept[number] = new
            break
    else:
        kept.append(new)
    path.write_text("\n".join(f"{section.rstrip()}\n" for section in kept), encoding="utf-8")
