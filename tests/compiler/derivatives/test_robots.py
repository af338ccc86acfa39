"""Derivatives by configurations: along tangent vectors, of every joint type, and where their formulas need care."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from helpers.precise import DIGITS, STEP, Precise
from linkwork import joints
from linkwork.compiler.derivatives.tangent_spaces import Space
from linkwork.joints import JointType
from linkwork.model.random_tree import random_tree
from oracles.scalars import Direct
from oracles.trees import TREES, robot_of, state

KINDS = [kind for kind in joints.ALL if kind is not joints.Fixed]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


class Case:
    """A robot of two joints of a type, or one of many numbers, and a function that uses its manifold in every way."""

    def __init__(self, kind: type[JointType]) -> None:
        many = kind.example(np.random.default_rng(7)).nv > 3
        self.tree = random_tree(np.random.default_rng(7), 1 if many else 2, types=[kind], shape="chain")
        self.robot = robot = lw.Robot(self.tree)
        self.space = space = robot.configuration_space
        self.zero = np.concatenate([np.array(body.joint.zero()) for body in self.tree.bodies])

        def function(q: Any, v: Any) -> tuple[Any, Any, Any]:
            return robot.inverse_dynamics(q, v, v), robot.difference(q, self.zero), robot.integrate(q, v)

        self.function = function
        self.kernel = lw.compile(function, q=space, v=robot.nv)
        self.of = {"output0": None, "output1": None, "output2": space}

    def places(self) -> dict[str, np.ndarray]:
        """Zero, near it, and turned by nearly half a turn."""
        unit = np.random.default_rng(1).normal(size=self.robot.nv)
        unit /= np.linalg.norm(unit)
        half = np.zeros(self.robot.nv)
        for i, body in self.tree.stacked():
            own = unit[self.tree.v_slices[i]]
            half[self.tree.v_slices[i]] = own / np.linalg.norm(own[:3] if body.joint.nv > 3 else own) * (np.pi - 1e-9)
        steps = {"zero": 0.0 * unit, "near zero": 1e-12 * unit, "half a turn": half}
        return {name: self.robot.integrate(self.zero, step) for name, step in steps.items()}


@functools.cache
def case(kind: type[JointType]) -> Case:
    return Case(kind)


def precise(x: Sequence[Any]) -> np.ndarray:
    found = np.empty(len(x), dtype=object)
    found[:] = [Precise(float(y)) if isinstance(y, (float, int)) else y for y in x]
    return found


def moved(here: Case, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    return np.array(here.robot.integrate(precise(q.tolist()), step), dtype=object)


def along(here: Case, q: np.ndarray, v: np.ndarray, *terms: tuple[Any, np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """The function's results, to 120 digits, at q and v moved by the sum of some times two tangent vectors."""
    n = here.robot.nv
    step_q = precise([sum((Precise(t) * float(x[k]) for t, x, _ in terms), Precise(0.0)) for k in range(n)])
    step_v = [sum((Precise(t) * float(y[k]) for t, _, y in terms), Precise(float(v[k]))) for k in range(n)]
    tau, far, following = here.function(moved(here, q, step_q), precise(step_v))
    return [tau, far, following]


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    expected = np.array(expected, dtype=float)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * (1.0 + np.abs(expected).max(initial=0.0)))


@pytest.mark.slow
@every_kind
def test_first_and_second_derivatives_are_exact_near_singular_formulas(kind: type[JointType]) -> None:
    here, rng = case(kind), np.random.default_rng(5)
    n = here.robot.nv
    jacobian, hessian = here.kernel.jacobian(of=here.of), here.kernel.hessian(of=here.of, weights=True)
    product = here.kernel.hessian(of=here.of, weights=True, vector=True)
    for name, q in here.places().items():
        v = rng.normal(size=n) * {"zero": 0.0, "near zero": 1e-12}.get(name, 1.0)
        weights = [rng.normal(size=n) for _ in range(3)]
        (x, y), (ax, ay) = rng.normal(size=(2, 2, n))
        with mpmath.workdps(DIGITS):
            middle = along(here, q, v)
            ends = [along(here, q, v, (sign * STEP, x, y)) for sign in (1, -1)]
            rates = [[(a - b) / (2 * STEP) for a, b in zip(*both, strict=True)] for both in zip(*ends, strict=True)]
            rates[2] = here.space.velocity_from_rate(middle[2].tolist(), rates[2])
            values = {}
            for s in (1, -1):
                for t in (1, -1):
                    tau, far, following = along(here, q, v, (s * STEP, x, y), (t * STEP, ax, ay))
                    parts = [tau, far, here.robot.difference(middle[2], following)]
                    values[s, t] = sum(
                        (a * float(w) for part, own in zip(parts, weights, strict=True)
                         for a, w in zip(part, own, strict=True)), Precise(0.0)
                    )  # fmt: skip
            bend = (values[1, 1] - values[1, -1] - values[-1, 1] + values[-1, -1]) / (4 * STEP * STEP)
        found = jacobian.interpret(q, v)
        for k in range(3):
            close(found[2 * k] @ x + found[2 * k + 1] @ y, rates[k])
        qq, qv, vv = hessian.interpret(q, v, *weights)
        np.testing.assert_array_equal(qq, qq.T)
        size = 1.0 + max(np.abs(block).max() for block in (qq, qv, vv))
        close((x @ qq @ ax + x @ qv @ ay + ax @ qv @ y + y @ vv @ ay) / size, float(bend) / size)
        by_q, by_v = product.interpret(q, v, *weights, x, y)
        close(by_q / size, (qq @ x + qv @ y) / size)
        close(by_v / size, (qv.T @ x + vv @ y) / size)


