"""Every limit and default, in one validated tree."""

import re
from collections.abc import Callable, Collection, Set
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    field_validator,
    model_validator,
)

from toolprune import defaults
from toolprune.errors import ConfigError, nearest, shown, suggestion

# The scanner counts in 64 bits.
Positive = Annotated[int, Field(ge=1, le=2**63 - 1)]
Natural = Annotated[int, Field(ge=0, le=2**63 - 1)]


def _tools(value: object) -> object:
    """The list of tools as it is kept: a frozen set, `*`, or a function."""
    if value == "*" or callable(value):
        return value
    if isinstance(value, Set | list | tuple) and "*" not in value and all(isinstance(name, str) for name in value):
        return frozenset(value)
    raise ValueError('it should be a set of tool names, "*" for every tool, or a function of the name')


Tools = Annotated[Collection[str] | Callable[[str], bool], PlainValidator(_tools)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    # Type checkers see the keys that pydantic's own says.
    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise ConfigError(f"{type(self).__name__}: {_sentence(error, type(self))}") from error


class CutConfig(_Section):
    """How much of an over-long tool result stays. All lengths are code points, as Python's `len` counts them.

    Raises a ToolpruneError that is a ValueError, one sentence, for a value that is no integer or out of range, for an
    unknown key, and when head + marker + tail is more than the threshold: a cut result would be cut again.
    """

    threshold: Positive = Field(
        default=defaults.THRESHOLD, description="A result of more code points than this is cut; 1 or more."
    )
    head: Natural = Field(default=defaults.HEAD, description="Code points kept of the start; 0 or more.")
    tail: Natural = Field(default=defaults.TAIL, description="Code points kept of the end; 0 or more.")
    marker: str = Field(default=defaults.MARKER, description="What stands for the middle that was cut out.")
    boundary: Literal["code_point", "grapheme", "line"] = Field(
        default="code_point",
        description="What head and tail end on: they end where they are long enough, or keep a little less.",
    )
    note: bool = Field(
        default=False,
        description="Put a marker that says how much is gone, where there is room; otherwise the marker above.",
    )

    @field_validator("marker")
    @classmethod
    def _is_text(cls, marker: str) -> str:
        if any("\ud800" <= each <= "\udfff" for each in marker):
            raise ValueError("it has a lone surrogate, which no text file can hold: leave it out")
        return marker

    @model_validator(mode="after")
    def _keeps_no_more_than_the_threshold(self) -> "CutConfig":
        kept = self.head + len(self.marker) + self.tail
        if kept > self.threshold:
            raise ValueError(
                f"head {self.head} + marker {len(self.marker)} + tail {self.tail} is {kept} code points, more than the "
                f"threshold of {self.threshold}: lower head or tail, or raise the threshold"
            )
        return self


class ScanConfig(_Section):
    """What a scan lists, and how it runs."""

    threshold: Positive = Field(
        default=defaults.THRESHOLD,
        description="A result of more code points than this is over the threshold; 1 or more.",
    )
    threads: Natural = Field(default=defaults.THREADS, description="Threads; 0 is one for each processor.")
    largest: Natural = Field(
        default=defaults.LARGEST,
        description="Results over the threshold that are kept, longest first; 0 or more. A table lists 20 at most.",
    )


class GateConfig(_Section):
    """When the gate opens, which results it cuts, and how.

    Raises a ToolpruneError that is a ValueError, one sentence, for an unknown key and for a value that cannot be used.
    """

    latch_tokens: Natural = Field(
        default=defaults.LATCH_TOKENS, description="Tokens of a whole request at which the gate opens; 0 or more."
    )
    keep_views: Positive = Field(
        default=defaults.KEEP_VIEWS, description="Requests that hold a result whole before it is cut; 1 or more."
    )
    cut: CutConfig = Field(default=CutConfig(), description="The cut, and the length over which a result is cut.")
    tools: Tools = Field(
        default=defaults.DEFAULT_TOOLS,
        description='Tools whose results are cut: a set of names, "*" for every tool, or a function of the name.',
    )
    latch: Literal["derived", "process"] = Field(
        default="derived",
        description="Find the opening again in the messages, or remember it for as long as the process runs.",
    )
    timing: Literal["immediate"] = Field(default="immediate", description="Cut a result as soon as it is due.")
    meter: str = Field(
        default="auto", description="What counts tokens: auto, host, or tiktoken: with the name of an encoding."
    )
    shadow: bool = Field(default=False, description="Decide, log and call back, and change nothing.")
    sessions: Positive = Field(
        default=defaults.SESSIONS, description="Conversations named by id that are remembered at once; 1 or more."
    )

    @field_validator("meter")
    @classmethod
    def _is_a_meter(cls, meter: str) -> str:
        if meter not in ("auto", "host") and not re.fullmatch("tiktoken:.+", meter):
            raise ValueError(
                "it should be auto, host, or tiktoken: with the name of an encoding, as tiktoken:o200k_base"
            )
        return meter


class Settings(_Section):
    """The root of the tree: one section a subject."""

    cut: CutConfig = CutConfig()
    scan: ScanConfig = ScanConfig()


def rule(error: ValidationError) -> str:
    """What pydantic found first, without its own words around it."""
    message = error.errors(include_url=False)[0]["msg"]
    return message.removeprefix("Value error, ").replace("Input should", "it should")


def _sentence(error: ValidationError, section: type[BaseModel]) -> str:
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return rule(error)
    key = str(first["loc"][0])
    known = list(section.model_fields)
    if key not in known:
        for name, field in section.model_fields.items():
            inner = field.annotation
            if isinstance(inner, type) and issubclass(inner, BaseModel) and key in inner.model_fields:
                return f"{key} is a key of {name}: give {name}={inner.__name__}({key}=...)"
        return f"there is no {key}; {suggestion(nearest(key, known), known)}"
    return f"{key} = {shown(first['input'])}: {rule(error)}"
