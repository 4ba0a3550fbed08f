"""What toolprune raises where no standard exception says it better."""


class ToolpruneError(Exception):
    """The base of every error that is toolprune's own. Its text is one sentence: what, where, what to do."""


class ConfigError(ToolpruneError, ValueError):
    """A setting that cannot be used: an unknown key, a value out of range, a file that is not TOML."""
