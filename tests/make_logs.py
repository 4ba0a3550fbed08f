"""Session logs for tests: lines built by hand, and hypothesis strategies for logs that no host would write."""

import json
import struct
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, TypeAlias

import zstandard
from hypothesis import strategies as st

Json: TypeAlias = dict[str, Any]

# Lines by hand


def line(event: object) -> bytes:
    """A line without its line feed. Lone surrogates stand as escapes, all else as UTF-8."""
    try:
        return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(event, separators=(",", ":")).encode()


def log(*lines: bytes | object) -> bytes:
    """A log of lines that end in a line feed; what is not bytes is written as JSON."""
    return b"".join((each if isinstance(each, bytes) else line(each)) + b"\n" for each in lines)


def tool_use(call_id: object, name: object) -> Json:
    """A Claude Code block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def tool_result(call_id: object, content: object, **members: object) -> Json:
    """A Claude Code block that carries a result."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **members}


def assistant(*blocks: object, **members: object) -> Json:
    """A Claude Code line of the model."""
    return {"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": [*blocks]}, **members}


def user(*blocks: object, **members: object) -> Json:
    """A Claude Code line of the user, which is also where results stand."""
    return {"type": "user", "sessionId": "s", "message": {"role": "user", "content": [*blocks]}, **members}


def text(value: object) -> Json:
    """A text block."""
    return {"type": "text", "text": value}


def session(session_id: object = "s", version: int = 4) -> Json:
    """The first line of a DSH log."""
    return {"type": "session", "version": version, "id": session_id, "createdAt": 1, "cwd": "/w"}


def call(call_id: object, name: object, seq: int = 1) -> Json:
    """A DSH line that calls a tool."""
    return {"type": "tool/call", "seq": seq, "data": {"turn": 1, "step": 1, "callId": call_id, "name": name}}


def result_v4(call_id: object, content: object, seq: int = 2, **message: object) -> Json:
    """A DSH result, version 4: the message is the result."""
    held = {"role": "tool", "toolCallId": call_id, "content": content, **message}
    return {"type": "tool/result", "seq": seq, "data": {"turn": 1, "step": 1, "message": held}}


def result_v0(call_id: object, content: object, seq: int = 2, **block: object) -> Json:
    """A DSH result, version 0: a block in the message is the result."""
    wrapper = {"type": "tool-result", "toolCallId": call_id, "content": content, **block}
    held = {"role": "user", "content": [wrapper]}
    return {"type": "tool/result", "seq": seq, "data": {"turn": 1, "step": 1, "message": held}}


def frames(*parts: bytes) -> bytes:
    """Each part as a zstd frame with a checksum, one after the other."""
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    return b"".join(compressor.compress(part) for part in parts)


def skippable(payload: bytes, kind: int = 0) -> bytes:
    """A zstd frame that holds no text."""
    return struct.pack("<II", 0x184D2A50 + kind, len(payload)) + payload


# Any spelling of a value


def spelled(value: object, random: Random) -> bytes:
    """JSON for a value, with white space, escapes, key order and forgotten duplicates as chance has it."""
    if isinstance(value, str):
        return _string(value, random)
    if isinstance(value, dict):
        members = [(name, spelled(each, random)) for name, each in value.items()]
        random.shuffle(members)
        if members and random.random() < 0.1:
            name, _ = random.choice(members)
            members.insert(0, (name, random.choice([b"null", b"{}", b'[{"type":"tool_result"}]', b'"x"', b"7"])))
        return b"{" + b",".join(_pair(name, each, random) for name, each in members) + b"}"
    if isinstance(value, list):
        elements = [_space(random) + spelled(each, random) + _space(random) for each in value]
        return b"[" + b",".join(elements) + b"]"
    return json.dumps(value).encode()


def _pair(name: str, value: bytes, random: Random) -> bytes:
    return _space(random) + _string(name, random, 0.02) + _space(random) + b":" + _space(random) + value


def _space(random: Random) -> bytes:
    return random.choice([b" ", b"\t", b"\r ", b"  "]) if random.random() < 0.1 else b""


def _string(value: str, random: Random, escaped: float = 0.1) -> bytes:
    return b'"' + b"".join(_character(each, random, escaped) for each in value) + b'"'


def _character(character: str, random: Random, escaped: float) -> bytes:
    code = ord(character)
    short = {'"': b'\\"', "\\": b"\\\\", "\n": b"\\n", "\t": b"\\t", "/": b"\\/"}.get(character)
    must = code < 0x20 or character in '"\\' or 0xD800 <= code < 0xE000
    if not must and random.random() >= escaped:
        return character.encode()
    if short is not None and random.random() < 0.5:
        return short
    units = character.encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    form = random.choice(["\\u%04x", "\\u%04X"])
    return "".join(form % (high << 8 | low) for high, low in pairs).encode()


# Logs that no host would write


texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.text(st.sampled_from('ab"\\\n潮🌊\ud83d\ude00\u2028\u0085'), max_size=20),
    st.integers(1, 80).map(lambda count: "wave 潮 " * count),
).filter(lambda value: not _has_split_pair(value))
ids = st.sampled_from(["a", "b", "", "long" * 380, "\x1b[31m", "\ud83d", 'q"\\', "潮"])
names = st.sampled_from(["Bash", "Read", "", "mcp__tide__now", "潮", "n\nl", "\ude00"])
strange = st.sampled_from([None, True, 7, -1.5e3, {}, [], {"type": "text"}, [["x"]]])


