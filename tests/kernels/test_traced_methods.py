"""Methods of robots and joints, and kernels, on symbols: the programs and values of their own kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.facade import EVERY
from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace
from linkwork.errors import SingularInertiaError, UnknownNameError
from linkwork.expr.arrays.symbol_array import SymbolArray, is_traced, object_array
from linkwork.expr.autodiff.dual_numbers import Dual, seeded
from linkwork.kernels.function_request import Request, read_request
from linkwork.kernels.function_trace import input_ports, trace_requests
from linkwork.kernels.owners import JointOwner, KernelOwner
from linkwork.kinematics.algorithms.joint_functions import TABLE as JOINT
from linkwork.model.body import PlacedJoint
from linkwork.model.function_spec import FunctionSpec
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.scalars import names_for, share
from oracles.trees import TREES, robot_of, state

ARM = lw.load("arm7")


def own_program(subject: KernelOwner, request: Request) -> tuple[Program, dict[str, tuple[int, ...]]]:
    """Return the program of a function's own kernel, and the shapes of its inputs."""
    program = trace_requests(subject, request.label, {request.label: request}).unguarded
    return program, {port.name: port.shape for port in input_ports(subject, {request.label: request})}


def same(composed: Program, program: Program) -> None:
    assert composed.inputs == program.inputs
    assert [port.shape for port in composed.outputs] == [port.shape for port in program.outputs]
    assert (composed.instructions, composed.results) == (program.instructions, program.results)


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_robot_methods_on_symbols_record_the_program_of_their_kernel(tree: Any) -> None:
    """All functions on robots of all joint types, with reversed joints and joints that follow others."""
    robot = robot_of(tree)
    subject = robot_owner(tree)
    turn = [*TREES.values()].index(tree)
    for row in map(ROBOT.get, share(turn, 16)):
        frame = names_for(robot.tree, row)
        try:
            program, shapes = own_program(subject, read_request(subject, (row.name, *frame)))
        except SingularInertiaError:
            continue
        method = getattr(robot, row.name)
        same(trace(lambda **x: method(*x.values(), *frame), row.name, shapes), program)  # noqa: B023


@pytest.mark.slow(every=3)
def test_traces_of_robot_methods_do_not_depend_on_earlier_calls_with_arrays() -> None:
    """Functions some of whose results are empty are included."""
    tree = TREES["composite_chain"]
    robot, subject = lw.Robot(tree), robot_owner(tree)
    for name in ("constrained_inverse_dynamics", "constrained_forward_dynamics", "inverse_dynamics"):
        method = getattr(robot, name)
        method(*state(tree, size=2))
        program, shapes = own_program(subject, read_request(subject, name))
        same(trace(lambda **x: method(*x.values()), name, shapes), program)  # noqa: B023


@pytest.mark.costly
@pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY)
def test_joint_methods_on_symbols_record_the_program_of_their_kernel(joint: lw.Joint) -> None:
    for either in (joint, joint.reversed()):
        for row in JOINT.values():
            optional_inputs = [row.optional] if row.optional else []
            for optional in [(), *optional_inputs]:
                check_joint(either, row, optional)


def check_joint(joint: lw.Joint, row: FunctionSpec, optional: tuple[str, ...]) -> None:
    subject = JointOwner(joint.name, PlacedJoint(joint.type, joint.placement, joint.rotor, False), JOINT)
    program, shapes = own_program(subject, read_request(subject, row.name, optional))

    def function(**x: Any) -> Any:
        named = {name: x[name] for name in optional}
        return getattr(joint, row.name)(*(x[name] for name in row.inputs), **named)

    if sum(np.prod(shape, dtype=int) for shape in shapes.values()):
        same(trace(function, row.name, shapes), program)


