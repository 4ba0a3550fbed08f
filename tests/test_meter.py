"""What counts tokens, held to counts worked out by hand."""

import hashlib
import importlib
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiktoken.registry
from tiktoken_ext import openai_public

import toolprune
from toolprune import GateConfig, ToolpruneError
from toolprune.cost.meter import HostMeter, Measure, TiktokenMeter, UsageMeter, meter_named
from toolprune.dialects import read
from toolprune.errors import MeterError
from toolprune.transcript import Message, Part, Usage

HOST = HostMeter()
OPENAI: Any = importlib.import_module("tiktoken_ext.openai_public")
"""The plugin with tiktoken's own encodings; it has no types."""


def text(value: str) -> Part:
    return Part("text", (value,))


def total(messages: Sequence[Any], dialect: str, overhead: int = 0, meter: str = "auto") -> int:
    """The tokens of a list of messages."""
    measure = Measure(meter_named(meter))
    for message in read(messages, dialect).messages:
        measure.add(message)
    return measure.total(overhead)


# The host's estimate


@pytest.mark.parametrize(
    ("units", "quarters"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (400, 100), (401, 101)]
)
def test_a_text_is_counted_in_steps_of_four_units(units: int, quarters: int) -> None:
    assert HOST.tokens(Message("user", (text("x" * units),))) == 4 + quarters + 4
    assert HOST.tokens(Message("assistant", (Part("reasoning", ("x" * units,)),))) == 4 + quarters + 4


def test_a_message_without_blocks_is_four() -> None:
    assert HOST.tokens(Message("user", ())) == 4


@pytest.mark.parametrize(
    ("value", "units"),
    [
        ("é" * 5, 5),
        ("漢" * 5, 5),
        ("😀" * 5, 10),
        ("a😀漢", 4),
        ("\ud83d" * 5, 5),
        ("\ude00\ud83d😀", 4),
        ("\x00" * 5, 5),
    ],
)
def test_units_are_those_of_utf_16(value: str, units: int) -> None:
    assert HOST.tokens(Message("user", (text(value),))) == 4 + -(-units // 4) + 4


def test_texts_are_rounded_up_each_for_itself() -> None:
    # 1 + 4, twice; as one text they would be 1 + 4.
    assert HOST.tokens(Message("user", (text("ab"), text("cd")))) == 4 + 5 + 5


def test_a_call_is_four_and_its_name_and_arguments_each_rounded_up() -> None:
    # 5 units and 13: 2 + 4 + 4, where all 18 together would be 5 + 4.
    assert HOST.tokens(Message("assistant", (Part("call", ("grep_", '{"path": "a"}')),))) == 4 + 2 + 4 + 4
    assert HOST.tokens(Message("assistant", (Part("call", ("", "")),))) == 4 + 4


def test_a_result_is_its_blocks_and_four_more_where_it_is_wrapped() -> None:
    blocks = Part("result", ("abcde", "abcd"), (82,))
    # 2 + 4, 1 + 4 and 21 + 4
    assert HOST.tokens(Message("tool", (blocks,))) == 4 + 6 + 5 + 25
    assert HOST.tokens(Message("user", (blocks._replace(wrapped=True),))) == 4 + 6 + 5 + 25 + 4
    assert HOST.tokens(Message("tool", (Part("result"),))) == 4
    assert HOST.tokens(Message("user", (Part("result", wrapped=True),))) == 4 + 4


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
"""As JSON without spaces 16 + 10 + 16 + 25 + 13 + 2 = 82 units: 21 + 4 tokens."""

# Each with its tokens: those of the message, and of each block in it.
COUNTED: list[tuple[str, dict[str, Any], int]] = [
    ("openai-chat", {"role": "user", "content": "abcde"}, 4 + 6),
    ("openai-chat", {"role": "user", "content": [{"type": "text", "text": "abcde"}, IMAGE]}, 4 + 6 + 25),
    ("openai-chat", {"role": "assistant", "content": None, "reasoning_content": "abcde"}, 4 + 6),
    ("openai-chat", {"role": "tool", "tool_call_id": "c", "content": "abcde"}, 4 + 6),
    ("openai-chat", {"role": "tool", "tool_call_id": "c", "content": None}, 4),
    ("openai-chat", {"role": "tool", "tool_call_id": "c", "content": [IMAGE]}, 4 + 25),
    (
        "openai-chat",
        {
            "role": "assistant",
            "content": "abcde",
            # 1 + 2 + 4, the arguments being the 8 units that the model wrote
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}],
        },
        4 + 6 + 7,
    ),
    ("openai-responses", {"type": "function_call_output", "call_id": "c", "output": "abcde"}, 4 + 6),
    ("openai-responses", {"type": "function_call", "call_id": "c", "name": "read", "arguments": '{"a": 1}'}, 4 + 7),
    (
        "openai-responses",
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "abcde"}, {"type": "summary_text", "text": "a"}],
        },
        4 + 6 + 5,
    ),
    # `{"type":"item_reference","id":"r"}` is 1 + 6 + 1 + 16 + 1 + 4 + 1 + 3 + 1 = 34 units.
    ("openai-responses", {"type": "item_reference", "id": "r"}, 4 + 9 + 4),
    # The input is no text, so it is counted as JSON without spaces: `{"a":1}`, 7 units, 2 tokens.
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read", "input": {"a": 1}}]},
        4 + 1 + 2 + 4,
    ),
    (
        "anthropic",
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "abcde"}]},
        4 + 4 + 6,
    ),
    ("anthropic", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}, 4 + 4),
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "abcde", "signature": "s" * 400}]},
        4 + 6,
    ),
    ("anthropic", {"role": "user", "content": [IMAGE, {"type": "text", "text": "abcde"}]}, 4 + 25 + 6),
    # `{"type":"x","é":"漢😀"}` is 1 + 6 + 1 + 3 + 1 + 3 + 1 + 5 + 1 = 22 units: JSON without escapes.
    ("anthropic", {"role": "user", "content": [{"type": "x", "é": "漢😀"}]}, 4 + 6 + 4),
]


