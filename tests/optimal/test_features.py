"""Jacobians of every kind of feature against differences, on random robots of all joint types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.random_tree import random_tree
from linkwork.optimal.algorithms.jacobian_check import check_jacobian
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features import (
    AccelerationLimits,
    ConfigurationFeature,
    ConstraintForce,
    ContactForce,
    ContactHeight,
    EnergyFeature,
    Feature,
    FrictionCone,
    FunctionFeature,
    HolonomicFeature,
    JerkLimits,
    MomentumFeature,
    PathContact,
    PositionLimits,
    PowerFeature,
    StickingContact,
    SurfaceCone,
    TaskFeature,
    TorqueFeature,
    TorqueLimits,
    UnactuatedFeature,
    VelocityConstraint,
    VelocityFeature,
    VelocityLimits,
)
from linkwork.optimal.features.derived_features import difference_of

TAU = 0.05


def bound(robot, feature, variables=None, parameters=None, contacts=()):
    """The feature bound to a robot, by a window on symbols."""
    tree, graph = robot.tree, Graph("binding")

    def flat_values(sizes, label):
        return {name: graph.inputs(f"{label}{name}", (n,)) for name, n in (sizes or {}).items()}

    w = PathWindow(
        tree,
        [graph.inputs(f"q{k}", (tree.nq,)) for k in range(4)],
        [TAU] * 4,
        0.7,
        [flat_values(variables, k) for k in range(4)],
        flat_values(parameters, "p"),
        contacts=contacts,
    )
    return feature.bind(robot, w)


def moving_frames(robot):
    """On the second body, and on the last."""
    tree = robot.tree
    return [next(frame.name for frame in tree.frames if frame.body == k) for k in (1, len(tree.bodies) - 1)]


def everything(frame, joint, foot, sole):
    yield from (PositionLimits(-3.0, 3.0), VelocityLimits(2.0), AccelerationLimits(upper=5.0), JerkLimits(-9.0, 9.0))
    yield from (TorqueFeature(), TorqueFeature([joint], passive=True), TorqueLimits(5.0), PowerFeature(passive=True))
    yield from (MomentumFeature(about, part) for about in ("center_of_mass", "world") for part in ("both", "linear"))
    yield from (EnergyFeature(kind) for kind in ("kinetic", "potential", "total", "lagrangian"))
    yield TaskFeature(lw.ik.CenterOfMassTask(), 2)
    yield from (ContactForce(foot), StickingContact(foot), StickingContact(sole), ContactForce(sole), SurfaceCone(sole))
    yield from (FrictionCone(foot, friction=0.7, normal=(0.48, 0.6, 0.64), cone=cone) for cone in ("smooth", "pyramid"))
    yield ContactHeight(foot, normal=(0.6, 0.0, 0.8), height=0.3)
    yield FunctionFeature(
        "mixed",
        lambda w: [
            w.torque() @ w.v() + w.power() * w.parameter("length"),
            np.linalg.norm(w.point(frame) - w.point(frame, back=2)) ** 2 * w.variables("foot", 1)[2],
            w.momentum()[4] + w.kinetic_energy() * w.potential_energy() / 100.0,
            np.sum(w.a() ** 2) * w.time + np.sum(w.pose(frame, back=1)[:3, 0]) + w.center_of_mass()[0],
        ],
    )


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("seed", range(3))
def test_jacobians_of_trajectory_features_equal_finite_differences(seed):
    rng = np.random.default_rng(seed)
    robot = lw.Robot(random_tree(rng, 2))
    first, frame = moving_frames(robot)
    joint = next(iter(robot.tree.stacked()))[1].joint_name
    foot, sole = PathContact("foot", frame), PathContact("sole", first, surface=True)
    sizes = {"variables": {"foot": 3, "sole": 6}, "parameters": {"length": 1}, "contacts": (foot, sole)}
    for feature in everything(frame, joint, foot, sole):
        feature_at = bound(robot, feature, **sizes)
        assert len(feature_at.component_names) == len(feature_at.row_units)
        if feature_at.component_names:
            aim = [0.0] * 3 if isinstance(feature_at, TaskFeature) else []
            check = check_jacobian(robot.tree, feature_at, aim, **sizes, step=TAU, windows=1, seed=seed)
            assert check.success, str(check)


def test_jacobians_of_momentum_energy_power_and_function_features_equal_finite_differences():
    """On a robot of two joints, with differences of features, and functions of poses, targets and parameters."""
    robot = lw.Robot(random_tree(np.random.default_rng(2), 2, types=(lw.joints.Revolute, lw.joints.Prismatic)))
    frame = moving_frames(robot)[0]
    function = FunctionFeature(
        "mixed",
        lambda w, target: [
            w.torque() @ w.v() * target[0] + w.power() * w.parameter("length"),
            np.linalg.norm(w.point(frame) - w.point(frame, back=2)) ** 2 * w.variables("foot", 1)[2],
            w.momentum()[4] + w.kinetic_energy() * w.potential_energy() / 100.0 - target[1],
            np.sum(w.a() ** 2) * w.time + np.sum(w.pose(frame, back=1)[:3, 0]) + w.center_of_mass()[0],
            w.jerk()[1] * w.step + w.q(back=1)[0] * w.point_velocity(frame)[1] + w.direction(f"{frame}.x")[2],
        ],
        shape=(2,),
        depth=3,
    )
    sizes = {"variables": {"foot": 3}, "parameters": {"length": 1}}
    for feature, aim in (
        (function, [0.7, -0.3]),
        (MomentumFeature("world", "linear"), [0.1, 0.2, 0.3]),
        (MomentumFeature(part="angular"), []),
        *((EnergyFeature(kind), [0.4]) for kind in ("kinetic", "potential", "total", "lagrangian")),
        (PowerFeature(passive=True), []),
        (difference_of(EnergyFeature("potential"), 2), []),
        (difference_of(MomentumFeature(), 1), []),
    ):
        feature_at = bound(robot, feature, **sizes)
        assert len(feature_at.component_names) == len(feature_at.row_units)
        check = check_jacobian(robot.tree, feature_at, aim, **sizes, step=TAU, windows=1, seed=1)
        assert check.success and check.scale > 1e-3, str(check)


@dataclass(frozen=True)
class _Wrong(Feature):
    """Rows with one number that is no derivative."""

    name = "wrong"
    depth = 1
    component_names = ("one", "other")

    def values(self, w, target):
        return [w.velocity()[0], w.configuration(1)[1] ** 2]

    def jacobian(self, w, target):
        block = super().jacobian(w, target)
        block.rows[1][1][1] *= 1.01
        return block


def test_check_of_a_wrong_feature_jacobian_names_the_feature_and_joint():
    robot = lw.load("arm7")
    check = check_jacobian(robot.tree, _Wrong())
    assert not check.success and check.where == ("other", 1, robot.tree.bodies[1].joint_name)
    assert "THE JACOBIAN IS WRONG" in str(check) and "'other'" in str(check) and "step t - 1" in str(check)
    assert abs(check.got - 1.01 * check.expected) < 1e-8
    fine = bound(robot, FunctionFeature("fine", lambda w: w.q() ** 2))
    assert check_jacobian(robot.tree, fine).success and "the Jacobian is right" in str(check_jacobian(robot.tree, fine))


def windows(robot, rng, contacts=(), variables=None):
    """Return a window of floats and its configurations, the latest first."""
    q = robot.random_configuration(rng)
    path = [q]
    for _ in range(3):
        path.append(robot.integrate(path[-1], 0.1 * rng.uniform(-1, 1, robot.nv)))
    lists = [list(map(float, q)) for q in path]
    step_variables = [variables or {}] * 4
    return PathWindow(robot.tree, lists, [TAU] * 4, 0.7, step_variables, contacts=contacts), path


@pytest.mark.slow(every=3)
def test_torques_and_energies_in_features_equal_those_of_the_robot():
    """Torque, energy and momentum, with velocities by `Robot.difference`."""
    rng = np.random.default_rng(3)
    robot = lw.Robot(random_tree(rng, 6))
    force, wrench = rng.normal(size=3), rng.normal(size=6)
    first, last = moving_frames(robot)
    foot, sole = PathContact("foot", last), PathContact("sole", first, surface=True)
    w, path = windows(robot, rng, (foot, sole), {"foot": [*force], "sole": [*wrench]})
    v, before = robot.difference(path[1], path[0]) / TAU, robot.difference(path[2], path[1]) / TAU
    a, middle = (v - before) / TAU, (v + before) / 2
    acting = robot.inverse_dynamics(path[1], middle, a, passive=True)
    for J, values in (
        (robot.jacobian(path[1], foot.frame, expressed_in="world")[3:], force),
        (robot.jacobian(path[1], sole.frame, expressed_in=sole.frame), wrench),
    ):
        acting = acting - J.T @ values
    size = np.abs(acting).max()
    assert np.allclose(w.torque(), acting, atol=1e-10 * size)
    assert np.isclose(w.power(), middle @ acting, atol=1e-10 * size)
    end = robot.integrate(path[1], 0.5 * TAU * v)
    assert np.allclose(robot.difference(end, w.end_configuration()), 0.0)
    assert np.isclose(w.kinetic_energy(), robot.kinetic_energy(end, v))
    assert np.isclose(w.potential_energy(), robot.potential_energy(path[0]))
    assert np.isclose(w.end_potential_energy(), robot.potential_energy(end))
    assert np.allclose(w.momentum(), robot.centroidal_momentum(end, v))
    assert np.allclose(w.momentum("world"), robot.momentum(end, v))


def test_task_rates_in_windows_equal_frame_velocities_accelerations_and_jerks():
    """Differences of first to third order, also relative to a moving frame and in named axes."""
    rng = np.random.default_rng(5)
    robot, r, h = lw.Robot(random_tree(rng, 2)), np.array([0.1, -0.2, 0.3]), 1e-2
    base, frame = moving_frames(robot)
    robot = robot.with_point("tip", frame, tuple(r))
    path, direction = [robot.random_configuration(rng)], rng.uniform(-1, 1, robot.nv)
    for _ in range(3):
        path.insert(0, robot.integrate(path[0], h * (direction + h * rng.uniform(-1, 1, robot.nv))))
    w = PathWindow(robot.tree, [list(map(float, x)) for x in path], [h] * 4, 0.7, [{}] * 4)

    def turned(now, before):
        S = 0.5 * (now @ before.T - before @ now.T)
        s = np.array([S[2, 1], S[0, 2], S[1, 0]])
        return s * np.arcsin(np.linalg.norm(s)) / np.linalg.norm(s) / h

    def difference(rows):
        return rows[0] if len(rows) == 1 else difference(np.diff(rows, axis=0) / -h)

    def moved(task, order):
        feature = bound(robot, TaskFeature(task, order))
        shape = task.target_of.shape
        aim = [0.0] * 3 if shape == (3,) else list(np.eye(shape[0]).ravel())
        return feature, aim, np.array(feature.values(w, aim), dtype=float)

    cases = (("world", "frame"), (base, "frame"), ("world", "reference"), ("world", frame))
    for relative_to, axes in cases:
        X = np.array([np.linalg.inv(robot.pose(x, relative_to)) @ robot.pose(x, frame) for x in path])
        R, origins = X[:, :3, :3], X[:, :3, 3]
        A, spins = R[0].T if axes == frame else np.eye(3), np.array([turned(R[k], R[k + 1]) for k in range(3)])
        for order in (1, 2, 3):
            turn, tip, origin = (
                A @ difference(x) for x in (spins[:order], (R @ r + origins)[: order + 1], origins[: order + 1])
            )
            for task, expected in (
                (lw.ik.PositionTask("tip", relative_to=relative_to, axes=axes), tip),
                (lw.ik.OrientationTask(frame, relative_to=relative_to, axes=axes), turn),
                (lw.ik.PoseTask(frame, relative_to=relative_to, axes=axes), np.concatenate([turn, origin])),
            ):
                got = moved(task, order)[2]
                assert np.abs(got - expected).max() < 1e-9 / h ** (order - 1), (task, order)
    # the velocity of a path is that of the robot on the way
    v = robot.difference(path[1], path[0]) / h
    J = robot.jacobian(robot.integrate(path[1], 0.5 * h * v), frame)
    assert np.abs(moved(lw.ik.PoseTask(frame), 1)[2] - J @ v).max() < 1e-3
    for axes, order in (("frame", 1), ("frame", 2), (base, 1)):
        for task in (lw.ik.PoseTask(frame, axes=axes), lw.ik.PositionTask("tip", axes=axes)):
            feature, aim, _ = moved(task, order)
            check = check_jacobian(robot.tree, feature, aim, step=TAU, windows=1)
            assert check.success, str(check)


@pytest.mark.slow(every=3)
def test_difference_features_equal_differences_of_feature_values():
    """Differences of configurations are velocities, accelerations and jerks."""
    robot, rng = lw.load("arm7"), np.random.default_rng(3)
    w, path = windows(robot, rng)

    def of(feature, order, aim=()):
        difference = bound(robot, difference_of(feature, order))
        assert check_jacobian(robot.tree, difference, aim, step=TAU, windows=1).success
        return difference, np.array(difference.values(w, list(aim)), dtype=float)

    q = np.array(path)
    v, zeros = robot.difference(q[1:], q[:-1]) / TAU, [0.0] * 7
    rates = [v[0], (v[0] - v[1]) / TAU, (v[0] - 2.0 * v[1] + v[2]) / TAU**2]
    for order, expected in enumerate(rates, 1):
        difference, got = of(ConfigurationFeature(), order, zeros)
        assert np.allclose(got, expected) and difference.depth == order
    assert np.allclose(of(VelocityFeature(), 2, zeros)[1], rates[2])
    function = FunctionFeature("height", lambda w: w.point("hand")[2] * (1.0 + w.time))
    values = robot.pose(q, "hand")[:, 2, 3] * (1.7 - TAU * np.arange(4.0))
    for order, unit in ((1, "1/s"), (2, "1/s²"), (3, "1/s³")):
        difference, got = of(function, order)
        assert np.allclose(got, np.diff(values, order)[0] * (-1.0 / TAU) ** order) and difference.row_units == (unit,)
    energies = robot.potential_energy(q[:2])
    assert np.allclose(of(EnergyFeature("potential"), 1)[1], (energies[0] - energies[1]) / TAU)
    torques = [np.array(bound(robot, TorqueFeature()).values(x, zeros)) for x in (w, w.earlier(1, 2))]
    assert np.allclose(of(TorqueFeature(), 1, zeros)[1], (torques[0] - torques[1]) / TAU)


def test_torques_of_feature_windows_have_errors_of_second_order():
    """Along a smooth motion the error is proportional to the square of the step."""
    robot = lw.load("arm7")
    rng = np.random.default_rng(0)
    c, s = 0.5 * rng.uniform(-1, 1, (2, 7))

    def at(t):
        return c * np.cos(2 * t) + s * np.sin(3 * t)

    v, a = -2 * c * np.sin(0.8) + 3 * s * np.cos(1.2), -4 * c * np.cos(0.8) - 9 * s * np.sin(1.2)
    exact = robot.inverse_dynamics(at(0.4), v, a, passive=True)
    off = []
    for tau in (0.02, 0.01):
        path = [list(at(0.4 + k * tau)) for k in (1, 0, -1)]
        off.append(np.abs(np.array(PathWindow(robot.tree, path, [tau] * 3).torque()) - exact).max())
    assert 3.8 < off[0] / off[1] < 4.2


def test_limit_features_have_components_only_for_finite_limits():
    robot = lw.load("arm7")
    count = np.isfinite(robot.lower).sum() + np.isfinite(robot.upper).sum()
    assert len(bound(robot, PositionLimits()).component_names) == count > 0
    only = bound(robot, PositionLimits(lower=np.full(7, -np.inf), upper=[1.0] + [np.inf] * 6))
    assert len(only.component_names) == 1 and only.component_names[0].endswith(": upper") and only.row_units == ("rad",)
    w, path = windows(robot, np.random.default_rng(0))
    assert np.allclose(only.values(w, []), path[0][0] - 1.0)
    turning = lw.Robot(random_tree(np.random.default_rng(1), 3, types=(lw.joints.UnboundedRevolute,)))
    assert bound(turning, PositionLimits()).component_names == bound(robot, AccelerationLimits()).component_names == ()
    free = bound(lw.load("arm7", floating_base=True), UnactuatedFeature())
    assert len(free.component_names) == 6 and free.name == "unactuated" and free.row_units == ("N·m",) * 3 + ("N",) * 3
    speed = bound(robot, VelocityLimits(upper=2.0))
    v = robot.difference(path[1], path[0]) / TAU
    assert np.allclose(speed.values(w, []), np.stack([-2.0 - v, v - 2.0], axis=1).ravel())
    for make, message in (
        (lambda: VelocityLimits([1.0, 2.0], [3.0, 4.0]), "lower: expected a number, or 7, got 2"),
        (lambda: PositionLimits(1.0, -1.0), "expected lower <= upper, got 1 > -1"),
        (lambda: PositionLimits(np.nan), "lower: expected a number"),
        (lambda: TorqueFeature("no such joint"), "no such joint"),
        (lambda: TorqueFeature([]), "expected names of joints"),
        (lambda: UnactuatedFeature(), "all joints of 'arm7' are actuated"),
        (lambda: FunctionFeature("deep", lambda w: w.jerk()[0], depth=1), "it reads 3 steps back"),
        (lambda: FunctionFeature("still", lambda w: 1.0), "which do not depend on the path"),
        (lambda: FunctionFeature("wrong", lambda w: w.pose("hnad")), "hand"),
        (lambda: FunctionFeature("bad", lambda w: w.q()[0] / None), "its function raised TypeError"),
        (lambda: FunctionFeature("nan", lambda w: w.q()[0] * np.nan), "NaN"),
        (lambda: MomentumFeature("hand"), "about: expected one of 'center_of_mass', 'world', got 'hand'"),
    ):
        with pytest.raises((ValueError, TypeError, KeyError), match=message):
            bound(robot, make())


def test_smooth_friction_cones_do_not_depend_on_the_unit_of_force():
    """Weight and forces scale together, and so do the components, near the tip too."""
    foot = PathContact("foot", "hand")
    known = None
    for unit in (1.0, 1e-3, 1e3):
        robot = lw.load("arm7").with_gravity(np.array([0.0, 0.0, -9.81]) * unit)
        cone = bound(robot, FrictionCone(foot, friction=0.6))
        forces = unit * np.array([[0.3, 0.4, 2.0], [2e-4, 1e-4, 3e-4], [0.0, 0.0, 0.0]])
        windows = (PathWindow(robot.tree, [[0.0] * 7], [TAU], 0.0, [{"foot": [*f]}]) for f in forces)
        components = np.array([cone.values(w, []) for w in windows]) / unit
        known = components if known is None else known
        np.testing.assert_allclose(components, known, rtol=1e-9, atol=1e-15)


def test_friction_cones_contain_forces_by_their_definition():
    """Forces of a nonnegative pressure with friction are inside."""
    rng = np.random.default_rng(0)
    robot, normal = lw.load("arm7"), np.array([0.48, 0.6, 0.64])
    foot, sole = PathContact("foot", "hand"), PathContact("sole", "hand", surface=True)
    q = [0.0] * 7
    half, mu = np.array([0.1, 0.04]), 0.6
    for _ in range(200):
        f = rng.normal(size=3)
        w = PathWindow(robot.tree, [q], [TAU], 0.0, [{"foot": [*f], "sole": [0.0] * 6}])
        along = normal @ f
        inside = along >= 0.0 and np.linalg.norm(f - along * normal) <= mu * along
        smooth = FrictionCone(foot, friction=mu, normal=tuple(normal)).values(w, [])
        assert (max(smooth) <= 1e-3) == inside or abs(max(smooth)) < 2e-3
        if inside:
            assert max(FrictionCone(foot, friction=mu, normal=tuple(normal), cone="pyramid").values(w, [])) <= 1e-12
        # a wrench of four corners, each of which pushes within a pyramid, is one of the surface
        corners = np.array([(x, y, 0.0) for x in (-1, 1) for y in (-1, 1)]) * [*half, 0.0]
        forces = np.abs(rng.normal(size=(4, 1))) * np.c_[rng.uniform(-mu, mu, (4, 2)), np.ones(4)]
        moment = np.cross(corners, forces).sum(axis=0)
        cone = SurfaceCone(sole, friction=mu, half=tuple(half))

        def rows(moment, forces=forces, cone=cone):
            forces_of_contacts = {"foot": [0.0] * 3, "sole": [*moment, *forces.sum(axis=0)]}
            return cone.values(PathWindow(robot.tree, [q], [TAU], 0.0, [forces_of_contacts]), [])

        assert max(rows(moment)) < 1e-12
        total = forces[:, 2].sum()
        for k, most in enumerate((half[1] * total, half[0] * total, mu * (half[0] + half[1]) * total)):
            beyond = moment.copy()
            beyond[k] = 1.01 * most
            assert max(rows(beyond)) > 0.0


def test_jacobians_of_loop_errors_and_of_torques_with_loop_forces_equal_finite_differences():
    """The force of a four-bar's loop acts at the middle of each step."""
    robot = lw.load("fourbar")
    (constraint,) = robot.tree.constraints
    force = ConstraintForce("keeps", constraint)
    sizes = {"variables": {force.name: force.size}, "contacts": (force,)}
    for feature in (HolonomicFeature(constraint), TorqueFeature()):
        check = check_jacobian(robot.tree, bound(robot, feature, **sizes), **sizes, step=TAU, windows=1)
        assert check.success and check.scale > 1e-2, str(check)


