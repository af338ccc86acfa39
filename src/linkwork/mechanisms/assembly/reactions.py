"""Forces of motors, joints and other constraints in the states of a driven motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.messages import label, number, table
from linkwork._util.validation import floats, shown
from linkwork.constraints import LoopJoint
from linkwork.errors import UnknownNameError
from linkwork.kernels.function_request import read_request
from linkwork.model.coordinate_names import units_of

__all__ = ["ForceLabels", "Reactions", "frames_of_wrenches", "read_wrenches", "undetermined_pins"]

_FORCES = {"rad/s": "N·m", "m/s": "N", "rad": "N·m", "m": "N"}  # by the unit of a velocity, or of a constraint's row
_PARALLEL = 1e-6  # [rad] of axes of a planar mechanism
_DEPENDENT = 1e-9  # singular values of dependent rows of G, relative to the largest
_UNDETERMINED = 1e-6  # smallest force in a pin that no load causes, relative to the largest
_ROUNDING = 1e-9  # of forces, relative to the largest with the same unit


@dataclass(frozen=True)
class ForceLabels:
    """Names and units of the forces in a mechanism: of motors, in joints, and of constraints that are not joints."""

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


class Reactions(_Wrenches, metaclass=WithForeignNames):
    """Forces of motors, joints and constraints in n states: NaN where the drivers do not determine the motion.

    τ are the forces of the motors, w the wrenches (moment; force) across the joints, in the order of `Robot.bodies` and
    of `Robot.loops`.  These three are the elements of the tuple.  Its text is a table of the largest forces.
    """

    constraint_forces: np.ndarray
    """Forces (..., n, k) [N, N·m] of constraints other than joints, such as a roller's on a plane.

    They are in the order of the names in tables, which are the component names of the constraints.
    """
    _labels: ForceLabels
    _undetermined: Any  # names, or a function that returns them

    def __new__(
        cls,
        tau: Any,
        joint_wrenches: Any,
        loop_joint_wrenches: Any,
        constraint_forces: Any = None,
        labels: ForceLabels | None = None,
        undetermined: tuple[str, ...] | Callable[[], tuple[str, ...]] = (),
    ) -> Reactions:
        result = super().__new__(cls, tau, joint_wrenches, loop_joint_wrenches)
        no_forces = np.zeros((*np.shape(tau)[:-1], 0))
        result.constraint_forces = no_forces if constraint_forces is None else constraint_forces
        result._labels = ForceLabels((), (), ()) if labels is None else labels
        result._undetermined = undetermined
        return result

    @property
    def pin_forces(self) -> np.ndarray:
        """Sizes of the forces across the joints of the tree, then of the loops: (..., n, nb + nl) [N]."""
        wrenches = np.concatenate([self.joint_wrenches, self.loop_joint_wrenches], axis=-2)
        return np.asarray(np.linalg.norm(wrenches[..., 3:], axis=-1))

    @property
    def undetermined_pins(self) -> tuple[str, ...]:
        """Names of joints whose force depends on tolerances and stiffness: see `DrivenMotion.undetermined_pins`."""
        if callable(self._undetermined):
            self._undetermined = self._undetermined()
        return self._undetermined  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_undetermined": self.undetermined_pins}

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
        lines = table(header, rows, left=(0, 3))
        if self.undetermined_pins:
            names_of_pins = ", ".join(map(label, self.undetermined_pins))
            lines.append(f"The forces in {names_of_pins} depend on tolerances and stiffness; these are the smallest.")
        return "\n".join(lines)

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


def undetermined_pins(robot: Any, q: np.ndarray, time: float = 0.0) -> tuple[str, ...]:
    """Return the names of joints whose force the loads do not determine, in an assembled configuration q (nq,).

    Forces λ of dependent constraints, with Gᵀ λ = 0, cause wrenches across joints but no acceleration.  They arise
    where an overconstrained mechanism is assembled with errors.  For loops that move in a plane, only forces in the
    plane count.  Closed chains of hinges always have undetermined forces normal to the plane, which good alignment
    keeps small.
    """
    G = np.asarray(robot.constraint_jacobian(q, time=time))
    sizes = np.linalg.norm(G, axis=1, keepdims=True)
    sizes[sizes == 0.0] = 1.0
    left, values, _ = np.linalg.svd(G / sizes)
    free = np.ones(len(G), dtype=bool)
    free[: len(values)] = values <= _DEPENDENT * values.max(initial=0.0)
    if not free.any():
        return ()
    forces = np.concatenate([np.zeros((1, len(G))), (left[:, free] / sizes).T])
    at_rest = np.zeros(robot.nv)
    options: dict[str, Any] = {"constraint_forces": forces, "passive": False, "expressed_in": "world", "time": time}
    pins = [np.asarray(robot.joint_wrenches(q, at_rest, at_rest, **options))]
    if robot.loops:
        pins.append(np.asarray(robot.loop_joint_wrenches(q, at_rest, at_rest, **options)))
    wrenches = np.concatenate(pins, axis=1)[..., 3:]
    caused = wrenches[1:] - wrenches[:1]
    largest = float(np.abs(caused).max(initial=0.0))
    coupled = np.abs(np.einsum("kia,kjb->ijab", caused, caused)).max(axis=(2, 3)) > (_UNDETERMINED * largest) ** 2
    axes = _axes_of_pins(robot, q)
    for group in _groups(coupled):
        normal = _plane_normal([axes[k] for k in group])
        if normal is not None:
            caused[:, group] -= (caused[:, group] @ normal)[..., None] * normal
    is_free = np.abs(caused).max(axis=(0, 2)) > _UNDETERMINED * largest
    return tuple(name for name, x in zip(ForceLabels.of(robot, ()).pins, is_free, strict=True) if x)


def _groups(coupled: np.ndarray) -> Iterator[list[int]]:
    """Yield the indices of pins that a symmetric matrix (n, n) of bool connects, directly or by others."""
    remaining = {k for k in range(len(coupled)) if coupled[k, k]}
    while remaining:
        group = [remaining.pop()]
        for k in group:
            near = {int(j) for j in np.flatnonzero(coupled[k])} & remaining
            remaining -= near
            group += near
        yield group


Axes = tuple[list[np.ndarray], list[np.ndarray]]


def _axes_of_pins(robot: Any, q: np.ndarray) -> list[Axes | None]:
    """Return unit vectors along the rotations and translations of each pin in the world; None if these vary."""
    poses = [*np.asarray(robot.forward_kinematics(q)), np.eye(4)]  # index -1 is the world
    tree = robot.tree
    joints = [(poses[k], body.rotor.inv().formed(), body.joint) for k, body in enumerate(tree.bodies)]
    for loop in (x for x in robot.constraints if isinstance(x, LoopJoint)):
        frame = tree.frame(loop.frame)
        joints.append((poses[frame.body], frame.placement, loop.joint))
    result: list[Axes | None] = []
    for pose, placement, joint in joints:
        turn = pose[:3, :3] @ placement.matrix()[:3, :3]
        axes: Axes = [], []
        for column in joint.S(joint.zero()).columns:
            for vector, known in zip((column.angular, column.linear), axes, strict=True):
                axis = turn @ np.array([*map(float, vector)])
                if axis.any():
                    known.append(axis / np.linalg.norm(axis))
        result.append(axes if joint.has_fixed_subspaces else None)
    return result


def _plane_normal(pins: Sequence[Axes | None]) -> np.ndarray | None:
    """Return the unit normal (3,) of the plane in which pins let bodies move; None for motions in space."""
    known = [axes for axes in pins if axes is not None]
    rotations = [axis for axes in known for axis in axes[0]]
    if len(known) < len(pins) or not rotations:
        return None
    normal = rotations[0]
    parallel = all(np.linalg.norm(np.cross(axis, normal)) < _PARALLEL for axis in rotations)
    across = all(abs(axis @ normal) < _PARALLEL for axes in known for axis in axes[1])
    return normal if parallel and across else None


def frames_of_wrenches(caller: str, robot: Any, wrenches: Any, expressed_in: Any) -> dict[str, str]:
    """Return the frames on which wrenches act, each with the frame of its axes.  Raises TypeError and ValueError."""
    if not isinstance(wrenches, Mapping):
        example = '{"tool": (0, 0, 0, 0, 0, -100)}, moment first [N·m, N]'
        raise TypeError(f"{caller}: wrenches: expected a dict by frame, as in {example}, got {shown(wrenches)}")
    axes = expressed_in if isinstance(expressed_in, Mapping) else dict.fromkeys(wrenches, expressed_in)
    for name in axes:
        if name not in wrenches:
            raise UnknownNameError("wrench", name, wrenches, where=f"{caller}: expressed_in")
    frames = {name: axes.get(name, "world") for name in wrenches}
    try:
        read_request(robot._subject, ("inverse_dynamics", {"wrenches": frames}))
    except UnknownNameError as error:
        raise error.at(f"{caller}: wrenches") from None
    return frames


def read_wrenches(caller: str, name: str, wrench: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the wrenches on a frame in all states.  Raises ValueError."""
    try:
        result = np.broadcast_to(floats(wrench), shape)
        if not np.isfinite(result).all():
            raise ValueError(name)
    except (TypeError, ValueError):
        expected = f"finite numbers (moment [N·m]; force [N]) of shape (6,), or that broadcast to {shape}"
        raise ValueError(f"{caller}: wrenches: {name!r}: expected {expected}, got {shown(wrench)}") from None
    return result


add_foreign_names(Reactions, "mechanisms.Reactions")
