"""Arguments of assembly (fixed and preferred joints, weights, times) and the mechanism that they refer to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.validation import floats
from linkwork.kernels.robot_arguments import by_joint
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.mechanisms.algorithms.constraint_rows import error_scales, position_rounding
from linkwork.mechanisms.assembly.state_inputs import StateInputs
from linkwork.model.limited_coordinates import (
    LimitedCoordinate,
    limited_coordinates,
    limited_values,
    position_limits,
)
from linkwork.model.periodic_coordinates import periodic_coordinates
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import straight_tree

__all__ = [
    "ClosedMechanism",
    "FixedJoints",
    "check_limits",
    "read_joints",
    "read_weights",
]


JointValues = Mapping[str, Any]
_SLACK = 1e-9  # [rad, characteristic lengths] excess beyond a limit that is rounding
_OTHER_WEIGHT = 0.01  # of joints without a preferred value, if others have one


@dataclass(frozen=True)
class FixedJoints:
    """Joints whose configurations are prescribed: their names, and arrays of their values by name."""

    names: tuple[str, ...]
    values: dict[str, np.ndarray]  # (..., nq of the joint)

    def put_into(self, tree: Tree, q: np.ndarray) -> np.ndarray:
        """Return configurations with the fixed joints' prescribed values, and q's values for the other joints.

        q and the values broadcast.
        """
        shape = np.broadcast_shapes(q.shape[:-1], *(x.shape[:-1] for x in self.values.values()))
        result = np.broadcast_to(q, (*shape, tree.nq)).copy()
        for name, value in self.values.items():
            result[..., tree.q_slices[tree.joint_index(name)]] = value
        return result


class ClosedMechanism:
    """Robot with constraints, with the parts of their Jacobian, limits and periodic angles."""

    def __init__(self, robot: Any, caller: str) -> None:
        self.robot, self.tree, self.caller = robot, robot.tree, caller
        driven = caller == "drive_mechanism"  # velocity constraints alone determine how wheels move a robot
        if not any(constraint.holonomic or driven for constraint in self.tree.constraints):
            raise ValueError(
                f"{caller}: robot {robot.name!r} has no holonomic constraints: use with_loop or with_constraints"
            )

    @cached_property
    def rows(self) -> list[int]:
        """Indices of the rows of the constraint Jacobian that belong to holonomic constraints."""
        holonomic = [c.holonomic for c in self.tree.constraints for _ in c.component_names]
        return [k for k, has_error in enumerate(holonomic) if has_error]

    @cached_property
    def limited(self) -> tuple[LimitedCoordinate, ...]:
        """Coordinates with position limits, also those of joints that close loops."""
        return limited_coordinates(self.tree)

    def beyond(self, q: np.ndarray, at: StateInputs) -> np.ndarray:
        """Return a mask (..., limited coordinates): True where a coordinate is beyond its limits."""
        x = limited_values(self.robot, self.limited, q, **at.parameters)
        lower, upper = (np.array([getattr(limit, side) for limit in self.limited]) for side in ("lower", "upper"))
        slack = _SLACK * np.array([self.length if limit.unit == "m" else 1.0 for limit in self.limited])
        return np.asarray((x < lower - slack) | (x > upper + slack))

    def free(self, fixed: Sequence[str]) -> list[int]:
        """Return the indices in v of the joints that are not ``fixed``."""
        excluded = {k for name in fixed for k in range(self.tree.nv)[self.tree.v_slices[self.tree.joint_index(name)]]}
        return [k for k in range(self.tree.nv) if k not in excluded]

    def jacobian(self, q: np.ndarray, at: StateInputs) -> np.ndarray:
        """Return the Jacobian of the holonomic constraints, (..., rows, nv), free of units."""
        G = self.robot.constraint_jacobian(q, **at.options)[..., self.rows, :]
        result: np.ndarray = G * self.scales[:, None] * self.units
        return result

    @cached_property
    def rolls(self) -> bool:
        """True if there are velocity constraints, such as rolling, which depend on the path and not only on q."""
        return not all(constraint.holonomic for constraint in self.tree.constraints)

    def velocity_block(self, q: np.ndarray, fixed: Sequence[str], at: StateInputs) -> np.ndarray:
        """Return the columns (..., nc, free) of the Jacobian of all constraints, also of velocities, free of units."""
        scales = np.array(
            [1.0 if unit == "rad" else 1.0 / self.length for c in self.tree.constraints for unit in c.row_units]
        )
        G = self.robot.constraint_jacobian(q, **at.options) * scales[:, None] * self.units
        result: np.ndarray = G[..., self.free(fixed)]
        return result

    @cached_property
    def scales(self) -> np.ndarray:
        """Factors of the errors (ne,) that make them free of units."""
        return np.array(error_scales(self.tree))

    @cached_property
    def units(self) -> np.ndarray:
        """Unit steps of the velocities (nv,) [rad, m]."""
        return np.array(unit_steps(self.tree))

    @cached_property
    def rounding(self) -> float:
        """Rounding error of positions in the world, in characteristic lengths."""
        return position_rounding(self.tree) / self.length

    @cached_property
    def length(self) -> float:
        """Characteristic length [m]."""
        return characteristic_length(self.tree)

    def open_by(self, error: np.ndarray) -> np.ndarray:
        """Return the largest constraint error (...) minus the rounding error of positions.

        Errors are in radians and characteristic lengths.
        """
        return np.asarray((np.abs(error) * self.scales).max(axis=-1, initial=0.0) - self.rounding)

    def dependent_block(self, q: np.ndarray, fixed: Sequence[str], at: StateInputs) -> np.ndarray:
        """Return the columns of the constraint Jacobian that belong to joints that are not fixed, (..., rows, free)."""
        result: np.ndarray = self.jacobian(q, at)[..., self.free(fixed)]
        return result

    @cached_property
    def periodic_angles(self) -> list[tuple[int, int]]:
        """Index pairs (in v, in q) of the angles whose full revolutions change no pose."""
        in_v, in_q = periodic_coordinates(straight_tree(self.tree))
        return [*zip(np.flatnonzero(in_v).tolist(), np.flatnonzero(in_q).tolist(), strict=True)]

    def nearest_revolutions(
        self, q: np.ndarray, to: np.ndarray, fixed: Sequence[str], position_limits: bool
    ) -> np.ndarray:
        """Return q with angles changed by full revolutions, so that they are as close to ``to`` as limits allow.

        Only angles whose full revolutions change no pose, and that are not fixed, are changed.
        """
        if not (np.abs(to - q) > math.pi).any():
            return q
        free, result = set(self.free(fixed)), np.array(q)
        lower, upper = (
            self.limits if position_limits else (np.full(self.tree.nq, -np.inf), np.full(self.tree.nq, np.inf))
        )
        for k, i in self.periodic_angles:
            if k in free:
                turns = np.round((to[..., i] - result[..., i]) / (2.0 * math.pi))
                moved = result[..., i] + 2.0 * math.pi * turns
                inside = (moved >= lower[i]) & (moved <= upper[i]) & (turns != 0.0)
                result[..., i] = np.where(inside, moved, result[..., i])
        return result

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits of configurations, (nq,) each."""
        low, high = position_limits(self.tree)
        return np.array(low, dtype=float), np.array(high, dtype=float)

    @cached_property
    def error_slices(self) -> dict[str, slice]:
        """Slice of the errors of each holonomic constraint, by name."""
        result, start = {}, 0
        for constraint in self.tree.constraints:
            if constraint.holonomic:
                result[constraint.name] = slice(start, start + len(constraint.component_names))
                start = result[constraint.name].stop
        return result

    @cached_property
    def error_names(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each error."""
        holonomic = [c for c in self.tree.constraints if c.holonomic]
        return tuple(pair for c in holonomic for pair in zip(c.component_names, c.row_units, strict=True))


def read_joints(robot: Any, caller: str, name: str, value: JointValues | None) -> FixedJoints:
    """Return the argument ``name``, values by joint, as arrays (..., nq of the joint).

    The values of a joint with one coordinate have any shape (...).

    Raises TypeError for anything but a dict, UnknownNameError for an unknown joint, ValueError for a constraint, a
    coupled joint, wrong shapes and non-finite values.
    """
    tree, values = robot.tree, {}
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f'{caller}: {name}: expected a dict by joint, as in {{"crank": 0.3}}, got {value!r}')
    for joint, entry in (value or {}).items():
        if any(constraint.name == joint for constraint in tree.constraints):
            raise ValueError(
                f"{caller}: {name}: {joint!r} is a constraint, which has no coordinates: name joints of the tree"
            )
        body = tree.bodies[tree.joint_index(joint)]
        if body.coupling is not None:
            raise ValueError(
                f"{caller}: {name}: joint {joint!r} follows joint {body.coupling.joint!r}: name that joint"
            )
        nq = body.joint.nq
        shape = "a number, or an array of any shape" if nq == 1 else f"an array of shape (..., {nq})"
        expected = f"{caller}: {name}: joint {joint!r}: expected {shape}"
        try:
            array = floats(entry)
        except (TypeError, ValueError):
            raise ValueError(f"{expected}, got {entry!r}") from None
        if nq == 1:
            array = array[..., np.newaxis]
        if array.shape[-1:] != (nq,):
            raise ValueError(f"{expected}, got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{expected}, got {array[~np.isfinite(array)].flat[0]}")
        values[joint] = body.joint.checked(array, joint)
    result = FixedJoints(tuple(values), values)
    _check_batch(caller, name, result)
    return result


def _check_batch(caller: str, name: str, fixed: FixedJoints) -> None:
    try:
        np.broadcast_shapes(*(x.shape[:-1] for x in fixed.values.values()))
    except ValueError:
        shapes = ", ".join(f"{joint} {x.shape[:-1]}" for joint, x in fixed.values.items())
        raise ValueError(f"{caller}: {name}: the leading dimensions do not broadcast: {shapes}") from None


def check_limits(mechanism: ClosedMechanism, fixed: FixedJoints) -> None:
    """Raise ValueError if joints are fixed beyond their limits."""
    lower, upper = mechanism.limits
    for joint, value in fixed.values.items():
        part = mechanism.tree.q_slices[mechanism.tree.joint_index(joint)]
        low, high = lower[part], upper[part]
        units = mechanism.tree.bodies[mechanism.tree.joint_index(joint)].joint.q_units
        slack = _SLACK * np.array([mechanism.length if unit == "m" else 1.0 for unit in units])
        wrong = (value < low - slack) | (value > high + slack)
        if wrong.any():
            k = int(np.argwhere(wrong)[0][-1])
            raise ValueError(
                f"{mechanism.caller}: hold: joint {joint!r} = {value[wrong].flat[0]:.6g} is beyond its limits "
                f"[{low[k]:.6g}, {high[k]:.6g}]; position_limits=False ignores limits"
            )


def read_weights(robot: Any, caller: str, weights: Any = None, preferred: FixedJoints | None = None) -> np.ndarray:
    """Return the weights of the distance to the goal, (nv,), by default 1 for angles and 1/L² for lengths.

    L is the characteristic length.  Weights of joints that are not preferred are smaller by `_OTHER_WEIGHT`.

    Raises ValueError for non-positive weights and wrong shapes, UnknownNameError for an unknown joint.
    """
    tree = robot.tree
    units = np.array(unit_steps(tree)) ** -2.0
    names = () if preferred is None else preferred.names
    result = units * (_OTHER_WEIGHT if names else 1.0)
    for name in names:
        part = tree.v_slices[tree.joint_index(name)]
        result[part] = units[part]
    return result if weights is None else by_joint(caller, "weights", tree, weights, default=result, above=0.0)