@pytest.mark.slow(every=5)
def test_jacobians_of_constraint_and_force_features_equal_finite_differences():
    """Loops, rolling wheels, and joint forces with constraint forces."""
    for name, count in (("fourbar", 5), ("bicycle", 6)):
        robot = lw.load(name)
        constraints = robot.tree.constraints
        forces = [ConstraintForce(f"keeps {c.name}", c) for c in constraints]
        sizes = {"variables": {force.name: force.size for force in forces}, "contacts": tuple(forces)}
        features = [HolonomicFeature(c) if c.holonomic else VelocityConstraint(c) for c in constraints]
        assert sum(len(feature.component_names) for feature in features) == count
        for feature in (*features, TorqueFeature()):
            check = check_jacobian(robot.tree, bound(robot, feature, **sizes), **sizes, step=TAU, windows=1, exact=True)
            assert check.success, str(check)
        rng = np.random.default_rng(0)
        force_values = {force.name: [*rng.normal(size=force.size)] for force in forces}
        w, path = windows(robot, rng, forces, force_values)
        v, before = (robot.difference(path[k + 1], path[k]) / TAU for k in (0, 1))
        free = robot.without_constraints().inverse_dynamics(path[1], (v + before) / 2, (v - before) / TAU)
        pushed = robot.constraint_jacobian(path[1]).T @ np.concatenate(list(force_values.values()))
        assert np.allclose(w.torque(), free - pushed, atol=1e-9)
        moving = [feature for feature in features if isinstance(feature, VelocityConstraint)]
        if moving:  # by the rows of the state in the middle
            middle = robot.integrate(path[1], 0.5 * TAU * v)
            rows = robot.constraint_jacobian(middle) @ v
            velocity_rows = [k for c in constraints for k in [not c.holonomic] * len(c.component_names)]
            assert np.allclose(np.concatenate([f.values(w, []) for f in moving]), rows[velocity_rows], atol=1e-10)
    with pytest.raises(ValueError, match="expected a holonomic constraint"):
        HolonomicFeature(next(c for c in constraints if not c.holonomic))


