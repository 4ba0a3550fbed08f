"""Provider usage, brought to classes of input that do not overlap: each provider's own rule, on its own fields."""

from types import SimpleNamespace
from typing import Any

import pytest

from toolprune.cost.usage import usage_of
from toolprune.transcript import Usage

ANTHROPIC = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 50_000,
    "output_tokens": 700,
    "service_tier": "standard",
}
CHAT = {
    "prompt_tokens": 50_000,
    "completion_tokens": 700,
    "total_tokens": 50_700,
    "prompt_tokens_details": {"cached_tokens": 48_000, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 600},
}
RESPONSES = {
    "input_tokens": 50_000,
    "input_tokens_details": {"cached_tokens": 48_000},
    "output_tokens": 700,
    "output_tokens_details": {"reasoning_tokens": 600},
    "total_tokens": 50_700,
}
DEEPSEEK = {
    "prompt_tokens": 50_000,
    "completion_tokens": 700,
    "total_tokens": 50_700,
    "prompt_cache_hit_tokens": 48_000,
    "prompt_cache_miss_tokens": 2_000,
}


def attributes(value: Any) -> Any:
    """A dict as an object with attributes, as SDKs return it."""
    return SimpleNamespace(**{k: attributes(v) for k, v in value.items()}) if isinstance(value, dict) else value


def test_anthropic_reports_cached_and_written_input_beside_the_rest() -> None:
    assert usage_of(ANTHROPIC) == Usage(input_missed=12, input_cached=50_000, input_written=300, output=700)
    assert usage_of({"input_tokens": 12, "output_tokens": 7}) == Usage(input_missed=12, output=7)


@pytest.mark.parametrize("reported", [CHAT, RESPONSES, DEEPSEEK])
def test_openai_and_deepseek_report_cached_input_as_part_of_the_whole(reported: dict[str, Any]) -> None:
    usage = usage_of(reported)
    assert usage == Usage(input_missed=2_000, input_cached=48_000, output=700)
    assert usage.total == 50_700


def test_where_deepseek_reports_both_names_they_are_not_added() -> None:
    both = {**DEEPSEEK, "prompt_tokens_details": {"cached_tokens": 48_000}}
    assert usage_of(both) == Usage(input_missed=2_000, input_cached=48_000, output=700)


@pytest.mark.parametrize("reported", [ANTHROPIC, CHAT, RESPONSES, DEEPSEEK])
def test_an_object_with_attributes_says_what_a_dict_says(reported: dict[str, Any]) -> None:
    assert usage_of(attributes(reported)) == usage_of(reported)


@pytest.mark.parametrize(
    "reported",
    [
        {"prompt_tokens": 900, "completion_tokens": 100},
        {"prompt_tokens": 900, "completion_tokens": 100, "prompt_tokens_details": None},
        {"prompt_tokens": 900, "completion_tokens": 100, "prompt_tokens_details": {}},
        {"prompt_tokens": 900, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": None}},
        {"input_tokens": 900, "output_tokens": 100, "input_tokens_details": {}},
        {"input_tokens": 900, "output_tokens": 100, "cache_read_input_tokens": None},
    ],
)
def test_what_is_not_said_of_the_cache_is_none(reported: dict[str, Any]) -> None:
    assert usage_of(reported) == Usage(input_missed=900, output=100)


def test_a_response_without_a_count_of_output_brought_none() -> None:
    assert usage_of({"prompt_tokens": 900}) == Usage(input_missed=900)
    assert usage_of({"input_tokens": 900, "output_tokens": None}) == Usage(input_missed=900)


def test_more_cached_than_given_is_all_of_it() -> None:
    over = {"prompt_tokens": 900, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 901}}
    assert usage_of(over) == Usage(input_missed=0, input_cached=900, output=1)


def test_zeros_are_counts() -> None:
    assert usage_of({"prompt_tokens": 0, "completion_tokens": 0}) == Usage()
    assert usage_of({"input_tokens": 0, "output_tokens": 0}) == Usage()


@pytest.mark.parametrize(
    "reported",
    [
        None,
        {},
        {"output_tokens": 7},
        {"input_tokens": None},
        {"input_tokens": "12"},
        {"input_tokens": 12.0},
        {"input_tokens": True},
        {"input_tokens": -1},
        {"prompt_tokens": -1},
        "12 tokens",
        12,
        [12],
    ],
)
def test_what_holds_no_count_of_input_is_no_usage(reported: Any) -> None:
    assert usage_of(reported) is None


@pytest.mark.parametrize("details", ["prompt_tokens_details", "input_tokens_details"])
def test_openai_reports_written_input_as_part_of_the_whole(details: str) -> None:
    given, output = (
        ("prompt_tokens", "completion_tokens") if details.startswith("prompt") else ("input_tokens", "output_tokens")
    )
    reported = {given: 1_000, output: 7, details: {"cached_tokens": 600, "cache_write_tokens": 300}}
    assert usage_of(reported) == Usage(input_missed=100, input_cached=600, input_written=300, output=7)
