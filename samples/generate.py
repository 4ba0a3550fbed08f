"""Write the sample sessions: a made-up coding agent at work on Tidewater, a made-up service that predicts tides.

usage: python samples/generate.py [DIRECTORY]     (default: this folder; the same bytes every time)

Every long text is made of rows of one width, so that what a scan must find in a sample can be worked out on paper.
"""

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeAlias

import zstandard

Json: TypeAlias = dict[str, Any]

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
START = datetime(2026, 3, 14, 9, 0, tzinfo=timezone.utc)
FOLDER = "/home/noor/tidewater"

CODE = (
    "    height = datum + sum(c.amplitude * cos(c.speed * hours + c.phase) for c in constituents)  # metres",
    "def next_high_water(station: Station, after: datetime) -> Extreme:",
    "        raise StationUnknown(f'no harmonic constants for {station.code!r}; import them first')",
    "    return Extreme(time=bracket.midpoint, height=round(height, 3), kind=Kind.HIGH)",
)
SHELL = (
    "\x1b[32mok\x1b[0m  tides/test_harmonics.py::test_spring_range_of_station  0.03 s ✅ within tolerance",
    "gauge 0417 read 2.318 m, predicted 2.304 m, residual 0.014 m, wind 7 kn from the south-west 🌊",
    'GET /v1/stations/saltmarsh/extremes?days=7 200 1.9 ms cache=hit etag="5f1c" bytes=18204',
)
GREP = (
    "tides/harmonics.py:118:    constituents = load_constituents(station.code)  # M2, S2, N2, K1, O1",
    "tides/api/extremes.py:42:from tides.harmonics import load_constituents, next_high_water",
)
CHINESE = (
    "潮位预报由三十七个分潮叠加而成，其中半日分潮决定了大部分水位变化，风和气压造成的偏差另行记录，以厘米为单位保存在观测表中，每日凌晨核对一次。",  # noqa: RUF001
    "港口管理员在大潮前两天收到提醒；若预报水位高于警戒线二十厘米，则同时通知值班员，并在页面顶部显示橙色横幅，直到水位回落到警戒线以下为止。",  # noqa: RUF001
)


def rows(count: int, width: int, pool: tuple[str, ...]) -> str:
    """`count` numbered rows of exactly `width` code points, the line feed included."""
    text = []
    for number in range(1, count + 1):
        words = pool[number % len(pool)]
        row = f"{number:>5}→{words} {words} {words}"
        text.append(row[: width - 1] + "\n")
    return "".join(text)


def cut(text: str) -> str:
    """A text as the host leaves it after a prune: 4096 code points, the marker, 1024 code points."""
    return text[:4096] + MARKER + text[-1024:]


