"""Files at a user's path: opened only if they are regular, replaced without loss, and limited in size."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.messages import close_names, quoted

__all__ = [
    "LOOPS",
    "MESH",
    "MODEL",
    "ROBOT",
    "SCENE",
    "Budget",
    "NotRegularError",
    "kind_of_file",
    "opened_regular",
    "replaced",
    "similar_files",
]


class NotRegularError(ValueError):
    """The path is a directory, a pipe, a socket, a device or a pointer of Git LFS, and not a regular file."""


@contextmanager
def opened_regular(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file, following symbolic links, and yield it with its size in bytes.

    Raises NotRegularError, and FileNotFoundError, PermissionError and other errors of the system.  A FileNotFoundError
    names similar files of the folder.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        text = os.fsdecode(path)
        folder, name = os.path.split(text)
        hint = ", ".join(map(quoted, similar_files(folder, name)))
        if not os.path.isdir(folder or "."):
            hint = f"there is no folder {quoted(folder)}"
        elif hint:
            hint = f"did you mean {hint}?"
        raise FileNotFoundError(error.errno, f"{error.strerror}{hint and f' ({hint})'}", text) from None
    _refuse_others(status)  # first, since opening a pipe blocks and opening a device may have side effects
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        _refuse_others(status)  # the file may have been replaced since the first check
        if file.peek(len(_POINTER)).startswith(_POINTER):
            message = "expected a regular file, got a pointer of Git LFS, without the content of the file"
            raise NotRegularError(f"{message}; fetch the content: git lfs pull")
        yield file, status.st_size


@contextmanager
def replaced(path: str | os.PathLike[str], *, text: bool = False, overwrite: bool = True) -> Iterator[IO[Any]]:
    """Open a temporary file in the folder of ``path``, which replaces ``path`` when it is completely written.

    If writing fails (the disk is full, for example), an existing file is unchanged.  Text is UTF-8 with line feeds as
    line ends.  Raises FileNotFoundError if the folder does not exist; FileExistsError for an existing file, unless
    ``overwrite``; NotRegularError for a directory, a pipe or a device.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays, and points to the new file
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)}: no directory {os.fspath(target.parent)!r}; create it first")
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            kind = kind_of_file(status.st_mode)
            raise NotRegularError(f"expected the path of a regular file, got {os.fspath(path)!r}, which is {kind}")
        if not overwrite:
            raise FileExistsError(f"{os.fspath(path)}: the file exists already")
    name = target.parent / f".{target.name[:100]}.{os.getpid()}-{os.urandom(4).hex()}.part"
    options: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if text else {}
    try:
        with open(name, "x" if text else "xb", **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(name, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(name, target)
        else:
            _rename_exclusively(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def similar_files(folder: str, name: str) -> list[str]:
    """Return up to three paths of files in a folder with names similar to ``name``, or equal except for the suffix."""
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in islice(entries, _MOST_FILES) if entry.is_file()]
    except OSError:
        return []
    stem = os.path.splitext(name)[0]
    similar = [x for x in sorted(names) if x != name and os.path.splitext(x)[0] == stem]
    return [os.path.join(folder, x) for x in [*dict.fromkeys((*similar, *close_names(name, sorted(names))))][:3]]


def _rename_exclusively(name: Path, target: Path) -> None:
    """Rename a file.  Raises FileExistsError if another program has created the target in the meantime."""
    try:
        os.link(name, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.rename(name, target)
    else:
        os.unlink(name)


def kind_of_file(mode: int) -> str:
    """Return the kind of a file in words, for example "a directory"."""
    return next((name for test, name in _KINDS if test(mode)), "something else")


def _refuse_others(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(f"expected a regular file, got {kind_of_file(status.st_mode)}")


_MOST_FILES = 10_000  # files of a folder whose names are compared with a missing one
_POINTER = b"version https://git-lfs.github.com/spec/"
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


_MEBI = 2**20


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a file and of all files that it names, which are counted before they are parsed.

    The defaults suit the files of robots.  `linkwork.load` takes another budget for a file that needs more.
    """

    max_bytes: int = 64 * _MEBI  # [bytes] of one document
    max_elements: int = 1_000_000  # elements or values of one document
    max_depth: int = 256  # nested elements, values or names of a path
    max_files: int = 10_000  # files that a model names
    max_total_bytes: int = 512 * _MEBI  # [bytes] of all files together
    max_compiled: int = 40_000  # elements that MuJoCo compiles, with copies, attached models and composites
    max_prims: int = 200_000  # prims of a composed USD stage
    max_numbers: int = 30_000_000  # numbers of height fields and of arrays that a file states by their sizes
    max_vertices: int = 1_000_000  # distinct vertices of a mesh, and of all meshes that a file states by formulas
    max_pixels: int = 2**26  # of all pictures together
    max_memory: int = 384 * _MEBI  # [bytes] of a process that reads an untrusted file, besides its libraries
    max_seconds: float = 8.0  # [s] of the processor and of the clock, for an untrusted file

    def remedy(self, name: str, purpose: str = "for more") -> str:
        """Return the remedy for an exceeded limit in messages: the option of `linkwork.load` that raises the limit."""
        return f"{purpose}, pass budget=linkwork.formats.Budget({name}=...), now {getattr(self, name)}"


MODEL: Final = Budget()  # URDF, MJCF, SDF, USD
ROBOT: Final = Budget(max_elements=1_500_000, max_depth=64)  # linkwork's own files of robots
LOOPS: Final = Budget(max_bytes=8 * _MEBI, max_elements=200_000, max_depth=64)
MESH: Final = Budget(max_bytes=100_000_000)  # STL, OBJ, DAE, PLY, GLB
SCENE: Final = Budget(max_bytes=256 * _MEBI, max_elements=4_000_000, max_depth=64)  # obstacles, with fields and clouds
