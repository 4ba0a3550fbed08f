"""The gate: large tool results are cut once the model has read them, and only in a conversation that has grown long.

The rules are in `docs/policies.md`, "The latch" and "The gate".
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from toolprune import dialects
from toolprune.config import CutConfig, GateConfig
from toolprune.cost.meter import Meter, meter_named
from toolprune.cutting import cut_content, length_after_cut
from toolprune.dialects.dialect import Dialect, Rewrite, as_dict
from toolprune.dialects.reader import Reader
from toolprune.errors import MessageError, shown
from toolprune.policy.conversations import Conversations
from toolprune.policy.walk import Walk
from toolprune.transcript import CallKey, Message, Result, Transcript

M = TypeVar("M")

_DEFAULT = GateConfig()
_LOG = logging.getLogger("toolprune")


@dataclass(frozen=True)
class Edit:
    """A result that is to be shortened, by the key that its transcript gives it; lengths in code points of its text."""

    key: CallKey
    code_points_before: int
    code_points_after: int
    reason: str
    tool: str | None = None


class Gate:
    """Decides before each request which tool results to shorten, and shortens them in lists of messages.

    `on_edit` is called once for each result of a conversation, when it is first shortened; what it raises comes out of
    `apply`. The same is logged to the `toolprune` logger. A gate may be shared by threads and by conversations that are
    told apart by `session`.

    Raises a ToolpruneError when the meter that the config names cannot count here.
    """

    def __init__(self, config: GateConfig = _DEFAULT, *, on_edit: Callable[[Edit], object] | None = None) -> None:
        if not isinstance(config, GateConfig):
            raise TypeError(f"config is {shown(config)}, and must be a GateConfig, as GateConfig(keep_views=3)")
        if on_edit is not None and not callable(on_edit):
            raise TypeError(f"on_edit is {shown(on_edit)}, and must be a function of one Edit, as print")
        self.config = config
        self._on_edit = on_edit
        self._meter = meter_named(config.meter)
        self._warned_tools: set[str] = set()
        self._warned_of_sessions = False
        self._conversations = Conversations(partial(_Conversation, config, self._meter), config.sessions)

    def apply(
        self,
        messages: list[M],
        session: object = None,
        overhead_tokens: int = 0,
        dialect: str | None = None,
    ) -> list[M]:
        """The messages to send: call it before every request, with the whole history as the host keeps it.

        Gives back the same object where nothing is cut, else a new list in which only the messages of cut results are
        new. The messages given are never changed. `session` names the conversation: an id, or the host's session
        object, which is held by weak reference; without one, a gate is one conversation. `overhead_tokens` are those
        of what a request holds beside the messages, system prompt and tools; a gate that starts anew measures past
        requests with those that it is given. `dialect` is `openai-chat`, `openai-responses` or `anthropic`, and is
        recognised where it is not named.

        Raises TypeError when `messages` is no list, and a ValueError for a message that cannot be read, an unknown
        dialect and a negative overhead.

        Source: `docs/policies.md`, "The gate" and "Message lists".
        """
        if not isinstance(messages, list):
            raise TypeError(f"messages is {shown(messages)}, and must be a list of messages")
        if not isinstance(overhead_tokens, int) or overhead_tokens < 0:
            raise ValueError(f"overhead_tokens is {shown(overhead_tokens)}, and must be an int of 0 or more")
        conversation = self._conversations.of(session)
        with conversation.lock:
            prompt = conversation.follow(messages, overhead_tokens, dialect)
        self._warn_of_tools(prompt.only_unlisted)
        if session is None and prompt.begins_elsewhere:
            self._warn_of_sessions()
        self._report(prompt.fresh, conversation.reported)
        if self.config.shadow:
            return messages
        return _rewritten(messages, prompt.due, prompt.dialect, self.config)

    def decide(self, transcript: Transcript, overhead_tokens: int = 0) -> list[Edit]:
        """What is to be shortened in the coming request, from the transcript alone and in its order.

        Raises TypeError for what is no Transcript: `toolprune.dialects.read` makes one of a list of messages.

        Source: `docs/policies.md`, "The gate".
        """
        if not isinstance(transcript, Transcript):
            raise TypeError(
                f"transcript is {shown(transcript)}, and must be a Transcript: read a list with dialects.read"
            )
        walk = Walk(self.config, self._meter)
        walk.follow(transcript, overhead_tokens)
        return [_edit(result, transcript, self.config) for result in walk.due]

    def _warn_of_tools(self, tools: Set[str]) -> None:
        """Say once of each tool that it is why nothing is cut."""
        new = tools - self._warned_tools
        self._warned_tools |= new
        if new:
            _LOG.warning(
                "every result over %d code points is of a tool that is not on the gate's list, so nothing is cut: list "
                "it with GateConfig(tools={*DEFAULT_TOOLS, ...}) if it may be cut: %s",
                self.config.cut.threshold,
                ", ".join(sorted(new)),
            )

    def _warn_of_sessions(self) -> None:
        """Say once that what is taken for one conversation may be two."""
        if not self._warned_of_sessions:
            self._warned_of_sessions = True
            _LOG.warning(
                "the messages begin otherwise than before, in a conversation whose gate is open: if they are another "
                "conversation, name each with gate.apply(messages, session=...)"
            )

    def _report(self, edits: Sequence[Edit], reported: set[CallKey]) -> None:
        for number, edit in enumerate(edits, 1):
            _LOG.info(
                "%s result %r of %s from %d code points to %d: %s",
                "would cut" if self.config.shadow else "cut",
                edit.key,
                edit.tool,
                edit.code_points_before,
                edit.code_points_after,
                edit.reason,
            )
            try:
                if self._on_edit is not None:
                    self._on_edit(edit)
            except BaseException:  # those behind it are told with the next request
                reported.difference_update(later.key for later in edits[number:])
                raise


@dataclass(frozen=True)
class _Prompt:
    """What was decided for one request."""

    dialect: Dialect
    due: Sequence[Result]
    fresh: Sequence[Edit]
    """Of what is due, what was not before."""
    begins_elsewhere: bool
    """The gate is open, and these messages begin otherwise than those before."""
    only_unlisted: Set[str]
    """The tools of all results over the threshold, where none of these may be cut."""


class _Conversation:
    """One conversation as far as it was seen: what was read of it, decided and said about it."""

    def __init__(self, config: GateConfig, meter: Meter) -> None:
        self.lock = threading.Lock()
        self._config = config
        self._meter = meter
        self._reader: Reader | None = None
        self._walk = Walk(config, meter)
        self._named = 0  # results whose keys are what they stay
        self.reported: set[CallKey] = set()

    def follow(self, messages: Sequence[Any], overhead: int, dialect: str | None) -> _Prompt:
        """Read what is new and decide; from the start, with what was decided before, where nothing else is right."""
        before = reader = self._reader
        if reader is not None and self._continues(reader, messages, dialect):
            unnamed: Iterable[int] = range(self._named, len(reader.transcript.results))
        else:
            reader, unnamed = self._begin(messages, dialect)
        if self._walk.memory is not None:
            self._walk.memory.recognise(reader.transcript, unnamed)
        self._reader, self._named = reader, len(reader.transcript.results)
        self._walk.follow(reader.transcript, overhead)
        return _Prompt(
            reader.dialect,
            due=tuple(self._walk.due),
            fresh=self._fresh(reader.transcript),
            begins_elsewhere=before is not None
            and self._walk.is_open
            and _first_said(before.transcript) != _first_said(reader.transcript),
            only_unlisted=frozenset(self._walk.only_unlisted),
        )

    def _continues(self, reader: Reader, messages: Sequence[Any], dialect: str | None) -> bool:
        if dialect is not None:
            found: Dialect | None = dialects.named(dialect)
        elif reader.certain:
            found = reader.dialect
        else:
            found = dialects.recognised(messages[len(reader.transcript.messages) :])
        if found is not None and found is not reader.dialect:
            return False
        reader.certain = found is not None
        return reader.follow(messages)

    def _begin(self, messages: Sequence[Any], dialect: str | None) -> tuple[Reader, Iterable[int]]:
        """Read a list anew; the reader, and the results in it whose keys are still to be found."""
        before = None if self._reader is None else self._reader.transcript
        memory = None if before is None else self._walk.remembered(before)
        reader = dialects.reader(messages, dialect)
        reader.follow(messages)
        unnamed: Iterable[int] = ()
        if before is not None and memory is not None:
            unnamed = memory.carry_over(reader.transcript, before)
        self._walk = Walk(self._config, self._meter, memory)
        return reader, unnamed

    def _fresh(self, transcript: Transcript) -> list[Edit]:
        fresh = [result for result in self._walk.due if result.key not in self.reported]
        self.reported.update(result.key for result in fresh)
        return [_edit(result, transcript, self._config) for result in fresh]


def _first_said(transcript: Transcript) -> Message | None:
    """The first message that is no system prompt, which conversations may have in common."""
    return next((message for message in transcript.messages if message.role != "system"), None)


def _edit(result: Result, transcript: Transcript, config: GateConfig) -> Edit:
    texts = transcript.part_of(result).texts
    return Edit(
        key=result.key,
        code_points_before=result.code_points,
        code_points_after=length_after_cut(texts, config.cut, call_id=result.call_id or None),
        reason=f"over {config.cut.threshold} code points and seen whole in {config.keep_views} requests",
        tool=result.tool,
    )


def _rewritten(messages: list[M], due: Sequence[Result], dialect: Dialect, config: GateConfig) -> list[M]:
    if not due:
        return messages
    rewrites: defaultdict[int, dict[int | None, Rewrite]] = defaultdict(dict)
    for result in due:
        rewrites[result.position][result.place] = partial(_cut, config.cut, dialect.text_types, result.call_id or None)
    written = list(messages)
    for position, of_message in rewrites.items():
        try:
            written[position] = dialect.rewrite(written[position], of_message)
        except (AttributeError, TypeError) as error:
            kind = type(written[position]).__name__
            raise MessageError(
                f"messages[{position}], a {kind}, cannot be given another content: {error}; give results as dicts"
            ) from error
    return written


def _cut(config: CutConfig, text_types: frozenset[str], call_id: str | None, content: Any) -> Any:
    if isinstance(content, list | tuple):
        content = list(map(as_dict, content))
    shortened = cut_content(content, config, text_types=text_types, call_id=call_id)
    return content if shortened is None else shortened
