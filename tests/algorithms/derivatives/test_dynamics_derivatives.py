"""Derivatives of inverse and forward dynamics: beside dual numbers through the functions themselves, and Pinocchio."""

from __future__ import annotations

import numpy as np

from invariants.cases import Case, cases, per_unit


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


def test_inverse_dynamics_derivatives():
    """On all trees, with wrenches, joints' own forces and another gravity."""
    rng = np.random.default_rng(0)
    for case in cases():
        for options in ({}, wrenched, {"passive": True}):
            asked, more = options(case, rng) if callable(options) else (options, [])
            found = case.f(("inverse_dynamics_derivatives", asked), case.q, case.v, case.a, *more)
            expected = along(case, "inverse_dynamics", asked, case.a, more)
            for name, one, other in zip(("q", "v", "a"), found, expected, strict=True):
                case.close(one, other, 1e-12, f"by {name} with {asked}", core=2)


def test_forward_dynamics_derivatives():
    """The same, and by wrenches; of trees whose mass matrix is regular."""
    rng = np.random.default_rng(1)
    for case in cases():
        if case.cond > 1e8:
            continue
        for options in ({}, wrenched, {"passive": True}):
            asked, more = options(case, rng) if callable(options) else (options, [])
            tau = rng.normal(size=case.v.shape)
            found = case.f(("forward_dynamics_derivatives", asked), case.q, case.v, tau, *more)
            expected = along(case, "forward_dynamics", asked, tau, more)
            tolerance = case.solving(1e-12)
            for name, one, other in zip(("q", "v", "tau"), found[:3], expected, strict=True):
                case.close(one, other, tolerance, f"by {name} with {asked}", core=2)
            for k, by_wrench in enumerate(found[3:]):
                columns = []
                for unit in np.eye(6):
                    moving = [(x, unit * np.ones_like(x) if k == n else np.zeros_like(x)) for n, x in enumerate(more)]
                    still = [(x, np.zeros_like(x)) for x in (case.q, case.v, tau)]
                    columns.append(case.f.rate(("forward_dynamics", asked), *still, *moving))
                case.close(by_wrench, np.stack(columns, axis=-1), tolerance, f"by wrench {k}", core=2)
