"""toolprune keeps tool results from filling a language-model agent's context.

The names below are the whole public interface. Each is loaded when it is first used.
"""

TYPE_CHECKING = False  # `typing` takes its time, in which nobody would hear Ctrl-C
if TYPE_CHECKING:
    from toolprune._core import __version__
    from toolprune.config import CutConfig, GateConfig
    from toolprune.cutting import code_points, cut, cut_blocks, is_cut
    from toolprune.defaults import DEFAULT_TOOLS
    from toolprune.errors import ToolpruneError
    from toolprune.logs.scan import scan
    from toolprune.policy.gate import Edit, Gate

__all__ = [
    "DEFAULT_TOOLS",
    "CutConfig",
    "Edit",
    "Gate",
    "GateConfig",
    "ToolpruneError",
    "__version__",
    "code_points",
    "cut",
    "cut_blocks",
    "is_cut",
    "scan",
]

_HOMES = {
    "toolprune._core": ("__version__",),
    "toolprune.config": ("CutConfig", "GateConfig"),
    "toolprune.cutting": ("code_points", "cut", "cut_blocks", "is_cut"),
    "toolprune.defaults": ("DEFAULT_TOOLS",),
    "toolprune.errors": ("ToolpruneError",),
    "toolprune.logs.scan": ("scan",),
    "toolprune.policy.gate": ("Edit", "Gate"),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = getattr(import_module(home), name)
            return globals()[name]
    raise AttributeError(f"module 'toolprune' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
