"""Manipulability and its gradient: singular values, differences, a closed form, and rank-deficient Jacobians."""

import itertools

import numpy as np
import pytest

import linkwork as lw
from helpers.arms import chain_text
from helpers.precise import Precise, difference_jacobian, differences, precisely
from linkwork.expr import adjoint, tangent
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.joints import Prismatic, Revolute
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.trees import TREES, state

ROWS = {"all": slice(0, 6), "position": slice(3, 6), "angular": slice(0, 3)}
CHAINS = {n: random_tree(np.random.default_rng(n), n, types=[Revolute, Prismatic], shape="chain") for n in (2, 5, 6, 8)}
SAMPLE_TREES = {
    **CHAINS,
    **{name: TREES[name] for name in ("mixed_0", "mixed_chain", "coupled_0", "coupled_chain", "rerooted")},
}
BETWEEN = (("tool4", "world"), ("tool1", "world"), ("tool1", "body0"), ("body1", "tool4"))


def cases():
    for (name, tree), (B, A) in itertools.product(SAMPLE_TREES.items(), BETWEEN):
        if {B, A} <= {"world", *(frame.name for frame in tree.frames)}:
            yield f"{name} {B} {A}", tree, B, A


def test_manipulability_is_the_product_of_singular_values():
    for label, tree, B, A in cases():
        q, _, _ = state(tree, seed=1)
        f = Direct(tree)
        J = f.jacobian(q, B, relative_to=A)
        moving = np.any(J != 0.0, axis=(0, 1))
        for part, rows in ROWS.items():
            measure = f.manipulability(q, B, relative_to=A, part=part)
            values = np.linalg.svd(J[:, rows][..., moving], compute_uv=False)
            expected = np.prod(values, axis=-1) if moving.any() else np.zeros(len(q))
            assert_close(measure, expected, 1e-13, f"{label} {part}", core=0)


@pytest.mark.slow(every=5)
def test_gradients_of_manipulability_equal_finite_differences():
    """Along a velocity for each sample, of fourth order, since w has large higher derivatives near zero."""
    h = 1e-3
    for label, tree, B, A in cases():
        q, v, _ = state(tree, seed=2)
        f = Direct(tree)
        at = [f.integrate(q, n * h * v) for n in (-2, -1, 1, 2)]
        for part in ROWS:
            rate = np.sum(f.manipulability_gradient(q, B, relative_to=A, part=part) * v, axis=-1)
            w = [f.manipulability(x, B, relative_to=A, part=part) for x in at]
            slope = (w[0] - 8.0 * w[1] + 8.0 * w[2] - w[3]) / (12.0 * h)
            assert_close(rate, slope, 1e-8, f"{label} {part}", core=0)


@pytest.mark.slow(every=5)
def test_gradients_of_manipulability_equal_dual_number_derivatives():
    for label, tree, B, A in cases():
        q, v, _ = (x[0].tolist() for x in state(tree, seed=3, size=1))
        moving = seeded(q, ROBOT["velocity_to_configuration_derivative"].compute(tree, q, v))
        for part in ROWS:
            w = ROBOT["manipulability"].compute(tree, moving, B, relative_to=A, part=part)
            rate = Direct(tree, "floats").manipulability_gradient(q, B, relative_to=A, part=part) @ np.array(v)
            assert_close(rate, parts(w, moving[0].level)[1], 1e-11, f"{label} {part}")


def second_differences(function, q, u, v):
    return differences(lambda x: [Precise(y) for y in differences(function, [a.value for a in x], u)], q, v)


