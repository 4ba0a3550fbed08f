"""The Python side of the plugin: reads one JSON object a line on stdin and answers each with one on stdout.

One process serves a host and all of its sessions. It ends when its stdin does.
"""

import json
import sys
from collections import OrderedDict
from typing import Any, BinaryIO

from pydantic import ValidationError

from toolprune import __version__
from toolprune.config import GateConfig, rule
from toolprune.hosts.dsh.protocol import EVENTS, PROTOCOL, REQUEST, Decision, Failure, Hello, Step, Welcome
from toolprune.hosts.dsh.row import gate_config
from toolprune.hosts.dsh.session import Session


class Sidecar:
    """Every session of one host, under one config."""

    def __init__(self) -> None:
        self._config: GateConfig | None = None
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._warned: set[str] = set()

    def answer(self, line: bytes) -> Welcome | Decision | Failure:
        """The answer to one line; a Failure for whatever cannot be read or done."""
        number = 0
        try:
            said = json.loads(line)
            if isinstance(said, dict) and isinstance(said.get("id"), int):
                number = max(said["id"], 0)
            request = REQUEST.validate_python(said)
            return self._welcome(request) if isinstance(request, Hello) else self._decide(request)
        except ValidationError as error:
            return Failure(id=number, error=f"the plugin sent what is no message: {rule(error)}")
        except Exception as error:  # whatever it is, the other sessions go on
            return Failure(id=number, error=str(error) or type(error).__name__)

    def _welcome(self, hello: Hello) -> Welcome:
        if hello.protocol != PROTOCOL:
            raise ValueError(
                f"the plugin speaks protocol {hello.protocol} and toolprune {__version__} protocol {PROTOCOL}: run "
                "toolprune dsh install again"
            )
        self._config = gate_config(hello.config)
        return Welcome(id=hello.id, version=__version__, events=list(EVENTS))

    def _decide(self, step: Step) -> Decision:
        if self._config is None:
            raise ValueError("the plugin asked before it said hello")
        if step.first:
            self._sessions[step.session] = Session(self._config, step.opening)
        session = self._sessions.get(step.session)
        if session is None:
            raise ValueError(f"the session {step.session} was never begun: send its events from the first")
        self._sessions.move_to_end(step.session)
        if len(self._sessions) > self._config.sessions:
            self._sessions.popitem(last=False)  # where it goes on, it is told everything again
        edits = session.step(step.events, step.surface, step.total)
        return Decision(id=step.id, opening=session.opening, edits=edits, warnings=self._warnings(session))

    def _warnings(self, session: Session) -> list[str]:
        new = sorted(session.only_unlisted - self._warned)
        self._warned.update(new)
        if not new:
            return []
        return [
            f"every large result is of a tool that is not on the gate's list, so nothing is cut: {', '.join(new)}; "
            "give the tools that may be cut as tools in the config of toolprune's row"
        ]


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line until there are no more."""
    sidecar = Sidecar()
    for line in requests:
        answer: dict[str, Any] = sidecar.answer(line).model_dump()
        # ASCII, so that lone surrogates, which UTF-8 has no form for, come through.
        answers.write(json.dumps(answer).encode("ascii") + b"\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
