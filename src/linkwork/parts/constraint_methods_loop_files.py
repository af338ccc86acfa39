"""A robot's loops and other constraints as text, and from it."""

from __future__ import annotations

import os
from typing import Literal, Self

from linkwork._util.file_access import replaced
from linkwork.formats import loops_text, parse_loops
from linkwork.kernels.robot_base import RobotBase, edits
from linkwork.model.attached_constraints import attached

__all__ = ["LoopFileMethods"]


class LoopFileMethods(RobotBase):
    """What a file beside the robot's says of it: see the page on robot files."""

    __slots__ = ()

    def loops_document(self) -> str:
        """Return the JSON text of a file of loops: constraints, force elements, and frames, points and directions.

        Frames, points and directions are those that are no links'; `linkwork.load` takes the file as ``loops=``.

        >>> import linkwork as lw
        >>> robot = lw.load("fourbar")
        >>> lw.load(lw.robots.path("fourbar")).with_loops_document(robot.loops_document()) == robot
        True

        Raises TypeError for a constraint or force element that no file can say: one made from a function, or of a kind
        of one's own.
        """
        return loops_text(self._tree)

    def save_loops(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write `loops_document` to a file.  Raises FileExistsError for one that is there, unless ``overwrite``."""
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"save_loops: path: expected the path of a file, got {path!r}")
        text = self.loops_document()
        with replaced(path, text=True, overwrite=overwrite) as file:
            file.write(text)

    @edits
    def with_loops_document(self, text: str | bytes, *, form: Literal["json", "yaml"] = "json") -> Self:
        """Return the robot with all that the text of a file of loops says.

        These are frames, points, directions, constraints and force elements.

        Raises ModelError that lists all that is wrong with it, with lines; ImportError for YAML without PyYAML.
        """
        if form not in ("json", "yaml"):
            raise ValueError(f"with_loops_document: form: expected 'json' or 'yaml', got {form!r}")
        return type(self)(attached(self._tree, parse_loops(text, form=form)))
