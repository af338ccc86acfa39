"""Robots inside of linkwork, made for it from published dimensions and masses, without meshes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from linkwork._util.checked_arguments import public
from linkwork.errors import UnknownNameError

__all__ = ["loops", "names", "path"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)


def names() -> tuple[str, ...]:
    """The names that `linkwork.load` finds."""
    return tuple(sorted(file.name.removesuffix(".urdf") for file in _folder().iterdir() if file.suffix == ".urdf"))


@public
def path(name: str) -> Path:
    """The file of a robot.  Raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("robot", name, names())
    return _folder() / f"{name}.urdf"


@public
def loops(name: str) -> Path | None:
    """The file that closes a robot's loops, where it has any.  Raises UnknownNameError."""
    file = path(name).with_suffix(".loops.json")
    return file if file.is_file() else None


def _folder() -> Path:
    return Path(str(files(__name__)))
