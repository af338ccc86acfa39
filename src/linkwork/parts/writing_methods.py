"""Methods of `Robot` that write robot files: see the page on writing robots."""

from __future__ import annotations

import os
from typing import Any

from linkwork._util.file_access import NotRegularError, replaced
from linkwork.kernels.robot_base import RobotBase

__all__ = ["WritingMethods"]


class WritingMethods(RobotBase):
    """Methods that write the robot to a file."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole robot to a file in linkwork's own JSON format, which `linkwork.load` reads.

        The file holds everything: joints of all types, limits, drives, couplings, frames, inertias, shapes,
        constraints, force elements, actuators, named configurations, disabled collision pairs and gravity.  The loaded
        robot is equal to this one, to the bit.  Files of meshes are not copied; the file holds their names.  An
        existing file is replaced, after the new one is completely written.

        >>> import tempfile
        >>> import linkwork as lw
        >>> robot = lw.load("fourbar")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     robot.save(f"{folder}/fourbar.json")
        ...     lw.load(f"{folder}/fourbar.json") == robot
        True

        Raises ValueError for a path that does not end in ".json" and for a directory; TypeError, with its name, for
        content that a file cannot represent: a constraint with a function, and user-defined types of joints,
        constraints, force elements and shapes.  Then no file is written.
        """
        from linkwork.formats import robot_text

        _check_path("save", path, ".json")
        _write("save", path, robot_text(self._tree))


def _check_path(caller: str, path: Any, *suffixes: str) -> None:
    """Raise TypeError or ValueError unless a path has one of these suffixes."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{caller}: path: expected the path of a file, got {path!r}")
    if os.path.splitext(path)[1].lower() not in suffixes:
        raise ValueError(f"{caller}: path: expected a file named {' or '.join(suffixes)}, got {os.fspath(path)!r}")


def _write(caller: str, path: str | os.PathLike[str], text: str) -> None:
    try:
        with replaced(path, text=True) as file:
            file.write(text)
    except NotRegularError as error:
        raise ValueError(f"{caller}: path: {error}") from None
