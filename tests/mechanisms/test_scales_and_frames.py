"""Mechanisms in other units, far from the origin and with other frames: equal results."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import linkage, three_legs
from helpers.overconstrained import bennett
from helpers.resisted import resisted
from invariants.changes import in_other_units, reframed, turned
from linkwork.constraints import Holonomic
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.body import WORLD
from linkwork.model.random_tree import random_pose
from linkwork.simulation import ContactGround, ContactPoint
from linkwork.spatial import Pose, Quaternion, Vec3


def pinned():
    """The four-bar, whose loop is closed by a function in place of a hinge."""

    def pin(k):
        X = k.pose("coupler_tip", "rocker_tip")
        return [*X[:3, 3], X[0, 1], X[2, 1]]

    open_chain = lw.load("fourbar").without_constraints()
    return open_chain.with_constraints(Holonomic("pin", pin, units=("m", "m", "m", "rad", "rad")))


MECHANISMS = {
    **{
        name: lambda name=name: lw.load(name)
        for name in ("fourbar", "stewart", "bicycle", "planetary_gear", "double_wishbone")
    },
    **{mechanism.__name__: mechanism for mechanism in (bennett, linkage, three_legs, pinned)},
}


def placed(tree, far, seed=0):
    """The tree turned and moved by ``far``."""
    X = random_pose(np.random.default_rng(seed))
    return turned(tree, Pose(X.rotation, Vec3(0.6 * far, -0.8 * far, 0.1 * far)))


def moving(robot, seed=1):
    """An assembled state in motion."""
    q = robot.assemble(position_limits=False).q
    return q, robot.project_velocity(q, np.random.default_rng(seed).normal(size=robot.nv))


def test_characteristic_length_of_a_mechanism_depends_only_on_its_size(drawn):
    """It depends neither on the mechanism's position nor on the frames of its bodies."""
    for name in drawn(MECHANISMS):
        tree = MECHANISMS[name]().tree
        length = characteristic_length(tree)
        for moved_tree in (placed(tree, 1e4), reframed(tree, 3, 2.0)):
            assert characteristic_length(moved_tree) == pytest.approx(length, rel=1e-9), name
        assert characteristic_length(in_other_units(tree, 1e-3, 2.0)[0]) == pytest.approx(1e-3 * length, rel=1e-12)
    ball = lw.Robot.build("ball", lw.Link("ball", mass=2.0, inertia=(0.01, 0.01, 0.01)), floating_base=True)
    assert characteristic_length(ball.tree) == pytest.approx(np.sqrt(0.03 / 4.0))


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", MECHANISMS)
def test_scaled_mechanisms_far_from_the_origin_behave_as_the_original(name, drawn):
    """Sizes from 0.1 mm to 10 km, 10 km from the origin: projected, assembled, analysed and simulated."""
    robot = MECHANISMS[name]()
    q, v = moving(robot)
    start = robot.integrate(q, 0.03 * np.random.default_rng(2).normal(size=robot.nv))
    expected = {metric: robot.project(start, weights=metric) for metric in ("mass", "plain")}
    ended = robot.simulate(q, v, duration=0.05, record_every=50)
    for L in drawn([None, 1e-4, 1e-3, 1e4, None])[1:-1]:  # one of them in a run
        tree, s_q, s_v = in_other_units(robot.tree, L, 8.0)
        scaled = lw.Robot(placed(tree, 1e4))
        near = 1e1 * (1e-9 + 2e-12 / L)  # the places' own rounding, relative to the mechanism
        for metric, at in expected.items():
            projected = scaled.project(start * s_q, weights=metric)
            np.testing.assert_allclose(projected / s_q, at, rtol=0, atol=1e1 * near)  # nearly flat
        assert scaled.assemble(start * s_q, position_limits=False).success
        mobility, usual = scaled.mobility(q * s_q), robot.mobility(q)
        assert (mobility.dof, mobility.mobility) == (usual.dof, usual.mobility)
        moved = scaled.simulate(q * s_q, v * s_v, duration=0.05, record_every=50)
        assert moved.success
        np.testing.assert_allclose(moved.q[-1] / s_q, ended.q[-1], rtol=0, atol=near)


