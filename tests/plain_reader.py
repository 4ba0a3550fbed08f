"""A scan, read slowly: the reference that every scan in the test suite is compared with.

Written from `docs/formats.md` alone, one function a paragraph of it. Nothing here is fast, and nothing is shared with
the package.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import zstandard

from plain_json import NotJsonError, Number, Value, parse

MEBIBYTE = 1 << 20
LONGEST_NAME = 4096
MOST_ENTRIES = 65_536
MOST_NAME_BYTES = 8 * MEBIBYTE
LARGEST = 1000
MALFORMED = 100
MARKER = "\n\n[... tool result middle pruned ...]\n\n"
WRAPPER = 4
MESSAGE = 4
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NAMES = (".jsonl", ".json", ".jsonl.zst", ".jsonl.zstd", ".json.zst", ".json.zstd")

WORDS = {
    "dsh": (b"tool/result", b"tool/call", b"assistant/message", b"compaction/"),
    "claude-code": (b"tool_result", b"tool_use", b"usage", b"compact_boundary", b"isCompactSummary"),
}
DSH_MEMBERS = {"data", "seq", "seq0"}
CLAUDE_CODE_MEMBERS = {
    "sessionId",
    "leafUuid",
    "parentUuid",
    "toolUseResult",
    "snapshot",
    "isSnapshotUpdate",
}

Members: TypeAlias = dict[str, Value | None]
Row: TypeAlias = dict[str, Any]


def read(
    paths: Sequence[str | os.PathLike[str]],
    threshold: int = 8192,
    strict: bool = False,
    all_results: bool = False,
    unique: bool = False,
) -> dict[str, Any]:
    """Scan logs and directories of logs. The keys of `toolprune scan --format json`, in plain lists and dicts."""
    logs: list[Log] = []
    skipped: list[Row] = []
    for path in files_of([os.fspath(path) for path in paths]):
        try:
            logs.append(read_log(path, strict))
        except SkippedError as reason:
            skipped.append({"path": path, "reason": str(reason)})
    rows = [row for log in logs for row in log.results]
    if unique:
        rows = without_repeats(rows)
    malformed = [row for log in logs for row in log.malformed]
    over = [row for row in rows if row["code_points"] > threshold]
    largest = sorted(over, key=lambda row: -row["code_points"])[:LARGEST]
    return {
        "files": len(logs),
        "bytes": sum(log.bytes for log in logs),
        "lines": sum(log.lines for log in logs),
        "malformed_lines": len(malformed),
        "tool_results": len(rows),
        "code_points": sum(row["code_points"] for row in rows),
        "over_threshold": len(over),
        "already_cut": sum(row["already_cut"] for row in rows),
        "ui_copy_bytes": sum(log.ui_copy_bytes for log in logs),
        "forgotten_calls": 0,
        "by_tool": by_tool(rows, threshold),
        "malformed": malformed[:MALFORMED],
        "skipped": skipped,
        "results": rows if all_results else largest,
    }


def without_repeats(rows: list[Row]) -> list[Row]:
    """Results whose key was not met before. One that lacks a part of its key repeats nothing."""
    kept = []
    met = set()
    for row in rows:
        parts = (row["call_id"],) if row["format"] == "claude-code" else (row["session"], row["seq"])
        if None not in parts:
            key = (row["format"], *parts)
            if key in met:
                continue
            met.add(key)
        kept.append(row)
    return kept


def by_tool(rows: list[Row], threshold: int) -> list[Row]:
    """One row a tool, the most code points first, then by name, no name first."""
    tools: dict[str | None, Row] = {}
    for row in rows:
        tool = tools.setdefault(row["tool"], {"tool": row["tool"], "results": 0, "code_points": 0, "over_threshold": 0})
        tool["results"] += 1
        tool["code_points"] += row["code_points"]
        tool["over_threshold"] += row["code_points"] > threshold
    return sorted(tools.values(), key=lambda row: (-row["code_points"], row["tool"] is not None, row["tool"] or ""))


class SkippedError(Exception):
    """A file is not read, and why."""


@dataclass
class Log:
    """What one log holds."""

    path: str
    bytes: int
    format: str | None = None
    lines: int = 0
    ui_copy_bytes: int = 0
    results: list[Row] = field(default_factory=list)
    malformed: list[Row] = field(default_factory=list)
    calls: dict[str, str | None] = field(default_factory=dict)
    session: str | None = None


# Which files


def files_of(paths: list[str]) -> list[str]:
    """The files to open: a path as it is named, a directory's logs at any depth; each once."""
    found: dict[str, str] = {}
    for path in paths:
        inside = files_below(path) if os.path.isdir(path) else [path]
        for file in inside:
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def files_below(directory: str) -> list[str]:
    """The logs of a directory, each folder's entries by name."""
    below = []
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if os.path.isdir(path) and not os.path.islink(path):
            below += files_below(path)
        elif name.endswith(NAMES) and not os.path.isdir(path):
            below.append(path)
    return below


