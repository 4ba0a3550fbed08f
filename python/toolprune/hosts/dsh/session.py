"""One session of the host: its events folded into a transcript, and what is due on its surface.

A request is known by the `assistant/message` that it brought: those behind a result are the requests that held it. A
step that was cancelled or failed has a `step/start` and no message, and was no view.
"""

from bisect import bisect_left
from collections.abc import Sequence, Set
from typing import Any

from toolprune.config import GateConfig
from toolprune.cost.meter import HostMeter
from toolprune.cutting import cut_blocks
from toolprune.hosts.dsh.protocol import Edit, Event
from toolprune.policy.walk import Walk
from toolprune.transcript import Message, Part, Transcript


class Session:
    """What is known of one session; `opening` is the first seq after its latch opened, where that is known."""

    def __init__(self, config: GateConfig, opening: int | None) -> None:
        self._config = config
        self._transcript = Transcript()
        self._seqs: list[int] = []
        self._blocks: dict[int, list[dict[str, Any]]] = {}
        self._walk: Walk | None = None
        self._opening = opening

    @property
    def opening(self) -> int | None:
        """The first seq after the latch opened; None while it is shut."""
        return self._opening

    @property
    def only_unlisted(self) -> Set[str]:
        """The tools of all large results, where none of these may be cut."""
        return self._walk.only_unlisted if self._walk is not None else set()

    def step(self, events: Sequence[Event], surface: Sequence[int], total: int) -> list[Edit]:
        """What is to be replaced before the coming step; `total` are the tokens of its prompt, as the host measures."""
        for event in events:
            self._append(event)
        if self._walk is None:
            position = None if self._opening is None else bisect_left(self._seqs, self._opening)
            self._walk = Walk(self._config, HostMeter(), opening=position)
        self._walk.follow(self._transcript, measured=total)
        if self._opening is None and self._walk.is_open:
            self._opening = self._seqs[-1] + 1 if self._seqs else 0
        there = set(surface)
        due = (self._seqs[result.position] for result in self._walk.due)
        return [] if self._config.shadow else [self._edit(seq) for seq in due if seq in there]

    def _edit(self, seq: int) -> Edit:
        blocks = self._blocks[seq]
        return Edit(seq=seq, content=cut_blocks(blocks, self._config.cut) or blocks)

    def _append(self, event: Event) -> None:
        self._seqs.append(event.seq)
        if event.type == "assistant/message":
            self._transcript.append(Message("assistant", ()), begins_response=not event.replaces)
        elif event.type == "tool/call":
            name = str(event.data.get("name", ""))
            call = Part("call", (name, ""), call_id=str(event.data.get("callId", "")), tool=name)
            self._transcript.append(Message("assistant", (call,)), begins_response=False)
        else:
            self._transcript.append(Message("tool", (self._result(event),)), begins_response=False)

    def _result(self, event: Event) -> Part:
        message = event.data.get("message") or {}
        content = message.get("content") or []
        # The older generation wraps the blocks of a result; the newer has them in the message.
        holder = content[0] if content and content[0].get("type") == "tool-result" else message
        blocks = [block for block in holder.get("content") or [] if isinstance(block, dict)]
        self._blocks[event.seq] = blocks
        texts = (block.get("text") for block in blocks if block.get("type") == "text")
        return Part(
            "result",
            tuple(text for text in texts if isinstance(text, str)),
            call_id=str(holder.get("toolCallId", "")),
            is_error=bool(holder.get("isError")),
            replaced=event.replaces,
        )
