"""Provider usage, brought to classes of input that do not overlap.

Whether the input that a provider reports already includes cached tokens differs by provider; the names of its fields
say which one it is.
"""

from typing import Any

from toolprune.transcript import Usage


def usage_of(reported: Any) -> Usage | None:
    """The usage that a response reports, as a dict or as an SDK's object; None where it holds no count of input.

    - Anthropic: `input_tokens` is what no cache had; `cache_read_input_tokens` and `cache_creation_input_tokens` are
      beside it.
    - OpenAI Responses: `input_tokens` includes `input_tokens_details.cached_tokens`.
    - OpenAI chat: `prompt_tokens` includes `prompt_tokens_details.cached_tokens`; DeepSeek calls these
      `prompt_cache_hit_tokens`.
    """
    if reported is None:
        return None
    prompt = _count(reported, "prompt_tokens")
    if prompt is not None:
        cached = _count(_field(reported, "prompt_tokens_details"), "cached_tokens")
        if cached is None:
            cached = _count(reported, "prompt_cache_hit_tokens")
        return _including(prompt, cached, _count(reported, "completion_tokens"))
    given = _count(reported, "input_tokens")
    if given is None:
        return None
    output = _count(reported, "output_tokens")
    details = _field(reported, "input_tokens_details")
    if details is not None:
        return _including(given, _count(details, "cached_tokens"), output)
    return Usage(
        input_missed=given,
        input_cached=_count(reported, "cache_read_input_tokens") or 0,
        input_written=_count(reported, "cache_creation_input_tokens") or 0,
        output=output or 0,
    )


def _including(given: int, cached: int | None, output: int | None) -> Usage:
    cached = min(cached or 0, given)
    return Usage(input_missed=given - cached, input_cached=cached, output=output or 0)


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _count(item: Any, name: str) -> int | None:
    value = _field(item, name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
