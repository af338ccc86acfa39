"""A robot with what was identified in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from linkwork.dynamics import inertial_parameters as inertial
from linkwork.model.body import Frame
from linkwork.model.composite_body import told, with_summed_inertias
from linkwork.model.coordinate_names import names_in
from linkwork.robot import Robot
from linkwork.spatial.arguments import matrix_of
from linkwork.spatial.inertia_vector import inertia_of, parameters_of

__all__ = ["with_deformed_bodies", "with_joint_numbers"]


def with_deformed_bodies(robot: Robot, maps: Mapping[int, np.ndarray]) -> Robot:
    """The robot whose bodies' pseudo-inertias P are A P Aᵀ: ``maps`` are A (4, 4), by the bodies' places.

    Of several links that are welded to one body each is moved by the same A, so their sum is the body's, and each stays
    what a distribution of mass has.
    """
    tree = robot.tree
    frames = tuple(
        _moved(frame, maps[frame.body]) if frame.body in maps else frame for frame in told(tree.bodies, tree.frames)
    )
    return Robot(replace(tree, frames=frames, bodies=with_summed_inertias(tree.bodies, frames)))


def with_joint_numbers(robot: Robot, names: Sequence[str], values: Sequence[float]) -> Robot:
    """The robot with parameters of joints, named as in `Robot.parameter_names`: ``"elbow.damping"``.

    Where damping and friction were kept and did not act, those that are not given are zero beside one that is.  Static
    friction that is stated is raised to a larger friction.
    """
    given = dict(zip(names, values, strict=True))
    for i in robot.tree.order:
        numbers = names_in(robot.tree.bodies[i], "v")
        joint = found = robot.joint(robot.tree.bodies[i].joint_name)
        resisting = {f"{number}.{kind}" for number in numbers for kind in ("damping", "friction")}
        if joint.dynamics == "none" and not resisting.isdisjoint(given):
            found = joint.with_damping(0.0).with_friction(0.0).with_static_friction(0.0).with_dynamics("urdf")
        for kind in ("armature", "damping", "friction", "stiffness"):
            keys = [f"{number}.{kind}" for number in numbers]
            if any(key in given for key in keys):
                new = [given.get(key, x) for key, x in zip(keys, getattr(found, kind), strict=True)]
                if kind == "friction":
                    found = found.with_static_friction(np.maximum(found.static_friction, new))
                found = getattr(found, f"with_{kind}")(new)
        if found is not joint:
            robot = robot.with_joint(found)
    return robot


def _moved(frame: Frame, A: np.ndarray) -> Frame:
    """A frame whose inertia is deformed by A, which is told in the body's frame."""
    pi = np.array(parameters_of(frame.inertia), dtype=float)
    if not pi.any():
        return frame
    X = matrix_of(frame.placement)
    own = np.linalg.solve(X, A @ X)
    P = own @ inertial.pseudo_inertia(pi) @ own.T
    return replace(frame, inertia=inertia_of(inertial.from_pseudo_inertia(P).tolist()))
