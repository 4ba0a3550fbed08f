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
    - OpenAI Responses: `input_tokens` includes `cached_tokens` and `cache_write_tokens` of `input_tokens_details`.
    - OpenAI chat: `prompt_tokens` includes the same of `prompt_tokens_details`; DeepSeek calls what was cached
      `prompt_cache_hit_tokens`.
    """
    if reported is None:
        return None
    prompt = _count(reported, "prompt_tokens")
    if prompt is not None:
        details = _field(reported, "prompt_tokens_details")
        cached = _count(details, "cached_tokens")
        if cached is None:
            cached = _count(reported, "prompt_cache_hit_tokens")
        return _including(prompt, cached, details, _count(reported, "completion_tokens"))
    given = _count(reported, "input_tokens")
    if given is None:
        return None
    output = _count(reported, "output_tokens")
    details = _field(reported, "input_tokens_details")
    if details is not None:
        return _including(given, _count(details, "cached_tokens"), details, output)
    return Usage(
        input_missed=given,
        input_cached=_count(reported, "cache_read_input_tokens") or 0,
        input_written=_count(reported, "cache_creation_input_tokens") or 0,
        output=output or 0,
    )


def _including(given: int, cached: int | None, details: Any, output: int | None) -> Usage:
    cached = min(cached or 0, given)
    written = min(_count(details, "cache_write_tokens") or 0, given - cached)
    return Usage(given - cached - written, cached, written, output or 0)


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _count(item: Any, name: str) -> int | None:
    value = _field(item, name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