def name_of(*parts: object) -> str:
    """A UUID that is the same on every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts))))


def written(events: list[Json]) -> bytes:
    """One event a line, as both hosts write them: no spaces, text as UTF-8."""
    return b"".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for event in events)


class ClaudeCode:
    """A Claude Code session: every content block of a message is a line of its own, each with the message's usage."""

    def __init__(self, session: str, *, agent: str | None = None) -> None:
        self.session = session
        self.agent = agent
        self.events: list[Json] = []
        self.last: str | None = None
        self.requests = 0
        self.context = 14_000

    def event(self, kind: str, **members: Any) -> None:
        """Append an event to the chain."""
        number = len(self.events)
        name = name_of(self.session, self.agent, number)
        event = {"parentUuid": self.last, "isSidechain": self.agent is not None, "userType": "external"}
        event |= {"cwd": FOLDER, "sessionId": self.session, "version": "2.1.4", "gitBranch": "main"}
        if self.agent is not None:
            event["agentId"] = self.agent
        time = (START + timedelta(seconds=7 * number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.events.append({**event, "type": kind, "uuid": name, "timestamp": time, **members})
        self.last = name

    def user(self, text: str, **members: Any) -> None:
        """Append what the user wrote."""
        self.event("user", message={"role": "user", "content": text}, **members)

    def answer(self, *blocks: Json) -> None:
        """Append one model response."""
        self.requests += 1
        read, self.context = self.context, self.context + 900
        usage: Json = {"input_tokens": 6, "cache_creation_input_tokens": 900, "cache_read_input_tokens": read}
        usage |= {"output_tokens": 120, "service_tier": "standard"}
        message_id = "msg_01" + name_of(self.session, self.agent, "message", self.requests).replace("-", "")[:22]
        for block in blocks:
            message: Json = {"model": "claude-sonnet-4-5", "id": message_id, "type": "message", "role": "assistant"}
            message |= {"content": [block], "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
            self.event("assistant", message=message, requestId=f"req_{self.requests:04}")

    def use(self, name: str, arguments: Json, content: Any, copy: Any, *, is_error: bool | None = None) -> None:
        """Append a call of a tool and its result, with the copy that only the user interface reads."""
        call_id = self.call_id(len(self.events))
        self.answer({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
        self.result(call_id, content, copy, is_error=is_error)

    def result(self, call_id: str, content: Any, copy: Any, *, is_error: bool | None = None) -> None:
        """Append a result alone."""
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if is_error is not None:
            block["is_error"] = is_error
        self.event("user", message={"role": "user", "content": [block]}, toolUseResult=copy)

    def call_id(self, number: int) -> str:
        """The id of a call."""
        return "toolu_01" + name_of(self.session, self.agent, "call", number).replace("-", "")[:22]


def text_block(text: str) -> Json:
    """A text block of any host."""
    return {"type": "text", "text": text}


def shell_copy(output: str) -> Json:
    """What the user interface keeps of a command's output."""
    return {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}


def file_copy(path: str, content: str) -> Json:
    """What the user interface keeps of a file that was read."""
    count = content.count("\n")
    file = {"filePath": path, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
    return {"type": "text", "file": file}


def claude_code_main(session: str) -> bytes:
    """A morning's work: high waters come out an hour late; the agent finds the time zone that is missing."""
    log = ClaudeCode(session)
    log.events.append({"type": "summary", "summary": "High water an hour late", "leafUuid": name_of(session, None, 30)})
    log.user("High water at Saltmarsh is an hour late since the clocks changed. Find out why and mend it.")
    log.answer({"type": "thinking", "thinking": "Probably a naive datetime.", "signature": "c2FtcGxl"})
    read_tides_code(log)
    run_tides_tests(log)
    log.event(
        "system",
        subtype="compact_boundary",
        content="Conversation compacted",
        level="info",
        compactMetadata={"trigger": "auto", "preTokens": 156_000},
    )
    log.user("Summary so far: the predictor treats local time as UTC; tests are written.", isCompactSummary=True)
    resume_after_compaction(log)
    log.answer(text_block("Mended: the predictor now keeps UTC inside and converts at the edge. 潮汐表已更正。"))
    return written(log.events)


def read_tides_code(log: ClaudeCode) -> None:
    """Look around: small lists, two large files, a picture, a subagent."""
    paths = "".join(f"{FOLDER}/tides/{name}.py\n" for name in ("api", "harmonics", "stations"))
    log.use("Glob", {"pattern": "tides/*.py"}, paths, {"filenames": paths.split(), "numFiles": 3, "truncated": False})
    code = rows(240, 50, CODE)
    log.use("Read", {"file_path": f"{FOLDER}/tides/harmonics.py"}, code, file_copy("tides/harmonics.py", code))
    hits = rows(36, 60, GREP)
    log.use("Grep", {"pattern": "constituents"}, hits, {"mode": "content", "numLines": 36, "content": hits})
    chinese = rows(120, 72, CHINESE)
    log.use("Read", {"file_path": f"{FOLDER}/docs/潮汐.md"}, chinese, file_copy("docs/潮汐.md", chinese))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    log.use("Read", {"file_path": f"{FOLDER}/docs/spring.png"}, [picture], {"type": "image", "file": {"base64": ""}})
    found = rows(10, 60, GREP)
    log.use("Task", {"description": "Find naive datetimes"}, [text_block(found)], {"status": "completed"})


def run_tides_tests(log: ClaudeCode) -> None:
    """Run things: a failure, a long output, one that the host had cut before, a page in two blocks."""
    failed = "Exit code 1\n" + rows(20, 44, SHELL)
    log.use("Bash", {"command": "pytest -q"}, failed, f"Error: {failed}", is_error=True)
    output = rows(200, 64, SHELL)
    log.use("Bash", {"command": "pytest -vv"}, output, shell_copy(output), is_error=False)
    shortened = cut(rows(400, 64, SHELL))
    log.use("Bash", {"command": "make replay"}, shortened, shell_copy(shortened), is_error=False)
    page = [text_block(rows(10, 50, CODE)), text_block(rows(10, 70, GREP))]
    log.use("WebFetch", {"url": "https://tides.example/zones", "prompt": "rules"}, page, {"code": 200, "bytes": 1200})
    log.use(
        "Edit", {"file_path": f"{FOLDER}/tides/harmonics.py"}, "The file has been updated.", {"userModified": False}
    )


def resume_after_compaction(log: ClaudeCode) -> None:
    """Go on: a result whose call was in the session before, a look at the changed file, the last run."""
    log.result(log.call_id(-1), rows(5, 64, SHELL), shell_copy(""))
    code = rows(100, 50, CODE)
    log.use("Read", {"file_path": f"{FOLDER}/tides/harmonics.py"}, code, file_copy("tides/harmonics.py", code))
    passed = "✅ 38 passed 🎉\n"
    log.use("Bash", {"command": "pytest -q"}, passed, shell_copy(passed), is_error=False)


def claude_code_agent(session: str, agent: str) -> bytes:
    """The subagent of the main session: a prompt of its own, in a file of its own."""
    log = ClaudeCode(session, agent=agent)
    log.user("Find every naive datetime under tides/.")
    hits = rows(40, 60, GREP)
    log.use("Grep", {"pattern": "datetime.now\\("}, hits, {"mode": "content", "numLines": 40, "content": hits})
    code = rows(250, 50, CODE)
    log.use("Read", {"file_path": f"{FOLDER}/tides/stations.py"}, code, file_copy("tides/stations.py", code))
    counted = rows(12, 44, SHELL)
    log.use("Bash", {"command": "git log --oneline"}, counted, shell_copy(counted), is_error=False)
    log.answer(text_block("Four naive datetimes, all in harmonics.py."))
    return written(log.events)


class Dsh:
    """A DeepSeek Harness session. Version 0 keeps the deltas of a response as rows, version 4 inside the message."""

    def __init__(self, name: str, version: int) -> None:
        self.name = name
        self.version = version
        self.turn = 0
        self.step = 0
        self.calls = 0
        self.seq = 0
        header = {"type": "session", "version": version, "id": f"session-{name_of(name)}", "createdAt": self.time}
        self.events: list[Json] = [{**header, "cwd": FOLDER, "delegationDepth": 0}]

    @property
    def time(self) -> int:
        """Milliseconds since 1970, one event every 40."""
        return int(START.timestamp() * 1000) + 40 * self.seq

    def event(self, kind: str, data: Json, **members: Any) -> int:
        """Append a numbered event; its number."""
        seq = self.seq
        self.events.append({"type": kind, "seq": seq, "time": self.time, "data": data, **members})
        self.seq += 1
        return seq

    def ask(self, text: str) -> None:
        """Begin a turn with what the user wrote."""
        self.turn += 1
        self.step = 0
        self.event("turn/start", {"turn": self.turn})
        data = {"content": [text_block(text)], "source": {"kind": "user"}, "role": "user", "id": self.id("user")}
        self.event("user/message", data, surfaceOp="append")

    def use(self, tool: str, arguments: Json, content: Any, *, is_error: bool = False) -> int:
        """One step: a response that calls a tool, the call, the result. The number of the result."""
        self.step += 1
        self.calls += 1
        call_id = f"call_{self.calls:02}_{name_of(self.name, 'call', self.calls)[:8]}"
        place = {"turn": self.turn, "step": self.step}
        self.event("step/start", place)
        source = self.response(tool, call_id, json.dumps(arguments, ensure_ascii=False))
        call = {"callId": call_id, "name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
        called = self.event("tool/call", {**place, **call}, sourceEventSeqs=[source])
        message = self.message(call_id, content, is_error)
        seq = self.event("tool/result", {**place, "message": message}, sourceEventSeqs=[called], surfaceOp="append")
        self.event("step/end", place)
        return seq

    def response(self, tool: str, call_id: str, arguments: str) -> int:
        """The model's response, with its deltas where this version keeps them."""
        place = {"turn": self.turn, "step": self.step}
        usage = {"inputTokens": 800 + 10 * self.calls, "outputTokens": 60, "cacheReadTokens": 5_120 * self.calls}
        block = {"type": "tool-call", "id": call_id, "name": tool, "arguments": arguments}
        message = {"role": "assistant", "content": [text_block("I look at it."), block], "id": self.id("assistant")}
        data = {**place, "message": message, "usage": usage}
        if self.version == 0:
            self.deltas("text-chunks", {"index": 0, "texts": ["I look ", "at it."]}, 2)
            pieces = [arguments[:12], arguments[12:]]
            self.deltas("tool-call-chunks", {"index": 1, "id": call_id, "name": tool, "args": pieces}, 2)
        else:
            data["usage"] = {**usage, "cacheWriteTokens": 0}
            data["stream"] = [{"type": "chunk", "time": self.time, "chunk": {"type": "block-start", "index": 0}}]
        return self.event("assistant/message", data, surfaceOp="append")

    def deltas(self, kind: str, data: Json, count: int) -> None:
        """A row of `count` deltas, each of which takes a number."""
        data = {"turn": self.turn, "step": self.step, **data, "dt": [0] * count}
        self.events.append({"type": kind, "seq0": self.seq, "time0": self.time, "data": data})
        self.seq += count

    def message(self, call_id: str, content: Any, is_error: bool) -> Json:
        """A result as this version writes it."""
        source = {"kind": "tool", "callId": call_id}
        result = {"toolCallId": call_id, "content": content, "isError": is_error}
        if self.version == 0:
            block = {"type": "tool-result", **result}
            return {"source": source, "content": [block], "role": "user", "id": self.id("result")}
        return {"role": "tool", "source": source, **result, "id": self.id("result")}

    def prune(self, seq: int, tokens: int) -> None:
        """Replace a result by its cut form."""
        old = next(event for event in self.events if event.get("seq") == seq)
        place = {"start": seq, "end": seq}
        self.event("compaction/prune", {"shadowedRange": place, "shadowedSeqs": [seq], "shadowedTokenCount": tokens})
        data = json.loads(json.dumps(old["data"]))
        holder = data["message"]["content"][0] if self.version == 0 else data["message"]
        holder["content"] = [text_block(cut(holder["content"][0]["text"]))]
        operation = {"op": "replace", **(place if self.version == 0 else {"startSeq": seq, "endSeq": seq})}
        self.event("tool/result", data, surfaceOp=operation, sourceEventSeqs=[seq])

    def end(self) -> None:
        """End the turn."""
        self.event("turn/end", {"turn": self.turn, "reason": "completed"})

    def id(self, kind: str) -> str:
        """The id of a message."""
        return name_of(self.name, kind, self.seq)


def dsh_alerts() -> bytes:
    """Version 4, two turns, a prune of two results and a compaction that gave up."""
    log = Dsh("tide-alerts", 4)
    log.event("permission/preset", {"preset": "workspace-write"})
    log.ask("Send the harbour master an alert two days before a spring tide.")
    first = log.use("bash", {"command": "pytest -vv"}, [text_block(rows(200, 64, SHELL))])
    second = log.use("read", {"path": "docs/潮汐.md"}, [text_block(rows(150, 72, CHINESE))])
    log.use("grep", {"pattern": "alert"}, [text_block(rows(30, 60, GREP))])
    log.prune(first, 3_208)
    log.prune(second, 2_708)
    log.event("compaction/start", {"compactionId": name_of("compaction"), "turn": 1})
    log.event("compaction/end", {"compactionId": name_of("compaction"), "turn": 1, "error": "nothing to gain"})
    log.end()
    log.ask("并把提醒翻译成中文。")
    log.use(
        "edit", {"path": "tides/alerts.py"}, [text_block("Error: old text not found in tides/alerts.py")], is_error=True
    )
    picture = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
    log.use("read", {"path": "docs/alert.png"}, [text_block("1 picture"), picture, text_block("640 × 480")])  # noqa: RUF001
    log.use("bash", {"command": "exit 3"}, [text_block("[exit code: 3]")])
    log.end()
    return written(log.events)


def dsh_import() -> bytes:
    """Version 0: delta rows without a number of their own, results in a wrapper block, one prune."""
    log = Dsh("tide-import", 0)
    log.ask("Import the constants of the northern stations.")
    large = log.use("bash", {"command": "python -m tides.import north.csv"}, [text_block(rows(160, 64, SHELL))])
    log.use("read", {"path": "tides/stations.py"}, [text_block(rows(40, 50, CODE))])
    log.prune(large, 2_572)
    log.use("glob", {"pattern": "*.nothing"}, [])
    log.use("bash", {"command": "git status 🌊"}, [text_block("nothing to commit 🌊\n")])
    log.end()
    return written(log.events)


def dsh_release() -> bytes:
    """Version 4, compressed as the host does it: one frame a batch of events."""
    log = Dsh("tide-release", 4)
    log.ask("Prepare the release notes.")
    log.use("read", {"path": "CHANGELOG.md"}, [text_block(rows(180, 50, CODE))])
    log.use("bash", {"command": "git log"}, [text_block(rows(25, 64, SHELL))])
    log.use("write", {"path": "NOTES.md"}, [text_block("Wrote NOTES.md")])
    log.end()
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    return b"".join(compressor.compress(written(batch)) for batch in batches(log.events, 6))


def batches(events: list[Json], size: int) -> Iterator[list[Json]]:
    """The events, `size` at a time."""
    for start in range(0, len(events), size):
        yield events[start : start + size]


SESSION = name_of("tidewater", "main")
AGENT = name_of("tidewater", "agent")[:8]
SAMPLES: dict[str, Callable[[], bytes]] = {
    f"claude_code/tidewater/{SESSION}.jsonl": lambda: claude_code_main(SESSION),
    f"claude_code/tidewater/{SESSION}/subagents/agent-{AGENT}.jsonl": lambda: claude_code_agent(SESSION, AGENT),
    "dsh/tide-alerts/session.v4.jsonl": dsh_alerts,
    "dsh/tide-import/session.jsonl": dsh_import,
    "dsh/tide-release/session.v4.jsonl.zstd": dsh_release,
}


def main() -> None:
    """Write every sample."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, make in SAMPLES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make())


if __name__ == "__main__":
    main()
