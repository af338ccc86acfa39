"""The description of a workspace map: robot, frames, random samples, voxels and measures; it pickles."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.validation import boolean, finite_number, instance, integer, one_of
from linkwork.collision import fingerprint
from linkwork.kernels import read_configuration, read_limits, refuse_symbols
from linkwork.workspace.voxel_counts import MAX_SAMPLES

__all__ = ["AXES", "BLOCK", "CALLER", "JACOBIAN_ROWS", "MapJob", "digest_of", "read_job"]

CALLER = "workspace_map"
BLOCK = 1 << 14
"""Number of samples of a block, which has a random stream of its own."""
AXES = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}
JACOBIAN_ROWS = {"position": slice(3, 6), "angular": slice(0, 3), "all": slice(0, 6)}
_VERSION = 2  # of samples and measures: it changes if equal arguments give other maps
_MAX_SEED = 2**128 - 1  # the key of a Philox generator
_MIN_VOXEL = 1e-6  # [m]
_MAX_VOXEL = 1e6  # [m]


@dataclass(frozen=True)
class MapJob:
    """Validated arguments that determine the samples and measures of a workspace map."""

    robot: Any
    scene: Scene | None
    frame: str
    relative_to: str
    samples: int
    seed: int
    voxel_size: float
    approach_axis: str
    part: str
    collision: bool
    margin: float
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    configuration: tuple[float, ...]
    manipulability_unit: float = 1.0
    """Unit of sums of manipulability, which are integers; determined by the first block."""

    @property
    def blocks(self) -> int:
        """Number of blocks of samples."""
        return -(-self.samples // BLOCK)

    def samples_in(self, begin: int, end: int) -> int:
        """Return the number of samples of the blocks from ``begin`` to ``end``, without ``end``."""
        return min(end * BLOCK, self.samples) - min(begin * BLOCK, self.samples)

    @property
    def moving_bodies(self) -> list[int]:
        """Indices of the bodies whose joints move the frame."""
        tree = self.robot.tree
        names = self.robot.moving_joints(self.frame, relative_to=self.relative_to)
        return [tree.joint_index(name) for name in names]

    def identity(self) -> dict[str, Any]:
        """Return the values that determine the map, as data for JSON; jobs with equal values share files."""
        return {
            "version": _VERSION,
            "robot": self.robot.name,
            "fingerprint": fingerprint(self.robot, self.scene, self.lower, self.upper, self.configuration),
            "frame": self.frame,
            "relative_to": self.relative_to,
            "samples": self.samples,
            "seed": self.seed,
            "voxel_size": self.voxel_size,
            "approach_axis": self.approach_axis,
            "part": self.part,
            "collision": self.collision,
            "margin": self.margin,
            "manipulability_unit": self.manipulability_unit,
        }


def digest_of(identity: Mapping[str, Any]) -> str:
    """Return the digest of a map's description (`MapJob.identity`)."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def read_job(
    robot: Any,
    frame: Any,
    scene: Any,
    *,
    samples: Any,
    seed: Any,
    voxel_size: Any,
    relative_to: Any,
    approach_axis: Any,
    part: Any,
    collision: Any,
    margin: Any,
    position_limits: Any,
    configuration: Any,
) -> MapJob:
    """Return the description of a map from the arguments of `Robot.workspace_map`.

    Raises ValueError, TypeError and UnknownNameError.
    """
    tree = robot.tree
    tree.frame(frame)
    tree.frame(relative_to)
    if scene is not None:
        instance(CALLER, "scene", scene, Scene, description="a linkwork.Scene")
    refuse_symbols(CALLER, robot)
    if any(constraint.holonomic for constraint in tree.constraints):
        raise ValueError(
            f"{CALLER}: expected a robot without kinematic loops, because its joints are drawn independently; got "
            f"{robot.name!r}, which has constraints"
        )
    if not robot.moving_joints(frame, relative_to=relative_to):
        raise ValueError(f"{CALLER}: frame: no joint moves {frame!r} relative to {relative_to!r}; pass another frame")
    lower, upper = read_limits(CALLER, robot, position_limits)
    q = robot.neutral() if configuration is None else read_configuration(robot, CALLER, "configuration", configuration)
    if q.shape != (robot.nq,):
        raise ValueError(f"{CALLER}: configuration: expected an array of shape ({robot.nq},), got shape {q.shape}")
    if configuration is None:
        q = np.clip(q, lower, upper)
    has_shapes = bool(robot.collision_shapes) and bool(robot.collision_pairs or scene is not None)
    job = MapJob(
        robot,
        scene,
        str(frame),
        str(relative_to),
        integer(CALLER, "samples", samples, least=1, most=MAX_SAMPLES),
        integer(CALLER, "seed", seed, least=0, most=_MAX_SEED),
        finite_number(CALLER, "voxel_size", voxel_size, least=_MIN_VOXEL, most=_MAX_VOXEL, unit="m", symbols=False),
        one_of(CALLER, "approach_axis", approach_axis, AXES),
        one_of(CALLER, "part", part, JACOBIAN_ROWS),
        has_shapes if collision is None else boolean(CALLER, "collision", collision),
        finite_number(CALLER, "margin", margin, unit="m", symbols=False),
        tuple(lower.tolist()),
        tuple(upper.tolist()),
        tuple(q.tolist()),
    )
    if scene is not None and not job.collision:
        raise ValueError(f"{CALLER}: scene: expected collision=True with a scene, got {collision!r}")
    if job.collision:
        try:
            robot._pair_selection(CALLER, scene, None)
        except ValueError as error:  # mesh files, or shapes without distances
            raise ValueError(f"{error}; collision=False maps without collision checks") from error
    _check_lengths(job)
    return job


def _check_lengths(job: MapJob) -> None:
    """Raise ValueError if a sampled coordinate is a length without limits."""
    tree, names = job.robot.tree, job.robot.q_names
    for i in job.moving_bodies:
        columns = tree.q_slices[i]
        for k, unit in zip(range(columns.start, columns.stop), tree.bodies[i].joint.q_units, strict=False):
            if unit == "m" and not (math.isfinite(job.lower[k]) and math.isfinite(job.upper[k])):
                floats = tree.bodies[i].joint.is_floating
                remedy = ", or relative_to= a link of the robot" if floats else ""
                raise ValueError(
                    f"{CALLER}: position_limits: coordinate {names[k]!r} is a length without limits; pass "
                    f"position_limits={{{names[k]!r}: (lower, upper)}}{remedy}"
                )