# Compressed logs


def stored_bytes(path: str) -> bytes:
    """What a file holds."""
    if not os.path.exists(path):
        raise SkippedError("no such file")
    if not os.path.isfile(path):
        raise SkippedError("not a regular file")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise SkippedError(str(error)) from None


def text_of(stored: bytes) -> tuple[bytes, str | None]:
    """The text of a log, and why it breaks off where its compression does."""
    if not is_frame(stored):
        return stored, None
    text = []
    while stored:
        frame, stored, broken = read_frame(stored)
        text.append(frame)
        if broken:
            return b"".join(text), broken
    return b"".join(text), None


def is_frame(stored: bytes) -> bool:
    """Whether a zstd frame stands here, a skippable one included."""
    magic = stored[:4]
    return magic == b"\x28\xb5\x2f\xfd" or (magic[1:] == b"\x2a\x4d\x18" and 0x50 <= magic[0] <= 0x5F)


def read_frame(stored: bytes) -> tuple[bytes, bytes, str | None]:
    """One frame's text, what follows it, and how it is broken. Byte by byte: an error keeps what came before it."""
    if not is_frame(stored):
        return b"", b"", "bytes that are no zstd frame"
    if stored[:4] != b"\x28\xb5\x2f\xfd":
        size = struct.unpack("<I", stored[4:8])[0] if len(stored) >= 8 else len(stored)
        return b"", stored[8 + size :], "a torn zstd frame" if len(stored) < 8 + size else None
    frame = zstandard.ZstdDecompressor().decompressobj()
    text = []
    for at in range(len(stored)):
        try:
            text.append(frame.decompress(stored[at : at + 1]))
        except zstandard.ZstdError as error:
            return b"".join(text), b"", f"a zstd frame that cannot be read: {error}"
        if frame.eof:
            return b"".join(text), stored[at + 1 :], None
    return b"".join(text), b"", "a torn zstd frame"


# Lines


