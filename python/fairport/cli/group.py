"""How commands fail: every error is one message, `error:` and `hint:`, and an exit status."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from fairport.cli import INTERRUPTED
from fairport.errors import InputError, did_you_mean

BAD_INPUT = 2

# the base of all that click says against a command line; typer exports it under no name
_UsageError: Any = typer.BadParameter.__mro__[1]


class Group(TyperGroup):
    """A group of commands. What the command line says wrong is an InputError like any other."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the command that the arguments begin with."""
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            raise InputError(
                f"is not a command of {ctx.command_path}",
                value=args[0],
                remedy=did_you_mean(args[0], known),
            )
        return super().resolve_command(ctx, args)


class Commands(Group):
    """All commands, below the one name `fairport`."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Reads the options before the command."""
        with _one_message():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        with _one_message(), warnings.catch_warnings():
            warnings.showwarning = _in_one_line
            done = super().invoke(ctx)
            sys.stdout.flush()
            return done


@contextmanager
def _one_message() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise  # the help is printed
        print(*_of_usage(error).lines(), sep="\n", file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from None
    except InputError as error:
        print(*error.lines(), sep="\n", file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from None
    except BrokenPipeError:
        raise  # a reader that has left is no error; typer ends without a message
    except OSError as error:
        # Named files have errors of their own, so this is one of the streams.
        print(f"error: {error.filename or 'stdout'}: {error.strerror}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt as pressed:
        print(f"interrupted: {str(pressed) or 'nothing was written'}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _of_usage(error: Any) -> InputError:
    """What is wrong with a command line, in our words."""
    command = error.ctx.command_path if error.ctx else "fairport"
    remedy = f"see `{command} --help`"
    param = getattr(error, "param", None)
    if type(error).__name__ == "NoSuchOption":
        unknown = error.option_name
        known = [name for one in error.ctx.command.params for name in one.opts if name[1] == "-"]
        nearest = did_you_mean(unknown, known)
        remedy = nearest if nearest.startswith("did you mean") else remedy
        return InputError(f"is not an option of {command}", field=unknown, remedy=remedy)
    if param is None:
        return InputError(_sentence(error.format_message()), remedy=remedy)
    name = param.opts[0] if param.param_type_name == "option" else param.metavar or param.name
    is_missing = type(error).__name__ == "MissingParameter"
    problem = "is missing" if is_missing else _sentence(error.message)
    return InputError(problem, field=name, remedy=remedy)


def _sentence(message: str) -> str:
    """As our problems are written: no capital, no full stop."""
    return f"{message[:1].lower()}{message[1:]}".rstrip(".")


def _in_one_line(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)
