"""Jacobians of features in windows against differences, for every joint type."""

import math
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.random_tree import random_tree
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features import (
    AccelerationFeature,
    ConfigurationFeature,
    FeatureJacobian,
    JerkFeature,
    TaskFeature,
    VelocityFeature,
)
from linkwork.optimal.features.derived_features import DifferenceFeature

STEP = 1e-6
RAIL = lw.joints.Prismatic((1, 0, 0))


def path_of(tree, rng, count=4):
    """Successive configurations, near each other."""
    q = [x for _, body in tree.stacked() for x in body.joint.random(rng, *body.limits.positions, ())]
    path = [q]
    for _ in range(count - 1):
        path.append(integrate(tree, path[-1], list(rng.uniform(-0.2, 0.2, tree.nv))))
    return path


def window(tree, path, tau, force, duration):
    """``tau`` is the share of one step in the duration, or a list of those of all steps, of which the newest is longer
    than the gap before its end."""
    shares = tau if isinstance(tau, list) else [tau] * len(path)
    gaps = [0.5 * (x + y) for x, y in pairwise([0.0, *tau])] if tau is shares else None
    return PathWindow(
        tree,
        path,
        [share * duration for share in shares],
        0.3 + duration,
        [{"force": f} for f in force],
        {"duration": [duration], "length": [0.7, 0.2]},
        [*({0: share} for share in shares), {0: 1.0}] if tau is shares else [{0: tau}] * len(path) + [{0: 1.0}],
        gaps=[gap * duration for gap in gaps] if gaps else None,
        gap_rates=[{0: gap} for gap in gaps] if gaps else None,
    )


class _Mixed(VelocityFeature):
    """All that a window has, at once."""

    depth = 3

    def values(self, w, target):
        a, f, (x, y) = w.jerk(), w.variables("force", 1), w.parameter("length")
        return [a[0] * f[0] * x, f[1] * y * w.time + w.variables("force", 3)[0], w.step * a[-1]]


class _Torque(VelocityFeature):
    """Joint forces, their power, energies and momentum, by the rows of inverse dynamics and by dual numbers."""

    depth = 2

    def values(self, w, target):
        return [*w.torque(), *self.rest(w)]

    def rest(self, w):
        return [w.power(), w.kinetic_energy(), w.end_potential_energy(), *w.momentum(), *w.momentum("world")]

    def jacobian(self, w, target):
        torque, power = w.torque_jacobian(), w.derived(self.rest, 2)
        both = zip(torque.rows, power.rows, strict=True)
        return FeatureJacobian(
            torque.values + power.values, [[*a, *b] for a, b in both], [*torque.parameters, *power.parameters]
        )


def test_finite_differences_of_polynomial_paths_in_windows_are_exact():
    """The k-th difference of t^k is k!, for any steps: of configurations, tasks and features of differences."""
    robot = lw.Robot.build("rail", lw.Link("cart"), lw.Joint.of(RAIL, name="rail", parent="world", child="cart"))
    ends = np.array([0.9, 0.82, 0.61, 0.55, 0.25])  # of steps, newest first
    for last in (0.0, 0.3):  # of the step after the newest one; none after the last
        steps = -np.diff(ends)
        gaps = 0.5 * (np.array([last, *steps[:-1]]) + steps)
        for order, motion in enumerate((VelocityFeature, AccelerationFeature, JerkFeature), 1):
            v = order * ends[:-1] ** (order - 1)
            q = -np.cumsum([0.0, *(gaps * v)])[:4]
            w = PathWindow(robot.tree, q[:, None].tolist(), [*steps], gaps=[*gaps])
            differences = [
                motion().values(w, [])[0],
                TaskFeature(lw.ik.PositionTask("cart"), order).values(w, [0.0] * 3)[0],
            ]
            differences += DifferenceFeature(VelocityFeature(), order - 1).values(w, []) if order > 1 else []
            assert np.allclose(differences, math.factorial(order), rtol=1e-12), (last, order, differences)
        assert abs(w.mean_velocity()[0] - 0.5 * (v[0] + v[1])) < 1e-12


@pytest.mark.parametrize("order", [1, 2])
def test_finite_difference_rates_of_tasks_have_errors_of_second_order(order):
    """A point on a curve in joint space: inside, at a border of unequal steps, and at the end."""
    robot, rates = lw.load("double_pendulum"), np.array([1.3, -0.9])
    point = TaskFeature(lw.ik.PositionTask("tip"), order)
    unlike = DifferenceFeature(TaskFeature(lw.ik.PositionTask("tip", axes="world")), order)

    def q(t):
        return np.array([0.4, -0.3]) + rates * t + np.array([0.5, 1.1]) * t**2 - 0.6 * t**3

    def exact(t):
        h = 1e-3
        x = [robot.pose(q(t + k * h), "tip")[:3, 3] for k in (-2, -1, 0, 1, 2)]
        if order == 1:
            return (x[0] - 8.0 * x[1] + 8.0 * x[3] - x[4]) / (12.0 * h)
        return (-x[0] + 16.0 * x[1] - 30.0 * x[2] + 16.0 * x[3] - x[4]) / (12.0 * h * h)

    for after, step, before in ((1.0, 1.0, 1.0), (0.25, 1.0, 1.0), (4.0, 1.0, 1.0), (1.0, 1.0, 4.0), (0.0, 1.0, 1.0)):
        errors = []
        for tau in (0.04, 0.02):
            steps = tau * np.array([step, before, before])
            gaps = 0.5 * (np.array([tau * after, *steps[:-1]]) + steps)
            ends = 0.5 - np.cumsum([0.0, *steps[:2]])
            v = [(q(t + 1e-5) - q(t - 1e-5)) / 2e-5 for t in ends]
            middle = ends[0] - 0.5 * steps[0]
            inner = q(middle) - steps[0] ** 2 / 8.0 * (v[0] - v[1]) / steps[0]
            path = [inner + gaps[0] * v[0], inner, inner - gaps[1] * v[1]]
            w = PathWindow(robot.tree, [x.tolist() for x in path], [*steps], gaps=[*gaps])
            expected = exact(ends[0] if order == 1 else middle)
            errors.append([np.abs(np.array(x.values(w, [0.0] * 3)) - expected).max() for x in (point, unlike)])
        assert np.allclose(errors[0], 4.0 * np.array(errors[1]), rtol=0.1), (after, step, before, errors)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("seed", range(3))