@pytest.mark.parametrize(("dialect", "message", "tokens"), COUNTED)
def test_each_kind_of_message_is_counted_by_what_it_holds(dialect: str, message: dict[str, Any], tokens: int) -> None:
    assert total([message], dialect, meter="host") == tokens


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_a_mark_for_the_cache_counts_nothing(dialect: str) -> None:
    marked = {**IMAGE, "cache_control": {"type": "ephemeral"}}
    for content in ([marked], [{"type": "text", "text": "abcde", "cache_control": {"type": "ephemeral"}}, marked]):
        unmarked = [{key: value for key, value in block.items() if key != "cache_control"} for block in content]
        assert total([{"role": "user", "content": content}], dialect) == total(
            [{"role": "user", "content": unmarked}], dialect
        )


def test_a_request_is_the_sum_of_its_messages_and_the_overhead() -> None:
    said = [{"role": "user", "content": "abcde"}, {"role": "assistant", "content": "abcd"}]
    assert total(said, "openai-chat") == 10 + 9
    assert total(said, "openai-chat", overhead=5000) == 5019
    assert total([], "openai-chat", overhead=7) == 7
    assert total([], "openai-chat") == 0


# Usage, and an estimate of what came after it

SAID = [{"role": "user", "content": "abcde"}]
AFTER = [{"role": "user", "content": "abcd"}]
USAGES: list[tuple[str, dict[str, Any]]] = [
    (
        "anthropic",
        {
            "input_tokens": 100,
            "cache_read_input_tokens": 3000,
            "cache_creation_input_tokens": 20,
            "output_tokens": 80,
        },
    ),
    (
        "openai-chat",
        {"prompt_tokens": 3120, "completion_tokens": 80, "prompt_tokens_details": {"cached_tokens": 3000}},
    ),
    (
        "openai-chat",
        {
            "prompt_tokens": 3120,
            "completion_tokens": 80,
            "prompt_cache_hit_tokens": 3000,
            "prompt_cache_miss_tokens": 120,
        },
    ),
]


@pytest.mark.parametrize(("dialect", "usage"), USAGES, ids=["anthropic", "openai", "deepseek"])
def test_what_a_provider_counted_stands_and_only_what_came_after_is_estimated(
    dialect: str, usage: dict[str, Any]
) -> None:
    answered = {"role": "assistant", "content": "abcd", "usage": usage}
    assert total([*SAID, answered], dialect) == 3200
    assert total([*SAID, answered, *AFTER], dialect) == 3200 + 9
    assert total([*SAID, answered, *AFTER], dialect, meter="host") == 10 + 9 + 9


@pytest.mark.parametrize(("counted", "expected"), [(18, 19 + 9), (19, 19 + 9), (20, 20 + 9)])
def test_usage_stands_from_the_estimate_on(counted: int, expected: int) -> None:
    # 10 + 9 are estimated through the response.
    answered = {"role": "assistant", "content": "abcd", "usage": {"prompt_tokens": counted, "completion_tokens": 0}}
    assert total([*SAID, answered, *AFTER], "openai-chat") == expected


@pytest.mark.parametrize(("overhead", "expected"), [(0, 509), (481, 509), (482, 510), (1000, 1028)])
def test_overhead_is_part_of_the_estimate_that_usage_is_held_against(overhead: int, expected: int) -> None:
    # 19 through the response, so that 481 more are what the provider counted.
    answered = {"role": "assistant", "content": "abcd", "usage": {"prompt_tokens": 490, "completion_tokens": 10}}
    assert total([*SAID, answered, *AFTER], "openai-chat", overhead) == expected


