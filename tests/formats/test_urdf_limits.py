"""Values in URDF files on both sides of each limit."""

from __future__ import annotations

import math

import pytest

import linkwork as lw
from linkwork.constraints import LoopJoint
from linkwork.errors import ModelError
from linkwork.formats import parse_urdf
from linkwork.joints import Planar, Prismatic
from linkwork.spatial import Pose, Rotation, Vec3
from urdf_texts import INERTIAL, LIMIT, arm, errors, one, warnings

SHAPE = f"{INERTIAL}<collision><geometry>{{}}</geometry></collision>"
COLORED = (
    f'{INERTIAL}<visual><geometry><sphere radius="0.1"/></geometry>'
    '<material name="m"><color rgba="{}"/></material></visual>'
)

# Text of a file, and the codes of its issues in capitals for errors, in small letters for warnings.
LIMITS = {
    "axis within rounding": (arm('<axis xyz="0 0 1.0000005"/>' + LIMIT), []),
    "axis beyond rounding": (arm('<axis xyz="0 0 1.000005"/>' + LIMIT), ["axis_norm"]),
    "largest bound": (arm(LIMIT.replace('"2"', '"1e20"')), []),
    "bound too large": (arm(LIMIT.replace('"2"', '"1.000001e20"')), ["limit_finite"]),
    "largest radius": (one(SHAPE.format('<sphere radius="1e20"/>')), []),
    "radius too large": (one(SHAPE.format('<sphere radius="1.000001e20"/>')), ["MAGNITUDE"]),
    "smallest radius": (one(SHAPE.format('<sphere radius="1e-300"/>')), ["inertia_units"]),
    "box of two sizes": (one(SHAPE.format('<box size="0.1 0.2"/>')), ["ARITY"]),
    "mesh without a name": (one(SHAPE.format("<mesh/>")), ["ATTRIBUTE_MISSING"]),
    "two shapes": (one(SHAPE.format('<sphere radius="0.1"/><box size="0.1 0.2 0.3"/>')), ["DUPLICATE_ELEMENT"]),
    "white": (one(COLORED.format("1 1 1 1")), []),
    "beyond white": (one(COLORED.format("1 1.2 1 1")), ["color_range"]),
    "below black": (one(COLORED.format("0 -0.1 0 1")), ["color_range"]),
}


@pytest.mark.light
@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_values_in_urdf_files_are_those_stated(name: str) -> None:
    text, codes = LIMITS[name]
    if codes and codes[0].isupper():
        assert [issue.code for issue in errors(text)] == codes
    else:
        assert [issue.code.lower() for issue in warnings(text)] == codes


def test_bounds_of_urdf_joints_beyond_the_largest_number_are_infinite() -> None:
    for text, upper in (("1e20", 1e20), ("1.000001e20", math.inf), ("1.7976931348623157e308", math.inf)):
        (joint,) = parse_urdf(arm(LIMIT.replace('"2"', f'"{text}"'))).joints
        assert joint.limits.upper == (upper,)


def test_urdf_loop_joints_are_written_with_their_bounds_and_resistance_only() -> None:
    """Bounds that are infinite and resistances of zero are left out, and all of a joint with several coordinates."""
    pose = Pose(Rotation.from_rpy(0.1, 0.2, 0.3), Vec3(0.4, 0.5, 0.6))
    robot = lw.load("double_pendulum").with_frame("end", "tip", (0.01, 0.02, 0.03)).with_frame("peg", "world", pose)
    slide = Prismatic((0.48, -0.6, 0.64))

    def text_of(joint: lw.joints.JointType, **values: tuple[float, ...]) -> str:
        loop = LoopJoint("pin", joint, "peg", "end", **values)
        return lw.formats.urdf_text(robot.with_constraints(loop).tree)[0]

    text = text_of(slide, lower=(-math.inf,), upper=(0.75,), damping=(0.0,), friction=(0.125,))
    assert '<limit upper="0.75"/>' in text and '<dynamics friction="0.125"/>' in text
    bare = text_of(slide, lower=(-math.inf,), upper=(math.inf,), damping=(0.0,))
    (loop,) = (part for part in bare.split("<loop_joint")[1:])
    assert "<limit" not in loop and "<dynamics" not in loop
    (plane,) = (part for part in text_of(Planar(), lower=(-1.0,) * 3, upper=(1.0,) * 3).split("<loop_joint")[1:])
    assert "<limit" not in plane and "planar" in plane


def test_two_faults_of_a_urdf_shape_are_reported_together() -> None:
    with pytest.raises(ModelError, match=r"GEOM_SIZE") as caught:
        parse_urdf(one(SHAPE.format('<cylinder radius="0" length="-1"/>')))
    assert [issue.code for issue in caught.value.issues] == ["GEOM_SIZE"] * 2