def test_jacobians_of_window_quantities_equal_finite_differences(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 6)
    path, force = path_of(tree, rng), [[*rng.uniform(-1, 1, 2)] for _ in range(4)]
    target = path_of(tree, rng, 1)[0]
    frame = tree.frames[-1].name
    features = [
        (ConfigurationFeature(), target),
        (VelocityFeature(), [0.1] * tree.nv),
        (AccelerationFeature(), []),
        (JerkFeature(), []),
        (_Mixed(), []),
        (_Torque(), []),
        *((TaskFeature(lw.ik.PositionTask(frame), order), [0.1, 0.2, 0.3]) for order in range(4)),
    ]
    tau, duration = 0.1 if seed == 0 else [0.1, 0.06, 0.17, 0.08], 1.3
    for feature, aim in features:
        blocks = feature.jacobian(window(tree, path, tau, force, duration), aim)
        width = tree.nv + 2
        assert len(blocks.rows) == feature.depth + 1
        assert all(len(row) == width for block in blocks.rows for row in block)

        def moved(back, column, h, feature=feature, aim=aim):
            new_path, new_force = [list(q) for q in path], [list(f) for f in force]
            if column < tree.nv:
                new_path[back] = integrate(tree, path[back], [h * (k == column) for k in range(tree.nv)])
            else:
                new_force[back][column - tree.nv] += h
            return np.array(feature.values(window(tree, new_path, tau, new_force, duration), aim), dtype=float)

        scale = 1.0 + max(abs(x) for x in np.ravel(np.array(blocks.rows, dtype=float)))
        for back, block in enumerate(blocks.rows):
            for column in range(width):
                difference = (moved(back, column, STEP) - moved(back, column, -STEP)) / (2.0 * STEP)
                block_column = np.array([row[column] for row in block], dtype=float)
                assert np.abs(block_column - difference).max(initial=0.0) < 3e-6 * scale, (feature.name, back, column)
        longer, shorter = (
            np.array(feature.values(window(tree, path, tau, force, duration + h), aim)) for h in (STEP, -STEP)
        )
        block_column = np.array([row[0] for row in blocks.parameters], dtype=float)
        assert np.abs(block_column - (longer - shorter) / (2.0 * STEP)).max() < 3e-6 * scale, feature.name


def test_unknown_variables_parameters_and_orders_of_windows_are_refused():
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 2)
    w = window(tree, path_of(tree, rng), 0.1, [[1.0, 2.0]] * 4, 1.0)
    assert w.columns("force") == slice(tree.nv, tree.nv + 2) and w.width == tree.nv + 2 and w.parameter_count == 3
    with pytest.raises(KeyError, match=r"no variable of steps named 'forces'.*force"):
        w.variables("forces")
    with pytest.raises(KeyError, match="no parameter of the path named 'size'"):
        w.parameter("size")
    with pytest.raises(ValueError, match="order: expected an integer"):
        TaskFeature(lw.ik.PositionTask("hand"), 4)


def test_torques_of_selected_joints_have_the_rows_of_the_full_jacobian():
    """Derivatives of other joint forces are not computed; the others are equal to the last bit."""
    rng = np.random.default_rng(4)
    tree = random_tree(rng, 6)
    w = window(tree, path_of(tree, rng), 0.1, [[*rng.uniform(-1, 1, 2)] for _ in range(4)], 1.0)
    indices = [*rng.choice(tree.nv, max(tree.nv // 2, 1), replace=False)]
    whole, selected = w.torque_jacobian(True), w.torque_jacobian(True, indices)
    assert selected.values == [whole.values[k] for k in indices]
    assert selected.rows == [[block[k] for k in indices] for block in whole.rows]
    assert selected.parameters == [whole.parameters[k] for k in indices]
    assert any(x for block in selected.rows for row in block for x in row)


def test_times_of_earlier_configurations_have_the_derivatives_of_the_steps_between_them():
    """One parameter is the length of the latest step, the other one shifts all times."""
    tree = random_tree(np.random.default_rng(0), 1)
    path = path_of(tree, np.random.default_rng(1), 3)
    parameters, rates = {"length": [0.1, 0.7]}, [{0: 1.0}, {}, {1: 1.0}]
    w = PathWindow(tree, path[:2], [0.1, 0.2], 0.8, parameters=parameters, rates=rates)
    before = w.earlier(1, 0)
    assert before.time == 0.8 - 0.1
    assert np.allclose(before.derived(lambda at: [at.time], 0).parameters, [[-1.0, 1.0]])
    assert np.allclose(w.derived(lambda at: [at.time], 1).parameters, [[0.0, 1.0]])
