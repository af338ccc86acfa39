"""Robots written as SDF are the robots of their URDF: links, joints, limits, drives, shapes and mass matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from linkwork import robots
from linkwork.formats import parse_sdf, read_urdf
from linkwork.joints import Fixed, Prismatic
from linkwork.model.description import Description, JointDescription, LinkDescription
from linkwork.model.tree_builder import build_tree
from linkwork.robot.robot_table import ROBOT
from linkwork.shapes import Box, Cylinder, Shape, Sphere
from linkwork.spatial import Pose

NAMES = [name for name in robots.names() if "#" not in name and robots.path(name).stat().st_size < 60_000]


def values_of(values) -> str:
    return " ".join(repr(float(x)) for x in values)


def pose(X: Pose, frame: str = "") -> str:
    """A pose by its quaternion (x, y, z, w), from the rotation's matrix."""
    R = np.reshape(X.elements(), (4, 4))[:3, :3]
    squares = np.array([1.0 + np.trace(R), *(1.0 - np.trace(R) + 2.0 * np.diag(R))])  # 4 w², 4 x², ...
    k = int(np.argmax(squares))
    sums = np.array(
        [
            [squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0.0, squares[1], R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]],
            [0.0, 0.0, squares[2], R[2, 1] + R[1, 2]],
            [0.0, 0.0, 0.0, squares[3]],
        ]
    )
    row = (sums + np.triu(sums, 1).T)[k]
    w, x, y, z = row / np.linalg.norm(row)
    relative = f' relative_to="{frame}"' if frame else ""
    return f'<pose rotation_format="quat_xyzw"{relative}>{values_of((*X.translation, x, y, z, w))}</pose>'


def shape(shape_value: Shape) -> str:
    match shape_value:
        case Box(size):
            return f"<box><size>{values_of(size)}</size></box>"
        case Cylinder(radius, length):
            return f"<cylinder><radius>{radius!r}</radius><length>{length!r}</length></cylinder>"
        case Sphere(radius):
            return f"<sphere><radius>{radius!r}</radius></sphere>"
    return "<empty/>"


def link(link_value: LinkDescription, before: str) -> Iterator[str]:
    yield f'<link name="{link_value.name}"><pose relative_to="{before}"/>'
    I = link_value.inertia
    center = I.moment * (1.0 / I.mass) if I.mass else I.moment
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = zip(names, I.shifted(-center).about.elements(), strict=True)
    yield f"<inertial><pose>{values_of((*center, 0, 0, 0))}</pose><mass>{I.mass!r}</mass><inertia>"
    yield "".join(f"<{name}>{value!r}</{name}>" for name, value in moments) + "</inertia></inertial>"
    for i, geometry in enumerate(link_value.collisions):
        yield f'<collision name="c{i}">{pose(geometry.origin)}<geometry>{shape(geometry.shape)}</geometry></collision>'
    yield "</link>"


def joint(hinge: JointDescription) -> Iterator[str]:
    kind = (
        "fixed" if isinstance(hinge.joint, Fixed) else "prismatic" if isinstance(hinge.joint, Prismatic) else "revolute"
    )
    yield f'<joint name="j:{hinge.name}" type="{kind}">{pose(hinge.placement, hinge.parent)}'
    yield f"<parent>{hinge.parent}</parent><child>{hinge.child}</child>"
    if kind != "fixed":
        limits = ("lower", "upper", "velocity", "effort")
        yield f"<axis><xyz>{values_of(hinge.joint.axis)}</xyz><limit>"  # type: ignore[attr-defined]
        yield "".join(f"<{name}>{getattr(hinge.limits, name)[0]!r}</{name}>" for name in limits)
        yield f"</limit><dynamics><damping>{hinge.damping[0]!r}</damping><friction>{hinge.friction[0]!r}</friction>"
        yield f"<spring_stiffness>{sum(hinge.drive.stiffness)!r}</spring_stiffness></dynamics></axis>"
    yield "</joint>"


def sdf(robot: Description) -> str:
    carriers = {single.child: f"j:{single.name}" for single in robot.joints}
    parts = [line for single in robot.links for line in link(single, carriers.get(single.name, "__model__"))]
    parts += [line for single in robot.joints for line in joint(single)]
    (root,) = (single.name for single in robot.links if single.name not in carriers)
    parts.append(f'<joint name="j:" type="fixed"><parent>world</parent><child>{root}</child></joint>')
    return f'<sdf version="1.9"><model name="{robot.name}">{"".join(parts)}</model></sdf>'


@pytest.mark.parametrize("name", NAMES)
def test_robots_written_as_sdf_equal_the_robots_of_their_urdf(name: str):
    robot = read_urdf(robots.path(name))
    types = {type(ours_body.joint).__name__ for ours_body in robot.joints}
    if not types <= {"Fixed", "Prismatic", "Revolute"} or any(ours_body.name == "world" for ours_body in robot.links):
        pytest.skip("it has joints that SDF does not have")
    ours, theirs = build_tree(parse_sdf(sdf(robot), strict=True)), build_tree(robot)
    assert [body.name for body in ours.bodies] == [body.name for body in theirs.bodies]
    assert [f"j:{body.joint_name}" for body in theirs.bodies] == [body.joint_name for body in ours.bodies]
    for ours_body, theirs_body in zip(ours.bodies, theirs.bodies, strict=True):
        assert (ours_body.limits, ours_body.damping, ours_body.friction) == (
            theirs_body.limits,
            theirs_body.damping,
            theirs_body.friction,
        )
        assert ours_body.drive.stiffness == theirs_body.drive.stiffness and ours_body.rotor.is_identity
        np.testing.assert_allclose([*ours_body.joint.axis], [*theirs_body.joint.axis], atol=1e-15)  # type: ignore[attr-defined]
        np.testing.assert_allclose(
            ours_body.placement.elements(), theirs_body.placement.elements(), rtol=0.0, atol=1e-15
        )
    for ours_body, theirs_body in zip(ours.frames[1:], theirs.frames, strict=True):
        shapes = [geometry.shape for geometry in theirs_body.collisions if shape(geometry.shape) != "<empty/>"]
        assert ours_body.name == theirs_body.name and [geometry.shape for geometry in ours_body.collisions] == shapes
    q = np.random.default_rng(0).uniform(-1.0, 1.0, theirs.nq).tolist()
    M, expected = (
        np.array([[*row] for row in ROBOT["mass_matrix"].compute(x, q)], dtype=float) for x in (ours, theirs)
    )
    np.testing.assert_allclose(M, expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max(initial=1.0))
