"""Derivatives of inverse and forward dynamics against dual numbers through the functions, and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

from invariants.cases import Case, Functions, cases, per_unit
from oracles.comparison import EPS, assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.trees import TREES


def along(case: Case, function: str, options, third, more=()):
    """Return exact derivatives by q, v and the third input: a run on dual numbers for each column."""
    q, v = case.q, case.v
    zeros_of_wrenches = [(x, np.zeros_like(x)) for x in more]
    zeros = np.zeros_like(v)

    def by(dq, dv, dx):
        return case.f.rate((function, options), (q, dq), (v, dv), (third, dx), *zeros_of_wrenches)

    q_dot = lambda unit: case.f("velocity_to_configuration_derivative", q, unit + zeros)  # noqa: E731
    zero = np.zeros_like(q)
    return (
        per_unit(case, lambda unit: by(q_dot(unit), zeros, zeros)),
        per_unit(case, lambda unit: by(zero, unit, zeros)),
        per_unit(case, lambda unit: by(zero, zeros, unit)),
    )


def wrenched(case: Case, rng) -> tuple[dict, list[np.ndarray]]:
    """Return options with wrenches on two frames, in axes of the world, of frames and of each other."""
    moving = [frame for frame in case.frames if case.tree.frame(frame).body >= 0]
    axes = dict(zip(sorted(moving), [moving[-1], "world"], strict=False))
    return {"wrenches": axes}, [rng.normal(size=(*case.q.shape[:-1], 6)) for _ in axes]


VARIANTS = ({}, wrenched, {"passive": True})


@pytest.mark.slow(every=5)
def test_inverse_dynamics_derivatives_equal_dual_number_derivatives(drawn):
    """Half of all trees and robots, plain, with wrenches, and with passive joint forces in turns."""
    rng = np.random.default_rng(0)
    # of each joint type there is a chain, and then a random tree
    for k, case in drawn((k, case) for k, case in enumerate(cases()) if k % 4 in (0, 3)):
        options = VARIANTS[k % 3]
        options_of_call, more = options(case, rng) if callable(options) else (options, [])
        derivatives = case.f(("inverse_dynamics_derivatives", options_of_call), case.q, case.v, case.a, *more)
        expected = along(case, "inverse_dynamics", options_of_call, case.a, more)
        for name, actual, exact in zip(("q", "v", "a"), derivatives, expected, strict=True):
            case.close(actual, exact, 1e-12, f"by {name} with {options_of_call}", core=2)


@pytest.mark.slow(every=9)
def test_forward_dynamics_derivatives_equal_dual_number_derivatives(drawn):
    """The other half, and derivatives by wrenches; trees with a regular mass matrix."""
    rng = np.random.default_rng(1)
    for k, case in drawn((k, case) for k, case in enumerate(cases()) if k % 4 in (1, 2) and case.cond <= 1e8):
        options = VARIANTS[(k + 1) % 3]
        options_of_call, more = options(case, rng) if callable(options) else (options, [])
        tau, tolerance = rng.normal(size=case.v.shape), case.solving(1e-12)
        derivatives = case.f(("forward_dynamics_derivatives", options_of_call), case.q, case.v, tau, *more)
        expected = along(case, "forward_dynamics", options_of_call, tau, more)
        for name, actual, exact in zip(("q", "v", "tau"), derivatives[:3], expected, strict=True):
            case.close(actual, exact, tolerance, f"by {name} with {options_of_call}", core=2)
        assert np.array_equal(derivatives[2], np.swapaxes(derivatives[2], -1, -2)), case.name
        zeros = [(x, np.zeros_like(x)) for x in (case.q, case.v, tau)]
        for n, by_wrench in enumerate(derivatives[3:]):
            columns = []
            for unit in np.eye(6):
                moving = [(x, unit * np.ones_like(x) if k == n else np.zeros_like(x)) for k, x in enumerate(more)]
                columns.append(case.f.rate(("forward_dynamics", options_of_call), *zeros, *moving))
            case.close(by_wrench, np.stack(columns, axis=-1), tolerance, f"by wrench {n}", core=2)


@pytest.mark.slow(every=9)
def test_dynamics_derivatives_equal_pinocchios(drawn):
    """Real robots, compiled: 1e-12, and cond(M) roundings of either library for forward dynamics."""
    pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import Pinocchio

    rng = np.random.default_rng(2)
    for example in drawn(EXAMPLES[:10:2]):
        robot, oracle = example.robot(), Pinocchio(example)
        q = robot.random_configuration(rng, size=3)
        v, a = rng.normal(size=(2, 3, robot.nv))
        for actual, expected in zip(
            robot.inverse_dynamics_derivatives(q, v, a), oracle.inverse_dynamics_derivatives(q, v, a), strict=True
        ):
            assert_close(actual, expected, 1e-12, f"{example}: inverse dynamics", core=2)
        tau = robot.inverse_dynamics(q, v, a)
        cond = float(np.max(np.linalg.cond(robot.mass_matrix(q))))
        for actual, expected in zip(
            robot.forward_dynamics_derivatives(q, v, tau), oracle.forward_dynamics_derivatives(q, v, tau), strict=True
        ):
            assert_close(actual, expected, max(1e-12, 10.0 * cond * EPS), f"{example}: forward dynamics", core=2)


def special(tree, rng) -> np.ndarray:
    """Configurations at the joints' zeros, at 1e-12 from there, and within 1e-9 of half a turn, away from those where
    the coordinates themselves are singular."""
    f, zero = Functions(tree), np.concatenate([[], *[body.call_joint("zero") for _, body in tree.stacked()]])
    turn = np.zeros(tree.nv)
    for i, body in tree.stacked():
        columns = tree.v_slices[i]
        turn[columns.start : columns.stop] = np.pi - 1e-9 if body.joint.nv == 1 else 0.0
        if body.joint.type_name() in ("spherical", "floating"):
            turn[columns.start] = np.pi - 1e-9
    return np.stack([zero, f("integrate", zero, 1e-12 * rng.normal(size=tree.nv)), f("integrate", zero, turn)])


def test_dynamics_derivatives_at_zero_and_near_half_turn_rotations_are_exact(drawn):
    """Each joint type whose coordinates are regular in these configurations."""
    rng = np.random.default_rng(4)
    for name, tree in drawn(TREES.items()):
        if not name.endswith("_chain") or not tree.nv:
            continue
        q = special(tree, rng)
        v, a = rng.normal(size=(2, 3, tree.nv))
        case = Case(name, tree, q, v, a, ("tool1", "body2"))
        derivatives = case.f("inverse_dynamics_derivatives", q, v, a)
        assert all(np.isfinite(x).all() for x in derivatives), name
        for actual, exact in zip(derivatives, along(case, "inverse_dynamics", {}, a), strict=True):
            case.close(actual, exact, 1e-12, core=2)
        if case.cond < 1e6:
            derivatives = case.f("forward_dynamics_derivatives", q, v, a)
            for actual, exact in zip(derivatives, along(case, "forward_dynamics", {}, a), strict=True):
                case.close(actual, exact, case.solving(1e-12), core=2)


@pytest.mark.slow(every=3)
def test_dynamics_derivatives_in_float32_are_accurate_to_a_thousandth():
    """Within 1e-3 of double precision."""
    rng = np.random.default_rng(5)
    for example in SHIPPED[:2]:
        robot = example.robot()
        q = robot.random_configuration(rng, size=9)
        v, a = rng.normal(size=(2, 9, robot.nv))
        for function in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
            kernel = robot.compile(function)
            single = kernel(*(x.astype(np.float32) for x in (q, v, a)))
            for actual, exact in zip(single, kernel(q, v, a), strict=True):
                assert actual.dtype == np.float32
                assert_close(actual, exact, 1e-3, f"{example}: {function}", core=2)


def test_derivatives_of_acceleration_by_wrenches_equal_the_inverse_mass_matrix_times_jacobians():
    """They equal M⁻¹ Jᵀ, compiled."""
    robot = SHIPPED[0].robot()
    frame = robot.tree.bodies[-1].name
    rng = np.random.default_rng(6)
    q, v, tau = robot.random_configuration(rng, size=2), *rng.normal(size=(2, 2, robot.nv))
    wrenches = {frame: rng.normal(size=6)}
    derivatives = robot.forward_dynamics_derivatives(q, v, tau, wrenches=wrenches, expressed_in=frame)
    expected = robot.mass_matrix_inverse(q) @ np.swapaxes(robot.jacobian(q, frame, expressed_in=frame), -1, -2)
    assert derivatives._fields[3] == f"da_dwrench_{frame}_in_{frame}"
    assert_close(derivatives[3], expected, 1e-12, core=2)
