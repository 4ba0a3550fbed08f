"""The config of the plugin's row in a profile, as the host writes it, to a gate's."""

from typing import Any

from toolprune.config import CutConfig, GateConfig
from toolprune.errors import ConfigError, nearest, shown, suggestion

_GATE = {"latchTokens": "latch_tokens", "keepViews": "keep_views", "tools": "tools", "shadow": "shadow"}
_CUT = {"thresholdChars": "threshold", "headChars": "head", "tailChars": "tail", "boundary": "boundary"}


def gate_config(row: dict[str, Any]) -> GateConfig:
    """The gate of a row. Its keys are the host's own names, or those of `GateConfig`, with those of its cut as `cut`.

    The latch is the process's: what is there when a host starts stays as the log has it.

    Raises ConfigError, one sentence, for an unknown key and for a value that cannot be used.
    """
    gate: dict[str, Any] = {"latch": "process"}
    cut = row.get("cut", {})
    if not isinstance(cut, dict):
        raise ConfigError(f"the row of toolprune: cut = {shown(cut)}: it should have keys, as threshold")
    cut = dict(cut)
    own = {*_GATE.values()}
    for key, value in row.items():
        if key in _CUT:
            cut[_CUT[key]] = value
        elif key in _GATE or key in own:
            gate[_GATE.get(key, key)] = value
        elif key != "cut":
            known = [*_GATE, *_CUT, "cut"]
            raise ConfigError(f"the row of toolprune: there is no {key}; {suggestion(nearest(key, known), known)}")
    return GateConfig(**gate, cut=CutConfig(**cut))