@every_kind
def test_gradients_are_transposed_jacobians_in_both_spaces(kind: type[JointType]) -> None:
    here, rng = case(kind), np.random.default_rng(6)
    q, v = here.robot.random_configuration(seed=8), rng.normal(size=here.robot.nv)
    for space, of in (("tangent", here.of), ("coordinates", None)):
        forward, reverse = (here.kernel.jacobian(of=of, space=space, mode=mode) for mode in ("forward", "reverse"))  # type: ignore[arg-type]
        for one, other in zip(forward.interpret(q, v), reverse.interpret(q, v), strict=True):
            close(one, other)
        weights = [rng.normal(size=port.shape[0]) for port in forward.outputs[::2]]
        gradients = here.kernel.vjp(of=of, space=space).interpret(q, v, *weights)  # type: ignore[arg-type]
        whole = forward.interpret(q, v)
        close(gradients[0], sum(w @ J for w, J in zip(weights, whole[::2], strict=True)))
        directions = [rng.normal(size=port.shape) for port in here.kernel.jvp(space=space).inputs[2:]]  # type: ignore[arg-type]
        for k, part in enumerate(here.kernel.jvp(of=of, space=space).interpret(q, v, *directions)):  # type: ignore[arg-type]
            close(part, whole[2 * k] @ directions[0] + whole[2 * k + 1] @ directions[1])
    by_numbers = here.kernel.jacobian("q", of="output0", space="coordinates").interpret(q, v)
    by_tangent = here.kernel.jacobian("q", of="output0").interpret(q, v)
    units = np.eye(here.robot.nv)
    close(by_tangent, by_numbers @ np.array([here.space.q_dot(q, unit) for unit in units]).T)


def test_kernels_of_robots_know_their_configurations() -> None:
    robot = robot_of(TREES["mixed_0"])
    nq, nv = robot.nq, robot.nv
    assert nq != nv
    kernel = robot.compile(["inverse_dynamics", "integrate", "velocity_to_configuration_derivative"])
    shapes = {port.name: port.shape for port in kernel.jacobian("q", "v").outputs}
    assert shapes["d_inverse_dynamics_d_q"] == shapes["d_integrate_d_q"] == (nv, nv)
    assert shapes["d_velocity_to_configuration_derivative_d_q"] == (nq, nv)
    assert kernel.jacobian("q", of="integrate", space="coordinates").outputs[0].shape == (nq, nq)
    again = robot.compile("difference").jacobian().outputs
    assert [str(port) for port in again] == [f"d_difference_d_q0({nv}, {nv})", f"d_difference_d_q1({nv}, {nv})"]


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("name", ["spherical_chain", "coupled_1"])
def test_kernels_of_robots_agree_with_functions_of_ones_own(name: str) -> None:
    tree = TREES[name]
    robot = robot_of(tree)
    q, v, a = state(tree)
    own = lw.compile(robot.inverse_dynamics, q=robot.configuration_space, v=robot.nv, a=robot.nv)
    theirs = robot.compile("inverse_dynamics")
    found = theirs.jacobian()(q, v, a)
    for one, other in zip(own.jacobian()(q, v, a), found, strict=True):
        close(one, other)
    close(found[2], robot.mass_matrix(q))
    single = theirs.jacobian()(*(x.astype(np.float32) for x in (q, v, a)))
    for one, other in zip(single, found, strict=True):
        assert one.dtype == np.float32
        close(one, other, 1e-3)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["mixed_0", "mixed_star", "coupled_0", "rerooted_coupled"])
def test_recursions_written_by_hand_give_the_same(name: str) -> None:
    tree, robot = TREES[name], robot_of(TREES[name])
    state_of = state(tree, size=3)
    for function in ("inverse_dynamics", "forward_dynamics"):
        found = robot.compile(function).jacobian().interpret(*state_of)
        theirs = getattr(Direct(tree, "batch"), f"{function}_derivatives")(*state_of)
        for one, other in zip(found, theirs, strict=True):
            close(one, other)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["spherical_chain", "coupled_0", "mixed_1"])
