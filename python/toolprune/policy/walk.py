"""The gate's decision, taken one message at a time.

The decision about a request depends only on the messages before it, and the walk meets these in order. So one that goes
on from where it stopped decides as one that starts anew.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable

from toolprune.config import GateConfig
from toolprune.cost.meter import Measure, Meter
from toolprune.defaults import KEPT_TOOLS, RESTORING_TOOLS
from toolprune.policy.memory import Memory, State
from toolprune.transcript import Result, Transcript


class Walk:
    """How far a transcript was walked, and what is due in the request that comes after it.

    With a `memory`, the gate is open from the start, and results that are remembered keep the state that they had. With
    an `opening`, it opened before the message at this position.
    """

    def __init__(
        self, config: GateConfig, meter: Meter, memory: Memory | None = None, opening: int | None = None
    ) -> None:
        self.due: list[Result] = []
        self._config = config
        self._listed = _listed(config)
        self._measure = Measure(meter)
        self._overhead: int | None = None
        self.memory = memory
        self._opening = opening if memory is None else 0
        self._reached = self._opening is not None
        self._messages = self._results = 0
        self._waiting: deque[Result] = deque()
        self._unlisted: set[str] = set()
        self._sees_listed = False

    @property
    def is_open(self) -> bool:
        """Whether the latch has opened, be it in the coming request."""
        return self._reached

    @property
    def only_unlisted(self) -> set[str]:
        """The tools of results over the threshold, where the gate is open and could cut none of them."""
        return self._unlisted if self._reached and not self._sees_listed else set()

    def follow(self, transcript: Transcript, overhead: int = 0, measured: int | None = None) -> None:
        """Walk what is new of a transcript, and decide about the request that comes after it.

        `overhead` are the tokens of what is no message, `measured` those of the whole request where the host says them.
        """
        if self._opening is None and measured is None:
            self._look_for_opening(transcript, overhead)
        self._messages = len(transcript.messages)
        while self._results < len(transcript.results):
            self._consider(transcript.results[self._results])
            self._results += 1
        if self._opening is None:
            self._reach(self._measure.total(overhead) if measured is None else measured)
        while self._waiting and len(transcript.responses) - self._waiting[0].responses >= self._config.keep_views:
            self.due.append(self._waiting.popleft())

    def remembered(self, transcript: Transcript) -> Memory | None:
        """What must hold for this conversation whatever becomes of its messages; None while the gate is shut."""
        if not self._reached:
            return None
        frozen_before = self._messages if self._opening is None else self._opening
        memory = self.memory or Memory(self._config.cut.threshold, self._config.keep_views)
        cut = {result.key for result in self.due}
        for result in transcript.results:
            if result.code_points > self._config.cut.threshold:
                frozen = result.position < frozen_before or memory.state(result) is State.FROZEN
                state = State.CUT if result.key in cut else State.FROZEN if frozen else State.WAITING
                memory.keep(result, transcript, state)
        return memory

    def _look_for_opening(self, transcript: Transcript, overhead: int) -> None:
        """Measure what is new, and each request in it, which ends before the response that it brought."""
        asked, overhead_then = self._messages, overhead if self._overhead is None else self._overhead
        self._overhead = overhead
        responses = set(transcript.responses[bisect_left(transcript.responses, asked) :])
        for position, message in enumerate(transcript.messages[asked:], asked):
            # What a process measured itself is not found again in the messages.
            derived = position in responses and self._config.latch == "derived"
            # The first of these requests may be the one about which the walk was asked last.
            if derived and self._is_reached(self._measure.total(overhead_then if position == asked else overhead)):
                self._opening = position
                return
            self._measure.add(message)
            self._messages = position + 1

    def _is_reached(self, total: int) -> bool:
        self._reached = self._reached or total >= self._config.latch_tokens
        return self._reached

    def _reach(self, total: int) -> None:
        """Look at the coming request: what is in it when the latch opens stays as it is."""
        reached = self._is_reached(total)
        # Where the opening is found again in the messages, it is so only once a response shows that the request went
        # out: until then, one that starts anew would not find it.
        if reached and self._config.latch == "process":
            self._opening = self._messages

    def _consider(self, result: Result) -> None:
        if result.code_points <= self._config.cut.threshold:
            return
        state = None if self.memory is None else self.memory.state(result)
        if state is State.CUT:  # whatever else is gone of it, as its call
            self._sees_listed = True
            self.due.append(result)
        if state is State.CUT or result.is_error or result.replaced:
            return
        if not self._listed(result.tool):
            if result.tool is not None and result.tool not in KEPT_TOOLS | RESTORING_TOOLS:
                self._unlisted.add(result.tool)
            return
        self._sees_listed = True
        if self._opening is not None and result.position >= self._opening and state is not State.FROZEN:
            self._waiting.append(result)


def _listed(config: GateConfig) -> Callable[[str | None], bool]:
    """Whether the results of a tool may be cut. Without its call, a result may be an original that was given back."""
    tools = config.tools

    def listed(tool: str | None) -> bool:
        if tool is None or tool in RESTORING_TOOLS:
            return False
        return tools == "*" or (bool(tools(tool)) if callable(tools) else tool in tools)

    return listed
