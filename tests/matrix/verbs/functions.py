"""The functions of the table: values of a batch, and rates along a motion beside differences."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from invariants.cases import Functions
from linkwork.kernels.function_request import read_request
from linkwork.model.function_spec import QUANTITIES
from linkwork.robot.robot_table import ROBOT, robot_owner
from matrix.cell import close, verb
from matrix.kinds import Kind
from oracles.scalars import names_for

STEP = 1e-5
_KINKED = ("joint_wrench_indeterminacy", "constraint_force_indeterminacy")  # norms that are zero
_BORNE = ("joint_wrenches", "joint_wrench_components")  # which redundant constraints share, by rank
_MAGNIFIED = (*_BORNE, *_KINKED)  # rounding, by redundant constraints


_REDUCED = [name for name, row in ROBOT.items() if any(option.name == "independent" for option in row.options)]


def _independent(kind: Kind, without: Sequence[str] = ()) -> tuple[str, ...]:
    """Return velocities, of joints of one coordinate if possible, that determine all others by the constraints."""
    robot = kind.robot.without_constraints(*without) if without else kind.robot
    single = [index for joint in kind.robot.joints if joint.nq == joint.nv == 1 for index in [joint.v_slice.start]]
    G = np.asarray(robot.constraint_jacobian(kind.q, **kind.timed)).reshape(-1, robot.nv)
    motions = scipy.linalg.null_space(G, rcond=1e-9) if len(G) else np.eye(robot.nv)
    motions[np.setdiff1d(np.arange(robot.nv), single)] *= 0.01
    _, _, order = scipy.linalg.qr(motions.T, pivoting=True)
    return tuple(robot.v_names[k] for k in sorted(order[: motions.shape[1]]))


def _accelerations(kind: Kind) -> np.ndarray | None:
    """Return accelerations that the constraints allow without a motor; None for a robot without constraints."""
    robot = kind.robot
    if not robot.constraints:
        return None
    return np.asarray(robot.constrained_forward_dynamics(kind.q, kind.v, np.zeros(robot.nv), **kind.timed).a)


def _moves(kind: Kind) -> bool:
    return kind.dof > 0


def _check(name: str, kind: Kind) -> None:
    """Rates along a motion equal central differences of the function; single results equal those of a batch."""
    row, tree = ROBOT[name], kind.robot.tree
    requested_function: Any = name
    if name in _REDUCED:
        requested_function = (name, _independent(kind))
        if name == "reduced_linearize":
            requested_function = (
                *requested_function,
                _independent(
                    kind, [constraint.name for constraint in kind.robot.constraints if not constraint.holonomic]
                ),
            )
    elif any(option.required for option in row.options):
        requested_function = (name, *names_for(tree, row, kind.frame))
    kernel = kind.robot.compile(requested_function)
    request = read_request(robot_owner(tree), requested_function)
    rng = np.random.default_rng(4)
    point, motion = [], []
    for port, quantity in zip(kernel.inputs, request.inputs, strict=True):
        is_q = QUANTITIES[quantity].configuration if quantity in QUANTITIES else False
        drawn = {"v": kind.v, "a": _accelerations(kind)}.get(quantity)
        if name == "zero_moment_point" and quantity == "a":
            drawn = None  # a robot that falls freely has its zero moment point at infinity
        point.append(kind.q if is_q else rng.normal(size=port.shape) if drawn is None else drawn)
        motion.append(kind.direction if is_q else rng.normal(size=port.shape))
    is_q = [x is kind.q for x in point]
    f = Functions(tree)

    def moved(step: float) -> list[np.ndarray]:
        return [_moved(kind, x, step * d) if q else x + step * d for x, d, q in zip(point, motion, is_q, strict=True)]

    batch = [np.stack(pair) for pair in zip(moved(-STEP), moved(STEP), strict=True)]
    both = _parts(f(requested_function, *batch))
    for k, part in enumerate(_parts(f(requested_function, *moved(STEP)))):
        if name == "manipulability" and np.isinf(part):
            return  # no motor moves the frame, which is free to move
        assert np.isfinite(part).all(), f"output {k} is not finite"
        close(both[k][1], part, 1e-6 if name in _MAGNIFIED else 1e-12, f"output {k} of a batch")
    if name in _KINKED or (name in _BORNE and kind.robot.constraints):
        return
    if any(output.configuration for output in row.outputs):
        return
    if name == "constrained_inverse_dynamics_derivatives" and not kind.is_actuated:
        return  # states beside this one need forces that no motor has
    rates = [
        f("velocity_to_configuration_derivative", x, d) if q else d for x, d, q in zip(point, motion, is_q, strict=True)
    ]
    for k, rate in enumerate(_parts(f.rate(requested_function, *zip(point, rates, strict=True)))):
        difference = (both[k][1] - both[k][0]) / (2.0 * STEP)
        size = np.abs(both[k]).max(initial=0.0)
        bound = 1e-5 * (1.0 + np.abs(difference).max(initial=0.0) + size)
        error = np.abs(rate - difference).max(initial=0.0)
        assert error <= bound, f"rate of output {k}: error {error:.2g}, bound {bound:.2g}"


def _moved(kind: Kind, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return a configuration that satisfies the constraints, because redundant rows magnify violations."""
    moved_q = kind.robot.integrate(q, step)
    result = kind.assembled(moved_q)
    return moved_q if result is None else result


def _parts(result: Any) -> tuple[np.ndarray, ...]:
    return result if isinstance(result, tuple) else (result,)


for _name in ROBOT:
    _checked = functools.partial(_check, _name)
    _checked.__doc__, _checked.__module__ = _check.__doc__, __name__  # type: ignore[attr-defined]
    verb(_name, name=_name, needs=_moves if _name in _REDUCED else None)(_checked)
