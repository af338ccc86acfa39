"""Proofs and bounds of collision checks on both sides of their limits, without compiled distances."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints, shapes
from linkwork._util import own_code
from linkwork.collision.algorithms import displacement_bounds
from linkwork.collision.algorithms.displacement_bounds import Enclosure, _levers, check_bounded, twist_sizes
from linkwork.collision.algorithms.path_bounds import _rates
from linkwork.collision.clearance_margins import Margins, PairBlock, touching_margins
from linkwork.collision.methods import _finite_number
from linkwork.collision.pair_classification import _box, _kind, _proved, _reach, _Samples
from linkwork.collision.separation_proof import JointRanges, never_touch
from linkwork.collision.shape_distance import _check_poses
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.collision_pairs import link_shapes
from linkwork.spatial import Pose

HINGE = joints.Revolute((0.6, 0.0, 0.8))
LIMITS: dict[str, Any] = {"lower": -1.0, "upper": 1.0}
APART = (0.0, 0.0, 2.0)


def chain(
    count: int, joint: joints.JointType = HINGE, shape: Any = None, mimic: bool = False, **limits: Any
) -> lw.Robot:
    """Return a chain of ``count`` joints of 2 m length, with a sphere at the base and a shape on the last link.

    The first joint has the type ``joint`` and these limits; the others are hinges with limits.
    """
    names = ["base", *(f"l{k}" for k in range(count))]
    links = [lw.Link("base", collisions=[shapes.Sphere(0.1)])]
    for name in names[1:]:
        last = [shapes.Sphere(0.2) if shape is None else shape] if name == names[-1] else []
        links.append(lw.Link(name, mass=1.0, inertia=(0.1, 0.2, 0.3), collisions=last))
    parts = []
    for k in range(count):
        more: dict[str, Any] = dict(LIMITS) if k or not limits else limits
        kind = HINGE if k else joint
        if k == 1 and mimic:
            more = {"mimic": ("j0", 0.5)}
        parts.append(
            lw.Joint.of(kind, name=f"j{k}", parent=names[k], child=names[k + 1], placement=lw.pose(APART), **more)
        )
    return lw.Robot.build("chain", *links, *parts)


def test_boxes_of_joint_angles_have_up_to_three_simple_joints_with_limits() -> None:
    for count in (1, 2, 3):
        box = _box(chain(count).tree, "base", f"l{count - 1}")
        assert box is not None and len(box.indices) == count
        assert np.array_equal(box.lower, [-1.0] * count) and np.array_equal(box.upper, [1.0] * count)
        for k, rate in enumerate(box.rates):  # the distance of points of the sphere from the axis, from the last joint
            assert abs(rate - (0.2 + 2.0 * k)) < 1e-11
    assert _box(chain(4).tree, "base", "l3") is None
    unlimited: dict[str, Any] = {"lower": -math.inf, "upper": math.inf}
    one_side: dict[str, Any] = {"lower": -1.0, "upper": math.inf}
    for limits in (unlimited, one_side):
        assert _box(chain(2, **limits).tree, "base", "l1") is None
    assert _box(chain(2, joints.Universal(), lower=(-1.0, -1.0), upper=(1.0, 1.0)).tree, "base", "l1") is None
    assert _box(chain(2, mimic=True).tree, "base", "l1") is None
    slide = _box(chain(1, joints.Prismatic((0.6, 0.0, 0.8)), **LIMITS).tree, "base", "l0")
    assert slide is not None and abs(slide.rates[0] - 1.0) < 1e-12


def test_ranges_between_links_are_limits_or_one_revolution() -> None:
    unlimited: dict[str, Any] = {"lower": -math.inf, "upper": math.inf}
    ranges = JointRanges.between(chain(2, **unlimited).tree, "base", "l1")
    assert ranges is not None and sorted(ranges.lower.tolist()) == [-math.pi, -1.0]
    for joint in (joints.Prismatic((0.6, 0.0, 0.8)), joints.Helical((0.6, 0.0, 0.8), 0.1), joints.Spherical()):
        more = {} if joint.nv > 1 else unlimited
        tree = chain(2, joint, **(more or {"damping": 0.0})).tree
        assert JointRanges.between(tree, "base", "l1") is None
    assert JointRanges.between(chain(1, joints.Helical((0.6, 0.0, 0.8), 0.1), **LIMITS).tree, "base", "l0") is not None


def test_separation_is_proved_for_up_to_eight_joints_and_solid_shapes() -> None:
    def proved(robot: lw.Robot, last: str) -> bool:
        return never_touch(robot.tree, "base", last, np.zeros(robot.nq))[0]

    assert proved(chain(1), "l0")
    for kind in (joints.Prismatic((0.6, 0.0, 0.8)), joints.Spherical()):
        more = {"damping": 0.0} if kind.nv > 1 else {"lower": -math.inf, "upper": math.inf}
        assert not proved(chain(1, kind, **more), "l0")
    assert not proved(chain(1, shape=shapes.HalfSpace()), "l0")
    assert not proved(chain(1, shape=shapes.HeightField(np.zeros((2, 2)), 0.1)), "l0")
    large = chain(1, shape=shapes.Sphere(1.95))  # they touch
    unproved = never_touch(large.tree, "base", "l0", np.zeros(1))
    assert not unproved[0] and unproved[1].shape == (0, 1)
    nine = chain(9)
    assert never_touch(nine.tree, "base", "l8", np.zeros(9))[1].shape == (0, 9)


def test_kinds_of_pairs_near_contact_follow_from_signs() -> None:
    for minimum, maximum, neutral, kind in (
        (0.3, 0.6, 0.4, "never"),
        (-0.3, 0.6, 0.4, "sometimes"),
        (-0.3, 0.6, -0.4, "default"),
        (-0.6, -0.3, -0.4, "always"),
        (-0.6, 0.3, -0.4, "default"),
        (0.3, 0.6, -0.4, "default"),
        (-0.6, -0.3, 0.4, "sometimes"),
    ):
        assert _kind(_Samples(minimum, maximum, np.zeros(1), neutral)) == kind


def test_signs_of_distances_are_proved_on_boxes() -> None:
    box = _box(chain(1).tree, "base", "l0")
    assert box is not None
    q = np.zeros(1)
    rate = float(box.rates[0])

    def of(offset: float, slope: float) -> Any:
        return lambda x: offset + slope * rate * x[:, 0]

    for offset, slope, sign, expected in (
        (0.5, 0.0, 1.0, True),
        (-0.5, 0.0, 1.0, False),
        (0.0, 0.0, 1.0, False),  # a contact refutes that they never touch
        (-0.5, 0.0, -1.0, True),
        (0.5, 0.0, -1.0, False),
        (0.5, 0.9, 1.0, rate * 0.9 < 0.5),
        (0.1, 0.9, 1.0, False),
        (-0.1, 0.9, -1.0, False),
        (-0.5, 0.9, -1.0, rate * 0.9 < 0.5),
    ):
        assert _proved(of(offset, slope), q, box, sign) is expected, (offset, slope, sign)


def test_reach_of_a_shape_contains_its_points() -> None:
    values = np.linalg.norm(np.stack(np.meshgrid(*[np.linspace(-0.3, 0.3, 4)] * 3, indexing="ij")), axis=0) - 0.2
    placement = Pose.of(lw.pose((0.3, -0.2, 0.5), rpy=(0.3, 0.2, -0.4)).tolist())
    away = math.sqrt(0.38)
    field = shapes.DistanceField(values, 0.2, (-0.3, -0.3, -0.3))
    for shape, radius in ((field, 0.2), (shapes.Box((0.3, 0.4, 0.5)), 0.5 * math.sqrt(0.5)), (shapes.Sphere(0.2), 0.2)):
        robot = lw.Robot.build("one", lw.Link("one", mass=1.0, collisions=[shape]), floating_base=True)
        (linked,) = link_shapes(robot.tree)
        assert away + radius - 1e-12 <= _reach(replace(linked, placement=placement)) <= away + 1.0
        assert radius - 1e-12 <= _reach(replace(linked, placement=Pose.identity())) <= 0.6


def test_margins_below_zero_need_depths() -> None:
    selection: Any = None
    for margin, each, deep in (
        (0.4, None, False),
        (0.0, None, False),
        (-1e-9, None, True),
        (0.4, (np.array([0.2, 0.0]), np.zeros((0, 2))), False),
        (0.4, (np.array([0.2, 0.3]), np.array([[0.1, -1e-9]])), True),
        (0.4, (), False),
    ):
        assert PairBlock(selection, margin, each).is_deep is deep
    margins = Margins(0.01)
    assert touching_margins(None, None, None, margins, [], []) is margins
    for wrong in ("ab", 3, None):
        with pytest.raises(ValueError, match="plan: touching: expected pairs of names of links and obstacles, got"):
            touching_margins(None, None, None, margins, wrong, [])


def test_poses_of_shapes_are_within_the_largest_number() -> None:
    X = np.tile(np.eye(4), (2, 1, 1))
    X[1, :3, 3] = 1e20, -1e20, 0.0
    _check_poses("distance", "X_a", X)
    for index in range(3):
        wrong = X.copy()
        wrong[0, index, 3] = -math.nextafter(1e20, math.inf)
        with pytest.raises(
            ValueError, match=r"distance: X_a: .* with positions within 1e\+20 m of the origin, got -1e"
        ):
            _check_poses("distance", "X_a", wrong)
    mirrored = X.copy()
    mirrored[1, 0, 0] = -1.0
    for wrong, words in ((mirrored, "expected poses"), (X * math.nan, "of finite numbers, got nan")):
        with pytest.raises(ValueError, match=rf"distance: X_a: .*{words}"):
            _check_poses("distance", "X_a", wrong)
    x = Graph().input("x")
    assert _finite_number("margin", x) is x and _finite_number("margin", 0.25) == 0.25
    with pytest.raises((TypeError, ValueError), match="margin"):
        _finite_number("margin", math.inf)


def test_enclosures_are_divided_by_constants_alone() -> None:
    half = Enclosure(3.0, 0.5) / 2.0
    assert (half.center, half.radius) == (1.5, 0.25)
    for divided in (lambda: Enclosure(3.0, 0.5) / Enclosure(2.0, 0.1), lambda: 1.0 / Enclosure(2.0, 0.1)):
        with pytest.raises(TypeError, match="ball"):
            divided()


def test_levers_of_joints_are_bounds_of_the_displacement_of_points() -> None:
    """A hinge moves points by their distance from it, a slide by 1, a screw by both, a fixed joint not at all."""
    for joint, expected in (
        (HINGE, 2.2),
        (joints.Prismatic((0.6, 0.0, 0.8)), 1.0),
        (joints.Helical((0.6, 0.0, 0.8), 0.3), 2.2 + 0.3),
    ):
        robot = chain(2, joint, **LIMITS)
        sizes = [twist_sizes(body) for body in robot.tree.bodies]
        (shape,) = (x for x in link_shapes(robot.tree) if x.link == "l1")
        levers = _levers(robot.tree, shape, range(2), [0.0, 0.0], sizes)
        assert np.abs(levers - [expected, 0.2]).max() < 1e-12
        turning, sliding, *more = (float(x) for x in _rates(robot.tree.bodies[0], [0.3], [0.5]))
        assert abs(turning * 2.2 + sliding - 0.5 * expected) < 1e-12 and more == [0.0, 0.0]
    fixed = lw.Robot.build(
        "two",
        lw.Link("a", mass=1.0, inertia=(0.1, 0.2, 0.3)),
        lw.Link("b", mass=1.0, inertia=(0.1, 0.2, 0.3)),
        lw.Joint.of(joints.Fixed(), name="weld", parent="a", child="b"),
        floating_base=True,
    )
    welds = [body for body in fixed.tree.bodies if body.joint.nv == 0]
    assert all(_rates(body, [], []) == (0.0, 0.0, 0.0, 0.0) for body in welds)


def test_options_of_collision_checks_are_read_before_pairs() -> None:
    """Options within their ranges let the next argument be refused: pairs that do not exist."""
    robot, q, pairs = chain(2), np.zeros(2), [("base", "nowhere")]
    for option, inside, outside in (
        ("resolution", (0.05, 0.4, 3.0), (0.0, -0.1, math.inf, math.nan)),
        ("tolerance", (1e-7, 0.4), (0.9e-7, 0.0, math.inf, math.nan)),
    ):
        for check in ("sampled", "certified"):
            how: dict[str, Any] = {"collision_check": check, "pairs": pairs}
            for value in inside:
                with pytest.raises(UnknownNameError, match="nowhere"):
                    robot.is_motion_free(q, q, **how, **{option: value})
            for value in outside if (check == "sampled") is (option == "resolution") else outside[1:]:
                if value == 0.9e-7 or (value == 0.0 and option == "tolerance" and check == "sampled"):
                    continue
                with pytest.raises(ValueError, match=f"is_motion_free: {option}: expected"):
                    robot.is_motion_free(q, q, **how, **{option: value})
    for sharpness in (0.4, 30.0):
        with pytest.raises(UnknownNameError, match="nowhere"):
            robot.smooth_minimum_distance(q, sharpness=sharpness, pairs=pairs)
    for sharpness in (0.0, -0.4, math.nan):
        with pytest.raises(ValueError, match="smooth_minimum_distance: sharpness: expected a"):
            robot.smooth_minimum_distance(q, sharpness=sharpness, pairs=pairs)


def test_joints_without_a_bound_of_their_motion_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(size: Any) -> Any:
        """Return a body of a joint with one coordinate x, whose twist has the component ``size(x)``."""
        column = lambda q: SimpleNamespace(angular=(size(q[0]), 0.0, 0.0), linear=(0.0, 0.0, 0.0))  # noqa: E731
        joint = SimpleNamespace(
            has_fixed_subspaces=False,
            nv=2,
            nq=1,
            unit_length=(),
            S=lambda q: SimpleNamespace(columns=[column(q)]),
            type_name=lambda: "own",
        )
        return SimpleNamespace(joint=joint, joint_name="j")

    assert twist_sizes(body(lambda x: 0.25)) == [(0.25, 0.0)]
    for size in (lambda x: x, lambda x: 2.0 * x + 1.0, lambda x: x + "x"):
        with pytest.raises(TypeError, match=r"joint 'j' \(own\): no bound is known for its points' displacement"):
            twist_sizes(body(size))
    universal = chain(1, joints.Universal(), damping=0.0).tree.bodies[0]
    check_bounded(universal)
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(displacement_bounds, "largest_twist", lambda joint, q, phi: (0.5, math.inf, 0.0, 0.0))
    with pytest.raises(TypeError, match=r"joint 'j0' .*: no bound is known for its points' motion"):
        check_bounded(universal)


def test_contact_points_of_traced_poses_are_expressions() -> None:
    """A sphere of 0.1 m whose centre is 0.09 m above a floor overlaps it by 10 mm."""
    z = Graph().input("z")
    X = np.eye(4).astype(object)
    X[2, 3] = z
    contact = lw.contact_points(shapes.HalfSpace(), lw.pose(), shapes.Sphere(0.1), array(X))
    depth, mask = (np.ravel(np.asarray(x, dtype=object))[0] for x in (contact.depth, contact.mask))
    for height, expected in ((0.09, 0.01), (0.05, 0.05)):
        (value,) = evaluate([depth], {z: height})
        assert abs(float(value) - expected) < 1e-12
    assert not isinstance(mask, (bool, np.bool_))
