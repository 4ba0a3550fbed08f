"""What the plugin and the Python side say to each other: one JSON object a line, each checked by whoever reads it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, TypeAdapter

PROTOCOL = 1
"""Both sides say it first; another number is refused."""

EVENTS = ("assistant/message", "tool/call", "tool/result")
"""The types of the host's events that the Python side reads; the plugin forwards no others."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Hello(_Message):
    """The first message: the plugin's protocol, and the config of its row."""

    op: Literal["hello"]
    id: NonNegativeInt
    protocol: int
    config: dict[str, Any]


class Event(_Message):
    """One event of the host's log, with what is read of its data.

    `replaces` says that it takes the place of another on the surface.
    """

    seq: NonNegativeInt
    type: Literal["assistant/message", "tool/call", "tool/result"]
    data: dict[str, Any]
    replaces: bool


class Step(_Message):
    """What happened in a session since it was last asked about, before the step that is to come.

    With `first`, the events are all there are, and the Python side starts the session anew. `opening` is the first seq
    after the latch opened, as the plugin was told it, `surface` the seqs of what the next prompt will hold, `total` its
    tokens as the host measures them.
    """

    op: Literal["step"]
    id: NonNegativeInt
    session: str
    first: bool
    opening: NonNegativeInt | None
    events: list[Event]
    surface: list[NonNegativeInt]
    total: NonNegativeInt


class Edit(_Message):
    """A result that is to be replaced: its seq, and the blocks that stand in its place."""

    seq: NonNegativeInt
    content: list[dict[str, Any]]


class Welcome(_Message):
    """The answer to the first message: the version, and the types of events to forward."""

    id: NonNegativeInt
    version: str
    events: list[str]


class Decision(_Message):
    """The answer about a step."""

    id: NonNegativeInt
    opening: NonNegativeInt | None
    edits: list[Edit]
    warnings: list[str]


class Failure(_Message):
    """The answer where there is none: a sentence that says why."""

    id: NonNegativeInt
    error: str


REQUEST: TypeAdapter[Hello | Step] = TypeAdapter(Hello | Step)
"""What the plugin may say."""
