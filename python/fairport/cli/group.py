"""How commands fail: every error is one message, `error:` and `hint:`, and an exit status."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from fairport.cli.statuses import BAD_INPUT, INTERRUPTED, READER_LEFT
from fairport.errors import InputError, Interrupted, did_you_mean, nearest

# what messages call an argument of a function, and the option that gives it here
_FIELDS = {
    "backend": "--backend",
    "by": "--by",
    "captures": "--pcap",
    "color": "--color",
    "fixes": "--fix",
    "jobs": "--jobs",
    "metric": "--metric",
    "packets": "--packets",
    "until_precise": "--until-precise",
    "x": "--x",
    "y": "--y",
}
_IN_TEXTS = {
    '`backend="simulation"`': "--backend simulation",
    "`folder`": "--out",
    "`force=True`": "--force",
    "`quick=True`": "--quick",
    "`where`": "--where",
}
# the base class of click's errors about a command line; typer does not export it
_UsageError: Any = typer.BadParameter.__mro__[1]


class Group(TyperGroup):
    """A group of commands. A mistake on the command line is an InputError like any other."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for command in self.commands.values():
            params: list[Any] = command.params
            for param in params:
                if param.param_type_name == "argument":
                    # typer puts Python's type behind the name: `CAPTURE <list[str]>`
                    param.display_type_rich = lambda ctx: None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the command that the arguments begin with."""
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            from fairport.scenario import builtin_names

            remedy = did_you_mean(args[0], known)
            if ctx.parent is None and args[0] in builtin_names():
                remedy = f"did you mean `fairport run {args[0]}`?"
            elif "show" in known and not nearest(args[0], known):
                shown = f"{ctx.command_path} show {args[0]}"
                remedy = f"did you mean `{shown}`? Its commands are {', '.join(known)}."
            raise InputError(
                f"is not a command of {ctx.command_path}", value=args[0], remedy=remedy
            )
        return super().resolve_command(ctx, args)


def group(about: str) -> typer.Typer:
    """A group of commands below one name; with a single command it is a group, too."""
    made = typer.Typer(cls=Group, help=about, no_args_is_help=True, rich_markup_mode=None)
    made.callback()(lambda: None)
    return made


class Commands(Group):
    """All commands, below the one name `fairport`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands by section, and then the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            # names of one width, because each section aligns its own rows
            row = (f"{name:<10}", command.get_short_help_str(limit=formatter.width))
            sections.setdefault(getattr(command, "rich_help_panel", ""), []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes nothing: the commands come before the options."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Reads the options before the command."""
        with _silent_without_reader(), _one_message(), _written():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        with _silent_without_reader(), _one_message(), _written(), warnings.catch_warnings():
            warnings.showwarning = lambda one, *_, **__: print(f"warning: {one}", file=sys.stderr)
            _require_working_folder()
            with _interrupts_of_pydantic():
                return super().invoke(ctx)


def _require_working_folder() -> None:
    """Raises InputError if the folder in which the command was called was removed meanwhile."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise InputError(
            "does not exist any more", file="working folder", remedy="change into another folder"
        ) from None


@contextmanager
def resumable() -> Iterator[None]:
    """For commands whose finished runs are kept: Ctrl-C says that they continue from there."""
    try:
        with _interrupts_of_pydantic():
            yield
    except KeyboardInterrupt:
        raise Interrupted("finished runs are kept; the same command continues from there") from None


@contextmanager
def _interrupts_of_pydantic() -> Iterator[None]:
    """Ctrl-C while pydantic builds a schema becomes an error of its own there, which names it."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "SchemaError" and "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise


@contextmanager
def _silent_without_reader() -> Iterator[None]:
    """A pipe whose reader has left (`| head`) ends the command silently.

    Not with status 0, because nobody has seen the rest, nor with that of a check that did not hold.
    """
    try:
        yield
    except BrokenPipeError:
        raise typer.Exit(READER_LEFT) from None


@contextmanager
def _written() -> Iterator[None]:
    """Writes what the command has printed, whatever its status, while an error is still heard."""
    try:
        yield
    except typer.Exit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


@contextmanager
def _one_message() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # the help
            raise typer.Exit(BAD_INPUT) from None
        _say("\n".join(_of_usage(error).lines()))
        raise typer.Exit(BAD_INPUT) from None
    except InputError as error:
        _say(_with_options(error))
        raise typer.Exit(BAD_INPUT) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        # Errors about named files are handled elsewhere, so this is one of the streams.
        _say(f"error: {error.filename or 'stdout'}: {error.strerror}")
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt as pressed:
        _say(f"interrupted: {str(pressed) or 'nothing was written'}")
        raise typer.Exit(INTERRUPTED) from None


def _say(message: str) -> None:
    """Prints a message on stderr. If that cannot be written, the exit status is the same."""
    try:
        print(message, file=sys.stderr)
    except BrokenPipeError:
        raise
    except OSError:
        pass  # such as a full disk


def _with_options(error: InputError) -> str:
    """The error and its hint, with options in place of the arguments of a function in Python."""
    if not error.file:
        error.field = _FIELDS.get(error.field, error.field)
    text = "\n".join(error.lines())
    for argument, option in _IN_TEXTS.items():
        text = text.replace(argument, option)
    return text


def _of_usage(error: Any) -> InputError:
    """The mistake in a command line, in our words."""
    command = error.ctx.command_path if error.ctx else "fairport"
    remedy = f"see `{command} --help`"
    param = getattr(error, "param", None)
    if type(error).__name__ == "NoSuchOption":
        unknown = error.option_name
        options = [name for one in error.ctx.command.params for name in one.opts]
        # without the dashes, which make short names alike
        known = [name.removeprefix("--") for name in options if name.startswith("--")]
        meant = nearest(unknown.lstrip("-"), known)
        if meant:
            remedy = f"did you mean `--{meant}`?"
        elif isinstance(error.ctx.command, Group):
            remedy = "give the options of a command after its name"
        return InputError(f"is not an option of {command}", field=unknown, remedy=remedy)
    if type(error).__name__ == "BadOptionUsage":
        problem = "takes no value" if "does not take" in error.message else "needs a value"
        return InputError(problem, field=error.option_name, remedy=remedy)
    if param is None:
        extra = re.match(r"Got unexpected extra argument\S* \((.*)\)", error.message)
        if extra:
            return InputError(
                f"is one argument too many for {command}", value=extra[1], remedy=remedy
            )
        return InputError(_sentence(error.format_message()), remedy=remedy)
    name = param.opts[0] if param.param_type_name == "option" else param.metavar or param.name
    if type(error).__name__ == "MissingParameter":
        return InputError("is missing", field=name, remedy=remedy)
    if hasattr(error.__context__, "errors"):  # an error of pydantic, with which typer reads numbers
        from fairport.scenario.checking import words

        detail = error.__context__.errors()[0]
        problem, remedy = words(detail, [name])
        return InputError(problem, field=name, value=_number(detail["input"]), remedy=remedy)
    return InputError(_sentence(error.message), field=name, remedy=remedy)


def _number(text: str) -> int | str:
    """The value as messages show it: a number without quotes."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else text


def _sentence(message: str) -> str:
    """The text in the style of our messages: no capital, no full stop."""
    return f"{message[:1].lower()}{message[1:]}".rstrip(".")
