"""The gate beside LangChain's own context editing, and the cut beside Python's slices, all in this one process.

usage: python gate.py RUNS

Prints one JSON object: for each way, the seconds of each run. The runs are interleaved, and every answer is compared
with what it must be before a time is kept.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

import toolprune as tp

MESSAGES = 5_000
LINES = (
    "def answer(question: str) -> int:\n",
    "    return 42  # 漢字 and é\n",
    "ok 😀 12:00:01 request served in 13 ms\n",
)
LATCH, KEEP, OVER = 100_000, 3, 8192
MARKER = "\n\n[... tool result middle pruned ...]\n\n"
SIZES = (1_000, 600, 1_500, 300, 900, 1_200, 400, 1_000, 700, 500, 12_000, 800, 1_000, 600, 1_100, 2_000)
"""Sizes of results, one after the other: one in sixteen is over the threshold."""


def text(size: int, number: int) -> str:
    """Lines of one script or another, of this many code points."""
    line = LINES[number % len(LINES)]
    return (line * (size // len(line) + 1))[:size]


def conversation() -> tuple[list[dict[str, Any]], list[Any]]:
    """One conversation of a million tokens, for the gate and for LangChain."""
    chat: list[dict[str, Any]] = [{"role": "user", "content": "Find out why it is 42."}]
    chain: list[Any] = [HumanMessage(chat[0]["content"])]
    for number in range((MESSAGES - 1) // 2):
        call, arguments = f"call_{number}", {"path": f"src/module_{number}.py"}
        found = text(SIZES[number % len(SIZES)], number)
        function = {"name": "read", "arguments": json.dumps(arguments)}
        calls = [{"id": call, "type": "function", "function": function}]
        chat += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": call, "content": found},
        ]
        chain += [
            AIMessage("", tool_calls=[{"id": call, "name": "read", "args": arguments}]),
            ToolMessage(found, tool_call_id=call, name="read"),
        ]
    chat.append({"role": "user", "content": "And now?"})
    chain.append(HumanMessage("And now?"))
    return chat, chain


def prefix_tokens(chat: Sequence[dict[str, Any]]) -> list[int]:
    """The host's estimate of what stands before each message, and of everything."""
    sums = [0]
    for message in chat:
        texts = [message["content"]] if message["content"] else []
        tokens = 4 + sum(4 + -(-len(text.encode("utf-16-le")) // 8) for text in texts)
        for function in (call["function"] for call in message.get("tool_calls", ())):
            tokens += 4 + sum(-(-len(part) // 4) for part in (function["name"], function["arguments"]))
        sums.append(sums[-1] + tokens)
    return sums


def gated(chat: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the gate must answer, the long way: views by counting, the cut as a slice."""
    responses = [position for position, message in enumerate(chat) if message["role"] == "assistant"]
    sums = prefix_tokens(chat)
    opening = next(position for position in responses if sums[position] >= LATCH)
    answer = []
    for position, message in enumerate(chat):
        views = sum(later > position for later in responses)
        due = message["role"] == "tool" and position >= opening and views >= KEEP and len(message["content"]) > OVER
        answer.append({**message, "content": cut(message["content"])} if due else message)
    return answer


def cut(whole: str) -> str:
    """The cut as a slice."""
    return f"{whole[:4096]}{MARKER}{whole[-1024:]}"


def interleave(ways: dict[str, Callable[[], Callable[[], Any]]], runs: int) -> tuple[dict[str, list[float]], Any]:
    """Prepare and time each way, then each again; the seconds of every run, and what each way gave last."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    given = {}
    for turn in range(runs + 1):
        for name, prepare in ways.items():
            work = prepare()
            gc.collect()
            began = time.perf_counter()
            given[name] = work()
            if turn:
                seconds[name].append(time.perf_counter() - began)
    return seconds, given


def gate_beside_langchain(runs: int) -> dict[str, Any]:
    """The whole conversation at once, and the request after the last."""
    chat, chain = conversation()
    middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=LATCH, keep=KEEP)])
    # LangChain's types ask for a model and its response; neither is looked at by what is timed.
    request = ModelRequest(model=None, messages=chain, state={"messages": chain})  # type: ignore[arg-type]

    def langchain() -> list[Any]:
        sent: list[Any] = []
        middleware.wrap_model_call(request, lambda edited: sent.append(edited.messages))  # type: ignore[arg-type, return-value]
        return sent[0]  # type: ignore[no-any-return]

    def next_request() -> Callable[[], Any]:
        gate = tp.Gate()
        gate.apply(chat[:-2])
        return lambda: gate.apply(chat)

    ways = {
        "LangChain's ContextEditingMiddleware": lambda: langchain,
        "toolprune, from scratch": lambda: lambda: tp.Gate().apply(chat),
        "toolprune, the next request": next_request,
    }
    seconds, given = interleave(ways, runs)
    expected = gated(chat)
    if not given["toolprune, from scratch"] == given["toolprune, the next request"] == expected:
        raise AssertionError("the gate gives other messages than the rule: no times are reported")
    cleared = sum(message.content == "[cleared]" for message in given["LangChain's ContextEditingMiddleware"])
    tools = sum(message["role"] == "tool" for message in chat)
    if cleared != tools - KEEP:
        raise AssertionError(f"LangChain cleared {cleared} results, and should all but {KEEP} of {tools}")
    cuts = sum(one is not other for one, other in zip(expected, chat, strict=True))
    return {
        "seconds": seconds,
        "messages": len(chat),
        "tokens": prefix_tokens(chat)[-1],
        "cuts": cuts,
        "cleared": cleared,
    }


def by_sum(texts: list[str]) -> list[str | None]:
    """Slices and `+`."""
    return [text[:4096] + MARKER + text[-1024:] if len(text) > OVER else None for text in texts]


def by_f_string(texts: list[str]) -> list[str | None]:
    """Slices in an f-string."""
    return [f"{text[:4096]}{MARKER}{text[-1024:]}" if len(text) > OVER else None for text in texts]


def by_join(texts: list[str]) -> list[str | None]:
    """Slices that are joined."""
    return ["".join((text[:4096], MARKER, text[-1024:])) if len(text) > OVER else None for text in texts]


def by_toolprune(texts: list[str]) -> list[str | None]:
    """The product's cut."""
    return [tp.cut(text) for text in texts]


CUTS = {
    "slices, +": by_sum,
    "slices, f-string": by_f_string,
    "slices, join": by_join,
    "toolprune.cut": by_toolprune,
}


def cut_beside_slices(runs: int) -> dict[str, Any]:
    """10,000 strings of 1 KB to 200 KB, in mixed scripts, and 10,000 of 8 to 20 KB that are in the caches."""
    sets = {
        "1 KB to 200 KB": [text(int(1_000 * 200 ** (number % 997 / 996)), number) for number in range(10_000)],
        "8 KB to 20 KB, over and over": [text(8_000 + 30 * (number % 400), number) for number in range(400)] * 25,
    }
    results = {}
    for name, texts in sets.items():
        ways: dict[str, Callable[[], Callable[[], Any]]] = {
            name: partial(partial, way, texts) for name, way in CUTS.items()
        }
        seconds, given = interleave(ways, runs)
        if any(answer != given["toolprune.cut"] for answer in given.values()):
            raise AssertionError("the cuts differ: no times are reported")
        results[name] = seconds
    return results


if __name__ == "__main__":
    count = int(sys.argv[1])
    print(json.dumps({"gate": gate_beside_langchain(count), "cut": cut_beside_slices(count)}))