def test_accelerations_are_differentiated_by_the_equation_that_they_solve(name: str, drawn: Any) -> None:
    """As by their operations, which functions of one's own follow, in fewer of them."""
    tree, robot = TREES[name], robot_of(TREES[name])
    q, v, tau = state(tree, size=2)
    n = robot.nv
    rng = np.random.default_rng(4)
    w, *d = rng.normal(size=(4, 2, n))
    theirs = robot.compile(["forward_dynamics", "kinetic_energy"])
    own = lw.compile(
        lambda q, v, tau: {"forward_dynamics": robot.forward_dynamics(q, v, tau)},
        q=robot.configuration_space, v=n, tau=n,
    )  # fmt: skip
    of = "forward_dynamics"
    ways = (
        (lambda k: k.vjp(of=of), [w]),
        (lambda k: k.jvp(of=of), d),
        (lambda k: k.hessian("q", "v", of=of, weights=True), [w]),
        (lambda k: k.hessian("q", "tau", of=of, weights=True, vector=True), [w, d[0], d[2]]),
        (lambda k: k.jacobian("tau", of=of, mode="reverse"), []),
        (lambda k: k.vjp("q", of=of).jvp("v"), [w, d[1]]),
    )
    for make, arrays in drawn(ways):
        ruled, followed = make(theirs), make(own)
        for one, other in zip(ruled.interpret(q, v, tau, *arrays), followed.interpret(q, v, tau, *arrays), strict=True):
            close(one, other)
    assert (
        theirs.hessian(of=of, weights=True, vector=True).arithmetic < own.hessian(weights=True, vector=True).arithmetic
    )
    energy = theirs.value_and_gradient("q", of="kinetic_energy")
    assert "div" not in energy.operations  # no acceleration is computed for it


@pytest.mark.slow(every=3)
def test_rates_of_gradients_are_hessians() -> None:
    robot = robot_of(TREES["mixed_0"])
    q, v, _ = state(TREES["mixed_0"])
    kernel = robot.compile("potential_energy")
    gradient, hessian = kernel.value_and_gradient("q"), kernel.hessian("q")(q)
    np.testing.assert_array_equal(hessian, np.swapaxes(hessian, -1, -2))
    ahead, behind = (kernel(robot.integrate(q, s * v)) for s in (1e-4, -1e-4))
    second = (ahead - 2.0 * kernel(q) + behind) / 1e-8
    close(np.einsum("bi,bij,bj->b", v, hessian, v), second, 1e-6)
    close(gradient(q)[1], robot.gravity_force(q))
    close(np.einsum("bij,bj->bi", hessian, v), kernel.hessian("q", vector=True)(q, v))


def test_nested_states_hold_points_of_spaces() -> None:
    robot = robot_of(TREES["spherical_chain"])
    space, nv = robot.configuration_space, robot.nv
    kernel = lw.compile(lambda s: robot.kinetic_energy(s["q"], s["v"]), s={"q": space, "v": nv})
    q, v, _ = state(TREES["spherical_chain"])
    by_q, by_v = kernel.jacobian()({"q": q, "v": v})
    assert by_q.shape == by_v.shape == (len(q), nv)
    close(by_v, np.einsum("bij,bj->bi", robot.mass_matrix(q), v))
    direction = {"q": v, "v": 0.0 * v}
    close(kernel.jvp()({"q": q, "v": v}, direction), np.einsum("bi,bi->b", by_q, v))


def test_spaces_are_values() -> None:
    robot, joint = robot_of(TREES["mixed_0"]), robot_of(TREES["spherical_chain"]).joints[0]
    space = robot.configuration_space
    assert isinstance(space, Space) and space == robot.configuration_space and hash(space) == hash(space)
    assert (space.shape, space.tangent_shape) == ((robot.nq,), (robot.nv,))
    assert space != joint.configuration_space and joint.configuration_space.shape == (4,)
    q, v, _ = state(TREES["mixed_0"], size=1)
    rate = space.q_dot(q[0].tolist(), v[0].tolist())
    close(rate, robot.velocity_to_configuration_derivative(q[0], v[0]))
    close(space.velocity_from_rate(q[0].tolist(), rate), v[0])
    turned = lw.compile(lambda q: joint.transform(q), q=joint.configuration_space)
    assert turned.jacobian().outputs[0].shape == (4, 4, 3)


def test_without_degrees_of_freedom() -> None:
    robot = robot_of(TREES["fixed_chain"])
    kernel = robot.compile(["inverse_dynamics", "kinetic_energy"])
    q = np.zeros((3, 0))
    assert kernel.jacobian("q", of="inverse_dynamics")(q, q, q).shape == (3, 0, 0)
    assert kernel.value_and_gradient("q", of="kinetic_energy")(q, q, q)[1].shape == (3, 0)
    assert kernel.hessian("q", of="kinetic_energy")(q, q, q).shape == (3, 0, 0)


@pytest.mark.slow(every=3)
def test_long_robots_are_outlined() -> None:
    """Steps that repeat are marked in derivatives too."""
    tree = random_tree(np.random.default_rng(0), 12, types=[joints.Revolute], shape="chain")
    for kernel in map(lw.Robot(tree).compile, ("inverse_dynamics", "forward_dynamics")):
        for derivative in (kernel.vjp(), kernel.jvp()):
            assert len(derivative._source.traced.marks) >= 4 * 12