def test_invalid_arguments_of_trajectory_features_are_refused() -> None:
    """Wrong switches, misspelt names and wrong contacts are refused at once, with the nearest name."""
    of = lw.optimal
    foot = of.PathContact("foot", "foot")
    cases: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: of.TorqueFeature(passive="no"), ValueError, "TorqueFeature: passive: expected True or False, got"),
        (lambda: of.UnactuatedFeature(passive=1), ValueError, "UnactuatedFeature: passive"),
        (lambda: of.PowerFeature(passive="no"), ValueError, "PowerFeature: passive"),
        (lambda: of.TorqueLimits(passive="no"), ValueError, "TorqueLimits: passive"),
        (lambda: of.MomentumFeature("wrld"), ValueError, "about: expected one of .* did you mean 'world'"),
        (lambda: of.MomentumFeature(part="angula"), ValueError, "did you mean 'angular'"),
        (lambda: of.EnergyFeature("kintic"), ValueError, "did you mean 'kinetic'"),
        (lambda: of.FrictionCone(foot, cone="pyramide"), ValueError, "did you mean 'pyramid'"),
        (lambda: of.Clearance(per="lnk"), ValueError, "did you mean 'link'"),
        (lambda: of.ContactHeight(foot, normal=(0.0, 0.0, 2.0)), ValueError, "normal: expected a vector of length 1"),
        (lambda: of.ContactHeight(foot, height=np.nan), ValueError, "height: expected finite"),
        (lambda: of.PathContact("foot", "foot", surface="no"), ValueError, "PathContact: surface"),
        (lambda: of.PathContact("", "foot"), TypeError, "PathContact: name: expected a string"),
        (
            lambda: of.StickingContact("foot"),
            TypeError,
            "StickingContact: contact: expected a linkwork.optimal.PathContact",
        ),
        (lambda: of.VelocityLimits(name=3), TypeError, "VelocityLimits: name"),
        (lambda: of.VariableFeature(3), TypeError, "VariableFeature: name"),
    ]
    for make, kind, said in cases:
        with pytest.raises(kind, match=said):
            make()
    problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=4)
    calls: list[tuple[Callable[[Any], Any], str]] = [
        (lambda w: w.torque(passive="no"), "w.torque: passive: expected True or False"),
        (lambda w: w.power(passive=2), "w.power: passive"),
        (lambda w: w.momentum("wrld"), "w.momentum: about: .* did you mean 'world'"),
        (lambda w: w.q(back=-1), "w.q: back: expected an integer, got -1"),
        (lambda w: w.point("tip", back=0.5), "w.point: back"),
        (lambda w: w.v(back=True), "w.v: back"),
    ]
    for function, said in calls:
        with pytest.raises(ValueError, match=said):
            problem.add(function, "least_squares")
    with pytest.raises(ValueError, match=r"kind: expected one of .* got 'equalty'; did you mean 'equality'"):
        problem.add("velocity", "equalty")
