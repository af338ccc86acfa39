"""Named configurations as data: values of joints and actuators by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

__all__ = ["NamedState"]

ByJoint = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class NamedState:
    """A named configuration, optionally with velocity and controls.

    Joints and actuators that are not listed are at their zero.
    """

    name: str
    q: ByJoint  # by joint, nq values each
    v: ByJoint | None = None  # by joint, nv values each; None for no velocity
    controls: tuple[tuple[str, float], ...] | None = None  # by actuator; None for no controls

    def without(self, *, joints: Collection[str] = (), controls: Collection[str] = ()) -> NamedState:
        """Return the state without the listed joints and without the controls of the listed actuators."""
        controls_left = self.controls and tuple(pair for pair in self.controls if pair[0] not in controls)
        return replace(self, q=_without(self.q, joints), v=self.v and _without(self.v, joints), controls=controls_left)

    def with_joint(self, name: str, q: Sequence[float], v: Sequence[float]) -> NamedState:
        """Return the state with the configuration q of one joint and, if the state has velocities, its velocity v."""
        stated = None if self.v is None else _with(self.v, name, v)
        return replace(self, q=_with(self.q, name, q), v=stated)


def _without(pairs: ByJoint, names: Collection[str]) -> ByJoint:
    return tuple(pair for pair in pairs if pair[0] not in names)


def _with(pairs: ByJoint, name: str, values: Sequence[float]) -> ByJoint:
    result: Mapping[str, tuple[float, ...]] = {**dict(pairs), name: tuple(values)}
    return tuple(result.items())
