"""Writers and readers of robot files, saved robots and pickles."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw
from matrix.cell import close, verb
from matrix.kinds import Kind


def _same(kind: Kind, robot: lw.Robot) -> None:
    """Assert that both have equal poses and mass matrices at the same q."""
    close(robot.pose(kind.q, kind.frame), kind.robot.pose(kind.q, kind.frame), 1e-8, "pose")
    close(robot.mass_matrix(kind.q), kind.robot.mass_matrix(kind.q), 1e-7, "M")


def _written(kind: Kind, ending: str, write: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot.{ending}"
        report = getattr(kind.robot, write)(path)
        mimic = "coupled" if kind.robot.tree.has_couplings else "free"
        again = lw.load(path, mimic=mimic, gravity=kind.robot.gravity if ending == "urdf" else None)
    assert abs(again.mass - kind.robot.mass) <= 1e-9 * kind.robot.mass, "mass"
    if again.nq != kind.robot.nq or "coordinates" in str(report):
        assert report.warnings, "coordinates differ without a finding"
        return
    _same(kind, again)


@verb("to_urdf")
def to_urdf(kind: Kind) -> None:
    """The robot of the written file has the same poses and inertias, or the writer names the content that it omits."""
    _written(kind, "urdf", "to_urdf")


@verb("to_sdf")
def to_sdf(kind: Kind) -> None:
    """The robot of the written file has the same poses and inertias, or the writer names the content that it omits."""
    _written(kind, "sdf", "to_sdf")


@verb("to_mjcf")
def to_mjcf(kind: Kind) -> None:
    """The robot of the written file has the same poses and inertias, or the writer names the content that it omits."""
    _written(kind, "xml", "to_mjcf")


@verb("save", "load")
def save(kind: Kind) -> None:
    """A robot that is saved and loaded equals the original robot."""
    with tempfile.TemporaryDirectory() as folder:
        kind.robot.save(Path(folder) / "robot.json")
        again = lw.load(Path(folder) / "robot.json")
    _same(kind, again)
    assert len(again.constraints) == len(kind.robot.constraints)
    assert kind.robot.compare(again).same


@verb("save_loops", "loops_document", "with_loops_document", needs=lambda kind: bool(kind.robot.constraints))
def files_of_loops(kind: Kind) -> None:
    """The text of the loops file names every constraint."""
    text = kind.robot.loops_document()
    assert all(constraint.name.partition(":")[0] in text for constraint in kind.robot.constraints)


@verb("srdf_document", "with_srdf_document", "to_srdf")
def srdf(kind: Kind) -> None:
    """The collision pairs and configurations of the written document equal the robot's."""
    robot = kind.shaped.with_named_configuration("home", kind.q)
    text = robot.srdf_document()
    assert kind.robot.name in text
    with tempfile.TemporaryDirectory() as folder:
        report = robot.to_srdf(Path(folder) / "robot.srdf")
        again = robot.without_named_configurations().with_srdf_document(Path(folder) / "robot.srdf")
    assert not report.warnings and again.collision_pairs == robot.collision_pairs
    close(again.named_configurations["home"].q, robot.named_configurations["home"].q, 1e-12, "q")


@verb("with_joint_limits_document")
def files_of_limits(kind: Kind) -> None:
    """A document of limits changes the limits of the joints that it names, which have one coordinate each."""
    names = [joint.name for joint in kind.robot.joints if joint.type.nv == 1]
    limits = {name: {"max_velocity": 1.0 + k, "max_effort": 2.0 + k} for k, name in enumerate(names)}
    robot = kind.robot.with_joint_limits_document(json.dumps({"joint_limits": limits}))
    for name, stated in limits.items():
        joint = robot.joint(name)
        assert (joint.velocity[0], joint.effort[0]) == (stated["max_velocity"], stated["max_effort"]), name
    unnamed = [(a, b) for a, b in zip(robot.joints, kind.robot.joints, strict=True) if a.name not in limits]
    assert all(a == b for a, b in unnamed)


@verb("Robot.__reduce__")
def pickles(kind: Kind) -> None:
    """A robot that is pickled and unpickled equals the original robot."""
    again = pickle.loads(pickle.dumps(kind.robot))
    _same(kind, again)
    assert np.array_equal(again.neutral(), kind.robot.neutral())
