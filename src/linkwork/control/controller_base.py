"""What all controllers of robots have in common: how they are called, what they take, and who exerts their forces."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import floats
from linkwork.control.algorithms.pid_integrator import bounded
from linkwork.control.linear_quadratic.arguments import acting_places
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array, is_traced, scalars
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.numeric_call import called_on_numbers
from linkwork.spatial.arguments import is_rigid

__all__ = ["ControlLaw", "accelerated", "from_zero", "inertia_matrix", "positive_number"]

Scalars = Sequence[Any]
Shapes = Mapping[str, tuple[int, ...]]


class ControlLaw(ABC):
    """A controller: a function τ(t, q, v, what is aimed at by name), of symbols or of numbers.

    So it goes into `Robot.simulate`, `linkwork.Simulator` and `linkwork.compile` as it is; with numbers (..., n) it
    runs a kernel of its own, a batch too.  One that carries numbers from step to step has a ``start``, takes what it
    carries after v, and gives it with the forces.

    A kind states what it ``takes`` and which of that it ``needs``, and gives ``forces``.
    """

    start: np.ndarray | None = None

    def __init__(self, robot: Any, actuators: str | Iterable[str] | None, limits: Any) -> None:
        self.caller = type(self).__name__
        self.acting = acting_places(self.caller, robot, actuators)
        self.robot = robot
        self.limits = self._read_limits(limits)
        self._kernels: dict[Any, Kernel] = {}

    # -- what a kind states

    @property
    @abstractmethod
    def takes(self) -> Shapes:
        """The shapes of what it may be given, by name."""

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """What of that it must be given."""

    @property
    def poses(self) -> tuple[str, ...]:
        """What of that are poses."""
        return ()

    @abstractmethod
    def forces(self, t: Any, q: Any, v: Any, z: Any, given: Mapping[str, Any]) -> tuple[Any, Any]:
        """Forces of all joints before limits (nv), and what it carries further: arrays of symbols."""

    # -- how it is called

    @public
    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **given: Any) -> Any:
        """τ (nv), of one that carries something (τ, z).

        t () [s], q (nq), v (nv), z as ``start`` is, and by name what it ``takes``.  Raises UnknownNameError for other
        names, TypeError where something is missing, ValueError for another shape.
        """
        if len(carried) != (self.start is not None):
            expected = "t, q, v and what it carries" if self.start is not None else "t, q and v, nothing carried"
            raise TypeError(f"{self.caller}: carried: expected {expected}, got {3 + len(carried)} arguments")
        shapes = self._looked_at(given)
        named = {"q": q, "v": v, **({"z": carried[0]} if carried else {}), **given}
        if not is_traced([t, *named.values()]):
            return self._by_kernel(shapes, t, named)
        sizes = {"q": (self.robot.nq,), "v": (self.robot.nv,), **shapes}
        if self.start is not None:
            sizes["z"] = self.start.shape
        read = {name: self._of_shape(name, x, sizes[name]) for name, x in named.items()}
        q, v, z = read.pop("q"), read.pop("v"), read.pop("z", None)
        return self._told(t, q, v, z, read)

    def _told(self, t: Any, q: Any, v: Any, z: Any, given: Mapping[str, Any]) -> Any:
        tau, after = self.forces(t, q, v, z, given)
        tau = array(bounded(self.exerted(tau), [*self.limits]))
        return tau if self.start is None else (tau, after)

    def _by_kernel(self, shapes: Shapes, t: Any, named: Mapping[str, Any]) -> Any:
        kernel = self._kernels.get(tuple(shapes))
        if kernel is None:
            sizes = {"t": (), "q": (self.robot.nq,), "v": (self.robot.nv,)}
            if self.start is not None:
                sizes["z"] = self.start.shape

            def control(**symbols: Any) -> Any:
                t, q, v, z = (symbols.pop(name, None) for name in ("t", "q", "v", "z"))
                return self._told(t, q, v, z, symbols)

            kernel = self._kernels[tuple(shapes)] = compile(control, name=self.caller, **sizes, **shapes)
        return called_on_numbers(self.caller, kernel, {"t": t, **named})

    def _looked_at(self, given: Mapping[str, Any]) -> Shapes:
        """The shapes of what is given."""
        takes = self.takes
        for name in given:
            if name not in takes:
                raise UnknownNameError(f"input of {self.caller}", name, takes)
        missing = [name for name in self.needs if name not in given]
        if missing:
            said = ", ".join(f"{name} {takes[name]}" for name in missing)
            raise TypeError(
                f"{self.caller}: expected {said} too, got {', '.join(given) or 'nothing'} besides the state"
            )
        for name, x in given.items():
            shape, found = takes[name], np.shape(x)
            if len(found) < len(shape) or found[len(found) - len(shape) :] != shape:
                raise ValueError(f"{self.caller}: {name}: expected the shape {shape}, got {found}")
            self.check_input(name, x)
        return {name: takes[name] for name in takes if name in given}

    def check_input(self, name: str, given: Any) -> None:
        """Raises ValueError for matrices that are to be poses and are none; of what is no number nothing is said."""
        if name not in self.poses or is_traced(given):
            return
        X = floats(given)
        known = X[np.isfinite(X).all(axis=(-1, -2))]
        if not is_rigid(known):
            raise ValueError(
                f"{self.caller}: {name}: expected a pose, a matrix with a rotation and the last row 0 0 0 1, got\n{X}; "
                "linkwork.pose makes them"
            )

    def _of_shape(self, name: str, given: Any, shape: tuple[int, ...]) -> Any:
        found = scalars(given)
        if found.shape != shape:
            raise ValueError(f"{self.caller}: {name}: expected the shape {shape}, got {found.shape}")
        return array(found)

    # -- who exerts forces

    def exerted(self, tau: Any) -> list[Any]:
        """τ (nv), zero where nothing acts."""
        places = set(self.acting.tolist())
        return [x if k in places else 0.0 for k, x in enumerate(tau)]

    @property
    def is_driven(self) -> bool:
        """Whether every velocity has a force of its own."""
        return len(self.acting) == int(self.robot.nv)

    @property
    def actuator_names(self) -> list[str]:
        """The numbers of v that forces are exerted on."""
        return [self.robot.v_names[k] for k in self.acting]

    def gains(self, name: str, given: Any) -> np.ndarray:
        """Numbers (nv) of one for all, one by actuated velocity, or a dict by joint; 0 where nothing acts."""
        found, m = np.zeros(self.robot.nv), len(self.acting)
        expected = f"{self.caller}: {name}: expected a number from 0, ({m},) of actuated velocities, or a dict by joint"
        if isinstance(given, Mapping):
            left = set(self.acting.tolist())
            for joint, value in given.items():
                places = self.robot.v_index([joint])
                if set(places.tolist()) - left:
                    raise ValueError(f"{self.caller}: {name}: {joint!r} is no actuator, or there twice")
                left -= set(places.tolist())
                found[places] = real_array(expected, value)
            if left:
                raise ValueError(f"{expected}; nothing is said of {self.robot.v_names[min(left)]!r}")
        else:
            array = np.asarray(real_array(expected, given), dtype=float)
            if array.shape not in ((), (m,)):
                raise ValueError(f"{expected}; got shape {array.shape}")
            found[self.acting] = array
        wrong = ~((found >= 0.0) & (found < np.inf))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(f"{expected}; got {found[k]:g} of {self.robot.v_names[k]!r}")
        return found

    def _read_limits(self, given: Any) -> np.ndarray:
        """|τ| (nv) at most: the robot's own if nothing is said."""
        if given is None:
            return np.asarray(self.robot.effort_limits)
        m = len(self.acting)
        expected = (
            f"{self.caller}: effort_limits: expected a force above 0, or ({m},) of actuated velocities; inf is none"
        )
        array = np.asarray(real_array(expected, given), dtype=float)
        if array.shape not in ((), (m,)) or not (array > 0.0).all():
            raise ValueError(f"{expected}; got {given!r}")
        found = np.full(self.robot.nv, np.inf)
        found[self.acting] = array
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kernels": {}}

    def __repr__(self) -> str:
        needs = set(self.needs)
        takes = ", ".join(name if name in needs else f"[{name}]" for name in self.takes)
        return f"<{self.caller} of {self.robot.name!r}: {takes or 'no inputs'}>"