def test_the_last_response_with_usage_counts() -> None:
    first = {"role": "assistant", "content": "abcd", "usage": {"prompt_tokens": 490, "completion_tokens": 10}}
    second = {"role": "assistant", "content": "abcd", "usage": {"prompt_tokens": 790, "completion_tokens": 10}}
    without = {"role": "assistant", "content": "abcd"}
    assert total([*SAID, first, *AFTER, second, *AFTER], "openai-chat") == 800 + 9
    # The prompt may have become smaller, by what the host dropped.
    assert total([*SAID, second, *AFTER, first, *AFTER], "openai-chat") == 500 + 9
    assert total([*SAID, first, *AFTER, without, *AFTER], "openai-chat") == 500 + 9 + 9 + 9


def test_a_stub_of_usage_after_a_good_one_leaves_the_estimate() -> None:
    good = {"role": "assistant", "content": "abcd", "usage": {"prompt_tokens": 490, "completion_tokens": 10}}
    stub = {"role": "assistant", "content": "abcd", "usage": {"prompt_tokens": 0, "completion_tokens": 1}}
    assert total([*SAID, good, *AFTER, stub], "openai-chat") == 10 + 9 + 9 + 9


def test_only_the_meter_that_takes_usage_looks_at_it() -> None:
    message = Message("assistant", (text("abcd"),), Usage(input_missed=500))
    for meter, expected in ((UsageMeter(HostMeter()), 500), (HostMeter(), 9)):
        measure = Measure(meter)
        measure.add(message)
        assert measure.total(0) == expected


# tiktoken

SMALL = """
def small():
    ranks = {bytes([each]): each for each in range(256)} | {b"ab": 256, b"abab": 257}
    return {
        "name": "small",
        "pat_str": r"[^ ]+| +",
        "mergeable_ranks": ranks,
        "special_tokens": {"<|end|>": 258},
    }


ENCODING_CONSTRUCTORS = {"small": small}
"""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("a meter reached for the network")

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A vocabulary of all bytes, `ab` and `abab`, over words and spaces, as a plugin of tiktoken's."""
    (tmp_path / "tiktoken_ext").mkdir()
    (tmp_path / "tiktoken_ext" / "small.py").write_text(SMALL, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(tiktoken.registry, "ENCODING_CONSTRUCTORS", None)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    tiktoken.registry._available_plugin_modules.cache_clear()
    yield "small"
    tiktoken.registry._available_plugin_modules.cache_clear()
    sys.modules.pop("tiktoken_ext.small", None)


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("", 0),
        ("ab", 1),
        ("abab", 1),
        ("ababab", 2),
        ("abab abc", 4),  # abab, a space, ab, c
        ("é", 2),  # its bytes
        ("😀ab", 5),
        ("<|end|>", 7),  # text that only looks like a special token
        ("\ud83d", 3),  # tiktoken reads a lone surrogate as U+FFFD
    ],
)
def test_tiktoken_counts_each_text_exactly(small: str, value: str, tokens: int) -> None:
    assert TiktokenMeter(small).tokens(Message("user", (text(value),))) == 4 + tokens + 4


def test_tiktoken_counts_calls_and_results_and_leaves_the_rest_to_the_hosts_rule(small: str) -> None:
    meter = TiktokenMeter(small)
    # abab; `{"ab":1}` without a space is one word of 8 bytes, in which ab is one token.
    assert meter.tokens(Message("assistant", (Part("call", ("abab", '{"ab":1}')),))) == 4 + 1 + 7 + 4
    blocks = Part("result", ("abab", "abc"), (82,))
    assert meter.tokens(Message("tool", (blocks,))) == 4 + (1 + 4) + (2 + 4) + (21 + 4)
    assert meter.tokens(Message("user", (blocks._replace(wrapped=True),))) == 4 + (1 + 4) + (2 + 4) + (21 + 4) + 4


def test_a_gate_measures_by_the_encoding_that_its_config_names(small: str) -> None:
    # 25 times abab is 4 + 25 + 4 = 33 tokens and 100 times c is 4 + 100 + 4; the host would estimate 33 for either.
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "abab" * 25},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "r", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "r", "content": "m" * 9000},
        *[{"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Go on."}] * 3,
    ]
    for first, opens in (("abab" * 25, 33), ("c" * 100, 108)):
        messages[0] = {"role": "user", "content": first}
        at = GateConfig(latch_tokens=opens, meter=f"tiktoken:{small}")
        above = GateConfig(latch_tokens=opens + 1, meter=f"tiktoken:{small}")
        assert len(toolprune.Gate(at).apply(messages)[2]["content"]) == 5159
        # The request that holds the result opens the gate, and the result is frozen.
        assert toolprune.Gate(above).apply(messages) is messages


