"""The command line's own words: its help, and the sentence for wrong usage.

typer has words of its own for both, and they differ from version to version; here it only parses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from toolprune.cli.streams import tell
from toolprune.errors import ToolpruneError, nearest, suggestion

if TYPE_CHECKING:
    # typer brings a click of its own from some version on, and names its classes nowhere in public.
    Context = Any
    Formatter = Any


class Command(TyperCommand):
    """A verb."""

    def format_help(self, ctx: Context, formatter: Formatter) -> None:
        """Write the usage, what the verb does, and its options."""
        _write_help(
            self, ctx, formatter, [each.metavar or "" for each in self.params if each.param_type_name == "argument"]
        )


class Group(TyperGroup):
    """A verb that has verbs, as the root is."""

    def format_help(self, ctx: Context, formatter: Formatter) -> None:
        """Write the usage, what the verbs do, and the options before them."""
        _write_help(self, ctx, formatter, ["VERB", "…"])
        with formatter.section("Verbs"):
            formatter.write_dl([(name, _first_line(verb)) for name, verb in self.commands.items()])

    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        """Find the verb that the first argument names."""
        if not args[0].startswith("-") and args[0] not in self.commands:
            known = list(self.commands)
            raise ToolpruneError(
                f"`{ctx.command_path}` has no verb {args[0]}; {suggestion(nearest(args[0], known), known)}"
            )
        return super().resolve_command(ctx, args)


def help_when_bare(context: typer.Context) -> None:
    """Say on standard error what there is, where no verb was named, and leave as for wrong usage."""
    if context.invoked_subcommand is None:
        tell(f"{context.get_help()}\n")
        raise typer.Exit(2)


def wrong_usage(error: BaseException) -> str | None:
    """One sentence for what typer found wrong with the arguments; None for any other error."""
    if not isinstance(error, _USAGE):
        return None
    context: Context = error.ctx
    path = "toolprune" if context is None else context.command_path
    known = [] if context is None else _option_names(context.command)
    message = str(error.message).removesuffix(".")
    option = getattr(error, "option_name", None)
    if type(error).__name__ == "NoSuchOption" and option is not None:
        return f"`{path}` has no option {option}; {suggestion(nearest(option, known), known)}"
    if message.startswith("Got unexpected extra argument"):
        return f"`{path}` takes no argument {message.rpartition(' (')[2].removesuffix(')')}; leave it out"
    return f"{message[:1].lower()}{message[1:]}; `{path} --help` says what there is"


# BadParameter is the one kind of wrong usage that typer exports; the base of all is below it.
_USAGE: Any = typer.BadParameter.__mro__[1]


def _option_names(verb: Any) -> list[str]:
    options = (each for each in verb.params if each.param_type_name == "option")
    return [*(name for each in options for name in each.opts), "--help"]


def _first_line(verb: Any) -> str:
    return str(verb.help or "").partition("\n")[0]


def _write_help(verb: Any, context: Context, formatter: Formatter, arguments: list[str]) -> None:
    formatter.write_usage(context.command_path, " ".join(["[OPTIONS]", *arguments]))
    verb.format_help_text(context, formatter)
    options = [each for each in verb.params if each.param_type_name == "option"]
    rows = [(" ".join(filter(None, [", ".join(each.opts), each.metavar])), each.help) for each in options]
    with formatter.section("Options"):
        formatter.write_dl([*rows, ("-h, --help", "Show this help.")])