def _has_split_pair(value: str) -> bool:
    """Whether a pair stands as two elements, which JSON reads back as one: the ill-formed string that is left out."""
    return any("\ud800" <= high < "\udc00" <= low < "\ue000" for high, low in pairwise(value))


def rarely(strategy: st.SearchStrategy[Any], other: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One time in twelve the other."""
    return st.integers(0, 11).flatmap(lambda chance: other if chance == 11 else strategy)


def or_strange(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what belongs there, now and then what does not."""
    return rarely(strategy, strange)


image = st.just({"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}})
blocks = or_strange(rarely(or_strange(texts).map(text), image))
contents = or_strange(st.booleans().flatmap(lambda one: texts if one else st.lists(blocks, max_size=4)))
flags = st.sampled_from([True, False, None, "true", 1])


@st.composite
def claude_code_event(draw: st.DrawFn) -> Json:
    """A Claude Code line with calls, results, or neither."""
    calls = st.builds(tool_use, or_strange(ids), or_strange(names))
    results = st.builds(
        lambda call_id, content, error: tool_result(call_id, content, is_error=error),
        or_strange(ids),
        contents,
        flags,
    )
    held = draw(or_strange(st.lists(rarely(st.one_of(calls, results), blocks), max_size=4)))
    event = {
        "type": draw(st.sampled_from(["user", "user", "assistant", "system", None])),
        "sessionId": draw(or_strange(ids)),
        "isSidechain": draw(flags),
        "message": draw(rarely(st.just({"role": "user", "content": held}), st.sampled_from(["hello", None]))),
    }
    if draw(st.booleans()):
        event["toolUseResult"] = draw(contents)
    return event


@st.composite
def dsh_event(draw: st.DrawFn) -> Json:
    """A DSH line: a session, a call, a result of one of three shapes, or something else."""
    kind = draw(st.sampled_from(["session", "tool/call", "tool/call", "tool/result", "tool/result", "step/end"]))
    if kind == "session":
        return session(draw(or_strange(ids)))
    data: Json = {"turn": draw(or_strange(st.integers(1, 9))), "step": draw(or_strange(st.integers(1, 9)))}
    if kind == "tool/call":
        data |= {"callId": draw(or_strange(ids)), "name": draw(or_strange(names))}
    if kind == "tool/result":
        data |= draw(st.one_of(result_data(result_v0), result_data(result_v4), bare_result_data()))
    return {"type": kind, "seq": draw(st.integers(0, 1 << 40)), "data": draw(rarely(st.just(data), st.none()))}


@st.composite
def result_data(draw: st.DrawFn, shape: Any) -> Json:
    """The data of a result line of version 0 or 4, with the call's id beside it now and then."""
    data: Json = shape(draw(or_strange(ids)), draw(contents), isError=draw(flags))["data"]
    if draw(st.booleans()):
        data["callId"] = draw(or_strange(ids))
    return {"message": data["message"], **({"callId": data["callId"]} if "callId" in data else {})}


@st.composite
def bare_result_data(draw: st.DrawFn) -> Json:
    """The data of a result line without a message."""
    return {"callId": draw(or_strange(ids)), "content": draw(contents), "isError": draw(flags)}


@st.composite
def log_bytes(draw: st.DrawFn, events: st.SearchStrategy[Json], first: bytes) -> bytes:
    """A log of these events between lines that are blank, broken, torn or no object. `first` tells the format."""
    random = Random(draw(st.integers(0, 1 << 32)))
    lines = [first]
    for event in draw(st.lists(events, max_size=12)):
        written = spelled(event, random)
        lines.append(written)
        if random.random() < 0.3:
            lines.append(random.choice([*NOISE, broken(written, random)]))
    ending = random.choice([b"\n", b"\n", b"\r\n", b" \r\n"])
    mark = random.choice([b"", b"", b"\xef\xbb\xbf"])
    return mark + ending.join(lines) + random.choice([b"", ending])


NOISE: Sequence[bytes] = (
    b"",
    b" \t\r",
    b"null",
    b"[1,2]",
    b'"tool_result"',
    b"-1.5e+3",
    b"\x00\x00\x00",
    b"NaN",
    b"plain words",
    b'{"v":NaN}',
    b'{"v":NaN,"w":"tool_result tool/result"}',
    b'{"torn":"',
    b'{"bytes":"\xed\xa0\x80"}',
    b'{"bytes":"\xff usage assistant/message"}',
    b'{"deep":' + b"[" * 300 + b"]" * 300 + b"}",
    b"{} {}",
    b"}",
)


def broken(written: bytes, random: Random) -> bytes:
    """A line with one byte gone, changed, or all after it gone."""
    at = random.randrange(len(written))
    change = random.choice([b"", b"\x00", b"\xff", b'"', b"{", b"}", b"\\"])
    if random.random() < 0.4:
        return written[:at].replace(b"\n", b"")
    return written[:at] + change + written[at + 1 :]


claude_code_logs = log_bytes(claude_code_event(), line(user(text("begin"))))
dsh_logs = log_bytes(dsh_event(), line(session()))
