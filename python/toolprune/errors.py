"""What toolprune raises where no standard exception says it better, and what its sentences are made of."""


class ToolpruneError(Exception):
    """The base of every error that is toolprune's own. Its text is one sentence: what, where, what to do."""


class ConfigError(ToolpruneError, ValueError):
    """A setting that cannot be used: an unknown key, a value out of range, a file that is not TOML."""


class MeterError(ToolpruneError, ValueError):
    """A meter that cannot count here: its library or its vocabulary is missing."""


class MessageError(ToolpruneError, ValueError):
    """A message that cannot be read, or a dialect of messages that is not known."""


def shown(value: object) -> str:
    """A value as a sentence shows it: on one line, the middle of a long one left out."""
    import reprlib

    try:
        return reprlib.repr(value)
    except ValueError:
        # Python writes no integer of more digits than `sys.get_int_max_str_digits` says.
        return f"{type(value).__name__} of very many digits"


def nearest(name: str, known: list[str]) -> str | None:
    """The known name that someone who wrote `name` most likely meant; None where it resembles none."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1)), None)


def suggestion(near: str | None, known: list[str]) -> str:
    """The end of a sentence about an unknown name."""
    return f"did you mean {near}?" if near else f"there are {', '.join(known)}"
