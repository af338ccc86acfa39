"""Derivatives by configurations: along tangent vectors, for every joint type, and near singular formulas."""

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

    def configurations(self) -> dict[str, np.ndarray]:
        """Configurations at zero, near zero, and near half a revolution."""
        unit = np.random.default_rng(1).normal(size=self.robot.nv)
        unit /= np.linalg.norm(unit)
        half = np.zeros(self.robot.nv)
        for i, body in self.tree.stacked():
            joint_unit = unit[self.tree.v_slices[i]]
            half[self.tree.v_slices[i]] = (
                joint_unit / np.linalg.norm(joint_unit[:3] if body.joint.nv > 3 else joint_unit) * (np.pi - 1e-9)
            )
        steps = {"zero": 0.0 * unit, "near zero": 1e-12 * unit, "half a turn": half}
        return {name: self.robot.integrate(self.zero, step) for name, step in steps.items()}


@functools.cache
def case(kind: type[JointType]) -> Case:
    return Case(kind)


def precise(x: Sequence[Any]) -> np.ndarray:
    exact = np.empty(len(x), dtype=object)
    exact[:] = [Precise(float(y)) if isinstance(y, (float, int)) else y for y in x]
    return exact


def moved(case: Case, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    return np.array(case.robot.integrate(precise(q.tolist()), step), dtype=object)


def along(case: Case, q: np.ndarray, v: np.ndarray, *terms: tuple[Any, np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """The function's results to 120 digits, at q and v displaced by sums of multiples of two tangent vectors."""
    n = case.robot.nv
    step_q = precise([sum((Precise(t) * float(x[k]) for t, x, _ in terms), Precise(0.0)) for k in range(n)])
    step_v = [sum((Precise(t) * float(y[k]) for t, _, y in terms), Precise(float(v[k]))) for k in range(n)]
    tau, far, following = case.function(moved(case, q, step_q), precise(step_v))
    return [tau, far, following]


def close(result: Any, expected: Any, tolerance: float = 1e-12) -> None:
    expected = np.array(expected, dtype=float)
    assert np.isfinite(result).all()
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance * (1.0 + np.abs(expected).max(initial=0.0)))


@pytest.mark.slow
@every_kind
def test_first_and_second_derivatives_of_joints_are_exact_near_removable_singularities(kind: type[JointType]) -> None:
    case_of_kind, rng = case(kind), np.random.default_rng(5)
    n = case_of_kind.robot.nv
    jacobian, hessian = (
        case_of_kind.kernel.jacobian(of=case_of_kind.of),
        case_of_kind.kernel.hessian(of=case_of_kind.of, weights=True),
    )
    product = case_of_kind.kernel.hessian(of=case_of_kind.of, weights=True, vector=True)
    for name, q in case_of_kind.configurations().items():
        v = rng.normal(size=n) * {"zero": 0.0, "near zero": 1e-12}.get(name, 1.0)
        weights = [rng.normal(size=n) for _ in range(3)]
        (x, y), (ax, ay) = rng.normal(size=(2, 2, n))
        with mpmath.workdps(DIGITS):
            middle = along(case_of_kind, q, v)
            ends = [along(case_of_kind, q, v, (sign * STEP, x, y)) for sign in (1, -1)]
            rates = [[(a - b) / (2 * STEP) for a, b in zip(*both, strict=True)] for both in zip(*ends, strict=True)]
            rates[2] = case_of_kind.space.velocity_from_rate(middle[2].tolist(), rates[2])
            values = {}
            for s in (1, -1):
                for t in (1, -1):
                    tau, far, following = along(case_of_kind, q, v, (s * STEP, x, y), (t * STEP, ax, ay))
                    parts = [tau, far, case_of_kind.robot.difference(middle[2], following)]
                    values[s, t] = sum(
                        (a * float(w) for part, directions in zip(parts, weights, strict=True)
                         for a, w in zip(part, directions, strict=True)), Precise(0.0)
                    )  # fmt: skip
            bend = (values[1, 1] - values[1, -1] - values[-1, 1] + values[-1, -1]) / (4 * STEP * STEP)
        first = jacobian.interpret(q, v)
        for k in range(3):
            close(first[2 * k] @ x + first[2 * k + 1] @ y, rates[k])
        qq, qv, vv = hessian.interpret(q, v, *weights)
        np.testing.assert_array_equal(qq, qq.T)
        size = 1.0 + max(np.abs(block).max() for block in (qq, qv, vv))
        close((x @ qq @ ax + x @ qv @ ay + ax @ qv @ y + y @ vv @ ay) / size, float(bend) / size)
        by_q, by_v = product.interpret(q, v, *weights, x, y)
        close(by_q / size, (qq @ x + qv @ y) / size)
        close(by_v / size, (qv.T @ x + vv @ y) / size)


@pytest.mark.costly
@every_kind
def test_gradients_of_vjp_equal_transposed_jacobians_in_tangent_and_coordinate_spaces(kind: type[JointType]) -> None:
    case_of_kind, rng = case(kind), np.random.default_rng(6)
    q, v = case_of_kind.robot.random_configuration(seed=8), rng.normal(size=case_of_kind.robot.nv)
    for space, of in (("tangent", case_of_kind.of), ("coordinates", None)):
        forward, reverse = (
            case_of_kind.kernel.jacobian(of=of, space=space, mode=mode) for mode in ("forward", "reverse")
        )  # type: ignore[arg-type]
        for first, second in zip(forward.interpret(q, v), reverse.interpret(q, v), strict=True):
            close(first, second)
        weights = [rng.normal(size=port.shape[0]) for port in forward.outputs[::2]]
        gradients = case_of_kind.kernel.vjp(of=of, space=space).interpret(q, v, *weights)  # type: ignore[arg-type]
        whole = forward.interpret(q, v)
        close(gradients[0], sum(w @ J for w, J in zip(weights, whole[::2], strict=True)))
        directions = [rng.normal(size=port.shape) for port in case_of_kind.kernel.jvp(space=space).inputs[2:]]  # type: ignore[arg-type]
        for k, part in enumerate(case_of_kind.kernel.jvp(of=of, space=space).interpret(q, v, *directions)):  # type: ignore[arg-type]
            close(part, whole[2 * k] @ directions[0] + whole[2 * k + 1] @ directions[1])
    by_numbers = case_of_kind.kernel.jacobian("q", of="output0", space="coordinates").interpret(q, v)
    by_tangent = case_of_kind.kernel.jacobian("q", of="output0").interpret(q, v)
    units = np.eye(case_of_kind.robot.nv)
    close(by_tangent, by_numbers @ np.array([case_of_kind.space.q_dot(q, unit) for unit in units]).T)


def test_robot_kernels_are_differentiated_by_tangent_vectors_of_the_configuration() -> None:
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
def test_derivatives_of_robot_kernels_equal_derivatives_of_equal_user_functions(name: str) -> None:
    tree = TREES[name]
    robot = robot_of(tree)
    q, v, a = state(tree)
    user_kernel = lw.compile(robot.inverse_dynamics, q=robot.configuration_space, v=robot.nv, a=robot.nv)
    theirs = robot.compile("inverse_dynamics")
    derivatives = theirs.jacobian()(q, v, a)
    for result, derivative in zip(user_kernel.jacobian()(q, v, a), derivatives, strict=True):
        close(result, derivative)
    close(derivatives[2], robot.mass_matrix(q))
    single = theirs.jacobian()(*(x.astype(np.float32) for x in (q, v, a)))
    for result, derivative in zip(single, derivatives, strict=True):
        assert result.dtype == np.float32
        close(result, derivative, 1e-3)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["mixed_0", "mixed_star", "coupled_0", "rerooted_coupled"])
def test_derivatives_of_robot_kernels_equal_recursively_computed_derivatives(name: str) -> None:
    tree, robot = TREES[name], robot_of(TREES[name])
    state_of = state(tree, size=3)
    for function in ("inverse_dynamics", "forward_dynamics"):
        derivatives = robot.compile(function).jacobian().interpret(*state_of)
        theirs = getattr(Direct(tree, "batch"), f"{function}_derivatives")(*state_of)
        for first, second in zip(derivatives, theirs, strict=True):
            close(first, second)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["spherical_chain", "coupled_0", "mixed_1"])