@pytest.mark.slow(every=5)
def test_constraints_dependent_up_to_rounding_are_not_reported_as_singular():
    """A bicycle of 0.1 mm, 10 km from the origin: the rows of its wheels are dependent, and contradict by rounding."""
    robot, rng, L = lw.load("bicycle"), np.random.default_rng(0), 1e-4
    start, moves = robot.assemble().q, 0.5 * rng.normal(size=(50, robot.nv))
    q = np.array([robot.assemble(robot.integrate(start, phi), position_limits=False).q for phi in moves])
    v = robot.project_velocity(q, rng.normal(size=(50, robot.nv)))
    tree, s_q, s_v = in_other_units(robot.tree, L, 8.0)
    ended = robot.simulate(q, v, duration=0.01, record_every=10)
    moved = lw.Robot(placed(tree, 1e4)).simulate(q * s_q, v * s_v, duration=0.01, record_every=10)
    np.testing.assert_allclose(moved.q[:, -1] / s_q, ended.q[:, -1], rtol=0, atol=1e1 * (1e-9 + 2e-12 / L))


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_move_equally_if_their_frames_are_rotated(name):
    """Planar loops outside of the coordinate planes have rows that are rounding errors."""
    robot = MECHANISMS[name]()
    q, v = moving(robot)
    reframed_robot = lw.Robot(reframed(robot.tree))
    for options in ({}, {"method": "rk4"}, {"joint_limit_mode": "held"}):
        pair = [limited(x) if "joint_limit_mode" in options else x for x in (robot, reframed_robot)]
        run, two = (x.simulate(q, v, duration=0.1, record_every=100, **options) for x in pair)
        assert run.success and two.success, options
        np.testing.assert_allclose(two.q, run.q, rtol=0, atol=1e-9, err_msg=str(options))


def limited(robot, at=None, room=50.0):
    """The robot with limits around a configuration, zero by default: its steps solve the program of contacts."""
    at = np.zeros(robot.nq) if at is None else at

    def bounded(body, q):
        near = {"lower": (float(q[0] - room),), "upper": (float(q[0] + room),)}
        return replace(body, limits=replace(body.limits, **near)) if body.joint.nq == 1 else body

    bodies = [bounded(body, at[index]) for body, index in zip(robot.tree.bodies, robot.tree.q_slices, strict=True)]
    return lw.Robot(replace(robot.tree, bodies=tuple(bodies)))


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore:simulate. bodies that overlap at the start")  # of the robot without parameters
@pytest.mark.parametrize("name", ["linkage", "bennett", "planetary_gear"])
def test_mechanisms_with_contact_and_friction_move_equally_in_a_rotated_world(name):
    """Limits that are reached, contact, dry friction, springs and dampers, with a rotated world."""
    robot = {**MECHANISMS, "linkage": linkage}[name]()
    q, v = moving(robot)
    robot = lw.Robot(resisted(limited(robot, q, 0.01).tree))
    link, offset = robot.tree.bodies[0].name, (0.1, 0.05, 0.03)
    T = robot.pose(q, link)
    speed = robot.twist(q, v, link)
    start = T[:3, :3] @ offset
    ahead = speed[3:] + np.cross(speed[:3], start)
    normal, point = -ahead / np.linalg.norm(ahead), T[:3, 3] + start
    rng, ends = np.random.default_rng(0), []
    for k in range(4):
        X = random_pose(rng) if k else Pose.identity()
        parameters = turn_of(robot, X) if k else {}
        n = np.array([*(X.rotation @ Vec3(*normal))])
        height = float(n @ [*X.point(Vec3(*point))]) - 2e-4
        ground = ContactGround(ContactPoint(link, offset), friction=0.4, normal=tuple(n), height=height)
        run = robot.simulate(
            q,
            v,
            duration=0.1,
            dt=2e-3,
            joint_limit_mode="held",
            friction="coulomb",
            contacts=ground,
            parameters=parameters,
        )
        assert run.success
        ends.append(np.concatenate([run.q[-1], run.v[-1]]))
    assert np.abs(ends[0][: robot.nq] - q).max() > 1e-6 or name == "bennett"
    np.testing.assert_allclose(ends[1:], [ends[0]] * 3, rtol=0, atol=1e-9)


def turn_of(robot, X):
    """The parameters that place what stands in the world otherwise, and gravity with it."""
    tree, parameters = robot.tree, {"gravity": [*(X.rotation @ robot.tree.gravity)]}
    ground = [frame for frame in tree.frames if frame.body == WORLD and frame.name != "world"]
    ground_frames = [frame for frame in ground if frame.welded_to in (None, "world")]
    placed = {f"frame:{frame.name}": frame.placement for frame in ground_frames}
    if all(frame.is_link is False for frame in ground_frames):
        placed |= {f"placement:{b.joint_name}": b.placement for b in tree.bodies if b.parent == WORLD}
    for key, P in placed.items():
        moved = P.inv() @ X @ P
        parameters[key] = [*Quaternion.of(moved.rotation).log(), *moved.translation]
    return parameters