@pytest.mark.slow(every=3)
def test_several_robot_methods_in_one_traced_function_share_common_operations() -> None:
    q, v, a = state(ARM.tree, size=5)

    def everything(q: Any, v: Any, a: Any) -> dict[str, Any]:
        frame = ARM.frames[-1]
        return {
            "X": ARM.pose(q, frame),
            "J": ARM.jacobian(q, frame),
            "M": ARM.mass_matrix(q),
            "h": ARM.bias_force(q, v),
            "a": ARM.forward_dynamics(q, v, a),
            "stacked": ARM.gravity_force({"elbow": q[1]}),
            "resisted": ARM.passive_torque(v),
        }

    kernel = lw.compile(everything, q=7, v=7, a=7)
    expected = everything(q, v, a)
    expected["stacked"] = ARM.gravity_force({"elbow": q[:, 1]})
    for result in (kernel(q, v, a), [np.array(x) for x in zip(*map(kernel, q, v, a), strict=True)]):
        for actual, value in zip(result, expected.values(), strict=True):
            np.testing.assert_allclose(actual, value, rtol=1e-12, atol=1e-12)
    assert np.array_equal(kernel(q, v, a).X, expected["X"])  # what shares nothing is the same to the bit
    frame = ARM.frames[-1]
    apart = [ARM.compile((name, frame)) for name in ("pose", "jacobian")]
    together = lw.compile(lambda q: (ARM.pose(q, frame), ARM.jacobian(q, frame)), q=7)
    assert together.arithmetic < sum(kernel.arithmetic for kernel in apart)


def test_batches_of_symbols_broadcast_with_arrays_in_robot_methods() -> None:
    (q,), (v,), _ = state(ARM.tree, size=1)

    def two(q: Any, v: Any) -> Any:
        torque = ARM.inverse_dynamics(np.stack([q, 2.0 * q]), v, np.zeros(7))
        assert isinstance(torque, SymbolArray) and torque.shape == (2, 7)
        return torque

    torque = lw.compile(two, q=7, v=7)(q, v)
    assert np.allclose(torque, ARM.inverse_dynamics([q, 2.0 * q], v, np.zeros(7)), rtol=1e-13, atol=1e-13)


def test_robot_methods_accept_dual_numbers_and_object_arrays_of_batches() -> None:
    """Dual numbers, and arrays whose elements are batches."""
    (q,), (v,), _ = state(ARM.tree, size=1)
    frame = ARM.frames[-1]
    pose = ARM.pose(np.array(seeded(q.tolist(), v.tolist()), dtype=object), frame)
    rate = np.array([x.tangent if isinstance(x, Dual) else 0.0 for x in pose.ravel()], float).reshape(4, 4)
    assert np.allclose(rate[:3, 3], ARM.twist(q, v, frame)[3:], rtol=1e-12, atol=1e-12)
    many, velocities, _ = state(ARM.tree, size=6)
    columns = object_array((7,), list(many.T))
    force = ARM.bias_force(columns, object_array((7,), list(velocities.T)))
    assert np.allclose(
        np.stack(list(force.tolist()), axis=-1), ARM.bias_force(many, velocities), rtol=1e-12, atol=1e-12
    )


def test_tracing_a_robot_method_compiles_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = lw.load("arm7")
    monkeypatch.setattr("linkwork.kernels.robot_base.compile_requests", lambda *arguments: pytest.fail("made"))
    trace(lambda q: robot.mass_matrix(q), "f", {"q": 7})


def test_robot_kernels_can_be_called_with_symbols() -> None:
    inner = ARM.compile(["mass_matrix", "bias_force"])
    q, v, _ = state(ARM.tree, size=3)

    def momentum(q: Any, v: Any) -> Any:
        result = inner(q, v=v)
        assert result._fields == ("mass_matrix", "bias_force") == inner(np.zeros(7), np.zeros(7))._fields
        return result.mass_matrix @ v + inner(np.stack([q, q]), v)[1][1]

    result = lw.compile(momentum, q=7, v=7)(q, v)
    expected = np.einsum("kij,kj->ki", ARM.mass_matrix(q), v) + ARM.bias_force(q, v)
    assert np.allclose(result, expected, rtol=1e-13, atol=1e-13)
    norm = lw.compile(lambda x: (x @ x) ** 0.5, x=3)
    assert lw.compile(lambda x: norm(2.0 * x), x=3)([3.0, 0.0, 4.0]) == 10.0
    assert is_traced(norm(seeded([1.0, 2.0, 2.0], [1.0, 0.0, 0.0])))


