"""Random trees: robots of any shape and of every joint type, for tests, documentation and benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from linkwork.joints import ALL, JointType
from linkwork.joints.axis import unit_axis
from linkwork.model.body import WORLD, Body, Direction, Drive, Frame, Limits, Point
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

__all__ = ["random_inertia", "random_pose", "random_tree"]


def random_tree(
    rng: np.random.Generator,
    bodies: int,
    *,
    types: Sequence[type[JointType]] = ALL,
    shape: Literal["random", "chain", "star"] = "random",
) -> Tree:
    """Build a random tree with the given number of bodies, reproducible for the state of the generator.

    Joint types alternate in random order, so each occurs if there are enough bodies.  A joint has random placements on
    both sides.  The parent of a body is any earlier body or the world (``"random"``), the preceding body (``"chain"``),
    or the first body (``"star"``).  Inertias are physically possible.

    Bodies are named body0, body1, ..., their joints joint0, joint1, ...  Each body has a frame of its name and, welded
    to it, a link tool0, tool1, ... with its own inertia, which is zero for every third; the world has two frames,
    ground0 and ground1.  Joints have no limits, but damping, friction and drives.  The last tool has a point marker0
    and a direction arrow, the world a point marker1.
    """
    if bodies < 0 or (bodies and not types):
        raise ValueError(
            f"random_tree: expected a number of bodies >= 0 and at least one type, got {bodies} and {types!r}"
        )
    order = [k for _ in range(0, bodies, max(len(types), 1)) for k in rng.permutation(len(types))]
    parts, links, tools = [], [], []
    aside = rng.spawn(1)[0]
    for i in range(bodies):
        joint = types[order[i]].example(rng)
        tool = Frame(f"tool{i}", i, random_pose(rng), Inertia.zero() if i % 3 == 2 else random_inertia(rng, 0.3))
        link = Frame(f"body{i}", i, Pose.identity(), random_inertia(rng))
        links.append(link)
        tools.append(tool)
        parts.append(
            Body(
                name=link.name,
                parent=_parent(rng, i, shape),
                joint_name=f"joint{i}",
                joint=joint,
                placement=random_pose(rng),
                rotor=random_pose(rng),
                inertia=link.inertia + tool.placement @ tool.inertia,
                limits=Limits.none(joint),
                damping=tuple(rng.uniform(0.0, 1.0, joint.nv).tolist()),
                friction=tuple(rng.uniform(0.0, 1.0, joint.nv).tolist()),
                drive=_random_drive(aside, joint),
            )
        )
    ground = [Frame(f"ground{k}", WORLD, random_pose(rng)) for k in range(2)]
    on = (tools or ground)[-1].name
    points = tuple(Point(f"marker{k}", name, _random_vector(aside, 0.3)) for k, name in enumerate((on, "world")))
    arrow = Direction("arrow", on, unit_axis(_random_vector(aside, 1.0)))
    return Tree(f"random_{shape}_{bodies}", tuple(parts), (*links, *tools, *ground), points=points, directions=(arrow,))


def _random_drive(rng: np.random.Generator, joint: JointType) -> Drive:
    """Return a random drive: armature, springs and dry friction."""
    armature, stiffness, extra, speed = rng.uniform(0.1, 1.0, (4, joint.nv)).tolist()
    rest_position = joint.random(rng, [-math.inf] * joint.nq, [math.inf] * joint.nq, ()).tolist()
    gear = rng.uniform(1.0, 100.0, joint.nv).tolist()
    return Drive(*map(tuple, (armature, gear, stiffness, rest_position, [1.0 + x for x in extra], speed)))


def random_pose(rng: np.random.Generator, reach: float = 0.3) -> Pose:
    """Draw a rotation uniformly from SO(3), and a translation of up to ``reach`` [m] along each axis."""
    w, x, y, z = (float(a) for a in rng.normal(size=4))
    length = (w * w + x * x + y * y + z * z) ** 0.5
    return Pose(Rotation.from_quaternion(w / length, x / length, y / length, z / length), _random_vector(rng, reach))


def random_inertia(rng: np.random.Generator, scale: float = 1.0) -> Inertia:
    """Draw the inertia of a body of 1 to 4 kg times ``scale`` and a size of about 0.2 m.

    Its second moment of mass Σ = ∫ρ r rᵀ about its centre is positive definite.  Its rotational inertia tr(Σ) 1 − Σ is
    therefore positive definite, and each principal moment is less than the sum of the other two.
    """
    mass = scale * float(rng.uniform(1.0, 4.0))
    spread = rng.normal(size=(3, 3)) * 0.1
    second = mass * (spread @ spread.T + 0.01 * np.eye(3))
    about = np.trace(second) * np.eye(3) - second
    xx, xy, xz, yy, yz, zz = (float(about[k]) for k in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return Inertia.at_center(mass, _random_vector(rng, 0.2), Symmetric3(xx, xy, xz, yy, yz, zz))


def _parent(rng: np.random.Generator, i: int, shape: str) -> int:
    match shape:
        case "random":
            return int(rng.integers(-1, i)) if i else WORLD
        case "chain":
            return i - 1 if i else WORLD
        case "star":
            return 0 if i else WORLD
    raise ValueError(f"random_tree: expected a shape 'random', 'chain' or 'star', got {shape!r}")


def _random_vector(rng: np.random.Generator, reach: float) -> Vec3:
    x, y, z = (float(a) for a in rng.uniform(-reach, reach, size=3))
    return Vec3(x, y, z)
