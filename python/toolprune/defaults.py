"""The numbers that everything starts from.

They stand apart from the validated tree in `config` because a command line that was given no setting needs nothing
more, and starts without loading a validator.
"""

THRESHOLD = 8192
"""Code points of a tool result above which it is cut, and above which a scan lists it."""

HEAD = 4096
"""Code points that a cut keeps of the start."""

TAIL = 1024
"""Code points that a cut keeps of the end."""

MARKER = "\n\n[... tool result middle pruned ...]\n\n"
"""What stands for the middle: 39 code points, the host's own."""

LARGEST = 1000
"""Results that a scan keeps, the longest first."""

THREADS = 0
"""Threads of a scan; 0 is one for each processor."""

LATCH_TOKENS = 100_000
"""Tokens of a whole request at which the gate opens."""

KEEP_VIEWS = 3
"""Requests that hold a result whole before the gate cuts it."""

SESSIONS = 1000
"""Conversations named by id that a gate remembers at once."""

DEFAULT_TOOLS = frozenset(
    {
        *("read", "glob", "grep", "bash", "web_search", "web_fetch"),
        *("mcp__browser-mcp__web_search", "mcp__browser-mcp__fetch_page"),
        *("Read", "Glob", "Grep", "Bash", "WebSearch", "WebFetch"),  # Claude Code
        *("shell", "exec_command"),  # Codex
        *("read_file", "execute"),  # deepagents
    }
)
"""Tools whose results the gate cuts: they look something up that can be looked up again."""

KEPT_TOOLS = frozenset(
    {
        *("skill", "write", "edit", "ask_user", "subagent", "send_file", "enable_mcp"),
        *("prune_candidates", "prune_apply", "prune_stats", "prune_guard"),
    }
)
"""Tools that are not on the list on purpose."""

RESTORING_TOOLS = frozenset({"expand", "read_tool_result_log"})
"""Tools that give originals back: to cut what they return would undo what they are for."""
