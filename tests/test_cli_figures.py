"""Numbers and names as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolprune.cli.figures import bytes_for_people, count_for_people, harmless, plural


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_000_000_000, "1.0 GB"),
        (75_300_000_000, "75.3 GB"),
        (2 * 10**18, "2000.0 PB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert bytes_for_people(size) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (9999, "9,999"), (10_000, "10.0 k"), (300_512_000, "300.5 M"), (2 * 10**9, "2.0 G")]
)
def test_counts(count: int, text: str) -> None:
    assert count_for_people(count) == text


def test_plurals() -> None:
    assert [plural(count, "file") for count in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
    assert plural(2, "file was", "files were") == "2 files were"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Read", "Read"),
        ("naïve 日本 🌊", "naïve 日本 🌊"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\r\tc\x00", r"a\nb\r\tc\x00"),
        ("half \ud83d", r"half \ud83d"),
        ("not utf-8: \udcff", r"not utf-8: \udcff"),
        ("turned \u202e round", r"turned \u202e round"),
        ("line\u2028break\x85", r"line\u2028break\x85"),
        ("bell\x9b31m", r"bell\x9b31m"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_whatever_is_shown_is_printable(text: str) -> None:
    assert harmless(text).isprintable()
