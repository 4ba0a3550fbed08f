"""Every limit and default, in one validated tree."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import Self

from toolprune import defaults

# The scanner counts in 64 bits.
Positive = Annotated[int, Field(ge=1, le=2**63 - 1)]
Natural = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CutConfig(_Section):
    """How much of an over-long tool result stays. All lengths are code points, as Python's `len` counts them.

    Raises pydantic.ValidationError (a ValueError) for a value that is no integer or out of range, for an unknown key,
    and when head + marker + tail is more than the threshold: a cut result would be cut again.
    """

    threshold: Positive = Field(
        defaults.THRESHOLD, description="A result of more code points than this is cut; 1 or more."
    )
    head: Natural = Field(defaults.HEAD, description="Code points kept of the start; 0 or more.")
    tail: Natural = Field(defaults.TAIL, description="Code points kept of the end; 0 or more.")
    marker: str = Field(defaults.MARKER, description="What stands for the middle that was cut out.")

    @model_validator(mode="after")
    def _keeps_no_more_than_the_threshold(self) -> Self:
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
        defaults.THRESHOLD, description="A result of more code points than this is over the threshold; 1 or more."
    )
    threads: Natural = Field(defaults.THREADS, description="Threads; 0 is one for each processor.")
    largest: Natural = Field(defaults.LARGEST, description="Results over the threshold that are kept, longest first.")


class Settings(_Section):
    """The root of the tree: one section a subject."""

    cut: CutConfig = CutConfig()
    scan: ScanConfig = ScanConfig()
