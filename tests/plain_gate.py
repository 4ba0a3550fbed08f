"""The gate in plain Python, written from `docs/policies.md` alone: it goes over everything again for every request.

It knows no messages, only the steps of `talk`; what a request must hold is steps too, and `talk.written` writes them.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import plain_cut
from talk import Call, Content, Response, Result, Results, Step, User

Place: TypeAlias = tuple[int, int]
"""Where a result stands: its step, and its place in the step."""

INPUT_CLASSES = {
    "openai-chat": ("prompt_tokens",),
    "openai-responses": ("input_tokens",),
    "anthropic": ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
}
OUTPUT = {"openai-chat": "completion_tokens", "openai-responses": "output_tokens", "anthropic": "output_tokens"}


@dataclass(frozen=True)
class Limits:
    latch_tokens: int
    keep_views: int
    overhead_tokens: int | tuple[int, ...]
    """Of every request, or of each."""
    tools: frozenset[str]
    cut: dict[str, Any]
    """threshold, head, tail and marker, as `plain_cut` takes them."""


def requests(steps: Sequence[Step], dialect: str) -> list[int]:
    """How many steps each request held; last, the coming one, which holds all."""
    return [at for at in range(len(steps)) if begins_response(steps, at, dialect)] + [len(steps)]


def begins_response(steps: Sequence[Step], at: int, dialect: str) -> bool:
    """Items of the model that stand side by side are one response where a response is not one message."""
    if not isinstance(steps[at], Response):
        return False
    return dialect != "openai-responses" or at == 0 or not isinstance(steps[at - 1], Response)


def views(steps: Sequence[Step], place: Place, dialect: str) -> int:
    """How many requests held a result before the coming one: each brought a response behind it."""
    return sum(begins_response(steps, at, dialect) for at in range(place[0] + 1, len(steps)))


def places(steps: Sequence[Step]) -> Iterator[tuple[Place, Result]]:
    for at, step in enumerate(steps):
        if isinstance(step, Results):
            for index, result in enumerate(step.results):
                yield (at, index), result


def tool_of(steps: Sequence[Step], place: Place) -> str | None:
    """The tool of a result's call, in the nearest response before it that called under its id.

    Of calls of one response under one id, each has a result of its own, in order.
    """
    call_id = dict(places(steps))[place].call_id
    for at in range(place[0] - 1, -1, -1):
        step = steps[at]
        calls = [call for call in step.calls if call.call_id == call_id] if isinstance(step, Response) else []
        if calls:
            answered = sum((at, 0) < other < place and result.call_id == call_id for other, result in places(steps))
            return calls[min(answered, len(calls) - 1)].tool
    return None


def size(content: Content) -> int:
    """The code points of a result's text."""
    if isinstance(content, list):
        return sum(len(block["text"]) for block in content if plain_cut.is_text(block))
    return len(content or "")


def shortened(content: Content, cut: dict[str, Any]) -> Content:
    if isinstance(content, list):
        return plain_cut.cut_blocks(content, **cut)
    assert content is not None
    return plain_cut.cut(content, **cut)


