"""The dialects in which lists of messages are written: each one read into a transcript, and its results rewritten.

What they have in common, and where they differ, is in `docs/policies.md`, "Message lists".
"""

from collections.abc import Sequence
from typing import Any

from toolprune.dialects.anthropic import ANTHROPIC
from toolprune.dialects.dialect import Dialect, fields
from toolprune.dialects.openai_chat import OPENAI_CHAT
from toolprune.dialects.openai_responses import OPENAI_RESPONSES
from toolprune.dialects.reader import Reader
from toolprune.errors import MessageError, nearest, shown, suggestion
from toolprune.transcript import Transcript

DIALECTS = {dialect.name: dialect for dialect in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC)}


def named(name: str) -> Dialect:
    """The dialect of this name. Raises MessageError where there is none."""
    if not isinstance(name, str) or name not in DIALECTS:
        known = list(DIALECTS)
        near = nearest(name, known) if isinstance(name, str) else None
        raise MessageError(f"there is no dialect {shown(name)}; {suggestion(near, known)}")
    return DIALECTS[name]


def recognised(messages: Sequence[Any]) -> Dialect | None:
    """The dialect of the first message that can be of one alone; None while all of them could be of any."""
    for message in map(fields, messages):
        for dialect in DIALECTS.values():
            if dialect.shows(message):
                return dialect
    return None


def reader(messages: Sequence[Any], dialect: str | None = None) -> Reader:
    """A reader for a list in the dialect of this name, or in the one that it shows; any will do until it shows one."""
    found = named(dialect) if dialect is not None else recognised(messages)
    return Reader(found or OPENAI_CHAT, certain=found is not None)


def read(messages: Sequence[Any], dialect: str | None = None) -> Transcript:
    """The transcript of a list of messages.

    Raises MessageError for a dialect that is not known, and for a message that cannot be read.
    """
    found = reader(messages, dialect)
    found.follow(messages)
    return found.transcript