def test_implicit_derivatives_of_forward_dynamics_equal_derivatives_of_its_operations(name: str, drawn: Any) -> None:
    """They equal the derivatives of its operations, which functions of the user have, with fewer operations."""
    tree, robot = TREES[name], robot_of(TREES[name])
    q, v, tau = state(tree, size=2)
    n = robot.nv
    rng = np.random.default_rng(4)
    w, *d = rng.normal(size=(4, 2, n))
    theirs = robot.compile(["forward_dynamics", "kinetic_energy"])
    user_kernel = lw.compile(
        lambda q, v, tau: {"forward_dynamics": robot.forward_dynamics(q, v, tau)},
        q=robot.configuration_space, v=n, tau=n,
    )  # fmt: skip
    of = "forward_dynamics"
    derivative_kinds = (
        (lambda k: k.vjp(of=of), [w]),
        (lambda k: k.jvp(of=of), d),
        (lambda k: k.hessian("q", "v", of=of, weights=True), [w]),
        (lambda k: k.hessian("q", "tau", of=of, weights=True, vector=True), [w, d[0], d[2]]),
        (lambda k: k.jacobian("tau", of=of, mode="reverse"), []),
        (lambda k: k.vjp("q", of=of).jvp("v"), [w, d[1]]),
    )
    for make, arrays in drawn(derivative_kinds):
        ruled, followed = make(theirs), make(user_kernel)
        for first, second in zip(
            ruled.interpret(q, v, tau, *arrays), followed.interpret(q, v, tau, *arrays), strict=True
        ):
            close(first, second)
    assert (
        theirs.hessian(of=of, weights=True, vector=True).arithmetic
        < user_kernel.hessian(weights=True, vector=True).arithmetic
    )
    energy = theirs.value_and_gradient("q", of="kinetic_energy")
    assert "div" not in energy.operations  # no acceleration is computed for it