@pytest.mark.slow(every=5)
def test_derivatives_of_manipulability_of_straight_arms_equal_multiprecision_results(drawn):
    """Columns of J are zero.  First and second derivatives by reverse mode equal values of 120 digits."""
    tried = 0
    for axes in drawn(list(itertools.product(("1 0 0", "0 1 0", "0 0 1"), repeat=3))):
        offsets = ("0 0 0", "0.5 0 0", "0.3 0 0")
        tree = chain_text([("revolute", *row, -3, 3) for row in zip(axes, offsets, strict=True)], "0.2 0 0").tree
        for part in ROWS:

            def volume(q, tree=tree, part=part):
                return [ROBOT["manipulability"].compute(tree, q, "l4", part=part)]

            if float(precisely(volume, [0.0] * 3)[0]) < 1e-3:
                continue
            tried += 1
            symbols = Graph().inputs("q", (3,))
            u, v = np.random.default_rng(0).normal(size=(2, 3))
            gradient = adjoint(volume(symbols), symbols, [1.0])
            second = tangent(gradient, symbols, list(u))
            derivatives = evaluate([*gradient, *second], dict.fromkeys(symbols, 0.0))
            expected = difference_jacobian(volume, [0.0] * 3)[0]
            np.testing.assert_allclose(derivatives[:3], expected, rtol=0.0, atol=1e-12, err_msg=f"{axes} {part}")
            expected = float(second_differences(volume, [0.0] * 3, u, v)[0])
            np.testing.assert_allclose(
                np.dot(derivatives[3:], v), expected, rtol=1e-11, atol=1e-12, err_msg=f"{axes} {part}"
            )
    assert tried


def test_manipulability_of_two_planar_links_depends_on_the_elbow_angle_only():
    """w = l₁ l₂ abs(sin q₂), which is zero for the stretched arm."""
    robot = lw.load("double_pendulum")
    elbow, tip = (robot.pose(robot.neutral(), frame)[[0, 2], 3] for frame in ("lower_rod", "tip"))  # axes along y
    links = np.linalg.norm(elbow) * np.linalg.norm(tip - elbow)
    q = np.random.default_rng(0).uniform(-3.0, 3.0, size=(50, 2))
    assert_close(robot.manipulability(q, "tip", part="position"), links * np.abs(np.sin(q[:, 1])), 1e-14, core=0)
    slope = links * np.cos(q[:, 1]) * np.sign(np.sin(q[:, 1]))
    expected = np.stack([np.zeros(50), slope], axis=-1)
    assert_close(robot.manipulability_gradient(q, "tip", part="position"), expected, 1e-13, core=1)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("kind", ["compiled", "floats"])
def test_manipulability_at_singular_configurations_is_zero_with_finite_gradient(kind):
    robot = lw.load("arm6")
    f = robot if kind == "compiled" else Direct(robot.tree, "floats")
    q = np.zeros((3, 6))
    q[1, 1], q[2, 4] = 0.3, np.pi
    for part in ROWS:
        w = f.manipulability(q, "tool", part=part)
        gradient = f.manipulability_gradient(q, "tool", part=part)
        assert np.all(np.isfinite(gradient))
        singular = np.linalg.matrix_rank(robot.jacobian(q, "tool")[:, ROWS[part]]) < (6 if part == "all" else 3)
        assert singular.any() or part != "all"
        assert_close(w[singular], np.zeros(singular.sum()), 1e-15, core=0)


def test_coaxial_hinges_have_zero_manipulability():
    links, hinge = ("a", "b", "c"), Revolute((0.0, 0.0, 1.0))
    joints = [
        lw.Joint.of(hinge, name=child.upper(), parent=parent, child=child)
        for parent, child in zip(("world", *links), links, strict=False)
    ]
    robot = lw.Robot.build("coaxial", *(lw.Link(name, mass=1.0) for name in links), *joints)
    q = robot.random_configuration(seed=0, size=5)
    for part in ROWS:
        assert not robot.manipulability(q, "c", part=part).any()
        assert not robot.manipulability_gradient(q, "c", part=part).any()


def test_frame_relative_to_itself_has_zero_manipulability():
    robot = lw.load("arm6")
    q = robot.random_configuration(seed=0, size=2)
    assert not robot.manipulability(q, "tool", relative_to="tool").any()
    assert not robot.manipulability_gradient(q, "tool", relative_to="tool").any()
