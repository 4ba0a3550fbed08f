"""The gate in agents on the SDKs of OpenAI and Anthropic: their objects in the list, and what arrives at a server."""

import copy
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import openai
import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from gating import CUT, LARGE
from toolprune import Edit, Gate, GateConfig
from toolprune.cost.usage import usage_of
from toolprune.dialects import read, recognised
from toolprune.transcript import Usage

PATCH = "p" * 4096 + "m" * 5000 + "q" * 1024
CUT_PATCH = "p" * 4096 + CUT[4096:-1024] + "q" * 1024
RESULTS = {"r": LARGE, "p": PATCH, "s": "small", "t": "small too"}
"""What each call returns: of the large ones, `r` is of a function and `p`, where the SDK has them, of a custom tool."""

QUESTION = "Find it. " + "x" * 400
"""4 + 103 + 4 tokens: enough to open a gate whose line is at 100."""

Apply = Callable[[list[Any]], list[Any]]


class Server(ThreadingHTTPServer):
    """Answers each request with the next of its replies, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, replies: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = iter(replies)
        self.received: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        reply = json.dumps(next(self.server.replies)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def serve() -> Iterator[Callable[[list[dict[str, Any]]], Server]]:
    """Starts servers on the loopback interface, and ends them with the test."""
    started: list[tuple[Server, threading.Thread]] = []

    def start(replies: list[dict[str, Any]]) -> Server:
        server = Server(replies)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        started.append((server, thread))
        return server

    yield start
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


# What the providers answer, as their servers write it

CHAT = [
    {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }
    for number, message in enumerate(
        [
            {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {"id": "r", "type": "function", "function": {"name": "read", "arguments": '{"path": "é"}'}},
                    {"id": "p", "type": "custom", "custom": {"name": "shell", "input": "git diff"}},
                ],
            },
            {
                "role": "assistant",
                "content": "Now this.",
                "reasoning_content": "Hm.",
                "tool_calls": [{"id": "s", "type": "function", "function": {"name": "grep", "arguments": "{}"}}],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t", "type": "function", "function": {"name": "write", "arguments": "{}"}}],
            },
            {"role": "assistant", "content": "Found it."},
            {"role": "assistant", "content": "You are welcome."},
        ]
    )
]


def output_text(number: int, text: str) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def function_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


RESPONSES = [
    {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": 12,
        },
    }
    for number, output in enumerate(
        [
            [
                {
                    "id": "rs_1",
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": "Hm."}],
                    "encrypted_content": "zzz",
                },
                function_call("r", "read", '{"path": "é"}'),
                {"id": "ctc_p", "type": "custom_tool_call", "call_id": "p", "name": "shell", "input": "git diff"},
            ],
            [output_text(1, "Now this."), function_call("s", "grep", "{}")],
            [function_call("t", "write", "{}")],
            [{"id": "rs_2", "type": "reasoning", "summary": []}, output_text(2, "Found it.")],
            [output_text(3, "You are welcome.")],
        ]
    )
]


def tool_use(call_id: str, name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": "é", "lines": [1, 2]}}


ANTHROPIC = [
    {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 3,
            "output_tokens": 2,
        },
    }
    for number, content in enumerate(
        [
            [
                {"type": "thinking", "thinking": "Hm.", "signature": "zzz"},
                tool_use("r", "Read"),
                tool_use("p", "Bash"),
            ],
            [{"type": "text", "text": "Now this."}, tool_use("s", "Grep")],
            [{"type": "redacted_thinking", "data": "zz"}, tool_use("t", "Write")],
            [{"type": "text", "text": "Found it."}],
            [{"type": "text", "text": "You are welcome."}],
        ]
    )
]


# Agents, each as its SDK's own guide writes one


def chat_agent(address: str, apply: Apply) -> list[Any]:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as client:
        for _ in CHAT:
            completion = client.chat.completions.create(model="m", messages=apply(messages))
            message = completion.choices[0].message
            messages.append(message)
            for call in message.tool_calls or []:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": RESULTS[call.id]})
            if not message.tool_calls:
                messages.append({"role": "user", "content": "Thank you."})
    return messages


def responses_agent(address: str, apply: Apply) -> list[Any]:
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as client:
        for _ in RESPONSES:
            response = client.responses.create(model="m", input=apply(items), store=False)
            items += response.output
            called = False
            for item in response.output:
                if item.type in ("function_call", "custom_tool_call"):
                    called = True
                    items.append(
                        {"type": f"{item.type}_output", "call_id": item.call_id, "output": RESULTS[item.call_id]}
                    )
            if not called:
                items.append({"role": "user", "content": "Thank you."})
    return items


def anthropic_agent(address: str, apply: Apply) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with anthropic.Anthropic(base_url=address, api_key="none", max_retries=0) as client:
        for _ in ANTHROPIC:
            message = client.messages.create(model="m", max_tokens=100, messages=apply(messages))
            messages.append({"role": "assistant", "content": message.content})
            results: list[Any] = [
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": [{"type": "text", "text": RESULTS[block.id]}],
                    "cache_control": {"type": "ephemeral"},
                }
                for block in message.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results or "Thank you."})
    return messages


Agent = Callable[[str, Apply], list[Any]]

AGENTS: dict[str, tuple[list[dict[str, Any]], Agent, str]] = {
    "openai-chat": (CHAT, chat_agent, "messages"),
    "openai-responses": (RESPONSES, responses_agent, "input"),
    "anthropic": (ANTHROPIC, anthropic_agent, "messages"),
}
every_sdk = pytest.mark.parametrize("dialect", AGENTS)


def put(body: dict[str, Any], before: str, after: str) -> dict[str, Any]:
    """A request with one text in place of another, which it holds once."""
    written = json.dumps(body)
    assert written.count(json.dumps(before)) == 1
    return dict(json.loads(written.replace(json.dumps(before), json.dumps(after))))


@every_sdk
def test_a_server_gets_each_large_result_whole_three_times_and_then_cut_and_all_else_as_without_a_gate(
    dialect: str, serve: Callable[[list[dict[str, Any]]], Server]
) -> None:
    replies, agent, _ = AGENTS[dialect]
    told: list[Edit] = []
    gate = Gate(GateConfig(latch_tokens=100), on_edit=told.append)
    plain, gated = serve(replies), serve(replies)
    agent(plain.address, lambda messages: messages)
    agent(gated.address, gate.apply)
    assert len(plain.received) == 5
    # Requests 2 to 4 hold both results whole, and the fifth holds them cut.
    assert gated.received[:4] == plain.received[:4]
    assert gated.received[4] == put(put(plain.received[4], LARGE, CUT), PATCH, CUT_PATCH)
    assert [(edit.key, edit.code_points_before, edit.code_points_after) for edit in told] == [
        (("r", 0), 8193, 5159),
        (("p", 0), 10120, 5159),
    ]


@every_sdk
def test_the_sdks_objects_are_in_the_list_that_is_sent_and_stay_as_they_were(
    dialect: str, serve: Callable[[list[dict[str, Any]]], Server]
) -> None:
    replies, agent, _ = AGENTS[dialect]
    gate = Gate(GateConfig(latch_tokens=100))
    messages = agent(serve(replies).address, gate.apply)
    before = copy.deepcopy(messages)
    sent = gate.apply(messages)
    assert messages == before
    changed = [position for position, message in enumerate(messages) if sent[position] is not message]
    # In Anthropic's messages both results are blocks of one.
    assert len(sent) == len(messages)
    assert len(changed) == (1 if dialect == "anthropic" else 2)


@every_sdk
def test_the_sdks_objects_are_read_as_what_they_are_on_the_wire(
    dialect: str, serve: Callable[[list[dict[str, Any]]], Server]
) -> None:
    replies, agent, field = AGENTS[dialect]
    server = serve(replies)
    messages = agent(server.address, lambda messages: messages)
    wire = server.received[-1][field]
    held = messages[: len(wire)]
    found = recognised(held)
    assert found is not None
    assert found.name == dialect
    assert read(held).results == read(wire).results
    assert read(held).responses == read(wire).responses
    assert read(held).messages == read(wire).messages


@every_sdk
def test_an_agent_that_resumes_from_json_is_sent_what_one_that_never_stopped_is_sent(
    dialect: str, serve: Callable[[list[dict[str, Any]]], Server]
) -> None:
    replies, agent, field = AGENTS[dialect]
    plain, gated = serve(replies), serve(replies)
    agent(plain.address, lambda messages: messages)
    agent(gated.address, Gate(GateConfig(latch_tokens=100)).apply)
    resumed = [Gate(GateConfig(latch_tokens=100)).apply(body[field]) for body in plain.received]
    assert resumed == [body[field] for body in gated.received]


def test_the_sdks_usage_is_read_by_each_providers_rule() -> None:
    chat = ChatCompletion.model_validate(CHAT[0]).usage
    assert usage_of(chat) == Usage(input_missed=10, output=2)
    response = Response.model_validate(RESPONSES[0]).usage
    assert usage_of(response) == Usage(input_missed=6, input_cached=4, output=2)
    message = AnthropicMessage.model_validate(ANTHROPIC[0]).usage
    assert usage_of(message) == Usage(input_missed=3, input_cached=4, input_written=3, output=2)


def test_the_usage_of_anthropics_own_message_object_counts_where_it_stands_in_the_list() -> None:
    reply = {**ANTHROPIC[0], "usage": {"input_tokens": 90, "output_tokens": 10}}
    first = AnthropicMessage.model_validate(reply)
    transcript = read([{"role": "user", "content": "Find it."}, first])
    assert transcript.messages[1].usage == Usage(input_missed=90, output=10)
    assert [part.kind for part in transcript.messages[1].parts] == ["reasoning", "call", "call"]
