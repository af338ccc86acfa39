"""Solutions of inverse kinematics as functions: their derivatives, and IK inside compiled functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork._util.messages import quoted
from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.ik.algorithms.solution_derivative import differentiable_solution, newton_step_at_solution
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.kernels import AIMED, NEAR, SOLVERS, target_shapes
from linkwork.ik.problem_protocol import ProblemView
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox
from linkwork.model.kernel_parameters import Parameter, read_parameters
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = ["IKArrays", "moved_target", "solution_derivative", "tangent_size", "traced_solution"]

Scalars = Sequence[Any]

_kernels: LazyCache[Kernel] = LazyCache(64)


class IKArrays(NamedTuple):
    """Result of inverse kinematics inside a compiled function: q (nq,), success (1 or 0) and iterations.

    q is differentiated by the implicit-function theorem, as `IKResult.derivative` describes.  The others have no
    derivative.
    """

    q: Any
    success: Any
    iterations: Any


class IKSolution(Protocol):
    """Protocol of an IK result: its problem, solution and targets."""

    problem: ProblemView
    q: np.ndarray
    _near: np.ndarray | None
    _tolerances: np.ndarray | None

    @property
    def targets(self) -> dict[str, np.ndarray]:
        """Target of each task, by task name."""


def traced_solution(problem: ProblemView, tree: Tree, q_init: Any, near: Any, targets: Mapping[str, Any]) -> IKArrays:
    """Solve a problem for numbers or symbols; ``tree`` may contain symbols.

    Raises ValueError for arrays of other shapes.
    """
    shapes = target_shapes(tree, problem.tasks)
    target_scalars = {
        name: _read_scalars(problem.caller, name, shape, targets.get(name)) for name, shape in shapes.items()
    }
    start = near if q_init is None else q_init
    start = problem.midrange if start is None else start
    q0 = _read_scalars(problem.caller, "q_init", (tree.nq,), start)
    reference_q = _read_scalars(problem.caller, "nearest_to", (tree.nq,), start if near is None else near)
    numbers = tuple(target_scalars.get(task.name, []) for task in problem.tasks)
    own = problem.tolerances.tolist(), problem.weights.tolist(), problem.locked_dofs
    stack = Stack(tree, problem.tasks, numbers, *own, wide=problem.wide)
    if problem.solver not in AIMED:
        stack = stack.with_ranges()
    limited = np.flatnonzero(np.isfinite(problem.lower) | np.isfinite(problem.upper)).tolist()
    box = LimitBox.of(tree, problem.lower.tolist(), problem.upper.tolist(), limited, problem.locked_dofs)
    reference = [reference_q] if problem.solver in NEAR else []
    result = SOLVERS[problem.solver](stack, q0, box, float(problem.max_iterations), 0.0, *reference)
    q = differentiable_solution(stack, result.q, box, *reference)
    return IKArrays(array(q), result.done, result.iterations)


def solution_derivative(result: IKSolution, by: str) -> np.ndarray:
    """Compute the derivative of the solutions; see `IKResult.derivative`."""
    problem, q = result.problem, result.q
    tree = problem.robot.tree
    near = result._near if problem.solver in NEAR else None
    parameter = _read_parameter(problem, by)
    key = (
        tree,
        problem.tasks,
        problem.solver,
        frozenset(problem.bounded.values()),
        problem.locked_dofs,
        problem.wide,
        by,
    )
    kernel = _kernels.get(key, lambda: _derivative_kernel(problem, by, parameter))
    tolerances = problem.tolerances if result._tolerances is None else result._tolerances
    reference = [] if near is None else [near]
    own = np.zeros(tangent_size(tree, by, None, {task.name: task for task in problem.tasks}))
    if parameter is not None:
        own = np.array(parameter.nominal(tree), dtype=float)
    derivative = kernel(
        q, tolerances, problem.weights, problem.lower, problem.upper, *reference, *result.targets.values(), own
    )
    return np.asarray(derivative)


def _read_parameter(problem: ProblemView, by: str) -> Parameter | None:
    """Return the robot parameter named ``by``, or None for a target.

    Raises ValueError for inputs that the solution does not depend on.
    """
    names = [*problem.shapes, *(["nearest_to"] if problem.solver in NEAR else [])]
    if by in names:
        return None
    if not isinstance(by, str) or (":" not in by and by != "placement"):
        raise ValueError(
            f"{problem.caller}: derivative: expected a target, {', '.join(map(quoted, names))}, or a robot parameter "
            f"such as 'placement:elbow', got {by!r}"
        )
    (parameter,) = read_parameters(problem.robot.tree, "derivative", by)
    return parameter


def _derivative_kernel(problem: ProblemView, by: str, parameter: Parameter | None) -> Kernel:
    """Return the kernel of the derivative (nv, n) of solutions with respect to an input ``by``.

    The input is a target, the reference configuration or a robot parameter; the derivative is by its tangent vector
    (n), at zero displacement.
    """
    own, tasks, locked_dofs, solver = problem.robot.tree, problem.tasks, problem.locked_dofs, problem.solver
    shapes, limited = problem.shapes, frozenset(problem.bounded.values())
    aimed = [task for task in tasks if task.name in shapes]
    sizes = {f"target{k}": shapes[task.name] for k, task in enumerate(aimed)}
    count = sum(len(task.component_names) for task in tasks)
    size = tangent_size(own, by, parameter, {task.name: task for task in tasks})

    def step(*, q: Any, tolerances: Any, weights: Any, lower: Any, upper: Any, displacement: Any, **others: Any) -> Any:
        tree = own if parameter is None else parametrized(own, {parameter: scalars(others["own"]).ravel().tolist()})
        displacement_scalars = [*displacement]
        targets = {task.name: scalars(others[f"target{k}"]).ravel().tolist() for k, task in enumerate(aimed)}
        if by in targets:
            task = next(task for task in aimed if task.name == by)
            targets[by] = moved_target(tree, task, targets[by], displacement_scalars)
        near = None
        if solver in NEAR:
            near = [*others["near"]]
            if by == "nearest_to":
                near = integrate(tree, near, displacement_scalars)
        numbers = tuple(targets.get(task.name, []) for task in tasks)
        stack = Stack(tree, tasks, numbers, [*tolerances], [*weights], locked_dofs, wide=problem.wide)
        stack = stack if solver in AIMED else stack.with_ranges()
        return array(
            newton_step_at_solution(stack, [*q], LimitBox.of(tree, [*lower], [*upper], limited, locked_dofs), near)
        )

    inputs: dict[str, Any] = {
        "q": (own.nq,),
        "tolerances": (count,),
        "weights": (count,),
        "lower": (own.nq,),
        "upper": (own.nq,),
        **({"near": (own.nq,)} if solver in NEAR else {}),
        **sizes,
    }
    if parameter is not None:
        return compile(lambda **value: step(displacement=[], **value), name="answer", **inputs, own=(size,)).jacobian(
            "own"
        )
    return compile(step, name="answer", **inputs, displacement=(size,)).jacobian("displacement")


def tangent_size(tree: Tree, by: str, parameter: Parameter | None, tasks: Mapping[str, Any]) -> int:
    if parameter is not None:
        return int(np.prod(parameter.shape(tree)))
    if by not in tasks:
        return tree.nv
    target = tasks[by].target_of
    assert target is not None
    known = {"pose": 6, "rotation": 3, "configuration": tree.nv}
    return known.get(target.kind) or int(np.prod([{"nq": tree.nq, "nv": tree.nv}.get(n, n) for n in target.shape]))


def moved_target(tree: Tree, task: Any, target: Scalars, displacement: Scalars) -> list[Any]:
    """Return a target displaced by a tangent vector, expressed in the target's own axes.

    A pose is displaced by a twist and a rotation by a rotation vector.
    """
    kind = task.target_of.kind if task.target_of is not None else ""
    if kind == "pose":
        rotation = Quaternion.exp(Vec3.of(displacement[:3])).rotation()
        X = Pose.of_elements(target) @ Pose(rotation, Vec3.of(displacement[3:]))
        R, p = X.rotation, X.translation
        rows = [[*row, x] for row, x in zip(_rows(R), p, strict=True)]
        return [x for row in rows for x in row] + list(target[12:])
    if kind == "rotation":
        X = Pose.of_elements([*target[0:3], 0.0, *target[3:6], 0.0, *target[6:9], 0.0, 0.0, 0.0, 0.0, 1.0])
        return [x for row in _rows(X.rotation @ Quaternion.exp(Vec3.of(displacement)).rotation()) for x in row]
    if kind == "configuration":
        return integrate(tree, target, displacement)
    return [a + b for a, b in zip(target, displacement, strict=True)]


def _rows(R: Any) -> list[list[Any]]:
    return [[*R.x], [*R.y], [*R.z]]


def _read_scalars(caller: str, name: str, shape: tuple[int, ...], value: Any) -> list[Any]:
    """Return an array of any scalars as a flat list in row-major order."""
    if value is None:
        raise ValueError(f"{caller}: {name}: expected an array of shape {shape}, got None")
    result = scalars(value)
    if result.shape != shape:
        raise ValueError(
            f"{caller}: {name}: expected an array of shape {shape} in a compiled function, got {result.shape}"
        )
    return result.ravel().tolist()
