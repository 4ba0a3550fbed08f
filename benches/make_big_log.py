"""Write a large Claude Code log of made-up work: the same bytes every time.

usage: python benches/make_big_log.py GIGABYTES OUT

Sizes of tool results are log-normal (median 1,600 code points, clipped to 200 and 200,000). About 27 % of the lines
hold text that is not ASCII, a tenth holds escapes in its place, nine tenths of the bytes stand in lines of calls and
results, each result has its copy for the user interface, and now and then a text holds half of a surrogate pair.
"""

import json
import math
import sys
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

SHORTEST, MEDIAN, LONGEST, SPREAD = 200, 1_600, 200_000, 1.45
ESCAPED, ASIAN, PICTURES, ARROWS, BROKEN = 0.27, 0.24, 0.16, 0.5, 0.0002
THOUGHT_WORDS = 80
SESSION_LENGTH = 400
POOL_ROWS = 30_000

TOOLS = ("Read", "Bash", "Edit", "Grep", "Glob", "Write", "TodoWrite", "WebFetch", "Task", "mcp__tide__forecast")
TOOL_WEIGHTS = (30, 28, 12, 10, 5, 5, 4, 2, 2, 2)
WORDS = (
    "harbour", "station", "gauge", "datum", "spring", "neap", "tide", "height", "hours", "phase", "speed", "amplitude",
    "constituent", "residual", "surge", "wind", "pressure", "load", "store", "import", "extreme", "bracket", "result",
    "record", "index", "window", "series", "sample", "rate", "offset", "level", "alarm", "notice",
)  # fmt: skip
ROWS = (
    '    {a}.{b}({c}, "{d}", limit={n})',
    "    if {a} is None or {b} > {n}:",
    '{n}\t    return {{"{a}": {b}, "{c}": "{d}"}}',
    "{n}→        self.{a} = {b}_{c}[{n}]  # {d}",
    "src/{a}/{b}_{c}.py:{n}:    from {a}.{b} import {c}, {d}",
    "2026-03-14T09:{m}:{m}.{n}Z INFO {a}.{b} {c}={n} {d}=ok elapsed=0.{n}s",
    "-rw-r--r-- 1 noor noor {n} Mar 14 09:{m} {a}_{b}.csv",
    "test_{a}_{b}[{c}-{d}] PASSED [ {m}%]",
    "",
    "        }}",
)
ASIAN_ROWS = (
    "潮位预报由三十七个分潮叠加而成、其中半日分潮决定了大部分水位变化、风和气压造成的偏差另行记录。\n",
    "潮汐の予報は三十七個の分潮を重ね合わせて計算され、観測値との差は毎時記録されます。\n",
    "조석 예보는 서른일곱 개의 분조를 합하여 계산하며 관측값과의 차이는 매시간 기록됩니다。\n",
)
PICTURE_ROWS = (
    "✅ 38 passed 🚀 done in 2.31 s\n",
    "⚠️ gauge 0417 late 🌊 0.014 m\n",
    "❌ 1 failed 🧪 test_spring_range\n",
)


def pool(random: Random) -> str:
    """Rows of code, listings and logs to take results from."""
    rows = []
    for _ in range(POOL_ROWS):
        a, b, c, d = random.choices(WORDS, k=4)
        row = random.choice(ROWS).format(a=a, b=b, c=c, d=d, n=random.randrange(10_000), m=random.randrange(10, 60))
        rows.append(row.replace("→", "\t") if random.random() < 0.9 else row)
    return "\n".join(rows)


class Writer:
    """The sessions of a made-up agent, line by line."""

    def __init__(self) -> None:
        self.random = Random(20_260_314)
        self.pool = pool(self.random)
        self.steps = 0

    def result_text(self) -> str:
        """A tool result of a drawn size."""
        random = self.random
        size = int(min(LONGEST, max(SHORTEST, random.lognormvariate(math.log(MEDIAN), SPREAD))))
        start = random.randrange(len(self.pool) - size)
        words = self.pool[start : start + size]
        chance = random.random()
        if chance < ASIAN:
            row = random.choice(ASIAN_ROWS)
            words = words[: size // 2] + row * (size // (2 * len(row)) + 1)
        elif chance < ASIAN + PICTURES:
            row = random.choice(PICTURE_ROWS)
            words = words[: size - size // 8] + row * (size // (8 * len(row)) + 1)
        if random.random() < BROKEN:
            words += "\ud83d"
        return words

    def line(self, event: Json) -> bytes:
        """One line, with escapes in place of what is not ASCII where chance or half a pair asks for it."""
        ascii_only = self.random.random() < ESCAPED
        try:
            written = json.dumps(event, separators=(",", ":"), ensure_ascii=ascii_only).encode()
        except UnicodeEncodeError:
            written = json.dumps(event, separators=(",", ":")).encode()
        return written + b"\n"

    def step(self) -> bytes:
        """A response in words, a call, its result."""
        number = self.steps
        self.steps += 1
        session = f"{number // SESSION_LENGTH:08x}-5d1e-4c3b-9a2f-7e6d5c4b3a21"
        base: Json = {"parentUuid": f"{number - 1:032x}", "isSidechain": number % 11 == 0, "userType": "external"}
        base |= {"cwd": "/home/noor/tidewater", "sessionId": session, "version": "2.1.4", "gitBranch": "main"}
        ending: Json = {"uuid": f"{number:032x}", "timestamp": f"2026-03-14T09:00:00.{number % 1000:03}Z"}
        tool = self.random.choices(TOOLS, TOOL_WEIGHTS)[0]
        call_id = f"toolu_01{number:022x}"
        arguments = {"file_path": f"/home/noor/tidewater/{self.random.choice(WORDS)}.py", "limit": number % 500}
        lines = []
        arrow = " → " if self.random.random() < ARROWS else " "
        thought = {"type": "text", "text": arrow.join(self.random.choices(WORDS, k=THOUGHT_WORDS))}
        lines.append(self.line({**base, "type": "assistant", "message": self.message(number, thought), **ending}))
        call = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        lines.append(self.line({**base, "type": "assistant", "message": self.message(number, call), **ending}))
        lines.append(self.line({**base, **self.result(tool, call_id), **ending}))
        return b"".join(lines)

    def message(self, number: int, block: Json) -> Json:
        """A model response of one block."""
        usage = {"input_tokens": 4, "cache_read_input_tokens": 90_000 + number % 60_000, "output_tokens": 120}
        reason = "tool_use" if block["type"] == "tool_use" else None
        message = {"model": "claude-sonnet-4-5", "id": f"msg_01{number:022x}", "type": "message", "role": "assistant"}
        return {**message, "content": [block], "stop_reason": reason, "usage": usage}

    def result(self, tool: str, call_id: str) -> Json:
        """The line of a result: half as one string, half as blocks, and its copy."""
        words = self.result_text()
        content = words if self.random.random() < 0.8 else [{"type": "text", "text": words}]
        block: Json = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if self.random.random() < 0.05:
            block["is_error"] = True
        copy: Json = {"type": "text", "file": {"filePath": "/home/noor/tidewater/tide.py", "content": words}}
        if tool == "Bash":
            copy = {"stdout": words, "stderr": "", "interrupted": False}
        return {"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": copy}


def make(gigabytes: float, out: Path) -> None:
    """Write whole steps until the file has its size."""
    writer = Writer()
    left = int(gigabytes * 1e9)
    with out.open("wb") as file:
        while left > 0:
            left -= file.write(writer.step())


if __name__ == "__main__":
    make(float(sys.argv[1]), Path(sys.argv[2]))
