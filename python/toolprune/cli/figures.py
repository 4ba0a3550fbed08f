"""Numbers and names as people read them."""


def bytes_for_people(size: int) -> str:
    """A size in decimal units: 999 B, 1.5 kB, 1.0 GB."""
    return f"{size} B" if size < 1000 else f"{_scaled(size, ('kB', 'MB', 'GB', 'TB', 'PB'))}"


def count_for_people(count: int) -> str:
    """A count: 9,999 in full, then 10.0 k, 300.5 M, 2.0 G."""
    return f"{count:,}" if count < 10_000 else _scaled(count, ("k", "M", "G", "T", "P"))


def plural(count: int, one: str, many: str | None = None) -> str:
    """1 file, 2 files."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def harmless(text: str) -> str:
    r"""Text without what a terminal would obey or could not show: `\x1b` for an escape, `\ud83d` for half a pair.

    Printable is what Python's `str.isprintable` says: control and format characters, surrogates and line separators
    are not.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


def _scaled(value: int, units: tuple[str, ...]) -> str:
    scaled = float(value)
    for unit in units:
        scaled /= 1000
        # 999.95 would round to 1000.0.
        if scaled < 999.95:
            return f"{scaled:.1f} {unit}"
    return f"{scaled:.1f} {units[-1]}"
