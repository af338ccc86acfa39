"""Solutions of inverse kinematics as functions: their derivatives, and IK inside compiled functions.

Derivatives follow from the implicit-function theorem, however a solution was computed.  A
solution q with e(q, p) = 0 moves with p by the smallest step that preserves it,

    δq = −J⁺ e_p δp,

which is exact where J is square and regular.  For a redundant robot this step is one of many, like the solution
itself.  The nearest configuration to q₀ satisfies ∇½‖q ⊖ q₀‖² + Jᵀλ = 0 and e = 0:

    ( K  Jᵀ ) ( δq )       ( ∇_p δp )
    ( J  0  ) ( δλ )  =  − ( e_p δp ),      K = ∂/∂q (∇½‖q ⊖ q₀‖² + Jᵀλ),

exact at a strict minimum.  An error with a range is an equation at an end of the range, and none inside.  Locked
coordinates and those at their limits stay fixed: this is correct where a limit is strictly active, and one-sided where
it is only touched.  Singular equations are solved in the least-squares sense with minimum norm; the result is finite
but not a derivative.

A Newton step of these equations, from the solution as a constant, is zero and has this derivative.

Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from linkwork._util.messages import quoted
from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.expr.autodiff.custom_derivative import stop_gradient, with_derivative_of
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, product, transposed
from linkwork.expr.scalar.functions import le, lt, or_, where
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.algorithms.joint_bounds import nearest, times
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.kernels import AIMED, NEAR, SOLVERS, ProblemView, target_shapes
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox
from linkwork.model.kernel_parameters import Parameter, read_parameters
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = [
    "IKArrays",
    "differentiable_solution",
    "moved_target",
    "newton_step_at_solution",
    "solution_derivative",
    "tangent_size",
    "traced_solution",
]

Scalars = Sequence[Any]

_kernels: LazyCache[Kernel] = LazyCache(64)


class IKArrays(NamedTuple):
    """Result of inverse kinematics inside a compiled function: q (nq,), success (1 or 0) and iterations.

    q is differentiated by the implicit-function theorem, as `IKResult.derivative` describes. ``success`` and
    ``iterations`` have no derivative.
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
    target_tuple = tuple(target_scalars.get(task.name, []) for task in problem.tasks)
    row_options = problem.tolerances.tolist(), problem.weights.tolist(), problem.locked_dofs
    stack = Stack(tree, problem.tasks, target_tuple, *row_options, wide=problem.wide)
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
    displacement = np.zeros(tangent_size(tree, by, None, {task.name: task for task in problem.tasks}))
    if parameter is not None:
        displacement = np.array(parameter.nominal(tree), dtype=float)
    derivative = kernel(
        q, tolerances, problem.weights, problem.lower, problem.upper, *reference, *result.targets.values(), displacement
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

    The input is a target, the reference configuration or a robot parameter; the derivative is with respect to the
    input's tangent vector (n), at zero displacement.
    """
    robot_tree, tasks, locked_dofs, solver = problem.robot.tree, problem.tasks, problem.locked_dofs, problem.solver
    shapes, limited = problem.shapes, frozenset(problem.bounded.values())
    aimed = [task for task in tasks if task.name in shapes]
    sizes = {f"target{k}": shapes[task.name] for k, task in enumerate(aimed)}
    count = sum(len(task.component_names) for task in tasks)
    size = tangent_size(robot_tree, by, parameter, {task.name: task for task in tasks})

    def step(*, q: Any, tolerances: Any, weights: Any, lower: Any, upper: Any, displacement: Any, **extra: Any) -> Any:
        tree = robot_tree
        if parameter is not None:
            tree = parametrized(tree, {parameter: scalars(extra["value"]).ravel().tolist()})
        displacement_scalars = [*displacement]
        targets = {task.name: scalars(extra[f"target{k}"]).ravel().tolist() for k, task in enumerate(aimed)}
        if by in targets:
            task = next(task for task in aimed if task.name == by)
            targets[by] = moved_target(tree, task, targets[by], displacement_scalars)
        near = None
        if solver in NEAR:
            near = [*extra["near"]]
            if by == "nearest_to":
                near = integrate(tree, near, displacement_scalars)
        target_tuple = tuple(targets.get(task.name, []) for task in tasks)
        stack = Stack(tree, tasks, target_tuple, [*tolerances], [*weights], locked_dofs, wide=problem.wide)
        stack = stack if solver in AIMED else stack.with_ranges()
        return array(
            newton_step_at_solution(stack, [*q], LimitBox.of(tree, [*lower], [*upper], limited, locked_dofs), near)
        )

    inputs: dict[str, Any] = {
        "q": (robot_tree.nq,),
        "tolerances": (count,),
        "weights": (count,),
        "lower": (robot_tree.nq,),
        "upper": (robot_tree.nq,),
        **({"near": (robot_tree.nq,)} if solver in NEAR else {}),
        **sizes,
    }
    if parameter is not None:
        kernel = compile(lambda **values: step(displacement=[], **values), name="answer", **inputs, value=(size,))
        return kernel.jacobian("value")
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


Rows = Sequence[Scalars]

_AT_END = 1e-6  # [m, rad] distance from an end of a range at which the end is active
_STEPS = 10  # refinement steps of the normal equations, whose singular values are squared


def _constant(values: Scalars) -> list[Any]:
    return stop_gradient(values) if any(x.__class__ is Symbol for x in values) else list(values)


def differentiable_solution(stack: Stack, q: Scalars, box: LimitBox, near: Scalars | None = None) -> list[Any]:
    """Return the solution q unchanged, with derivatives by the implicit-function theorem attached.

    The derivatives are with respect to the targets, the reference configuration ``near`` and the robot's parameters.
    """
    if not all(x.__class__ in (Symbol, float) for x in q) or all(x.__class__ is float for x in q):
        return list(q)
    constant_q = _constant(q)
    return with_derivative_of(
        constant_q, integrate(stack.tree, constant_q, newton_step_at_solution(stack, constant_q, box, near))
    )


def newton_step_at_solution(stack: Stack, q: Scalars, box: LimitBox, near: Scalars | None = None) -> list[Any]:
    """Return the Newton step (nv) at a solution q: it is zero, and its derivative is that of the solution."""
    q = _constant(q)
    weights = stack.all_weights()
    hard = [i for i, hard in enumerate(stack.hard) if hard]
    at = stack.at(q)
    free = _free_coordinates(stack, box, q)
    beyond, weights = _at_ends(stack, at.errors, weights)
    J = [[times(x, times(a, weights[i])) for x, a in zip(at.rows[i], free, strict=True)] for i in hard]
    errors = [times(beyond[i], weights[i]) for i in hard]
    if near is None:
        rows = [_constant(row) for row in J]
        A = Semidefinite.of([_constant(row) for row in product(rows, transposed(rows))])
        multipliers = A.solved([-e for e in errors])
        return [dot(column, multipliers) for column in transposed(rows)]
    n, m = stack.tree.nv, len(hard)
    gradient = _distance_gradient(stack, q, near, free)
    normal = Semidefinite.of([_constant(row) for row in product(J, transposed(J))])
    multipliers = _constant(normal.solved([-x for x in _constant([dot(row, gradient) for row in J])]))
    lagrangian_gradient = [x + dot(column, multipliers) for x, column in zip(gradient, transposed(J), strict=True)]
    K = _curvature(stack, q, near, multipliers, hard, weights, free)
    M = [[*(K[i]), *(row[i] for row in J)] for i in range(n)] + [[*row, *([0.0] * m)] for row in J]
    M = [_constant(row) for row in M]
    b = [*lagrangian_gradient, *errors]
    squares = Semidefinite.of([_constant(row) for row in product(transposed(M), M)])
    result = squares.solved([-dot(column, b) for column in transposed(M)], steps=_STEPS)
    return [times(x, a) for x, a in zip(result[:n], free, strict=True)]


def _at_ends(stack: Stack, errors: Scalars, weights: Scalars) -> tuple[list[Any], list[Any]]:
    """Return the errors as violations of their ranges, differentiable at the ends, and weights; 0 inside a range.

    An error at an end of its range counts as an equation, so its derivative is that of the error.
    """
    beyond, result = stack.beyond(errors), list(weights)
    for i, ((low, high), ranged) in enumerate(zip(stack.ranges, stack.ranged, strict=True)):
        if ranged:
            (x,) = _constant([errors[i]])
            beyond[i] = errors[i] - nearest(x, low, high)
            result[i] = where(or_(lt(x, low + _AT_END), lt(high - _AT_END, x)), weights[i], 0.0)
    return beyond, result


def _free_coordinates(stack: Stack, box: LimitBox, q: Scalars) -> list[Any]:
    """Return for each coordinate of v 0 if it is locked or at a limit, else 1."""
    free: list[Any] = [0.0 if k in stack.locked_dofs else 1.0 for k in range(stack.tree.nv)]
    for k, n in box.indices.items():
        free[k] = where(or_(le(q[n], box.lower[n]), le(box.upper[n], q[n])), 0.0, 1.0)
    return [x if x.__class__ is float else _constant([x])[0] for x in free]


def _distance_gradient(stack: Stack, q: Scalars, near: Scalars, free: Scalars) -> list[Any]:
    """Return the gradient (nv) of ½‖q ⊖ q₀‖² with respect to q, with the reference q₀ = ``near``.

    ``free`` has 0 for coordinates that are fixed, whose entries are 0.
    """
    return [times(-x, a) for x, a in zip(difference(stack.tree, q, near), free, strict=True)]


def _curvature(
    stack: Stack, q: Scalars, near: Scalars, multipliers: Scalars, hard: Sequence[int], weights: Scalars, free: Scalars
) -> list[list[Any]]:
    """Return the derivative (nv, nv) of ∇½‖q ⊖ q₀‖² + Jᵀλ in q, with diagonal entries 1 for fixed coordinates.

    q₀ is the reference ``near``, J the Jacobian of the hard errors, and λ are the ``multipliers``. ``free`` has 0 for
    coordinates that are fixed.
    """
    n = stack.tree.nv
    columns = []
    for k in range(n):
        displacement = seeded([0.0] * n, [1.0 if j == k else 0.0 for j in range(n)])
        moved, level = integrate(stack.tree, q, displacement), displacement[0].level
        at = stack.at(moved)
        gradient = _distance_gradient(stack, moved, near, free)
        column = []
        for j in range(n):
            entry = gradient[j]
            for i, multiplier in zip(hard, multipliers, strict=True):
                entry = entry + times(at.rows[i][j], times(free[j], weights[i])) * multiplier
            change = parts(entry, level)[1]
            column.append(times(change, free[k]) + (times(1.0, 1.0 - free[k]) if j == k else 0.0))
        columns.append(column)
    return transposed(columns)
