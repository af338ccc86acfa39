"""Methods of `Robot` that write robot files: see the page on writing robots."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from linkwork._util.file_access import NotRegularError, replaced
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.tree import Report

__all__ = ["WritingMethods"]


class WritingMethods(RobotBase):
    """Methods that write the robot to a file."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole robot to a file in linkwork's own JSON format, which `linkwork.load` reads.

        The file holds everything: joints of all types, limits, drives, couplings, frames, inertias, shapes,
        constraints, force elements, actuators, named configurations, disabled collision pairs and gravity.  The loaded
        robot is equal to this one, to the bit.  Files of meshes are not copied; the file holds their names, which are
        relative to its folder.  An existing file is replaced, after the new one is completely written.

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
        from linkwork.formats.resource_paths import with_names_beside

        _check_path("save", path, ".json")
        _write("save", {path: robot_text(with_names_beside(self._tree, path))})

    def to_urdf(
        self,
        path: str | os.PathLike[str],
        *,
        strict: bool = False,
        loops: str | os.PathLike[str] | None = None,
        meshes: str | os.PathLike[str] | None = None,
    ) -> Report:
        """Write the robot to a URDF file, and return the report of content that URDF cannot represent.

        Findings with the code NOT_WRITTEN are lost; with ``strict`` they are errors, and no file is written.  Findings
        with the code WRITTEN_AS have another form in the file, from which `linkwork.load` reads the same robot, with
        the option that the finding names.  Numbers are exact; poses and inertias are read back to rounding.
        Lost content that decides collisions, such as a shape, is a `ModelWarning`, too.

        ``loops`` is the path of a second file, JSON, with everything that `loops_document` has: frames, points,
        constraints, force elements, actuators and named configurations.  ``meshes`` is a folder for the mesh files of
        convex hulls, which URDF has no shape for.  Existing files are replaced.

        >>> import tempfile
        >>> import linkwork as lw
        >>> robot = lw.load("fourbar")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = robot.to_urdf(f"{folder}/fourbar.urdf", loops=f"{folder}/fourbar.json")
        ...     back = lw.load(f"{folder}/fourbar.urdf", loops=f"{folder}/fourbar.json")
        >>> print(report)
        no findings
        >>> back.constraints == robot.constraints
        True

        Raises ModelError for a joint that URDF cannot represent, and with ``strict`` for any loss; ValueError for a
        path that does not end in ".urdf", and for a name that XML cannot represent.
        """
        from linkwork.formats import loops_text, urdf_text
        from linkwork.formats.resource_paths import with_names_beside
        from linkwork.formats.urdf.urdf_writer import with_written_joints
        from linkwork.formats.written_content import MeshFolder, warn_of_collision_losses

        _check_path("to_urdf", path, ".urdf")
        if loops is not None:
            _check_path("to_urdf", loops, ".json", argument="loops")
        folder = None if meshes is None else MeshFolder(meshes, path)
        tree = with_names_beside(self._tree, path)
        text, report = urdf_text(tree, strict=strict, with_loops_file=loops is not None, meshes=folder, path=path)
        beside = {} if loops is None else {loops: loops_text(with_written_joints(self._tree))}
        _write("to_urdf", {**({} if folder is None else folder.files()), **beside, path: text})
        warn_of_collision_losses("to_urdf", report)
        return report

    def to_mjcf(self, path: str | os.PathLike[str], *, strict: bool = False) -> Report:
        """Write the robot to an MJCF file for MuJoCo, and return the report of content that MJCF cannot represent.

        Findings with the code NOT_WRITTEN are lost; with ``strict`` they are errors, and no file is written.  Findings
        with the code WRITTEN_AS have another form in the file.  Lost content that decides collisions, such as a shape,
        is a `ModelWarning`, too.  Numbers are exact; rotations are quaternions.  Hulls are meshes in the file, which
        MuJoCo rounds to single precision.  An existing file is replaced.

        >>> import tempfile
        >>> import linkwork as lw
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = lw.load("fourbar").to_mjcf(f"{folder}/fourbar.xml")
        >>> sorted({issue.code for issue in report.warnings})
        ['NOT_WRITTEN', 'WRITTEN_AS']

        Raises ModelError for a joint that MuJoCo does not have, and with ``strict`` for any loss; ValueError for a path
        that does not end in ".xml" or ".mjcf", and for a name that XML cannot represent.
        """
        from linkwork.formats import mjcf_text
        from linkwork.formats.written_content import warn_of_collision_losses

        _check_path("to_mjcf", path, ".xml", ".mjcf")
        text, report = mjcf_text(self._tree, strict=strict)
        _write("to_mjcf", {path: text})
        warn_of_collision_losses("to_mjcf", report)
        return report

    def to_sdf(
        self,
        path: str | os.PathLike[str],
        *,
        strict: bool = False,
        world: str | None = None,
        meshes: str | os.PathLike[str] | None = None,
    ) -> Report:
        """Write the robot to an SDF 1.11 file, and return the report of content that SDF cannot represent.

        Findings with the code NOT_WRITTEN are lost; with ``strict`` they are errors, and no file is written.  Findings
        with the code WRITTEN_AS have another form in the file.  Lost content that decides collisions, such as a shape,
        is a `ModelWarning`, too.  Numbers are exact; rotations are quaternions.  With the
        name of a ``world`` the model is in a world of this name, which states the gravity.  ``meshes`` is a folder for
        the mesh files of convex hulls, which SDF has no shape for.  Existing files are replaced.

        >>> import tempfile
        >>> import linkwork as lw
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = lw.load("arm6").to_sdf(f"{folder}/arm6.sdf", world="room")
        >>> print(report)
        robot[arm6]/links: links without mass have a mass of 0: 'tool' [WRITTEN_AS]
            hint: Gazebo simulates links with positive masses only
        robot[arm6]/links: colours are written without the names of materials: 'dark', 'steel', 'blue' [WRITTEN_AS]

        Raises ModelError for a joint that SDF cannot represent, and with ``strict`` for any loss; ValueError for a
        path that does not end in ".sdf" or ".world", and for a name that XML cannot represent.
        """
        from linkwork.formats import sdf_text
        from linkwork.formats.resource_paths import with_names_beside
        from linkwork.formats.written_content import MeshFolder, warn_of_collision_losses

        _check_path("to_sdf", path, ".sdf", ".world")
        folder = None if meshes is None else MeshFolder(meshes, path)
        tree = with_names_beside(self._tree, path)
        text, report = sdf_text(tree, strict=strict, world=world, meshes=folder, path=path)
        _write("to_sdf", {**({} if folder is None else folder.files()), path: text})
        warn_of_collision_losses("to_sdf", report)
        return report

    def to_srdf(self, path: str | os.PathLike[str], *, strict: bool = False) -> Report:
        """Write an SRDF file for MoveIt and Pinocchio, and return the report of content that it cannot represent.

        The file has the pairs of links that are not checked, with all pairs that a joint connects, and the named
        configurations as states of a group "all", which has all joints.  A floating base is a virtual joint.
        Velocities and controls of named configurations are lost (NOT_WRITTEN), and with ``strict`` are errors.
        `with_srdf_document` reads the same pairs and configurations.  An existing file is replaced.

        >>> import tempfile
        >>> import linkwork as lw
        >>> robot = lw.load("arm6").with_named_configuration("home", {"elbow": 1.2})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = robot.to_srdf(f"{folder}/arm6.srdf")
        ...     back = lw.load("arm6").with_srdf_document(f"{folder}/arm6.srdf")
        >>> back.named_configurations == robot.named_configurations
        True

        Raises ValueError for a path that does not end in ".srdf", and for a name that XML cannot represent; ModelError
        for any loss with ``strict``.
        """
        from linkwork.formats import srdf_text

        _check_path("to_srdf", path, ".srdf")
        text, report = srdf_text(self._tree, strict=strict)
        _write("to_srdf", {path: text})
        return report


