"""Integrability of velocity constraints: known results for wheels, blades and balls."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import fourbars, parallel
from invariants.changes import in_other_units

C = lw.constraints


def planar(*parts):
    """A body in the plane, and what is on it."""
    base = lw.Joint.of(lw.joints.Planar(), name="base", parent="world", child="body")
    return lw.Robot.build("cart", lw.Link("body", mass=1.0), base, *parts)


def turning(name, position, axis=(0, 0, 1), parent="body"):
    """A link that turns on another."""
    link = lw.Link(name, mass=0.1)
    joint = lw.joints.Revolute(axis)
    return link, lw.Joint.of(joint, name=f"{name}_joint", parent=parent, child=name, placement=lw.pose(position))


def free(name="free"):
    """A body that floats."""
    joint = lw.Joint.of(lw.joints.Floating(), name="base", parent="world", child="body")
    return lw.Robot.build(name, lw.Link("body", mass=1.0), joint)


WHEELS = (*turning("left", (0, 0.3, 0.1), (0, 1, 0)), *turning("right", (0, -0.3, 0.1), (0, 1, 0)))
CAR = (*turning("front", (1.5, 0, 0)), *turning("trailer", (-0.3, 0, 0)))
STATE = np.array([0.1, 0.2, 0.3])


def dimensions(report):
    return report.velocity_dof, report.configuration_dof


@pytest.mark.parametrize(
    ("robot", "constraints", "q", "growth"),
    [
        (planar(), [C.KnifeEdge("body")], STATE, (2, 3)),
        (planar(), [C.Pfaffian("skate", lambda k: k.twist("body", expressed_in="body")[4])], STATE, (2, 3)),
        (planar(*turning("wheel", (0, 0, 0.1), (0, 1, 0))), [C.Rolling("wheel", radius=0.1)], [*STATE, 0.4], (2, 3, 4)),
        (free(), [C.Rolling("body", radius=0.4)], [1, 0, 0, 0, 0.1, 0.2, 0.4], (3, 4, 5)),
        (free(), [C.BallRolling("body", radius=0.4)], [1, 0, 0, 0, 0.1, 0.2, 0.4], (3, 5)),
        (free(), [C.NoSlip("body", "body.z")], [1, 0, 0, 0, 0.1, 0.2, 0.4], (5, 6)),
        (planar(*CAR).with_frame("axle", "trailer", (-1.2, 0, 0)),
         [C.KnifeEdge("body"), C.KnifeEdge("front"), C.KnifeEdge("axle")], [*STATE, 0.2, 0.1], (2, 3, 4, 5)),
    ],
    ids=["skate", "function", "coin", "disc", "ball", "arrow", "car"],
)  # fmt: skip
def test_nonholonomic_constraints_are_recognised_with_their_growth_vector(robot, constraints, q, growth):
    report = robot.with_constraints(*constraints).integrability(q)
    assert dimensions(report) == (growth[0], growth[-1])
    assert report.growth == growth and report.generic and report.margin > 1e6
    assert not report.integrable and not report.holonomic and report.nonintegrable_rank == len(report.nonintegrable)
    assert f"{growth[0]} of velocity, {growth[-1]} of configuration" in str(report)


def test_holonomic_constraints_implied_by_velocity_constraints_are_named():
    slider = planar(*turning("wheel", (0, 0, 0.1), (0, 1, 0)))
    slope = planar().with_direction("slope", "body", (0, 1, 0))
    for robot, constraint, q, expected in (
        (planar(), C.NoSlip("body", "world.y"), STATE, ["base.y"]),
        (planar(), C.NoSlip("body", ("body.x", "body.y")), STATE, ["base.x", "base.y"]),
        (planar(), C.Pfaffian("p", lambda k: 3 * k.point_velocity("body")[0] - 4 * k.v("base")[2]), STATE,
         ["base.x - 1.33333 base.angle"]),
        (planar(), C.Pfaffian("p", lambda k: k.v("base")[2] - 3.0 + 0.0 * k.time), STATE, ["base.angle - 3 t"]),
        (slider, C.Pfaffian("p", lambda k: np.exp(k.q("wheel_joint")) * k.point_velocity("wheel")[1]), [*STATE, 1.0],
         ["base.y"]),
        (free(), C.NoSlip("body", ("body.x", "body.y", "body.z")), [0.6, 0.8, 0, 0, *STATE],
         ["base.x", "base.y", "base.z"]),
        (free(), C.Pfaffian("p", lambda k: k.twist("body", expressed_in="body")[:3]), [0.6, 0.8, 0, 0, *STATE], None),
    ):  # fmt: skip
        report = robot.with_constraints(constraint).integrability(q)
        count = len(constraint.directions) if isinstance(constraint, C.NoSlip) else len(report.integrable)
        assert report.holonomic and len(report.integrable) == count and not report.nonintegrable, str(report)
        assert report.configuration_dof == report.velocity_dof == robot.nv - count
        named = sorted({name for combination in report.integrable for name in combination.positions})
        if expected is not None:
            assert named == expected, named
    assert slope.with_constraints(C.NoSlip("body", "slope")).integrability(STATE).configuration_dof == 3


def test_wheels_of_a_differential_drive_determine_its_heading():
    q = [*STATE, 0.4, 0.5]
    robot = planar(*WHEELS).with_constraints(C.Rolling("left", radius=0.1), C.Rolling("right", radius=0.1))
    report = robot.integrability(q)
    assert dimensions(report) == (2, 4) and report.nonintegrable_rank == 2 and len(report.redundant) == 1
    (heading,) = report.integrable
    assert heading.positions == ("base.angle + 0.166667 left_joint - 0.166667 right_joint",)
    assert heading.rows == ("left rolls: along x", "right rolls: along x")
    np.testing.assert_allclose(heading.weights, (1.0, -1.0), atol=1e-12)
    assert "redundant: right rolls: along y" in str(report)


@pytest.mark.costly
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e4])
def test_integrability_of_small_and_large_carts_is_equal(size):
    parts = [*turning("left", (0, 3 * size, size), (0, 1, 0)), *turning("right", (0, -3 * size, size), (0, 1, 0))]
    rolling = [C.Rolling(name, radius=size) for name in ("left", "right")]
    report = planar(*parts).with_constraints(*rolling).integrability([0.1 * size, 0.2 * size, 0.3, 0.4, 0.5])
    assert report.growth == (2, 3, 4) and report.generic and report.margin > 1e6
    assert report.integrable[0].positions == ("base.angle + 0.166667 left_joint - 0.166667 right_joint",)
    np.testing.assert_allclose(report.integrable[0].weights, (1.0, -1.0), rtol=0, atol=1e-9)
    report = free().with_constraints(C.Rolling("body", radius=size)).integrability([1, 0, 0, 0, size, size, size])
    assert report.growth == (3, 4, 5) and report.generic


def test_closure_tolerance_of_integrability_scales_with_the_mechanism():
    bar = lw.load("fourbar")
    q, ahead = bar.assemble({"crank_hinge": 0.6}).q, np.array([1.0, 0.0, 0.0])
    for size in (1e-4, 1.0, 1e4):
        robot = lw.Robot(in_other_units(bar.tree, size, 1.0)[0])
        assert dimensions(robot.integrability(q + 1e-9 * ahead)) == (1, 1), size
        with pytest.raises(ValueError, match="expected a configuration that satisfies the holonomic constraints"):
            robot.integrability(q + 1e-5 * ahead)


def test_integrability_of_constraints_with_integrating_factors_is_detected():
    """dx + x dy = 0 is x exp(y) = const, and θ̇ x = y θ ẏ is not integrable."""

    def exact(k):
        return k.point_velocity("body")[0] + k.point("body")[0] * k.point_velocity("body")[1]

    def bound(k):
        return k.point_velocity("body")[0] - k.q("base")[2] * k.point_velocity("body")[1]

    (report,) = planar().with_constraints(C.Pfaffian("p", exact)).integrability(STATE).integrable
    assert report.rows == ("p",) and not report.positions and "without a simple position function" in str(report)
    assert dimensions(planar().with_constraints(C.Pfaffian("p", bound)).integrability(STATE)) == (2, 3)


def test_lie_brackets_that_vanish_at_a_configuration_do_not_change_the_integrability_reported():
    """θ̇ = x² ẏ: at x = 0 one more bracket is needed than at x ≠ 0, with the same reachable set."""
    robot = planar().with_constraints(
        C.Pfaffian("p", lambda k: k.v("base")[2] - k.point("body")[0] ** 2 * k.point_velocity("body")[1])
    )
    for q in (STATE, [0.0, 0.2, 0.3]):
        report = robot.integrability(q)
        assert dimensions(report) == (2, 3) and report.generic and not report.integrable


def test_integrability_reports_special_configurations_as_not_generic():
    """θ̇ = θ x ẏ: θ = 0 is invariant; flat four-bars have more velocities than in nearby configurations."""
    robot = planar().with_constraints(
        C.Pfaffian("p", lambda k: k.v("base")[2] - k.q("base")[2] * k.point("body")[0] * k.point_velocity("body")[1])
    )
    beside, report_there = robot.integrability(STATE), robot.integrability([0.1, 0.2, 0.0])
    assert dimensions(beside) == (2, 3) and beside.generic
    assert (
        dimensions(report_there) == (2, 2)
        and not report_there.generic
        and "singular configuration" in str(report_there)
    )
    assert report_there.integrable[0].positions == ("base.angle",)
    flat = fourbars(1)
    report = flat.integrability(parallel(flat, 0.0)[0])
    assert dimensions(report) == (1, 1) and not report.generic


def test_integrability_combines_loops_and_velocity_constraints():
    robot = fourbars(2)
    q, _ = parallel(robot, 0.8)
    assert dimensions(robot.integrability(q)) == (1, 1) and robot.integrability(q).holonomic
    assert dimensions(robot.without_constraints().integrability(q)) == (robot.nv, robot.nv)
    constrained = robot.with_constraints(C.NoSlip("tip1", "world.x")).integrability(q)
    assert dimensions(constrained) == (0, 0) and constrained.holonomic and constrained.integrable[0].positions
    with pytest.raises(ValueError, match=r"satisfies the holonomic constraints: error .* of 'C1"):
        robot.integrability(q + 0.1)


def test_invalid_arguments_of_integrability_are_refused():
    robot = planar().with_constraints(C.KnifeEdge("body"))
    for q in (STATE[:2], [0.0, np.nan, 0.0], np.zeros((2, 3)), "here"):
        with pytest.raises((ValueError, TypeError), match="integrability: q"):
            robot.integrability(q)
    with pytest.raises(ValueError, match="time"):
        robot.integrability(STATE, time=np.nan)
    both = robot.with_constraints(
        C.Pfaffian("slow", lambda k: k.v("base")[0] - 1.0),
        C.Pfaffian("fast", lambda k: k.v("base")[0] - 2.0),
    )
    with pytest.raises(ValueError, match="contradict each other"):
        both.integrability(STATE)


@pytest.mark.parametrize(
    ("form", "growth", "stays"),
    [
        (lambda vx, vy, t: vx - t * vy, (2, 3), False),  # [∂t, t ∂x + ∂y] = ∂x
        (lambda vx, vy, t: -np.sin(t) * vx + np.cos(t) * vy, (2, 3), False),
        (lambda vx, vy, t: vx - t * vy + t, (2, 3), False),  # with a drift, too
        (lambda vx, vy, t: (1.0 + t * t) * (vx - 0.5 * vy), (2,), True),  # a factor changes no velocity
        (lambda vx, vy, t: vx + np.cos(t), (2,), True),  # x + sin t stays
        (lambda vx, vy, t: np.exp(t) * (vx + np.cos(t)), (2,), True),
    ],
    ids=["turning", "rotating", "drifting", "scaled", "moved", "scaled and moved"],
)
def test_integrability_treats_time_as_a_direction_for_time_dependent_constraints(form, growth, stays):
    """Time is a direction: constraints integrable at each fixed time may be non-integrable."""

    def rate(k):
        linear = k.twist("body", expressed_in="world")
        return form(linear[3], linear[4], k.time)

    robot = planar().with_constraints(C.Pfaffian("rate", rate))
    for time in (0.0, 0.7):
        report = robot.integrability(STATE, time=time)
        assert report.growth == growth and report.velocity_dof == 2 and report.configuration_dof == growth[-1]
        assert report.holonomic == stays and bool(report.integrable) == stays
