"""A robot as another library reads its file, and the comparison with it.

The library is imported when a model is built; linkwork does not depend on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.compare.joint_matching import neutral_of
from linkwork.compare.robot_comparison import Comparer, RobotComparison
from linkwork.compare.state_comparison import (
    Dynamics,
    Matrices,
    compare_dynamics,
    compare_poses,
    dynamics_of,
    gravity_scale,
    poses_of,
    size_of,
)
from linkwork.formats import find_format
from linkwork.model import frames_with_inertias

__all__ = ["LIBRARIES", "CannotCompare", "LibraryModel", "compare_with_library"]

LIBRARIES = {"mujoco": "mujoco_model:MuJoCoModel", "pinocchio": "pinocchio_model:PinocchioModel"}
"""Models by the name of the library: module in this folder and class."""


class CannotCompare(ValueError):
    """Error: the library is not installed, or its model of this robot cannot be built."""


class LibraryModel(ABC):
    """Robot of another library, evaluated in linkwork's conventions and order of coordinates."""

    title: str  # name and version of the library

    @abstractmethod
    def poses(self, q: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the world poses (4, 4) of those links in ``names`` that the library's model has."""

    @abstractmethod
    def inertia_and_gravity(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mass matrix (nv, nv), without armature, and the gravity force (nv,)."""

    @staticmethod
    def source_of(robot: Any, *formats: str) -> Path:
        """Return the path of the robot's file.  Raises CannotCompare if it has none or is of another format."""
        source = robot.tree.source
        if source is None or not Path(source).is_file():
            raise CannotCompare("the robot was not read from a file")
        if not robot.tree.trusted:
            raise CannotCompare("the robot was loaded with trusted=False, and the library reads files in this process")
        name = find_format(source).name
        if name not in formats:
            raise CannotCompare(f"it reads {' and '.join(formats)}, not {name}")
        return Path(source)


def compare_with_library(
    robot: Any, library: str, *, tolerance: float, samples: int, seed: int | np.random.Generator
) -> RobotComparison:
    """Compare a robot with another library's model of it: see `Robot.compare_with_library`."""
    module, _, cls = LIBRARIES[library].partition(":")
    model: LibraryModel = getattr(import_module(f"{__package__}.{module}"), cls)(robot)
    tree = robot.tree
    to = Comparer(tolerance)
    frames = [f for f in frames_with_inertias(tree.bodies, tree.frames) if f.is_link]
    neutral = np.array(neutral_of(tree))
    rotors = np.diag(robot.armature)
    rng = np.random.default_rng(seed)
    drawn = [neutral, *robot.random_configuration(rng, size=samples)]
    poses: list[tuple[Matrices, Matrices]] = []
    states: list[tuple[Dynamics, Dynamics]] = []
    size = 1.0
    for q in drawn:
        placed = poses_of(robot.functions, tree, q.tolist())
        size = max(size, size_of(placed)) if poses else size_of(placed)
        theirs = model.poses(q, [frame.name for frame in frames])
        ours = {f.name: (placed[f.body] @ f.placement).matrix() for f in frames if f.name in theirs}
        poses.append((ours, theirs))
        if not tree.inertias_ignored:
            M, gravity = model.inertia_and_gravity(q)
            a = rng.normal(size=tree.nv)
            of_robot, inertial = dynamics_of(robot.functions, tree, q.tolist(), np.eye(tree.nv), a), M @ a
            if of_robot.mass_matrix is not None:  # the scale of the rounding of M without armature includes armature
                of_robot, M = of_robot._replace(mass_matrix=of_robot.mass_matrix + rotors), M + rotors
            states.append((of_robot, Dynamics(M, inertial, gravity, gravity_scale(tree))))
    missing = [frame.name for frame in frames if frame.name not in poses[0][1]]
    if missing:
        to.notes.append(f"{len(missing)} of {len(frames)} links are absent in {model.title}, such as {missing[0]!r}")
    compare_poses(to, poses[:1], size, " at zero")
    compare_poses(to, poses[1:], size, "")
    compare_dynamics(to, list(robot.v_names), states)
    return to.result(robot.name, model.title, samples)