def lines_of(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Each line with its offset. What follows the last line feed is a line when it is anything."""
    at = 0
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        yield at, text[at:end]
        at = end + 1


def value_part(line: bytes, at: int) -> bytes:
    """A line without the byte order mark of the file, and without the white space around its value."""
    if at == 0 and line.startswith(BYTE_ORDER_MARK):
        line = line[len(BYTE_ORDER_MARK) :]
    return line.strip(b" \t\r")


def read_log(path: str, strict: bool) -> Log:
    """Every line of one file."""
    stored = stored_bytes(path)
    text, broken = text_of(stored)
    log = Log(path, len(stored))
    whole = text[: text.rfind(b"\n") + 1] if broken else text
    log.format = format_of(text)
    if log.format is None and (len(text) >= MEBIBYTE or any(value_part(line, at) for at, line in lines_of(text))):
        raise SkippedError("no line is one of a session log")
    if log.format in ("codex", "pi"):
        raise SkippedError(f"{log.format} logs are not read yet")
    for at, line in lines_of(whole):
        log.lines += 1
        read_line(log, at, line, strict)
    if log.format == "dsh":
        for row in log.results:
            row["session"] = log.session
    if broken:
        # The line that would have come next: it is reported, and is not one of the lines that are there.
        malformed(log, log.lines + 1, len(whole), broken)
    return log


def malformed(log: Log, line: int, at: int, reason: str) -> None:
    """Locate a line that could not be read."""
    log.malformed.append({"path": log.path, "line": line, "offset": at, "reason": reason})


def read_line(log: Log, at: int, line: bytes, strict: bool) -> None:
    """Count one line, or say why it cannot be counted."""
    value = value_part(line, at)
    if not value:
        return
    try:
        top = parse(value)
    except NotJsonError as error:
        passed_over = value.startswith(b"{") and value.endswith(b"}") and not strict and not bears(log, value)
        if not passed_over:
            malformed(log, log.lines, at, str(error))
        return
    if isinstance(top.data, dict):
        if is_too_much(log, top):
            malformed(log, log.lines, at, "more calls, results or names than are kept of one line")
            return
        count = count_dsh if log.format == "dsh" else count_claude_code
        count(log, at, top)


def is_too_much(log: Log, top: Value) -> bool:
    """Whether a line has too many calls and results, or too long ids and names. Of a DSH line both are few."""
    if log.format == "dsh":
        return False
    entries = [
        block
        for block in objects(member(member(top, "message"), "content"))
        if text(block, "type") in ("tool_use", "tool_result")
    ]
    names = [name_member(top, "sessionId")]
    names += [name_member(entry, name) for entry in entries for name in ("id", "name", "tool_use_id")]
    name_bytes = sum(len(name.encode("utf-8", "surrogatepass")) for name in names if name is not None)
    return len(entries) > MOST_ENTRIES or name_bytes > MOST_NAME_BYTES


def bears(log: Log, value: bytes) -> bool:
    """Whether a line holds one of its format's words."""
    return log.format is not None and any(word in value for word in WORDS[log.format])


# Which format a file has


def format_of(text: bytes) -> str | None:
    """What the first line that tells says. A line that breaks, or that the mebibyte cuts, tells by what is before."""
    for at, line in lines_of(text[:MEBIBYTE]):
        try:
            top = parse(value_part(line, at), forgiving=True).data
            members = top if isinstance(top, dict) else {}
        except NotJsonError as error:
            members = error.members
        told = format_by(members)
        if told is not None:
            return told
    return None


def format_by(members: Members) -> str | None:
    """The first row of the table that holds."""
    kind = text_member(members, "type")
    if "payload" in members:
        return "codex"
    if CLAUDE_CODE_MEMBERS & members.keys():
        return "claude-code"
    if DSH_MEMBERS & members.keys() or (kind == "session" and "createdAt" in members):
        return "dsh"
    if kind == "session" or (kind == "message" and "message" in members):
        return "pi"
    return "claude-code" if "message" in members else None


# Members by their kind: one of the wrong kind is absent


def member(value: Value | None, name: str) -> Value | None:
    return value.data.get(name) if value is not None and isinstance(value.data, dict) else None


def name_member(value: Value | None, name: str) -> str | None:
    """An id or a name: a text of at most 4,096 bytes as it stands in the log."""
    found = member(value, name)
    if found is None or not isinstance(found.data, str) or found.end - found.start - 2 > LONGEST_NAME:
        return None
    return found.data


def text_member(members: Members, name: str) -> str | None:
    value = members.get(name)
    return value.data if value is not None and isinstance(value.data, str) else None


def text(value: Value | None, name: str) -> str | None:
    return text_member(value.data, name) if value is not None and isinstance(value.data, dict) else None


def whole_number(value: Value | None, name: str) -> int | None:
    """A number written as an integer, of 64 bits at most."""
    found = member(value, name)
    written = found.data.text if found is not None and isinstance(found.data, Number) else ""
    if not written.lstrip("-").isdigit() or len(written) > 20:
        return None
    number = int(written)
    return number if -(1 << 63) <= number < 1 << 63 else None


def is_true(value: Value | None, name: str) -> bool:
    found = member(value, name)
    return found is not None and found.data is True


def objects(value: Value | None) -> list[Value]:
    """The elements of a list that are objects."""
    elements = value.data if value is not None and isinstance(value.data, list) else []
    return [element for element in elements if isinstance(element.data, dict)]


# Code points and tokens


def measure(content: Value | None) -> tuple[list[str], int]:
    """The texts of a content's text blocks, and the host's tokens for all of its blocks."""
    if content is not None and isinstance(content.data, str):
        return [content.data], tokens_of_text(content.data)
    texts = []
    tokens = 0
    for block in objects(content):
        if text(block, "type") == "text":
            block_text = text(block, "text") or ""
            texts.append(block_text)
            tokens += tokens_of_text(block_text)
        else:
            tokens += 4 + ceil_quarter(block.end - block.start)
    return texts, tokens


def tokens_of_text(block_text: str) -> int:
    units = sum(2 if ord(character) > 0xFFFF else 1 for character in block_text)
    return ceil_quarter(units) + 4


def ceil_quarter(length: int) -> int:
    return (length + 3) // 4


def sizes(texts: list[str], tokens: int) -> Row:
    """The figures of a result. Its whole text is compared with the form of a cut as code points, one by one."""
    whole = [character for block_text in texts for character in block_text]
    is_cut = len(whole) == 4096 + len(MARKER) + 1024 and whole[4096 : 4096 + len(MARKER)] == list(MARKER)
    return {"code_points": len(whole), "tokens": tokens + MESSAGE, "already_cut": is_cut}


# Results and calls


def add_result(log: Log, at: int, call_id: str | None, figures: Row) -> None:
    """A result's tool is the one that the nearest earlier call with its id names."""
    place = {"path": log.path, "format": log.format, "line": log.lines, "offset": at}
    tool = log.calls.get(call_id) if call_id is not None else None
    log.results.append({**place, "tool": tool, "call_id": call_id, **figures})


def add_call(log: Log, call_id: str | None, name: str | None) -> None:
    """A call without a name takes the name of its id away."""
    if call_id is not None:
        log.calls[call_id] = name


def count_dsh(log: Log, at: int, top: Value) -> None:
    kind = text(top, "type")
    data = member(top, "data")
    if kind == "session" and log.session is None and at + top.end <= MEBIBYTE:
        log.session = name_member(top, "id")
    if kind == "tool/call":
        add_call(log, name_member(data, "callId"), name_member(data, "name"))
    if kind == "tool/result":
        place = {
            "session": None,
            "seq": whole_number(top, "seq"),
            "turn": whole_number(data, "turn"),
            "step": whole_number(data, "step"),
            "sidechain": None,
        }
        call_id, is_error, figures = dsh_result(data)
        add_result(log, at, call_id, {**place, "is_error": is_error, **figures})


def dsh_result(data: Value | None) -> tuple[str | None, bool, Row]:
    """The id, the error and the figures of a `tool/result` line."""
    message = member(data, "message")
    has_message = message is not None and isinstance(message.data, dict)
    content = member(message if has_message else data, "content")
    ids = [name_member(message, "toolCallId")]
    errors = [is_true(message, "isError"), is_true(data, "isError")]
    is_string = content is not None and isinstance(content.data, str)
    texts, tokens = measure(content) if is_string else ([], 0)
    for block in objects(content):
        is_wrapper = text(block, "type") == "tool-result"
        if is_wrapper:
            ids.append(name_member(block, "toolCallId"))
            errors.append(is_true(block, "isError"))
        inside = member(block, "content") if is_wrapper else Value([block], block.start, block.end)
        block_texts, block_tokens = measure(inside)
        texts += block_texts
        tokens += block_tokens + (WRAPPER if is_wrapper else 0)
    ids.append(name_member(data, "callId"))
    call_id = next((found for found in ids if found is not None), None)
    return call_id, any(errors), sizes(texts, tokens)


def count_claude_code(log: Log, at: int, top: Value) -> None:
    copy = member(top, "toolUseResult")
    if copy is not None:
        log.ui_copy_bytes += copy.end - copy.start
    for block in objects(member(member(top, "message"), "content")):
        kind = text(block, "type")
        if kind == "tool_use":
            add_call(log, name_member(block, "id"), name_member(block, "name"))
        if kind == "tool_result" and text(top, "type") == "user":
            place = {
                "session": name_member(top, "sessionId"),
                "seq": None,
                "turn": None,
                "step": None,
                "sidechain": is_true(top, "isSidechain"),
            }
            texts, tokens = measure(member(block, "content"))
            figures = {"is_error": is_true(block, "is_error"), **sizes(texts, tokens + WRAPPER)}
            add_result(log, at, name_member(block, "tool_use_id"), {**place, **figures})
