"""A bushing: springs and dampers in all six directions between two frames."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import name_or
from linkwork.constraints.constraint import References
from linkwork.force_elements.force_element import ForceElement, Marks, Resistance
from linkwork.joints import Floating
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.spatial import Force, Motion, Pose, Vec3
from linkwork.spatial.arguments import LARGEST, checked_array

__all__ = ["Bushing"]

_JOINT = Floating()


@public_constructor
@dataclass(frozen=True)
class Bushing(ForceElement):
    """Springs and dampers between a frame M and a frame F, along three axes and about three axes.

        U = ½ φᵀ K_r φ + ½ pᵀ K_t p.

    φ is the rotation vector and p the position of M relative to its pose of rest. ``stiffness`` K and ``damping`` D
    are diagonal, (6,), rotations first [N·m/rad, N/m; N·m·s/rad, N·s/m]; a number stands for all six. Dampers exert
    the moment −D_r ω in M's axes and the force −D_t ṗ in the axes of the rest frame. ``rest`` (4, 4) is M's pose in F
    at which the springs exert nothing; by default M and F then coincide. With stiffness about one axis alone, the
    bushing is a torsion spring. Rotations from rest stay below half a turn.

    M is the frame named ``frame``, and F the frame named ``relative_to``.

    >>> import linkwork as lw
    >>> lw.force_elements.Bushing("engine", "chassis", stiffness=(0, 0, 0, 2e5, 2e5, 4e5), damping=100.0).name
    'bushing(engine, chassis)'
    """

    frame: str  # M
    relative_to: str  # F
    _: KW_ONLY
    stiffness: float | tuple[float, ...] = (0.0,) * 6
    damping: float | tuple[float, ...] = (0.0,) * 6
    rest: Pose | None = None
    name: str = ""

    if TYPE_CHECKING:  # numbers and arrays are accepted

        def __init__(
            self,
            frame: str,
            relative_to: str,
            *,
            stiffness: Any = ...,
            damping: Any = ...,
            rest: Any = ...,
            name: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        for parameter in ("stiffness", "damping"):
            expected = f"Bushing: {parameter}: expected a number >= 0 of at most {LARGEST:.0e}, or 6 of them"
            values = checked_array(getattr(self, parameter), expected, (), (6,))
            if not (np.min(values) >= 0.0 and np.max(values) <= LARGEST):
                raise ValueError(f"{expected}, got {getattr(self, parameter)!r}")
            object.__setattr__(self, parameter, tuple(map(float, np.broadcast_to(values, 6))))
        if self.rest is not None and not isinstance(self.rest, Pose):
            X = checked_array(self.rest, "Bushing: rest: expected a pose (4, 4)", (4, 4))
            R = X[:3, :3]
            if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or not np.linalg.det(R) > 0.0:
                raise ValueError(f"Bushing: rest: expected a pose (4, 4), got {self.rest!r}")
            object.__setattr__(self, "rest", Pose.of(X.tolist()))
        object.__setattr__(self, "name", name_or(self.name, f"bushing({self.frame}, {self.relative_to})"))

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.relative_to))

    def ends(self, marks: Marks) -> tuple[str, str]:
        return self.frame, self.relative_to

    def energy(self, marks: Marks, X: Pose) -> Any:
        X = self._from_rest(X)
        offsets = [*self._rotation(X)[1], *X.translation]
        return sum((x * x * (0.5 * k) for k, x in zip(self._stiffness, offsets, strict=True) if k), 0.0)

    def spring_wrench(self, marks: Marks, X: Pose) -> Force:
        X = self._from_rest(X)
        moment = [0.0, 0.0, 0.0]
        if any(self._stiffness[:3]):
            q, phi = self._rotation(X)
            pull = [-k * x for k, x in zip(self._stiffness, phi, strict=False)]
            for axis, unit in enumerate(unit_vectors(6)[:3]):
                rates = _JOINT.difference_rate(_JOINT.zero(), q, unit)  # φ̇ as M turns about one of its axes
                moment[axis] = sum((a * b for a, b in zip(rates, pull, strict=False)), 0.0)
        f = Vec3.of([-k * x if k else 0.0 for k, x in zip(self._stiffness[3:], X.translation, strict=True)])
        return Force(Vec3.of(moment), X.rotation.inv_act(f))

    def damper_wrench(self, marks: Marks, X: Pose, V: Motion) -> Force:
        R = self._from_rest(X).rotation
        moment = [-d * x if d else 0.0 for d, x in zip(self._damping, V.angular, strict=False)]
        f = [-d * x if d else 0.0 for d, x in zip(self._damping[3:], R @ V.linear, strict=True)]
        return Force(Vec3.of(moment), R.inv_act(Vec3.of(f)))

    def resistances(self, marks: Marks, X: Pose) -> list[Resistance]:
        """Return the directions of resistance: about the axes of M = ``frame``, and along those of the rest frame.

        Directions without stiffness and damping are left out. X is the pose of M in the frame F = ``relative_to``;
        ``marks`` are the robot's points by name. The stiffness of a rotation is that at rest, also elsewhere.
        """
        R, parameters = self._from_rest(X).rotation, [*zip(self._stiffness, self._damping, strict=True)]
        axes = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
        turning = [Resistance(Force(e, Vec3.zero()), *values) for e, values in zip(axes, parameters[:3], strict=True)]
        sliding = [
            Resistance(Force(Vec3.zero(), R.inv_act(e)), *values)
            for e, values in zip(axes, parameters[3:], strict=True)
        ]
        return [resistance for resistance in turning + sliding if resistance.stiffness or resistance.damping]

    @property
    def _stiffness(self) -> tuple[float, ...]:
        return cast(tuple[float, ...], self.stiffness)  # six values, from the constructor

    @property
    def _damping(self) -> tuple[float, ...]:
        return cast(tuple[float, ...], self.damping)

    def _from_rest(self, X: Pose) -> Pose:
        """Return M's pose relative to its pose of rest."""
        return X if self.rest is None else self.rest.inv() @ X

    def _rotation(self, X: Pose) -> tuple[list[Any], list[Any]]:
        """Return X's rotation as the configuration of a floating joint at the origin, and as rotation vector φ."""
        q = _JOINT.configuration_from_pose(Pose(X.rotation, Vec3.zero()))
        return q, _JOINT.difference(_JOINT.zero(), q)[:3]
