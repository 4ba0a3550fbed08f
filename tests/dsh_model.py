"""A model's server on loopback that answers from a script, and keeps what it was asked.

It speaks what the DeepSeek Harness posts to `/v1/messages`: one JSON body, answered by a stream of server-sent events.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

TITLE = "A title"
"""What a request without tools is answered: the host asks for a session's title."""


@dataclass(frozen=True)
class Answer:
    """What the model answers to one request: a text, calls of tools with their arguments, and the request's tokens."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    tokens: int = 1


class Model:
    """Answers the requests that hold tools one after the other from `script`, which more may be added to.

    `requests` holds the messages of each. Ids are counted, so the same script gives the same bytes. A request that
    the script has no answer for is answered with status 500.
    """

    def __init__(self, *script: Answer) -> None:
        self.script: list[Answer] = list(script)
        self.requests: list[list[Message]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address that the host is given."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> "Model":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> bytes | None:
        """The stream that answers a request, or None where the script is at its end."""
        if not body.get("tools"):
            return _stream(Answer(text=TITLE), "title")
        with self._lock:
            number = len(self.requests)
            self.requests.append(body["messages"])
            if number >= len(self.script):
                return None
            return _stream(self.script[number], str(number + 1))


def _stream(answer: Answer, name: str) -> bytes:
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(answer, name))
    return "".join(lines).encode("ascii")


def _events(answer: Answer, name: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": answer.tokens, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    yield {"type": "message_start", "message": {**message, "usage": {**usage, "output_tokens": 1}}}
    for index, (block, delta) in enumerate(_blocks(answer, name)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if answer.calls else "end_turn"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {**usage, "output_tokens": 1},
    }
    yield {"type": "message_stop"}


def _blocks(answer: Answer, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if answer.text:
        yield {"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}
    for number, (tool, arguments) in enumerate(answer.calls, 1):
        block = {"type": "tool_use", "id": f"toolu_{name}_{number}", "name": tool, "input": {}}
        yield block, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stream = model.answer(body)
            self.send_response(500 if stream is None else 200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(stream or b"")))
            self.end_headers()
            self.wfile.write(stream or b"")

        def log_message(self, *_: object) -> None:
            """Nothing to a test's stderr."""

    return Handler


def results(messages: Sequence[Message]) -> dict[str, Message]:
    """The tool results that a request holds, by the id of their call."""
    blocks = (block for message in messages if isinstance(message["content"], list) for block in message["content"])
    return {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
