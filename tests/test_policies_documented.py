"""Each rule of `docs/policies.md` about the gate has a test of its name, and each such test a rule."""

import re
from pathlib import Path

INPUTS = "Inputs that have broken tools like this one"

ELSEWHERE = {"The cut"}
"""Parts whose rules are held by tests of other names."""


def rules(repository: Path) -> list[tuple[str, str]]:
    """The headings that stand for a rule, those with no heading below them, each with the part that it is in."""
    text = (repository / "docs" / "policies.md").read_text(encoding="utf-8")
    headings = [(len(marks), words) for marks, words in re.findall(r"^(##+) (.+)$", text, flags=re.MULTILINE)]
    found, part = [], ""
    for (level, words), (next_level, _) in zip(headings, [*headings[1:], (0, "")], strict=True):
        if level == 2:
            part = words
        elif next_level <= level:
            found.append((part, words))
    return [(part, words) for part, words in found if part not in ELSEWHERE]


def named_after(heading: str) -> str:
    """The name of the test that a rule has."""
    return "_".join(["test", *re.findall("[a-z0-9]+", heading.lower())])


def names_in(file: Path) -> list[str]:
    return re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_each_rule_of_the_gate_has_a_test_of_its_name_in_the_order_of_the_page(repository: Path) -> None:
    expected = [named_after(words) for part, words in rules(repository) if part != INPUTS]
    assert names_in(repository / "tests" / "test_policies.py") == expected


def test_each_input_has_a_test_of_its_name_in_the_order_of_the_page(repository: Path) -> None:
    expected = [named_after(words) for part, words in rules(repository) if part == INPUTS]
    assert names_in(repository / "tests" / "test_policies_hostile.py") == expected


def test_no_two_rules_have_the_same_name(repository: Path) -> None:
    # The second test would take the place of the first, and only one of them would run.
    names = [named_after(words) for _, words in rules(repository)]
    assert len(set(names)) == len(names) > 100
