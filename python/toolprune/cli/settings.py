"""Where settings come from: flags, `TOOLPRUNE_*`, `./toolprune.toml`, the user's config file, defaults."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import platformdirs

from toolprune.errors import ConfigError, nearest, shown, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel, ValidationError

    from toolprune.config import Settings

PREFIX = "TOOLPRUNE_"
BETWEEN = "__"
PROJECT_FILE = Path("toolprune.toml")
TESTS = "TOOLPRUNE_SHARED"
"""The one variable that is no setting: the tests find fixtures by it."""
DEFAULT = "default"

Values = dict[str, Any]
"""Settings by their dotted key, as `scan.threshold`."""


@dataclass(frozen=True)
class Loaded:
    """The validated tree, and for each dotted key the source of its value."""

    settings: Settings
    sources: Mapping[str, str]


def user_file() -> Path:
    """The user's own config file, whether or not it is there."""
    return platformdirs.user_config_path("toolprune", appauthor=False) / "config.toml"


def files() -> list[Path]:
    """The config files that are looked for, the strongest first, whether or not they are there."""
    return [PROJECT_FILE, user_file()]


def anything_set() -> bool:
    """Whether any source but the defaults may say something; asked without loading a validator."""
    return bool(_variables()) or any(os.path.lexists(path) for path in files())


def load(flags: Values | None = None) -> Loaded:
    """Read every source, the strongest first, and validate what comes of it.

    Raises ConfigError, one sentence, for an unknown key, a value that does not fit, and a file that cannot be read.
    """
    from toolprune.config import Settings

    known = keys()
    layers: list[tuple[Values, Callable[[str], str]]] = [(flags or {}, _flag), (_environment(known), _variable)]
    for path in files():
        layers.append((_file(path, known), _always(str(path))))

    tree: dict[str, dict[str, Any]] = {section: {} for section in Settings.model_fields}
    sources = dict.fromkeys(known, DEFAULT)
    for values, source in reversed(layers):
        for key, value in values.items():
            section, name = key.split(".", 1)
            tree[section][name] = value
            sources[key] = source(key)
    sections = {section: _section(section, values, sources) for section, values in tree.items()}
    return Loaded(Settings(**sections), sources)


def keys() -> list[str]:
    """Every setting's dotted key."""
    from toolprune.config import Settings

    return [f"{section}.{name}" for section in Settings.model_fields for name in _model(section).model_fields]


def _model(section: str) -> type[BaseModel]:
    """The model of a section: what the tree annotates it with."""
    from toolprune.config import Settings

    return cast("type[BaseModel]", Settings.model_fields[section].annotation)


def _always(source: str) -> Callable[[str], str]:
    """The source of every key of one file."""
    return lambda _key: source


def _flag(key: str) -> str:
    return f"--{key.rsplit('.', maxsplit=1)[-1]}"


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", BETWEEN).upper()


def _variables() -> list[str]:
    """The environment's variables that can only be meant as settings, as they are spelled there."""
    return [name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() != TESTS]


def _environment(known: list[str]) -> Values:
    from pydantic_settings import BaseSettings, EnvSettingsSource

    from toolprune.config import Settings

    # The two kinds of model_config differ in type only: each accepts the other's keys.
    class Sourced(Settings, BaseSettings):  # type: ignore[misc]
        """The tree as pydantic-settings wants it."""

    variables = {_variable(key): key for key in known}
    for name in _variables():
        if name.upper() not in variables:
            key = name.upper().removeprefix(PREFIX).replace(BETWEEN, ".").lower()
            raise ConfigError(f"the environment variable {name} {_unknown(key, known, _variable)}")
    nested = EnvSettingsSource(Sourced, env_prefix=PREFIX, env_nested_delimiter=BETWEEN)()
    return {key: _parsed(key, value) for key, value in _flat(nested).items()}


def _parsed(key: str, text: Any) -> Any:
    """What a variable's text says as its field's type; where it is none, the text itself, for the tree to refuse."""
    from pydantic import TypeAdapter, ValidationError

    section, name = key.split(".")
    field = _model(section).model_fields[name]
    try:
        return TypeAdapter(cast("type[Any]", field.annotation)).validate_strings(text)
    except ValidationError:
        return text


def _file(path: Path, known: list[str]) -> Values:
    if not os.path.lexists(path):
        return {}
    nested = _toml(path)
    for key in known:
        if key in nested:
            section, name = key.split(".")
            raise ConfigError(f"{path}: {key} in quotes is no setting; write {name} in [{section}]")
    values = _flat(nested)
    for key in values:
        if key not in known:
            raise ConfigError(f"{path}: {key} {_unknown(key.lower(), known, str)}")
    return values


def _toml(path: Path) -> Values:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ConfigError(f"{path} is no regular file: make it one, or remove it")
        # Editors of one system write a byte order mark, which TOML does not allow.
        nested: Values = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        return nested
    except FileNotFoundError as error:
        raise ConfigError(f"{path} is a link that leads nowhere: mend it, or remove it") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except ConfigError:
        raise
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply: a setting is a value in a section") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def _flat(nested: Mapping[str, Any]) -> Values:
    """Sections to dotted keys. What is no section keeps its bare name, which no setting has."""
    flat: Values = {}
    for section, values in nested.items():
        if isinstance(values, dict):
            flat.update({f"{section}.{name}": value for name, value in values.items()})
        else:
            flat[section] = values
    return flat


def _unknown(key: str, known: list[str], spelled: Callable[[str], str]) -> str:
    """What to say of a key that no setting has, each setting as it is spelled where the key was found."""
    inside = [spelled(each) for each in known if each.startswith(f"{key}.")]
    if inside:
        return f"is a section, not a setting; its settings are {', '.join(inside)}"
    # A bare name, as someone writes who knows the flag, means the scan's.
    names = {each.rpartition(".")[2]: each for each in known} | {each: each for each in known}
    near = nearest(key, list(names))
    return f"is no setting; {suggestion(spelled(names[near]) if near else None, [spelled(each) for each in known])}"


def _section(section: str, values: Values, sources: Mapping[str, str]) -> Any:
    from pydantic import ValidationError

    from toolprune.config import rule

    try:
        return _model(section)(**values)
    except ConfigError as error:
        found = error.__cause__
        assert isinstance(found, ValidationError)
        raise ConfigError(f"{_given(section, found, sources)}: {rule(found)}") from error


def _given(section: str, error: ValidationError, sources: Mapping[str, str]) -> str:
    """What was set that pydantic refused, and where."""
    first = error.errors(include_url=False)[0]
    if first["loc"]:
        key = f"{section}.{first['loc'][0]}"
        return f"{key} = {shown(first['input'])} (from {sources[key]})"
    set_here = {key: source for key, source in sources.items() if key.startswith(f"{section}.") and source != DEFAULT}
    return ", ".join(f"{key} (from {source})" for key, source in set_here.items())
