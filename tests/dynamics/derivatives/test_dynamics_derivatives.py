"""Derivatives of inverse and forward dynamics: beside dual numbers through the functions themselves, and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

from invariants.cases import Case, Functions, cases, per_unit
from oracles.comparison import EPS, assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.trees import TREES


def along(case: Case, function: str, asked, third, more=()):
    """The derivatives by q, v and the third input, exact but for rounding: a run on dual numbers for each column."""
    q, v = case.q, case.v
    still = [(x, np.zeros_like(x)) for x in more]
    none = np.zeros_like(v)

    def by(dq, dv, dx):
        return case.f.rate((function, asked), (q, dq), (v, dv), (third, dx), *still)

    q_dot = lambda unit: case.f("velocity_to_configuration_derivative", q, unit + none)  # noqa: E731
    rest = np.zeros_like(q)
    return (
        per_unit(case, lambda unit: by(q_dot(unit), none, none)),
        per_unit(case, lambda unit: by(rest, unit, none)),
        per_unit(case, lambda unit: by(rest, none, unit)),
    )


def wrenched(case: Case, rng) -> tuple[dict, list[np.ndarray]]:
    """Wrenches on two frames, in the axes of the world, of their own and of each other: as asked, and their numbers."""
    moving = [frame for frame in case.frames if case.tree.frame(frame).body >= 0]
    asked = dict(zip(sorted(moving), [moving[-1], "world"], strict=False))
    return {"wrenches": asked}, [rng.normal(size=(*case.q.shape[:-1], 6)) for _ in asked]


VARIANTS = ({}, wrenched, {"passive": True})


@pytest.mark.slow(every=3)
def test_inverse_dynamics_derivatives(drawn):
    """On half of all trees and robots, as they are, with wrenches, and with joints' own forces in turns."""
    rng = np.random.default_rng(0)
    # of each joint type there is a chain, and then a random tree
    for k, case in drawn((k, case) for k, case in enumerate(cases()) if k % 4 in (0, 3)):
        options = VARIANTS[k % 3]
        asked, more = options(case, rng) if callable(options) else (options, [])
        found = case.f(("inverse_dynamics_derivatives", asked), case.q, case.v, case.a, *more)
        expected = along(case, "inverse_dynamics", asked, case.a, more)
        for name, one, other in zip(("q", "v", "a"), found, expected, strict=True):
            case.close(one, other, 1e-12, f"by {name} with {asked}", core=2)


@pytest.mark.slow(every=9)
def test_forward_dynamics_derivatives(drawn):
    """The same of the other half, and by wrenches; of trees whose mass matrix is regular."""
    rng = np.random.default_rng(1)
    for k, case in drawn((k, case) for k, case in enumerate(cases()) if k % 4 in (1, 2) and case.cond <= 1e8):
        options = VARIANTS[(k + 1) % 3]
        asked, more = options(case, rng) if callable(options) else (options, [])
        tau, tolerance = rng.normal(size=case.v.shape), case.solving(1e-12)
        found = case.f(("forward_dynamics_derivatives", asked), case.q, case.v, tau, *more)
        expected = along(case, "forward_dynamics", asked, tau, more)
        for name, one, other in zip(("q", "v", "tau"), found[:3], expected, strict=True):
            case.close(one, other, tolerance, f"by {name} with {asked}", core=2)
        assert np.array_equal(found[2], np.swapaxes(found[2], -1, -2)), case.name
        still = [(x, np.zeros_like(x)) for x in (case.q, case.v, tau)]
        for n, by_wrench in enumerate(found[3:]):
            columns = []
            for unit in np.eye(6):
                moving = [(x, unit * np.ones_like(x) if k == n else np.zeros_like(x)) for k, x in enumerate(more)]
                columns.append(case.f.rate(("forward_dynamics", asked), *still, *moving))
            case.close(by_wrench, np.stack(columns, axis=-1), tolerance, f"by wrench {n}", core=2)