def from_zero(caller: str, name: str, given: Any, shapes: Sequence[tuple[int, ...]], unit: str) -> np.ndarray:
    """Finite numbers that are not negative, of one of these shapes."""
    expected = f"{caller}: {name}: expected numbers from 0 [{unit}], of the shape {' or '.join(map(str, shapes))}"
    found = np.asarray(real_array(expected, given), dtype=float)
    if found.shape not in shapes or not ((found >= 0.0) & (found < np.inf)).all():
        raise ValueError(f"{expected}; got {given!r}")
    return found


def positive_number(caller: str, name: str, given: Any, unit: str) -> float:
    """A finite number above zero."""
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0.0 < given < math.inf:
        raise ValueError(f"{caller}: {name}: expected a number above 0 [{unit}], got {given!r}")
    return float(given)


def inertia_matrix(caller: str, given: Any, size: int, unit: str) -> np.ndarray:
    """A matrix (size, size) that is symmetric and positive definite."""
    expected = f"{caller}: inertia: expected a symmetric, positive definite matrix ({size}, {size}) [{unit}]"
    found = np.array(real_array(expected, given), dtype=float)
    if found.shape != (size, size) or not np.isfinite(found).all():
        what = f"shape {found.shape}" if found.shape != (size, size) else "numbers that are not finite"
        raise ValueError(f"{expected}; got {what}")
    if not np.allclose(found, found.T, rtol=1e-9, atol=1e-12 * np.abs(found).max()):
        raise ValueError(f"{expected}; got one that is not symmetric, by {np.abs(found - found.T).max():g}")
    least = float(np.linalg.eigvalsh(found)[0])
    if not least > 0.0:
        raise ValueError(f"{expected}; got one with the eigenvalue {least:g}")
    return found


def accelerated(inertia: np.ndarray, forces: Scalars) -> list[Any]:
    """What forces (n) accelerate an inertia by: (n) of a diagonal, or a matrix (n, n)."""
    if inertia.ndim == 1:
        return [f / m for f, m in zip(forces, inertia, strict=True)]
    return [dot([float(x) for x in row], forces) for row in np.linalg.inv(inertia)]
