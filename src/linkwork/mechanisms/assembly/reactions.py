"""Forces of motors, joints and other constraints in the states of a driven motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import label, number, table
from linkwork.constraints import LoopJoint
from linkwork.model.coordinate_names import units_of

__all__ = ["ForceLabels", "Reactions"]

_FORCES = {"rad/s": "N·m", "m/s": "N", "rad": "N·m", "m": "N"}  # by the unit of a velocity, or of a constraint's row
_ROUNDING = 1e-9  # of forces, relative to the largest with the same unit


@dataclass(frozen=True)
class ForceLabels:
    """Names and units of the forces in a mechanism: of motors, in joints, and of constraints that are no joints."""

    motors: tuple[tuple[int, str, str], ...]  # column of v, name, unit
    pins: tuple[str, ...]  # joints of the tree, and then those that close loops
    constraints: tuple[tuple[int, str, str], ...]  # row of G, name, unit

    @staticmethod
    def of(robot: Any, motors: Sequence[str]) -> ForceLabels:
        """Create the names for a robot whose named joints have motors."""
        units = units_of(robot.tree, "v")
        columns = [k for name in motors for k in range(robot.nv)[robot.joint(name).v_slice]]
        rows, components = 0, []
        for constraint in robot.constraints:
            names = constraint.component_names
            if not isinstance(constraint, LoopJoint):
                each = zip(names, constraint.row_units, strict=True)
                components += [(rows + k, name, _FORCES.get(unit, "N")) for k, (name, unit) in enumerate(each)]
            rows += len(names)
        return ForceLabels(
            tuple((k, robot.v_names[k], _FORCES.get(units[k], "N")) for k in columns),
            (*(body.joint_name for body in robot.tree.bodies), *(loop.name for loop in robot.loops)),
            tuple(components),
        )


class _Wrenches(NamedTuple):
    tau: np.ndarray  # (..., n, nv) [N·m, N]
    joint_wrenches: np.ndarray  # (..., n, nb, 6) [N·m, N]
    loop_joint_wrenches: np.ndarray  # (..., n, nl, 6) [N·m, N]


class Reactions(_Wrenches):
    """Forces of motors, joints and constraints in n states: NaN where the drivers do not determine the motion.

    τ are the forces of the motors, w the wrenches (moment; force) across the joints, in the order of `Robot.bodies` and
    of `Robot.loops`.  These three are the elements of the tuple.  Its text is a table of the largest forces.
    """

    constraint_forces: np.ndarray
    """Forces (..., n, k) [N, N·m] of constraints other than joints, such as a roller's on a plane.

    They are in the order of the names in tables, which are the component names of the constraints.
    """
    _labels: ForceLabels

    def __new__(
        cls,
        tau: Any,
        joint_wrenches: Any,
        loop_joint_wrenches: Any,
        constraint_forces: Any = None,
        labels: ForceLabels | None = None,
    ) -> Reactions:
        result = super().__new__(cls, tau, joint_wrenches, loop_joint_wrenches)
        none = np.zeros((*np.shape(tau)[:-1], 0))
        result.constraint_forces = none if constraint_forces is None else constraint_forces
        result._labels = ForceLabels((), (), ()) if labels is None else labels
        return result

    @property
    def pin_forces(self) -> np.ndarray:
        """Sizes of the forces across the joints of the tree, then of the loops: (..., n, nb + nl) [N]."""
        wrenches = np.concatenate([self.joint_wrenches, self.loop_joint_wrenches], axis=-2)
        return np.asarray(np.linalg.norm(wrenches[..., 3:], axis=-1))

    def __repr__(self) -> str:
        names = self._labels
        columns = [(f"motor {label(name)}", self.tau[..., k], unit) for k, name, unit in names.motors]
        columns += [(f"pin {label(name)}", x, "N") for name, x in zip(names.pins, self._by_pin(), strict=True)]
        forces = np.moveaxis(self.constraint_forces, -1, 0)
        columns += [(label(name), x, unit) for (_, name, unit), x in zip(names.constraints, forces, strict=True)]
        sizes = [(name, np.nan_to_num(np.abs(x), nan=-1.0), unit) for name, x, unit in columns]
        scales = {unit: max(x.max(initial=0.0) for _, x, of_x in sizes if of_x == unit) for *_, unit in sizes}
        rows = [[name, *_largest(x, scales[unit]), unit] for name, x, unit in sizes]
        header = ["largest force", "size", "state", "unit"]
        return "\n".join(table(header, rows, left=(0, 3)))

    def _by_pin(self) -> np.ndarray:
        return np.moveaxis(self.pin_forces, -1, 0) if self._labels.pins else np.zeros((0, 0))


def _largest(sizes: np.ndarray, scale: float) -> tuple[str, str]:
    """Return the largest of sizes (..., n), and the index of the first state that has it up to rounding.

    Both are "-" if all sizes are negative: there is no force.  Below the rounding error of forces of this ``scale``
    the size is 0.
    """
    largest = sizes.max(initial=-1.0)
    if largest < 0.0:
        return "-", "-"
    if largest <= _ROUNDING * scale:
        return "0", "-"
    index = np.unravel_index(int(np.argmax(sizes >= (1.0 - _ROUNDING) * largest)), sizes.shape)
    return number(float(f"{largest:.5g}")), ", ".join(map(str, index))