_WRITERS = {
    ".json": "save",
    ".urdf": "to_urdf",
    ".srdf": "to_srdf",
    ".xml": "to_mjcf",
    ".mjcf": "to_mjcf",
    ".sdf": "to_sdf",
    ".world": "to_sdf",
}
"""Method that writes files with a suffix."""


def _check_path(caller: str, path: Any, *suffixes: str, argument: str = "path") -> None:
    """Raise TypeError or ValueError unless ``path`` is a path that ends with one of the suffixes."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{caller}: {argument}: expected the path of a file, got {path!r}")
    if os.path.splitext(path)[1].lower() not in suffixes:
        writer = _WRITERS.get(os.path.splitext(path)[1].lower(), caller) if argument == "path" else caller
        remedy = "" if writer == caller else f"; use robot.{writer}({os.fspath(path)!r})"
        raise ValueError(
            f"{caller}: {argument}: expected a file named {' or '.join(suffixes)}, got {os.fspath(path)!r}{remedy}"
        )


def _write(caller: str, texts: Mapping[Any, str]) -> None:
    """Write ``texts``, which are file contents by path. Raises ValueError for a path of a directory."""
    try:
        for path, text in texts.items():
            with replaced(path, text=True) as file:
                file.write(text)
    except NotRegularError as error:
        raise ValueError(f"{caller}: path: {error}") from None
