"""Second derivatives of dynamics: differences of first derivatives, nested dual numbers, and contractions."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import EPS, assert_close
from oracles.scalars import Direct
from oracles.trees import TREES, every_moving_type, robot_of, state

LAST = {"inverse_dynamics": "da", "forward_dynamics": "dtau"}


def taylor(tree, name, at, weights, u, **options):
    """Second derivative of Σ w f in a direction u of all inputs: nested dual numbers at integrate(q, t u)."""
    q, v, x = at
    n = tree.nv
    outer, inner = seeded([0.0], [1.0])[0], seeded([0.0], [1.0])[0]
    t = outer + inner
    moved_q = ROBOT["integrate"].compute(tree, q.tolist(), [t * y for y in u[:n]])
    moved = [
        [y + t * rate for y, rate in zip(values, u[k * n : (k + 1) * n], strict=True)] for k, values in ((1, v), (2, x))
    ]
    results = ROBOT[name].compute(tree, moved_q, *moved, **options)
    total = sum(w * y for w, y in zip(weights.tolist(), results, strict=True))
    return float(parts(parts(total, inner.level)[1], outer.level)[1])


@every_moving_type
def test_hessians_of_dynamics_equal_nested_dual_number_derivatives(tree):
    """uᵀ H u is the second derivative of the function along u: inverse and forward dynamics in turns."""
    name = [*LAST][[*TREES.values()].index(tree) // 2 % 2]
    q, v, x = (y[0] for y in state(tree, 6, 1))
    n, rng = tree.nv, np.random.default_rng(7)
    weights, u = rng.normal(size=n), rng.normal(size=3 * n)
    f = Direct(tree, "floats")
    qq, qv, vv, qx = getattr(f, f"{name}_hessian")(q, v, x, weights)
    dq, dv, dx = u[:n], u[n : 2 * n], u[2 * n :]
    parts = [dq @ qq @ dq, 2.0 * (dq @ qv @ dv), dv @ vv @ dv, 2.0 * (dq @ qx @ dx)]
    cond = float(np.linalg.cond(Direct(tree).mass_matrix(q))) if name == "forward_dynamics" else 1.0
    bound = (1e-12 + 20.0 * EPS * cond) * sum(np.abs(y) for y in parts)
    assert abs(sum(parts) - taylor(tree, name, (q, v, x), weights, u)) <= max(1e-12, bound)
    for matrix in (qq, vv):
        np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.costly
@every_moving_type
def test_hessians_of_dynamics_equal_finite_differences_of_first_derivatives(tree):
    """Every block, in a random direction: to 1e-6 of its size; by q twice the symmetric part."""
    turn = [*TREES.values()].index(tree)
    name = [*LAST][1 - turn // 2 % 2]
    q, v, x = (y[0] for y in state(tree, 8, 1))
    f, n, rng = Direct(tree), tree.nv, np.random.default_rng(turn)
    weights, d, e = rng.normal(size=n), rng.normal(size=n), 1e-6
    first = getattr(f, f"{name}_derivatives")
    qq, qv, vv, qx = getattr(f, f"{name}_hessian")(q, v, x, weights)
    along_q = [weights @ (ahead - behind) / (2.0 * e) for ahead, behind in zip(
        first(f.integrate(q, e * d), v, x), first(f.integrate(q, -e * d), v, x), strict=True)]  # fmt: skip
    along_v = weights @ (first(q, v + e * d, x)[1] - first(q, v - e * d, x)[1]) / (2.0 * e)
    behind = rng.normal(size=n)
    swapped = (
        weights @ (first(f.integrate(q, e * behind), v, x)[0] - first(f.integrate(q, -e * behind), v, x)[0]) / (2.0 * e)
    )
    for actual, expected, size in (
        (behind @ qq @ d, 0.5 * (along_q[0] @ behind + swapped @ d), np.linalg.norm(qq)),
        (qv.T @ d, along_q[1], 0.0),
        (vv @ d, along_v, 0.0),
        (qx.T @ d, along_q[2], 0.0),
    ):
        assert np.linalg.norm(actual - expected) <= 1e-6 * max(1.0, float(np.linalg.norm(expected)), size), name


@pytest.mark.slow(every=9)
def test_contracted_second_derivatives_of_dynamics_equal_hessians():
    for key in ("coupled_chain", "floating_random"):
        tree = TREES[key]
        f, (q, v, x) = Direct(tree, "floats"), (y[0] for y in state(tree, 9, 1))
        weights = np.random.default_rng(1).normal(size=tree.nv)
        for name in LAST:
            H = getattr(f, f"{name}_hessian")(q, v, x, weights)
            full = getattr(f, f"{name}_second_derivatives")(q, v, x)
            for block, hessian_block in zip(full, H, strict=True):
                assert_close(np.einsum("i,ijk->jk", weights, block), hessian_block, 1e-10, f"{key} {name}")


@pytest.mark.slow(every=5)
def test_hessians_of_dynamics_at_zero_and_near_half_turn_rotations_equal_dual_number_derivatives(drawn):
    """Every joint type: uᵀ H u where formulas of rotations change from one form to another."""
    for seed, kind in drawn(enumerate(joints.ALL)):
        joint = kind.example(np.random.default_rng(seed))
        if not joint.nv:
            continue
        tree = random_tree(np.random.default_rng(seed), 2, types=[kind], shape="chain")
        rng = np.random.default_rng(seed)
        (v, a, weights), u = rng.normal(size=(3, tree.nv)), rng.normal(size=3 * tree.nv)
        for angle in (0.0, 1e-12, 1e-5, np.pi - 1e-9):
            q = Direct(tree).integrate(robot_of(tree).neutral(), np.full(tree.nv, angle / np.sqrt(3.0)))
            if (
                min(float(b.joint.regularity(x)) for b, x in zip(tree.bodies, tree.split_q(q.tolist()), strict=True))
                < 1e-3
            ):
                continue
            qq, qv, vv, qa = Direct(tree, "floats").inverse_dynamics_hessian(q, v, a, weights)
            n = tree.nv
            parts = [
                u[:n] @ qq @ u[:n],
                2.0 * (u[:n] @ qv @ u[n : 2 * n]),
                u[n : 2 * n] @ vv @ u[n : 2 * n],
                2.0 * (u[:n] @ qa @ u[2 * n :]),
            ]
            expected = taylor(tree, "inverse_dynamics", (q, v, a), weights, u)
            assert abs(sum(parts) - expected) <= 1e-11 * sum(np.abs(parts)) + 1e-12, (kind, angle)


@pytest.mark.slow(every=5)
def test_hessians_of_dynamics_with_wrenches_springs_and_gravity_equal_finite_differences():
    """Wrenches in axes of another frame, and passive joint forces, in both precisions."""
    robot = lw.load("arm7").with_joint_dynamics(stiffness=2.0, damping=0.5, friction=0.1, armature=0.01)
    rng = np.random.default_rng(0)
    q, (v, x, weights) = robot.random_configuration(rng), rng.normal(size=(3, robot.nv))
    more = {
        "wrenches": {"hand": rng.normal(size=6)},
        "expressed_in": "hand",
        "gravity": [0.3, 0.2, -3.0],
        "passive": True,
    }
    d, e = rng.normal(size=robot.nv), 1e-6
    for name in LAST:
        first, second = getattr(robot, f"{name}_derivatives"), getattr(robot, f"{name}_hessian")
        qq, qv, vv, qx = second(q, v, x, weights, **more)
        by_q = [weights @ (ahead - behind) / (2.0 * e) for ahead, behind in zip(
            first(q + e * d, v, x, **more)[:3], first(q - e * d, v, x, **more)[:3], strict=True)]  # fmt: skip
        by_v = weights @ (first(q, v + e * d, x, **more)[1] - first(q, v - e * d, x, **more)[1]) / (2.0 * e)
        for actual, expected in ((qq @ d, by_q[0]), (qv.T @ d, by_q[1]), (vv @ d, by_v), (qx.T @ d, by_q[2])):
            assert np.linalg.norm(actual - expected) <= 1e-6 * max(1.0, float(np.linalg.norm(expected))), name
    exact = robot.inverse_dynamics_hessian(q, v, x, weights)
    rough = robot.inverse_dynamics_hessian(*(y.astype(np.float32) for y in (q, v, x, weights)))
    for ahead, behind in zip(rough, exact, strict=True):
        assert ahead.dtype == np.float32
        assert np.linalg.norm(ahead - behind) <= 1e-3 * np.linalg.norm(behind)
