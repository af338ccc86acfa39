"""Methods of `Robot` that show it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any, Unpack

from numpy.typing import ArrayLike

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.html_tables import rows_table, tag
from linkwork._util.messages import label, number
from linkwork._util.pictures import Output, show
from linkwork.kernels import Array, RobotBase
from linkwork.model import constraint_lines, tree_lines
from linkwork.viewer.notebook import inline_picture
from linkwork.viewer.scenes.document_of import document_of

__all__ = ["ShowMethods"]

_MAX_LINES = 200  # of the tree


class ShowMethods(RobotBase):
    """The method of `Robot` that shows it in the browser, or writes a page, a picture or a model."""

    __slots__ = ()

    def show(
        self,
        q: Array | str | None = None,
        *,
        times: ArrayLike | None = None,
        scene: Scene | None = None,
        frames: str | Sequence[str] | None = None,
        ghosts: Array | None = None,
        nearest: int = 0,
        spacing: float | None = None,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the robot with sliders of its joints; return the `linkwork.viewer.View`, or the path of a file.

        Args:
            q: configuration (nq,), several robots side by side in time (n, nq), or with ``times`` a motion (T, nq) or
                (T, n, nq).  The default is the neutral configuration, or one
                within the limits if neutral is outside of them; loops are closed.
            times: increasing times (T,) of the motion [s].
            scene: obstacles.
            frames: names of frames to show as axes, x red, y green, z blue; with ``times`` their paths, too.
            ghosts: configurations (m, nq) of transparent copies.
            nearest: number of nearest pairs of shapes to show, with their distances.
            spacing: distance of several robots in a grid [m]; by default they keep the positions of q.
            meshes: folders of mesh files, in addition to those where `linkwork.load` searches.
            title: title of the page, by default the robot's name.
            html, glb, png, mp4: path of a self-contained page, a glTF file, a picture or a film to write instead.
            camera, size, theme: of pictures and films: a view such as "front", or position and target (3,) [m]; width
                and height [pixels]; "light" or "dark".
            time: of a picture [s].
            fps, speed: of a film: frames a second, and its speed relative to real time.
            open_browser, port: of the live page (the `viewer` extra), which is served on 127.0.0.1 only.

        A mesh file that is missing, too large or broken is drawn as a named placeholder, with a
        `linkwork.errors.PictureWarning`.  A configuration q that does not close the loops is drawn as it is, with a
        note on the page and the same warning.

        Raises ValueError for invalid configurations, times and paths, UnknownNameError for an unknown frame,
        ImportError without the extra, and OSError for a file that cannot be written.
        """
        return show(
            self,
            output,
            q,
            times=times,
            scene=scene,
            frames=frames,
            ghosts=ghosts,
            nearest=nearest,
            spacing=spacing,
            meshes=meshes,
            title=title,
        )

    def _repr_html_(self) -> str:
        picture = inline_picture(self._tree.name, partial(document_of, self), self._tree)
        return _robot_html(self, picture)


def _robot_html(robot: Any, picture: str) -> str:
    """Return HTML of a robot: a heading, a picture, the tree, and a row for each joint; names are escaped."""
    tree = robot.tree
    count = f"{len(tree.bodies)} moving joint{'' if len(tree.bodies) == 1 else 's'}"
    mass = "" if tree.inertias_ignored else f", {number(tree.mass)} kg"
    head = tag("div", tag("b", escape(label(tree.name))), f": {count}, nq {tree.nq}, nv {tree.nv}{mass}")
    lines, constraint_texts = tree_lines(tree), constraint_lines(tree)
    more = [f"… and more: {len(lines)} links in all"] if len(lines) > _MAX_LINES else []
    drawn = escape("\n".join([*lines[:_MAX_LINES], *more, *constraint_texts[:_MAX_LINES]]))
    rows = [joint._html_row() for joint in robot.joints]
    details = tag("pre", drawn, style="line-height: 1.2"), rows_table(rows, "joints") if rows else ""
    return tag("div", head, picture, tag("details", tag("summary", "links and joints"), *details))
