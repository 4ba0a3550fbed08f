"""The tree of limits, and where settings come from."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from toolprune.cli import settings
from toolprune.config import CutConfig, GateConfig, ScanConfig, Settings
from toolprune.defaults import DEFAULT_TOOLS
from toolprune.errors import ConfigError, ToolpruneError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without settings, under a home without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refused(**flags: object) -> str:
    """The one sentence that settings are refused with."""
    with pytest.raises(ConfigError) as caught:
        settings.load({f"scan.{name}": value for name, value in flags.items()})
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_defaults_are_the_hosts_own() -> None:
    assert CutConfig().model_dump() == {
        "threshold": 8192,
        "head": 4096,
        "tail": 1024,
        "marker": "\n\n[... tool result middle pruned ...]\n\n",
        "boundary": "code_point",
        "note": False,
    }
    assert len(CutConfig().marker) == 39
    assert ScanConfig().model_dump() == {"threshold": 8192, "threads": 0, "largest": 1000}


@pytest.mark.parametrize(
    "values",
    [
        {"threshold": 0},
        {"threshold": 8192.0},
        {"threshold": "8192"},
        {"threshold": True},
        {"threshold": 2**63},
        {"head": -1},
        {"tail": -1},
        {"marker": b"x"},
        {"boundary": "word"},
        {"note": 1},
        {"treshold": 8192},
    ],
)
def test_a_cut_config_takes_integers_in_range_and_known_keys(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CutConfig.model_validate(values)


def refused_config(**values: object) -> str:
    with pytest.raises(ConfigError) as caught:
        CutConfig(**values)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"treshold": 8192}, "CutConfig: there is no treshold; did you mean threshold?"),
        ({"x": 1}, "CutConfig: there is no x; there are threshold, head, tail, marker, boundary, note"),
        ({"head": -1}, "CutConfig: head = -1: it should be greater than or equal to 0"),
        ({"threshold": "8192"}, "CutConfig: threshold = '8192': it should be a valid integer"),
        ({"marker": 7}, "CutConfig: marker = 7: it should be a valid string"),
        ({"boundary": "word"}, "CutConfig: boundary = 'word': it should be 'code_point', 'grapheme' or 'line'"),
        ({"note": "yes"}, "CutConfig: note = 'yes': it should be a valid boolean"),
        (
            {"tail": 10**5000},
            "CutConfig: tail = int of very many digits: it should be less than or equal to 9223372036854775807",
        ),
    ],
)
def test_a_cut_config_is_refused_in_one_sentence(values: dict[str, object], sentence: str) -> None:
    assert refused_config(**values) == sentence


def test_a_config_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        CutConfig().head = 1  # type: ignore[misc]


@pytest.mark.parametrize(("head", "tail", "marker"), [(60, 30, "0123456789"), (100, 0, ""), (0, 100, ""), (0, 0, "")])
def test_what_is_kept_may_fill_the_threshold(head: int, tail: int, marker: str) -> None:
    assert CutConfig(threshold=100, head=head, tail=tail, marker=marker).threshold == 100


def test_keeping_more_than_the_threshold_is_refused_with_the_values_and_the_rule() -> None:
    rule = (
        "head 60 + marker 10 + tail 31 is 101 code points, more than the threshold of 100: "
        "lower head or tail, or raise the threshold"
    )
    assert refused_config(threshold=100, head=60, tail=31, marker="0123456789") == f"CutConfig: {rule}"


@given(
    threshold=st.integers(1, 60), head=st.integers(0, 40), tail=st.integers(0, 40), marker=st.text("m🌊", max_size=9)
)
def test_a_config_is_accepted_exactly_when_its_cut_is_within_its_threshold(
    threshold: int, head: int, tail: int, marker: str
) -> None:
    fits = len("h" * head + marker + "t" * tail) <= threshold
    try:
        CutConfig(threshold=threshold, head=head, tail=tail, marker=marker)
    except ConfigError:
        assert not fits
    else:
        assert fits


def refused_gate(**values: object) -> str:
    with pytest.raises(ConfigError) as caught:
        GateConfig(**values)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_gate_config_says_its_defaults() -> None:
    config = GateConfig()
    assert (config.latch_tokens, config.keep_views, config.cut) == (100_000, 3, CutConfig())
    assert (config.latch, config.timing, config.meter) == ("derived", "immediate", "auto")
    assert (config.shadow, config.sessions) == (False, 1000)
    assert config.tools == DEFAULT_TOOLS


NO_TOOLS = 'it should be a set of tool names, "*" for every tool, or a function of the name'
NO_METER = "it should be auto, host, or tiktoken: with the name of an encoding, as tiktoken:o200k_base"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"views": 3}, "there is no views; did you mean keep_views?"),
        (
            {"x": 1},
            "there is no x; there are latch_tokens, keep_views, cut, tools, latch, timing, meter, shadow, sessions",
        ),
        ({"latch_tokens": -1}, "latch_tokens = -1: it should be greater than or equal to 0"),
        ({"latch_tokens": 1e5}, "latch_tokens = 100000.0: it should be a valid integer"),
        ({"latch_tokens": True}, "latch_tokens = True: it should be a valid integer"),
        (
            {"latch_tokens": 2**63},
            f"latch_tokens = {2**63}: it should be less than or equal to {2**63 - 1}",
        ),
        ({"keep_views": 0}, "keep_views = 0: it should be greater than or equal to 1"),
        ({"keep_views": "3"}, "keep_views = '3': it should be a valid integer"),
        ({"tools": "read"}, f"tools = 'read': {NO_TOOLS}"),
        ({"tools": None}, f"tools = None: {NO_TOOLS}"),
        ({"tools": ["read", 7]}, f"tools = ['read', 7]: {NO_TOOLS}"),
        ({"tools": {"read": True}}, f"tools = {{'read': True}}: {NO_TOOLS}"),
        ({"latch": "open"}, "latch = 'open': it should be 'derived' or 'process'"),
        ({"timing": "later"}, "timing = 'later': it should be 'immediate'"),
        ({"meter": "gpt"}, f"meter = 'gpt': {NO_METER}"),
        ({"meter": "tiktoken"}, f"meter = 'tiktoken': {NO_METER}"),
        ({"meter": None}, "meter = None: it should be a valid string"),
        ({"shadow": 1}, "shadow = 1: it should be a valid boolean"),
        ({"sessions": 0}, "sessions = 0: it should be greater than or equal to 1"),
    ],
)
def test_a_gate_config_is_refused_in_one_sentence(values: dict[str, object], sentence: str) -> None:
    assert refused_gate(**values) == f"GateConfig: {sentence}"


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        (
            {"head": 9000},
            "cut = {'head': 9000}: CutConfig: head 9000 + marker 39 + tail 1024 is 10063 code points, more than the "
            "threshold of 8192: lower head or tail, or raise the threshold",
        ),
        ({"head": -1}, "cut = {'head': -1}: CutConfig: head = -1: it should be greater than or equal to 0"),
        ({"hed": 9}, "cut = {'hed': 9}: CutConfig: there is no hed; did you mean head?"),
        (None, "cut = None: it should be a valid dictionary or instance of CutConfig"),
    ],
)
def test_a_cut_that_a_gate_config_cannot_take_is_named_with_the_cuts_own_sentence(cut: object, sentence: str) -> None:
    assert refused_gate(cut=cut) == f"GateConfig: {sentence}"


def test_the_cut_of_a_gate_config_may_be_a_dict() -> None:
    assert GateConfig(cut={"head": 100, "note": True}).cut == CutConfig(head=100, note=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "names", [{"look", "fetch"}, frozenset({"look", "fetch"}), ["look", "fetch", "look"], ("fetch", "look")]
)
def test_the_tools_of_a_gate_config_are_kept_as_a_frozen_set(names: object) -> None:
    tools = GateConfig(tools=names).tools  # type: ignore[arg-type]
    assert tools == frozenset({"look", "fetch"})
    assert type(tools) is frozenset


def test_a_list_of_tools_that_changes_later_changes_no_config() -> None:
    names = ["look"]
    config = GateConfig(tools=names)
    names.append("fetch")
    assert config.tools == frozenset({"look"})


def test_the_tools_of_a_gate_config_may_be_none_all_or_a_function() -> None:
    assert GateConfig(tools=frozenset()).tools == frozenset()
    assert GateConfig(tools="*").tools == "*"
    assert GateConfig(tools=str.isupper).tools == str.isupper


@pytest.mark.parametrize("meter", ["auto", "host", "tiktoken:o200k_base"])
def test_a_meter_is_named_without_being_made(meter: str) -> None:
    # Whether tiktoken has the vocabulary is for the gate to find out.
    assert GateConfig(meter=meter).meter == meter


def test_nothing_is_set_in_an_empty_home(project: Path) -> None:
    assert not settings.anything_set()
    loaded = settings.load()
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}
    assert list(loaded.sources) == [
        "cut.threshold",
        "cut.head",
        "cut.tail",
        "cut.marker",
        "cut.boundary",
        "cut.note",
        "scan.threshold",
        "scan.threads",
        "scan.largest",
    ]


@pytest.mark.parametrize("file", ["toolprune.toml", "user/toolprune/config.toml"])
def test_a_file_is_something_set(project: Path, file: str) -> None:
    write(project / file, "")
    assert settings.anything_set()


def test_each_source_gives_way_to_the_one_before_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = write(
        project / "user" / "toolprune" / "config.toml",
        "[cut]\ntail = 1\n[scan]\nthreshold = 1\nthreads = 1\nlargest = 1\n",
    )
    write(project / "toolprune.toml", "[scan]\nthreshold = 2\nthreads = 2\nlargest = 2\n")
    monkeypatch.setenv("TOOLPRUNE_SCAN__THRESHOLD", "3")
    monkeypatch.setenv("TOOLPRUNE_SCAN__THREADS", "3")
    loaded = settings.load({"scan.threshold": 4})
    assert loaded.settings.scan == ScanConfig(threshold=4, threads=3, largest=2)
    assert loaded.settings.cut == CutConfig(tail=1)
    assert loaded.sources == {
        "cut.threshold": "default",
        "cut.head": "default",
        "cut.tail": str(user),
        "cut.marker": "default",
        "cut.boundary": "default",
        "cut.note": "default",
        "scan.threshold": "--threshold",
        "scan.threads": "TOOLPRUNE_SCAN__THREADS",
        "scan.largest": "toolprune.toml",
    }


def test_a_variable_may_hold_any_text(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLPRUNE_CUT__MARKER", "12")
    assert settings.load().settings.cut.marker == "12"


def test_boundary_and_note_are_settings_like_any_other(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project / "toolprune.toml", "[cut]\nboundary = 'line'\nnote = true\n")
    assert settings.load().settings.cut == CutConfig(boundary="line", note=True)
    monkeypatch.setenv("TOOLPRUNE_CUT__BOUNDARY", "grapheme")
    monkeypatch.setenv("TOOLPRUNE_CUT__NOTE", "false")
    assert settings.load().settings.cut == CutConfig(boundary="grapheme")


@pytest.mark.parametrize("file", ["toolprune.toml", "user/toolprune/config.toml"])
@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("[scan]\ntreshold = 1\n", "scan.treshold", "scan.threshold"),
        ("[scam]\nthreads = 1\n", "scam.threads", "scan.threads"),
        ("threshold = 1\n", "threshold", "scan.threshold"),
        ("marker = ''\n", "marker", "cut.marker"),
    ],
)
def test_an_unknown_key_of_a_file_is_named_with_the_nearest(
    project: Path, file: str, text: str, key: str, nearest: str
) -> None:
    path = write(project / file, text)
    shown = file if file == "toolprune.toml" else str(path)
    assert refused() == f"{shown}: {key} is no setting; did you mean {nearest}?"


def test_an_unknown_key_that_resembles_none_is_named_with_all(project: Path) -> None:
    write(project / "toolprune.toml", "[colour]\nx = 1\n")
    assert refused() == (
        "toolprune.toml: colour.x is no setting; there are cut.threshold, cut.head, cut.tail, cut.marker, "
        "cut.boundary, cut.note, scan.threshold, scan.threads, scan.largest"
    )


VARIABLES = (
    "TOOLPRUNE_CUT__THRESHOLD, TOOLPRUNE_CUT__HEAD, TOOLPRUNE_CUT__TAIL, TOOLPRUNE_CUT__MARKER, "
    "TOOLPRUNE_CUT__BOUNDARY, TOOLPRUNE_CUT__NOTE, "
    "TOOLPRUNE_SCAN__THRESHOLD, TOOLPRUNE_SCAN__THREADS, TOOLPRUNE_SCAN__LARGEST"
)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("TOOLPRUNE_SCAN__TRESHOLD", "did you mean TOOLPRUNE_SCAN__THRESHOLD?"),
        ("TOOLPRUNE_SCAN_THRESHOLD", "did you mean TOOLPRUNE_SCAN__THRESHOLD?"),
        ("TOOLPRUNE_SCAN__THRESHOLDS", "did you mean TOOLPRUNE_SCAN__THRESHOLD?"),
        ("TOOLPRUNE_THRESHOLD", "did you mean TOOLPRUNE_SCAN__THRESHOLD?"),
        ("TOOLPRUNE_CUT_HEAD", "did you mean TOOLPRUNE_CUT__HEAD?"),
        ("TOOLPRUNE_COLOUR", f"there are {VARIABLES}"),
        ("toolprune_", f"there are {VARIABLES}"),
    ],
)
def test_a_variable_that_is_no_setting_is_named_with_the_nearest(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str, end: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert settings.anything_set()
    assert refused() == f"the environment variable {name} is no setting; {end}"


SECTION = (
    "is a section, not a setting; its settings are "
    "TOOLPRUNE_SCAN__THRESHOLD, TOOLPRUNE_SCAN__THREADS, TOOLPRUNE_SCAN__LARGEST"
)


@pytest.mark.parametrize("value", ["5", "[1]", '{"threshold": 1}', '{"x": 1}', "", "null"])
def test_a_section_is_no_variable(project: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TOOLPRUNE_SCAN", value)
    assert refused() == f"the environment variable TOOLPRUNE_SCAN {SECTION}"


@pytest.mark.parametrize("value", ["[1]", '{"x": 1}', "", "null"])
def test_a_variable_says_text_and_nothing_else(project: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TOOLPRUNE_CUT__MARKER", value)
    assert settings.load().settings.cut.marker == value
    monkeypatch.setenv("TOOLPRUNE_SCAN__THREADS", value)
    assert refused() == f"scan.threads = {value!r} (from TOOLPRUNE_SCAN__THREADS): it should be a valid integer"


def test_the_variable_by_which_tests_find_fixtures_is_left_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLPRUNE_SHARED", "/somewhere")
    assert not settings.anything_set()
    assert settings.load().settings == Settings()


@pytest.mark.parametrize("text", ["scan = 5\n", "[[scan]]\nthreads = 1\n"])
def test_a_section_of_a_file_is_no_setting(project: Path, text: str) -> None:
    write(project / "toolprune.toml", text)
    assert refused() == (
        "toolprune.toml: scan is a section, not a setting; its settings are scan.threshold, scan.threads, scan.largest"
    )


def test_a_file_may_begin_with_a_byte_order_mark(project: Path) -> None:
    write(project / "toolprune.toml", "\ufeff[scan]\nthreshold = 77\n")
    assert settings.load().settings.scan.threshold == 77


def test_a_config_file_that_is_none_is_refused(project: Path) -> None:
    path = project / "toolprune.toml"
    path.mkdir()
    assert refused() == "toolprune.toml is no regular file: make it one, or remove it"
    path.rmdir()
    path.symlink_to("nowhere")
    assert refused() == "toolprune.toml is a link that leads nowhere: mend it, or remove it"


def test_a_value_out_of_range_is_named_with_its_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(threshold=0) == ("scan.threshold = 0 (from --threshold): it should be greater than or equal to 1")
    monkeypatch.setenv("TOOLPRUNE_SCAN__THREADS", "many")
    assert refused() == "scan.threads = 'many' (from TOOLPRUNE_SCAN__THREADS): it should be a valid integer"


def test_values_that_do_not_fit_together_are_named_with_their_sources(project: Path) -> None:
    write(project / "toolprune.toml", "[cut]\nhead = 9000\n")
    assert refused() == (
        "cut.head (from toolprune.toml): head 9000 + marker 39 + tail 1024 is 10063 code points, more than the "
        "threshold of 8192: lower head or tail, or raise the threshold"
    )


def test_a_file_that_is_not_toml_is_named(project: Path) -> None:
    write(project / "toolprune.toml", "[scan\n")
    assert refused().startswith("toolprune.toml is not TOML: ")
    (project / "toolprune.toml").write_bytes(b"x = '\xff'\n")
    assert refused().startswith("toolprune.toml is not TOML: ")


def test_a_file_nested_beyond_measure_is_named(project: Path) -> None:
    write(project / "toolprune.toml", f"[scan]\nthreshold = {'[' * 100_000}{']' * 100_000}\n")
    assert refused() == "toolprune.toml is nested too deeply: a setting is a value in a section"


def test_a_dotted_key_in_quotes_is_no_setting(project: Path) -> None:
    write(project / "toolprune.toml", '"scan.threshold" = 5\n')
    assert refused() == "toolprune.toml: scan.threshold in quotes is no setting; write threshold in [scan]"
    write(project / "toolprune.toml", "scan.threshold = 5\n")
    assert settings.load().settings.scan.threshold == 5


@pytest.mark.parametrize("marker", ["\ud800", "…\udfff…"])
def test_a_marker_is_text(marker: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CutConfig(marker=marker)
    assert str(caught.value) == (
        f"CutConfig: marker = {marker!r}: it has a lone surrogate, which no text file can hold: leave it out"
    )
    # A whole character beyond the first 65,536 is none.
    assert CutConfig(marker="\U0001f600").marker == "\U0001f600"


def test_an_error_of_settings_is_one_of_toolprune_and_a_value_error() -> None:
    assert issubclass(ConfigError, ToolpruneError)
    assert issubclass(ConfigError, ValueError)
