"""Where settings come from: flags, `TOOLPRUNE_*`, `./toolprune.toml`, the user's config file, defaults."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from toolprune.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import ValidationError

    from toolprune.config import Settings

PREFIX = "TOOLPRUNE_"
BETWEEN = "__"
PROJECT_FILE = Path("toolprune.toml")
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


def anything_set() -> bool:
    """Whether any source but the defaults may say something; asked without loading a validator."""
    return any(name.upper().startswith(PREFIX) for name in os.environ) or any(
        os.path.lexists(path) for path in (PROJECT_FILE, user_file())
    )


def load(flags: Values | None = None) -> Loaded:
    """Read every source, the strongest first, and validate what comes of it.

    Raises ConfigError, one sentence, for an unknown key, a value that does not fit, and a file that cannot be read.
    """
    from pydantic import ValidationError

    from toolprune.config import Settings

    known = keys()
    layers: list[tuple[Values, Callable[[str], str]]] = [(flags or {}, _flag), (_environment(known), _variable)]
    for path in (PROJECT_FILE, user_file()):
        layers.append((_file(path, known), lambda _key, path=path: str(path)))  # type: ignore[misc]

    tree: dict[str, dict[str, Any]] = {}
    sources = dict.fromkeys(known, DEFAULT)
    for values, source in reversed(layers):
        for key, value in values.items():
            section, name = key.split(".", 1)
            tree.setdefault(section, {})[name] = value
            sources[key] = source(key)
    try:
        return Loaded(Settings.model_validate(tree), sources)
    except ValidationError as error:
        raise ConfigError(_sentence(error, sources)) from error


def keys() -> list[str]:
    """Every setting's dotted key."""
    from toolprune.config import Settings

    return [
        f"{section}.{name}"
        for section, field in Settings.model_fields.items()
        for name in field.annotation.model_fields  # type: ignore[union-attr]
    ]


def _flag(key: str) -> str:
    return f"--{key.rsplit('.', maxsplit=1)[-1]}"


def _variable(key: str) -> str:
    return PREFIX + key.replace(".", BETWEEN).upper()


def _environment(known: list[str]) -> Values:
    from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

    from toolprune.config import Settings

    # The two kinds of model_config differ in type only: each accepts the other's keys.
    class Sourced(Settings, BaseSettings):  # type: ignore[misc]
        """The tree as pydantic-settings wants it."""

    variables = {_variable(key): key for key in known}
    for name in os.environ:
        upper = name.upper()
        if upper.startswith(PREFIX) and upper not in variables:
            _refuse_variable(name, list(variables))
    try:
        nested = EnvSettingsSource(Sourced, env_prefix=PREFIX, env_nested_delimiter=BETWEEN)()
    except SettingsError as error:
        raise ConfigError(f"the environment's {PREFIX}* cannot be read: {error}") from error
    return {key: _parsed(key, value) for key, value in _flat(nested).items()}


def _refuse_variable(name: str, known: list[str]) -> None:
    """Refuse a variable that was meant as a setting: it has a section, or it nearly is a setting."""
    near = _nearest(name.upper(), known, 0.8)
    if BETWEEN in name or near:
        raise ConfigError(f"the environment variable {name} is no setting; {_suggestion(near, known)}")


def _parsed(key: str, text: Any) -> Any:
    """What a variable's text says as its field's type; where it is none, the text itself, for the tree to refuse."""
    from pydantic import TypeAdapter, ValidationError

    from toolprune.config import Settings

    section, name = key.split(".")
    field = Settings.model_fields[section].annotation.model_fields[name]  # type: ignore[union-attr]
    try:
        return TypeAdapter(field.annotation).validate_strings(text)
    except ValidationError:
        return text


def _file(path: Path, known: list[str]) -> Values:
    if not path.exists():
        return {}
    from pydantic_settings import BaseSettings, TomlConfigSettingsSource

    try:
        values = _flat(TomlConfigSettingsSource(BaseSettings, path).toml_data)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    for key in values:
        if key not in known:
            raise ConfigError(f"{path}: {key} is no setting; {_suggestion(_nearest(key, known, 0.6), known)}")
    return values


def _flat(nested: Mapping[str, Any]) -> Values:
    """Sections to dotted keys. What is no section keeps its bare name, which no setting has."""
    flat: Values = {}
    for section, values in nested.items():
        if isinstance(values, dict):
            flat.update({f"{section}.{name}": value for name, value in values.items()})
        else:
            flat[section] = values
    return flat


def _nearest(key: str, known: list[str], least: float) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, known, n=1, cutoff=least)), None)


def _suggestion(near: str | None, known: list[str]) -> str:
    return f"did you mean {near}?" if near else f"there are {', '.join(known)}"


def _sentence(error: ValidationError, sources: Mapping[str, str]) -> str:
    """What pydantic found first, with the source of the value that it refused."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    if key in sources:
        given = f"{key} = {first['input']!r} (from {sources[key]})"
    else:
        set_here = {
            each: source for each, source in sources.items() if each.startswith(f"{key}.") and source != DEFAULT
        }
        given = ", ".join(f"{each} (from {source})" for each, source in set_here.items())
    message = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{given}: {message}"
