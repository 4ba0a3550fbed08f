"""What the values of options may be. typer takes them as text: its own refusals differ from version to version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolprune.errors import ToolpruneError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_of(option: str, text: str, allowed: Sequence[str]) -> str:
    """The text, which must be one of these. Raises ToolpruneError for any other."""
    if text not in allowed:
        raise ToolpruneError(f"{option} is {shown(text)}, and must be {', '.join(allowed[:-1])} or {allowed[-1]}")
    return text


def integer(option: str, text: str | None, *, least: int) -> int | None:
    """The integer that the text says; None where the option was not given. Raises ToolpruneError for anything else."""
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not least <= value < 2**63:
        raise ToolpruneError(f"{option} is {shown(text)}, and must be an integer from {least} to 2**63 - 1")
    return value
