"""Base class of controllers: how they are called, their inputs, and their actuators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.messages import refuse_motion
from linkwork._util.validation import floats
from linkwork.control.algorithms.allowed_motions import AllowedMotions
from linkwork.control.algorithms.pid_integrator import bounded
from linkwork.control.linear_quadratic.arguments import actuated_indices, actuated_joints
from linkwork.dynamics.algorithms.passive_joint_forces import resisting_force
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array, is_traced, scalars
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.numeric_call import checked_call
from linkwork.kernels.robot_arguments import by_joint
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import required_forces
from linkwork.mechanisms.algorithms.loop_joint_functions import with_loop_forces
from linkwork.model.friction_laws import DEFAULT
from linkwork.model.loop_joints import loops_of
from linkwork.spatial.arguments import is_rigid

__all__ = ["ControlLaw", "acceleration_of_inertia", "inertia_matrix", "read_nonnegative"]

_SAMPLES = 8  # configurations in which the motions that actuators leave free are counted
_DEPENDENT = 1e-9  # singular value, relative to the largest, below which rows count as dependent

Scalars = Sequence[Any]
Shapes = Mapping[str, tuple[int, ...]]


class ControlLaw(ABC):
    """Base class of controllers: a function τ(t, q, v, inputs by name) of symbols or arrays.

    Called with symbols, a controller becomes part of a kernel, in `Robot.simulate`, `linkwork.Simulator` and
    `linkwork.compile`.  Called with arrays (...), it runs its own kernel.  A controller with a state z, such as an
    integral, has ``start``, accepts z after v, and returns (τ, z).

    A controller implements `input_shapes`, `required_inputs` and `forces`, over any scalar; see "Add a controller" in
    the documentation.  `linkwork.control.check_controller` checks it.
    """

    start: np.ndarray | None = None  # z at the start of a simulation; None for a controller without state

    def __init__(self, robot: Any, actuators: str | Iterable[str] | None, limits: Any) -> None:
        """Set the robot, its actuated joints and its limits.

        ``actuators`` names the actuated joints; None means all except those of six degrees of freedom.  ``limits`` are
        the largest forces: a number, (m,) for the actuated velocities, or a dict by joint.  None means the robot's
        limits, which also apply to joints that a dict leaves out.
        """
        self.caller = type(self).__name__
        self.acting = actuated_indices(self.caller, robot, actuators)
        self.robot = robot
        self.effort_limits = self._read_limits(limits)
        self._kernels: dict[Any, Kernel] = {}

    # -- what a controller implements

    @property
    @abstractmethod
    def input_shapes(self) -> Shapes:
        """Shapes of all inputs, by name."""

    @property
    @abstractmethod
    def required_inputs(self) -> tuple[str, ...]:
        """Names of the inputs that every call needs."""

    @property
    def pose_inputs(self) -> tuple[str, ...]:
        """Names of the inputs that are poses, matrices (4, 4)."""
        return ()

    @abstractmethod
    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the joint forces (nv) before limits, and the controller's next state z, or None.

        All arguments are symbols: the time t () [s], q (nq), v (nv), the controller's state z of the shape of
        ``start``, and the inputs that the call passes.
        """

    # -- how it is called

    @public
    def __call__(self, t: Any, q: Any, v: Any, *state: Any, **inputs: Any) -> Any:
        """Return joint forces τ (..., nv) within limits; (τ, z) for a controller with state.

        Arguments are t () [s], q (..., nq), v (..., nv), z as ``start``, and inputs by name, as in ``input_shapes``.
        Raises UnknownNameError for other names, TypeError if a required input is missing, ValueError for a wrong shape.
        """
        if len(state) != (self.start is not None):
            expected = (
                "t, q, v and the state z" if self.start is not None else "t, q and v: the controller has no state"
            )
            raise TypeError(f"{self.caller}: expected {expected}, got {3 + len(state)} positional arguments")
        shapes = self._read_inputs(inputs)
        named = {"q": q, "v": v, **({"z": state[0]} if state else {}), **inputs}
        if not is_traced([t, *named.values()]):
            return self._call_kernel(shapes, t, named)
        sizes = {"q": (self.robot.nq,), "v": (self.robot.nv,), **shapes}
        if self.start is not None:
            sizes["z"] = self.start.shape
        read = {name: self._symbols_of_shape(name, x, sizes[name]) for name, x in named.items()}
        q, v, z = read.pop("q"), read.pop("v"), read.pop("z", None)
        return self._outputs(t, q, v, z, read)

    def _outputs(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> Any:
        tau, after = self.forces(t, q, v, z, inputs)
        tau = array(bounded(self.apply_actuation(tau), [*self.effort_limits]))
        return tau if self.start is None else (tau, after)

    def _call_kernel(self, shapes: Shapes, t: Any, named: Mapping[str, Any]) -> Any:
        kernel = self._kernels.get(tuple(shapes))
        if kernel is None:
            sizes = {"t": (), "q": (self.robot.nq,), "v": (self.robot.nv,)}
            if self.start is not None:
                sizes["z"] = self.start.shape

            def control(**symbols: Any) -> Any:
                t, q, v, z = (symbols.pop(name, None) for name in ("t", "q", "v", "z"))
                return self._outputs(t, q, v, z, symbols)

            kernel = self._kernels[tuple(shapes)] = compile(control, name=self.caller, **sizes, **shapes)
        return checked_call(self.caller, kernel, {"t": t, **named})

    def _read_inputs(self, inputs: Mapping[str, Any]) -> Shapes:
        """Return the shapes of the inputs of a call.  Raises UnknownNameError, TypeError and ValueError."""
        known = self.input_shapes
        for name in inputs:
            if name not in known:
                is_motion = f"{name}_q" in known  # by which a trajectory in time_inputs is called
                remedy = f"use {name}_q for an array; a trajectory in time_inputs is called {name}" if is_motion else ""
                raise UnknownNameError(f"input of {self.caller}", name, known, remedy)
        missing = [name for name in self.required_inputs if name not in inputs]
        if missing:
            needed = ", ".join(f"{name} {known[name]}" for name in missing)
            raise TypeError(
                f"{self.caller}: missing inputs: expected {needed}, got {', '.join(inputs) or 'none'}; pass them "
                f"to the controller by name, or to simulate as constants={{{missing[0]!r}: ...}} or time_inputs=..."
            )
        for name, x in inputs.items():
            shape = known[name]
            if isinstance(x, Mapping):
                raise ValueError(f"{self.caller}: {name}: expected an array of shape {shape}, got a dict")
            refuse_motion(f"{self.caller}: {name}: expected an array of shape {shape}", x)
            result = np.shape(x)
            if len(result) < len(shape) or result[len(result) - len(shape) :] != shape:
                raise ValueError(f"{self.caller}: {name}: expected shape {shape}, got {result}")
            self.check_input(name, x)
        return {name: known[name] for name in known if name in inputs}

    def check_input(self, name: str, value: Any) -> None:
        """Raise ValueError if the ``value`` of the input ``name`` is an invalid pose.  Matrices with NaN pass."""
        if name not in self.pose_inputs or is_traced(value):
            return
        X = floats(value)
        known = X[np.isfinite(X).all(axis=(-1, -2))]
        if not is_rigid(known):
            raise ValueError(
                f"{self.caller}: {name}: expected poses, 4 x 4 matrices with a rotation and the last row 0 0 0 1, "
                f"got\n{X}; linkwork.pose creates them"
            )

    def _symbols_of_shape(self, name: str, value: Any, shape: tuple[int, ...]) -> Any:
        result = scalars(value)
        if result.shape != shape:
            raise ValueError(f"{self.caller}: {name}: expected shape {shape}, got {result.shape}")
        return array(result)

    # -- actuation

    def apply_actuation(self, tau: Any) -> list[Any]:
        """Return a copy of ``tau`` (nv), with zeros for velocities that are not actuated.

        ``tau`` are joint forces, or other quantities by velocity.
        """
        acting = set(self.acting.tolist())
        return [x if k in acting else 0.0 for k, x in enumerate(tau)]

    @property
    def is_fully_actuated(self) -> bool:
        """True if every velocity is actuated."""
        return len(self.acting) == int(self.robot.nv)

    @cached_property
    def _left_free(self) -> list[int]:
        """Indices of velocities that constraints and actuated joints do not determine, such as a bicycle's lean."""
        robot, left = self.robot, []
        for q in robot.random_configuration(seed=0, size=_SAMPLES):
            G = np.asarray(robot.constraint_jacobian(q, **self._timed(0.0))).reshape(-1, robot.nv)
            _, sizes, rows = np.linalg.svd(G)
            free = rows[int(np.sum(sizes > _DEPENDENT * sizes.max(initial=0.0))) :]
            shares, determined, _ = np.linalg.svd(free[:, self.acting])
            moved = shares[:, int(np.sum(determined > _DEPENDENT)) :].T @ free
            left.append(np.flatnonzero(np.abs(moved).max(axis=0, initial=0.0) > _DEPENDENT).tolist())
        return min(left, key=len)

    @property
    def actuator_names(self) -> list[str]:
        """Names of the actuated joints."""
        return actuated_joints(self.caller, self.robot, self.acting)

    def _allowed(self, t: Any, q: Any, v: Any, armature: bool) -> AllowedMotions | None:
        """Return the motions that a robot's constraints permit in a state; None for a robot without constraints.

        With ``armature``, the mass matrix includes the armature of joints.
        """
        if not self.robot.constraints:
            return None
        time = t if self._timed(t) else 0.0
        return AllowedMotions.at(self.robot.tree, list(q), list(v), time, self.actuator_names, armature)

    @property
    def _passive(self) -> bool:
        """The controller's option ``passive``: True if springs, damping, friction and armature of joints are included.

        False for controllers without this option.
        """
        return bool(getattr(self, "passive", False))

    @cached_property
    def _has_resisting_loops(self) -> bool:
        """True if passive forces count, and a joint that closes a loop has passive forces."""
        return self._passive and any(loop.resists for loop in loops_of(self.robot.tree))

    def _required_forces(self, q: Any, v: Any, a: Any, friction: Any = DEFAULT.name) -> list[Any]:
        """Return the joint forces M a + h (nv) for accelerations a; with ``passive`` they also overcome passive forces.

        Passive forces are those of joints in the tree and of loop joints.
        """
        robot, passive = self.robot, self._passive
        if not self._has_resisting_loops:
            return list(robot.inverse_dynamics(q, v, array(list(a)), passive=passive, friction=friction))
        return required_forces(robot.tree, list(q), list(v), list(a), (), passive, friction=friction)

    def _resisting_force(self, q: Any, v: Any, friction: Any = DEFAULT.name) -> list[Any]:
        """Return the forces (nv) of damping and friction, if these count, of joints in the tree and in loops."""
        tree, zeros = self.robot.tree, [0.0] * self.robot.nv
        result = resisting_force(tree, list(v), friction) if self._passive else zeros
        if not self._has_resisting_loops:
            return result
        moving, springs = (with_loop_forces(tree, list(q), list(x), zeros, None, True, friction) for x in (v, zeros))
        return [x + y - z for x, y, z in zip(result, moving, springs, strict=True)]

    def _timed(self, t: Any) -> dict[str, Any]:
        """Return the argument ``time`` for functions of a robot with time-dependent constraints; {} otherwise."""
        return {"time": t} if any(c.time_dependent for c in self.robot.constraints) else {}

    def read_gains(self, name: str, value: Any) -> np.ndarray:
        """Return gains (nv) from a number, an array (m,) by actuated velocity, or a dict by joint; 0 if not actuated.

        ``value`` is the argument ``name`` of the constructor, for messages.

        Raises ValueError for negative and non-finite gains, and for joints that are missing or not actuated.
        """
        result, m = np.zeros(self.robot.nv), len(self.acting)
        expected = f"{self.caller}: {name}: expected a number >= 0, ({m},) by actuated velocity, or a dict by joint"
        if isinstance(value, Mapping):
            left = set(self.acting.tolist())
            for joint, gain in value.items():
                indices = self.robot.v_index([joint])
                if set(indices.tolist()) - left:
                    raise ValueError(f"{self.caller}: {name}: {joint!r} is not an actuator, or is listed twice")
                left -= set(indices.tolist())
                result[indices] = real_array(expected, gain)
            if left:
                raise ValueError(f"{expected}; got no value for {self.robot.v_names[min(left)]!r}")
        else:
            array = np.asarray(real_array(expected, value), dtype=float)
            if array.shape not in ((), (m,)):
                raise ValueError(f"{expected}; got shape {array.shape}")
            result[self.acting] = array
        wrong = ~((result >= 0.0) & (result < np.inf))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(f"{expected}; got {result[k]:g} for {self.robot.v_names[k]!r}")
        return result

    def _read_limits(self, value: Any) -> np.ndarray:
        """Return the largest |τ| (nv); the robot's limits for None, and for joints that a dict leaves out."""
        if value is None:
            return np.asarray(self.robot.effort_limits)
        m = len(self.acting)
        expected = (
            f"{self.caller}: effort_limits: expected a positive number [N·m, N], ({m},) by actuated velocity, or "
        )
        expected += "a dict by joint"
        if isinstance(value, Mapping):
            limits, tree = self.robot.effort_limits, self.robot.tree
            result = by_joint(
                self.caller, "effort_limits", tree, value, default=limits, above=0.0, unit="N·m, N", infinite=True
            )
            for joint in value:
                if not np.isin(self.robot.v_index([joint]), self.acting).all():
                    raise ValueError(f"{self.caller}: effort_limits: {joint!r} is not an actuator")
            return result
        array = np.asarray(real_array(expected, value), dtype=float)
        if array.shape not in ((), (m,)) or not (array > 0.0).all():
            raise ValueError(f"{expected}; got {value!r}")
        result = np.full(self.robot.nv, np.inf)
        result[self.acting] = array
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kernels": {}}

    def __repr__(self) -> str:
        needs = set(self.required_inputs)
        takes = ", ".join(name if name in needs else f"[{name}]" for name in self.input_shapes)
        return f"<{self.caller} of {self.robot.name!r}: {takes or 'no inputs'}>"


def read_nonnegative(caller: str, name: str, value: Any, shapes: Sequence[tuple[int, ...]], unit: str) -> np.ndarray:
    """Return an array of finite numbers >= 0 with one of the ``shapes``.  Raises ValueError."""
    expected = f"{caller}: {name}: expected numbers >= 0 [{unit}] of shape {' or '.join(map(str, shapes))}"
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.shape not in shapes or not ((result >= 0.0) & (result < np.inf)).all():
        raise ValueError(f"{expected}; got {value!r}")
    return result


def inertia_matrix(caller: str, value: Any, size: int, unit: str) -> np.ndarray:
    """Return a symmetric, positive definite matrix (size, size).  Raises ValueError."""
    expected = f"{caller}: inertia: expected a symmetric, positive definite matrix ({size}, {size}) [{unit}]"
    result = np.array(real_array(expected, value), dtype=float)
    if result.shape != (size, size) or not np.isfinite(result).all():
        problem = f"shape {result.shape}" if result.shape != (size, size) else "values that are not finite"
        raise ValueError(f"{expected}; got {problem}")
    if not np.allclose(result, result.T, rtol=1e-9, atol=1e-12 * np.abs(result).max()):
        raise ValueError(f"{expected}; got an asymmetry of {np.abs(result - result.T).max():g}")
    smallest = float(np.linalg.eigvalsh(result)[0])
    if not smallest > 0.0:
        raise ValueError(f"{expected}; got a matrix with the eigenvalue {smallest:g}")
    return result


def acceleration_of_inertia(inertia: np.ndarray, forces: Scalars) -> list[Any]:
    """Return the accelerations (n) of an inertia, a diagonal (n) or a matrix (n, n), under forces (n)."""
    if inertia.ndim == 1:
        return [f / m for f, m in zip(forces, inertia, strict=True)]
    return [dot([float(x) for x in row], forces) for row in np.linalg.inv(inertia)]