@pytest.mark.slow(every=3)
def test_jvp_of_a_robot_functions_gradient_equals_its_hessian() -> None:
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


def test_nested_kernel_inputs_may_contain_configurations() -> None:
    robot = robot_of(TREES["spherical_chain"])
    space, nv = robot.configuration_space, robot.nv
    kernel = lw.compile(lambda s: robot.kinetic_energy(s["q"], s["v"]), s={"q": space, "v": nv})
    q, v, _ = state(TREES["spherical_chain"])
    by_q, by_v = kernel.jacobian()({"q": q, "v": v})
    assert by_q.shape == by_v.shape == (len(q), nv)
    close(by_v, np.einsum("bij,bj->bi", robot.mass_matrix(q), v))
    direction = {"q": v, "v": 0.0 * v}
    close(kernel.jvp()({"q": q, "v": v}, direction), np.einsum("bi,bi->b", by_q, v))


def test_configuration_spaces_compare_by_value_and_convert_rates_to_tangent_vectors() -> None:
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


def test_derivatives_of_a_robot_without_degrees_of_freedom_are_empty() -> None:
    robot = robot_of(TREES["fixed_chain"])
    kernel = robot.compile(["inverse_dynamics", "kinetic_energy"])
    q = np.zeros((3, 0))
    assert kernel.jacobian("q", of="inverse_dynamics")(q, q, q).shape == (3, 0, 0)
    assert kernel.value_and_gradient("q", of="kinetic_energy")(q, q, q)[1].shape == (3, 0)
    assert kernel.hessian("q", of="kinetic_energy")(q, q, q).shape == (3, 0, 0)


@pytest.mark.slow(every=5)
def test_derivative_kernels_of_long_chains_are_outlined() -> None:
    """Steps that repeat are marked in derivatives too."""
    tree = random_tree(np.random.default_rng(0), 12, types=[joints.Revolute], shape="chain")
    for kernel in map(lw.Robot(tree).compile, ("inverse_dynamics", "forward_dynamics")):
        for derivative in (kernel.vjp(), kernel.jvp()):
            assert len(derivative._source.traced.marks) >= 4 * 12


def test_hessian_of_a_configuration_equals_differences_along_tangent_vectors() -> None:
    """Differences of w · (q' - q ⊕ v) for q ⊕ v of a ball joint, and the product of the Hessian with a vector."""
    robot = robot_of(random_tree(np.random.default_rng(3), 1, types=[joints.Spherical], shape="chain"))
    space, rng, step = robot.configuration_space, np.random.default_rng(4), 1e-3
    kernel = lw.compile(lambda q, v: robot.integrate(q, v), q=space, v=3, name="moved")
    (output,) = (port.name for port in kernel.outputs)
    q, v = robot.random_configuration(seed=2), rng.normal(size=3)
    w, x, y, ax, ay = rng.normal(size=(5, 3))
    middle = robot.integrate(q, v)

    def value(s: int, t: int) -> float:
        start = robot.integrate(q, step * (s * x + t * ax))
        moved_robot = robot.integrate(start, v + step * (s * y + t * ay))
        return float(w @ robot.difference(middle, moved_robot))

    bend = (value(1, 1) - value(1, -1) - value(-1, 1) + value(-1, -1)) / (4.0 * step * step)
    qq, qv, vv = kernel.hessian(of={output: space}, weights=True).interpret(q, v, w)
    assert np.array_equal(qq, qq.T) and np.array_equal(vv, vv.T)
    assert abs(x @ qq @ ax + x @ qv @ ay + ax @ qv @ y + y @ vv @ ay - bend) < 1e-5
    by_q, by_v = kernel.hessian(of={output: space}, weights=True, vector=True).interpret(q, v, w, x, y)
    assert np.abs(by_q - (qq @ x + qv @ y)).max() < 1e-12 and np.abs(by_v - (qv.T @ x + vv @ y)).max() < 1e-12
