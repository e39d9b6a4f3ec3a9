"""Results folders, complete or not there, with a list of what Fairport wrote into them.

The list is the file `.fairport.json` in the folder. `--force` replaces a folder only if it has such
a list and holds nothing else, so a folder with a file of the user's own is never removed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from fairport.errors import OutputError
from fairport.files.exchange import exchange
from fairport.files.partial import (
    LIST,
    is_partial,
    listed,
    moved_aside,
    partial_folder,
    put_back,
    write_list,
)


@contextmanager
def atomic_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """A folder to fill, which takes the name `folder` when the block ends well.

    If the block raises, nothing of it is left, and an existing `folder` is untouched. Raises
    OutputError at once if `folder` exists (with `force`: and is not a results folder) or cannot be
    made, and later if it cannot be filled.
    """
    # not resolve(), because an existing link must be recognised as a link
    folder = Path.cwd() / folder
    refuse_what_is_there(folder, force=force)
    missing = [parent for parent in folder.parents if not parent.exists()]
    try:
        with _made(folder) as partial:
            yield partial
            write_list(partial, _files(partial) - {LIST})
            _take_place(partial, folder, force)
    except BaseException as error:
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
        if isinstance(error, OSError):
            raise unwritable(folder, error) from error
        raise


def refuse_what_is_there(folder: Path, *, force: bool) -> None:
    """Raises OutputError if something exists there that must not be replaced."""
    put_back(folder)
    if not os.path.lexists(folder):
        return
    problem = _not_ours(folder)
    if not force:
        or_replace = "" if problem else ", or `force=True` to replace it"
        raise OutputError(
            "exists", file=_shown(folder), remedy=f"give another `folder`{or_replace}"
        )
    if problem:
        raise OutputError(
            f"{problem}, so `force=True` does not replace it",
            file=_shown(folder),
            remedy="give another `folder`, or move it away",
        )


def unwritable(folder: Path, error: OSError) -> OutputError:
    """The error for a results folder that cannot be written."""
    is_too_long = error.errno == errno.ENAMETOOLONG
    return OutputError(
        f"cannot be written: {error.strerror or error}",
        file=_shown(folder),
        remedy="give a shorter `folder`" if is_too_long else "make room, or give another `folder`",
    )


def add_to_list(folder: Path, names: Iterable[str]) -> None:
    """Adds files of a run's folder to its list, or to that of the folder of several runs above."""
    for place, prefix in ((folder, ""), (folder.parent, f"{folder.name}/")):
        known = listed(place)
        if known is not None:
            write_list(place, known | {prefix + name for name in names})
            return


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """A folder's temporary folder. If it cannot be made, the error has its own remedy."""
    with ExitStack() as stack:
        try:
            partial = stack.enter_context(partial_folder(folder))
        except OSError as error:
            raise OutputError(
                f"cannot be written: {error.strerror}",
                file=_shown(folder),
                remedy="give another `folder`, in a place where you may write",
            ) from None
        yield partial


def _not_ours(folder: Path) -> str:
    """Why a folder is not provably a result of Fairport; empty if it is."""
    if folder.is_symlink() or not folder.is_dir():
        return "is not a result of Fairport"
    here = Path.cwd()
    if folder.resolve() in (here, *here.parents):
        return "is the working folder or holds it"  # a shell there would be left in no folder
    known = listed(folder)
    if known is None:
        with suppress(PermissionError):
            if not any(folder.iterdir()):
                return ""
        return "is not a result of Fairport"
    others = sorted(_files(folder) - known - {LIST})
    return f"holds `{others[0]}`, which Fairport did not write" if others else ""


def _files(folder: Path) -> set[str]:
    """Every file and link below a folder, except temporary ones and what is in them."""
    found = set()
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if not is_partial(here / name)]
        links = [name for name in folders if (here / name).is_symlink()]
        files = [name for name in names if not is_partial(here / name)]
        found |= {(here / name).relative_to(folder).as_posix() for name in [*files, *links]}
    return found


def _take_place(partial: Path, folder: Path, force: bool) -> None:
    if not (force and folder.exists()):
        if os.path.lexists(folder):
            raise OutputError(
                "was made by another program in the meantime",
                file=_shown(folder),
                remedy="give another `folder`",
            )
        partial.rename(folder)
        return
    # checked again: the run may have taken hours
    refuse_what_is_there(folder, force=True)
    if not exchange(partial, folder):
        _replace(folder, partial)


def _replace(folder: Path, new: Path) -> None:
    """Replaces by two renames. After a kill between them, `put_back` finds the earlier result."""
    with moved_aside(folder) as earlier:
        try:
            new.rename(folder)
        except BaseException:
            earlier.rename(folder)
            raise


def _shown(folder: Path) -> str:
    """The path relative to the working directory, if that is shorter."""
    relative = os.path.relpath(folder)
    return relative if len(relative) < len(str(folder)) else str(folder)