@pytest.mark.slow(every=9)
def test_beside_pinocchio(drawn):
    """On real robots, compiled: 1e-12, and cond(M) roundings of either library for what is solved with M."""
    pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import Pinocchio

    rng = np.random.default_rng(2)
    for example in drawn(EXAMPLES[:10:2]):
        robot, oracle = example.robot(), Pinocchio(example)
        q = robot.random_configuration(rng, size=3)
        v, a = rng.normal(size=(2, 3, robot.nv))
        for found, expected in zip(
            robot.inverse_dynamics_derivatives(q, v, a), oracle.inverse_dynamics_derivatives(q, v, a), strict=True
        ):
            assert_close(found, expected, 1e-12, f"{example}: inverse dynamics", core=2)
        tau = robot.inverse_dynamics(q, v, a)
        cond = float(np.max(np.linalg.cond(robot.mass_matrix(q))))
        for found, expected in zip(
            robot.forward_dynamics_derivatives(q, v, tau), oracle.forward_dynamics_derivatives(q, v, tau), strict=True
        ):
            assert_close(found, expected, max(1e-12, 10.0 * cond * EPS), f"{example}: forward dynamics", core=2)


def special(tree, rng) -> np.ndarray:
    """Configurations at the joints' zeros, at 1e-12 from there, and within 1e-9 of half a turn, away from those where
    the coordinates themselves are singular."""
    f, zero = Functions(tree), np.concatenate([[], *[body.call_joint("zero") for _, body in tree.stacked()]])
    turn = np.zeros(tree.nv)
    for i, body in tree.stacked():
        place = tree.v_slices[i]
        turn[place.start : place.stop] = np.pi - 1e-9 if body.joint.nv == 1 else 0.0
        if body.joint.type_name() in ("spherical", "floating"):
            turn[place.start] = np.pi - 1e-9
    return np.stack([zero, f("integrate", zero, 1e-12 * rng.normal(size=tree.nv)), f("integrate", zero, turn)])


def test_at_the_identity_and_near_half_a_turn(drawn):
    """Finite there and right, for every joint type whose coordinates are regular there."""
    rng = np.random.default_rng(4)
    for name, tree in drawn(TREES.items()):
        if not name.endswith("_chain") or not tree.nv:
            continue
        q = special(tree, rng)
        v, a = rng.normal(size=(2, 3, tree.nv))
        case = Case(name, tree, q, v, a, ("tool1", "body2"))
        found = case.f("inverse_dynamics_derivatives", q, v, a)
        assert all(np.isfinite(x).all() for x in found), name
        for one, other in zip(found, along(case, "inverse_dynamics", {}, a), strict=True):
            case.close(one, other, 1e-12, core=2)
        if case.cond < 1e6:
            found = case.f("forward_dynamics_derivatives", q, v, a)
            for one, other in zip(found, along(case, "forward_dynamics", {}, a), strict=True):
                case.close(one, other, case.solving(1e-12), core=2)


@pytest.mark.slow(every=3)
def test_batches_in_single_precision():
    """Within 1e-3 of double precision."""
    rng = np.random.default_rng(5)
    for example in SHIPPED[:2]:
        robot = example.robot()
        q = robot.random_configuration(rng, size=9)
        v, a = rng.normal(size=(2, 9, robot.nv))
        for function in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
            kernel = robot.compile(function)
            single = kernel(*(x.astype(np.float32) for x in (q, v, a)))
            for one, other in zip(single, kernel(q, v, a), strict=True):
                assert one.dtype == np.float32
                assert_close(one, other, 1e-3, f"{example}: {function}", core=2)


def test_a_result_for_each_wrench():
    """By their frames and axes, compiled: M⁻¹ Jᵀ."""
    robot = SHIPPED[0].robot()
    frame = robot.tree.bodies[-1].name
    rng = np.random.default_rng(6)
    q, v, tau = robot.random_configuration(rng, size=2), *rng.normal(size=(2, 2, robot.nv))
    wrenches = {frame: rng.normal(size=6)}
    found = robot.forward_dynamics_derivatives(q, v, tau, wrenches=wrenches, expressed_in=frame)
    expected = robot.mass_matrix_inverse(q) @ np.swapaxes(robot.jacobian(q, frame, expressed_in=frame), -1, -2)
    assert found._fields[3] == f"da_dwrench_{frame}_in_{frame}"
    assert_close(found[3], expected, 1e-12, core=2)