def quarters(text: str) -> int:
    """UTF-16 units, four a token."""
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return -(-units // 4)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_tokens(text: str) -> int:
    return quarters(text) + 4


def call_tokens(call: Call, dialect: str) -> int:
    arguments = compact(call.arguments) if dialect == "anthropic" else json.dumps(call.arguments)
    return quarters(call.tool) + quarters(arguments) + 4


def content_tokens(content: Content, dialect: str) -> int:
    if content is None:
        return 0
    if isinstance(content, str):
        return text_tokens(content)
    prefix = "input_" if dialect == "openai-responses" else ""
    return sum(
        text_tokens(block["text"])
        if plain_cut.is_text(block)
        else quarters(compact({**block, "type": prefix + block["type"]})) + 4
        for block in content
    )


def step_tokens(step: Step, dialect: str) -> int:
    """Four for each message, and what its blocks come to."""
    blocks = parts(step, dialect)
    return sum(blocks) + 4 * (1 if dialect == "anthropic" or isinstance(step, User) else messages(step, dialect))


def parts(step: Step, dialect: str) -> list[int]:
    if isinstance(step, User):
        return [text_tokens(step.text)]
    if isinstance(step, Response):
        said = [text_tokens(step.text)] if step.text or has_empty_message(step, dialect) else []
        return said + [call_tokens(call, dialect) for call in step.calls]
    wrapper = 4 if dialect == "anthropic" else 0
    said = [text_tokens(step.text)] if step.text else []
    return [wrapper + content_tokens(result.content, dialect) for result in step.results] + said


def has_empty_message(step: Response, dialect: str) -> bool:
    return dialect == "openai-responses" and not step.text and not step.calls


def messages(step: Response | Results, dialect: str) -> int:
    """How many messages a step is, in the dialects of OpenAI."""
    if isinstance(step, Results):
        return len(step.results) + bool(step.text)
    if dialect == "openai-chat":
        return 1
    return len(step.calls) + (bool(step.text) or not step.calls)


def estimate(steps: Sequence[Step], dialect: str, overhead_tokens: int) -> int:
    return overhead_tokens + sum(step_tokens(step, dialect) for step in steps)


def total(steps: Sequence[Step], dialect: str, overhead_tokens: int) -> int:
    """The whole request: from the provider's usage on where it is at least the estimate, else the estimate."""
    estimated = estimate(steps, dialect, overhead_tokens)
    for at, step in reversed(list(enumerate(steps))):
        if isinstance(step, Response) and step.usage is not None:
            used = sum(step.usage.get(key, 0) for key in (*INPUT_CLASSES[dialect], OUTPUT[dialect]))
            through = estimate(steps[: at + 1], dialect, overhead_tokens)
            return used + estimated - through if used >= through else estimated
    return estimated


def opening(steps: Sequence[Step], dialect: str, limits: Limits, first: int = 0) -> int | None:
    """How many steps the request held in which the latch opened; the process saw requests from `first` on."""
    for number, held in list(enumerate(requests(steps, dialect)))[first:]:
        overhead = limits.overhead_tokens if isinstance(limits.overhead_tokens, int) else limits.overhead_tokens[number]
        if total(steps[:held], dialect, overhead) >= limits.latch_tokens:
            return held
    return None


def is_cut(steps: Sequence[Step], place: Place, dialect: str, limits: Limits, opened: int | None) -> bool:
    """Whether a result is cut in the request that holds all steps."""
    step = steps[place[0]]
    assert isinstance(step, Results)
    result = step.results[place[1]]
    return (
        opened is not None
        and place[0] >= opened
        and not (result.is_error and dialect == "anthropic")  # the others have no flag of an error
        and tool_of(steps, place) in limits.tools
        and size(result.content) > limits.cut["threshold"]
        and views(steps, place, dialect) >= limits.keep_views
    )


def cut_places(steps: Sequence[Step], dialect: str, limits: Limits, first: int = 0) -> list[Place]:
    """The results that are cut in the request that holds all steps, in order."""
    opened = opening(steps, dialect, limits, first)
    return [place for place, _ in places(steps) if is_cut(steps, place, dialect, limits, opened)]


def with_cuts(steps: Sequence[Step], cuts: Collection[Place], cut: dict[str, Any]) -> list[Step]:
    """The same steps with these results cut."""
    surface: list[Step] = []
    for at, step in enumerate(steps):
        if isinstance(step, Results):
            held = tuple(
                replace(result, content=shortened(result.content, cut)) if (at, index) in cuts else result
                for index, result in enumerate(step.results)
            )
            surface.append(replace(step, results=held))
        else:
            surface.append(step)
    return surface


def surfaces(steps: Sequence[Step], dialect: str, limits: Limits, starts: Sequence[int] = (0,)) -> list[list[Step]]:
    """What each request must hold, as steps.

    `starts` are the requests before which the process began anew and forgot what it had seen: with the latch that is
    derived from the conversation, that never matters, so there is one start.
    """
    found = []
    for number, held in enumerate(requests(steps, dialect)):
        first = max(start for start in starts if start <= number)
        before = steps[:held]
        found.append(with_cuts(before, cut_places(before, dialect, limits, first), limits.cut))
    return found