@pytest.mark.slow(every=5)
def test_hand_written_methods_of_joints_accept_symbols() -> None:
    for joint in EVERY.values():
        if not joint.nq:
            continue
        rng = np.random.default_rng(0)
        q, v = joint.random_configuration(rng), rng.normal(size=joint.nv)
        kernel = lw.compile(
            lambda q, v: (joint.regularity(q), joint.passive_torque(v), *joint.axes(q)),  # noqa: B023
            q=joint.nq,
            v=joint.nv,
        )
        expected = joint.regularity(q), joint.passive_torque(v), *joint.axes(q)
        for actual, value in zip(kernel.interpret(q, v), expected, strict=True):
            np.testing.assert_allclose(actual, value, rtol=1e-12, atol=1e-12)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "another shape": (
        lambda q: ARM.pose(q[:6], "hand"),
        ValueError,
        r"pose: q: .* shape \(\.\.\., 7\).*got shape \(6,\)",
    ),
    "one number": (lambda q: ARM.pose(q[0], "hand"), ValueError, r"got shape \(\)"),
    "no frame": (lambda q: ARM.pose(q, "hend"), UnknownNameError, "did you mean 'hand'"),
    "no joint": (lambda q: ARM.gravity_force({"elbo": q[0]}), UnknownNameError, "elbow"),
    "out": (lambda q: ARM.gravity_force(q, out=np.zeros(7)), TypeError, "got symbols, which out= cannot take"),
    "truth": (lambda q: ARM.gravity_force(q < 0.0), ValueError, "got a truth value"),
    "texts": (lambda q: ARM.gravity_force([*q[:6], "x"]), ValueError, "'x' in it, which is not a number"),
    "no broadcast": (
        lambda q: ARM.bias_force(np.stack([q, q]), np.zeros((3, 7))),
        ValueError,
        "leading dimensions do not broadcast",
    ),
    "a kernel's shape": (
        lambda q: KERNEL(q[:3]),
        ValueError,
        r"gravity_force: q: expected an array of shape \(\.\.\., 7\), got shape \(3,\)",
    ),
    "a kernel's out": (lambda q: KERNEL(q, out=np.zeros(7)), TypeError, "out: symbols cannot be written to an array"),
    "a kernel's dict": (lambda q: KERNEL({"elbow": q[0]}), TypeError, "dicts by joint name are for a robot's methods"),
    "too many": (lambda q: KERNEL(q, q), TypeError, "expected 1 arrays, got 2"),
}
KERNEL = ARM.compile("gravity_force")


@pytest.mark.light
@pytest.mark.parametrize("fault", REFUSED)
def test_wrong_arguments_of_robot_methods_are_refused_on_symbols_as_on_floats(fault: str) -> None:
    function, kind, text = REFUSED[fault]
    with pytest.raises(kind, match=text):
        trace(function, "f", {"q": 7})


def test_loop_of_inverse_kinematics_steps_can_be_compiled_and_interpreted() -> None:
    """Damped steps: compiled, on floats, and call_python on a batch, with the same number of steps."""
    frame, eye = ARM.frames[-1], np.eye(6)

    @lw.compile(q=7, target=(4, 4))
    def reach(q: Any, target: Any) -> Any:
        def step(q: Any) -> Any:
            J = ARM.jacobian(q, frame)
            return q + J.T @ lw.solve(J @ J.T + 1e-8 * eye, lw.pose_difference(ARM.pose(q, frame), target))

        def away(q: Any) -> Any:
            return np.linalg.norm(lw.pose_difference(ARM.pose(q, frame), target)) > 1e-8

        loop = lw.while_loop(away, step, q, max_iterations=50)
        return loop.state, loop.iterations

    goal = state(ARM.tree, size=4)[0]
    target = ARM.pose(goal, frame)
    start = goal + 0.05
    solution, iterations = reach(start, target)
    assert np.abs(ARM.pose(solution, frame) - target).max() < 1e-7
    assert (iterations > 1).all() and (iterations < 50).all()
    on_batch, on_floats = (
        reach.call_python(start, target),
        [reach.function(*x) for x in zip(start, target, strict=True)],
    )
    for loop in (on_batch, [np.array(x) for x in zip(*on_floats, strict=True)]):
        assert np.array_equal(loop[1], iterations)
        assert np.abs(loop[0] - solution).max() < 1e-9