def asked_for(encoding: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The name of the file that tiktoken itself would look for, and the SHA-256 that it would hold it against."""
    asked: list[tuple[str, str]] = []

    def load(address: str, expected_hash: str) -> dict[bytes, int]:
        asked.append((hashlib.sha1(address.encode()).hexdigest(), expected_hash))
        return {}

    monkeypatch.setattr(OPENAI, "load_tiktoken_bpe", load)
    OPENAI.ENCODING_CONSTRUCTORS[encoding]()
    return asked[0]


def refused(encoding: str) -> str:
    with pytest.raises(MeterError) as caught:
        TiktokenMeter(encoding)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


OWN = [name for name in OPENAI.ENCODING_CONSTRUCTORS if name != "gpt2"]
"""The encodings whose vocabulary tiktoken would download."""


@pytest.mark.parametrize("encoding", OWN)
def test_a_vocabulary_that_is_missing_is_named_by_the_file_that_tiktoken_looks_for(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    file, _ = asked_for(encoding, monkeypatch)
    assert refused(encoding) == (
        f"the vocabulary {encoding} of tiktoken is not on this machine: let tiktoken.get_encoding('{encoding}') fetch "
        f"it where it may, and set TIKTOKEN_CACHE_DIR to the folder that holds it as {file}, now {tmp_path}"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoding", OWN)
def test_a_vocabulary_that_is_damaged_is_named_and_left_where_it_is(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    path = tmp_path / asked_for(encoding, monkeypatch)[0]
    path.write_bytes(b"IQ== 0\n")
    assert refused(encoding) == (
        f"{path} is not the vocabulary {encoding} of tiktoken: its SHA-256 differs, so fetch it again"
    )
    assert path.read_bytes() == b"IQ== 0\n"


@pytest.mark.parametrize("encoding", OWN)
def test_a_vocabulary_is_held_against_the_sum_that_tiktoken_holds_it_against(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No text has the sum of another, so the sum of this one is said to be the one that tiktoken expects.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    file, expected = asked_for(encoding, monkeypatch)
    (tmp_path / file).write_bytes(b"vocabulary")

    class Sum:
        def __init__(self, data: bytes) -> None:
            assert data == b"vocabulary"

        def hexdigest(self) -> str:
            return expected

    monkeypatch.setattr("hashlib.sha256", Sum)
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: name)
    TiktokenMeter(encoding)


def test_the_folder_is_the_one_in_which_tiktoken_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert refused("cl100k_base").endswith(f", now {tmp_path / 'data-gym-cache'}")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "older"))
    assert refused("cl100k_base").endswith(f", now {tmp_path / 'older'}")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "newer"))
    assert refused("cl100k_base").endswith(f", now {tmp_path / 'newer'}")


def test_an_encoding_that_tiktoken_does_not_have_is_named_with_the_nearest() -> None:
    assert refused("o200k-base") == "tiktoken has no encoding o200k-base; did you mean o200k_base?"
    assert refused("llama") == f"tiktoken has no encoding llama; there are {', '.join(OWN)}"


def test_a_vocabulary_that_would_be_two_downloads_is_not_offered() -> None:
    assert refused("gpt2").startswith("tiktoken has no encoding gpt2; there are r50k_base, ")


def test_without_tiktoken_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert refused("o200k_base") == "tiktoken is not installed: pip install 'toolprune[tiktoken]'"


def test_a_meter_that_cannot_count_is_refused_when_a_gate_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ToolpruneError, match=r"^tiktoken is not installed"):
        toolprune.Gate(GateConfig(meter="tiktoken:o200k_base"))
    # Nothing else needs it.
    assert toolprune.Gate(GateConfig(meter="auto")).apply([]) == []


def test_tiktoken_is_loaded_for_no_other_meter() -> None:
    script = "import sys, toolprune; toolprune.Gate().apply([]); assert 'tiktoken' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_empty_folder_name_is_refused_since_tiktoken_then_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert refused("cl100k_base") == (
        "TIKTOKEN_CACHE_DIR is empty, so tiktoken keeps no vocabulary: set it to a folder that holds one"
    )


def test_an_encoding_of_tiktokens_own_whose_file_is_not_known_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(openai_public.ENCODING_CONSTRUCTORS, "o300k_base", lambda: pytest.fail("it is made"))
    monkeypatch.setattr(tiktoken, "list_encoding_names", lambda: [*OWN, "o300k_base"])
    assert refused("o300k_base") == "tiktoken has no encoding o300k_base; did you mean o200k_base?"
