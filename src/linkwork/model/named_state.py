"""Named configurations as data: numbers of joints and actuators by their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

__all__ = ["NamedState"]

ByJoint = tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class NamedState:
    """A configuration that has a name, and where it is stated its velocity and controls.

    Joints and actuators that it does not list are at their zero.
    """

    name: str
    q: ByJoint  # by joint, nq numbers each
    v: ByJoint | None = None  # by joint, nv numbers each; None where no velocity is stated
    controls: tuple[tuple[str, float], ...] | None = None  # by actuator; None where none are stated

    def without(self, *, joints: Collection[str] = (), controls: Collection[str] = ()) -> NamedState:
        """The state without some joints and some actuators' controls."""
        kept = self.controls and tuple(pair for pair in self.controls if pair[0] not in controls)
        return replace(self, q=_without(self.q, joints), v=self.v and _without(self.v, joints), controls=kept)

    def with_joint(self, name: str, q: Sequence[float], v: Sequence[float]) -> NamedState:
        """The state with other numbers of one joint; its velocity counts where one is stated."""
        stated = None if self.v is None else _with(self.v, name, v)
        return replace(self, q=_with(self.q, name, q), v=stated)


def _without(pairs: ByJoint, names: Collection[str]) -> ByJoint:
    return tuple(pair for pair in pairs if pair[0] not in names)


def _with(pairs: ByJoint, name: str, numbers: Sequence[float]) -> ByJoint:
    result: Mapping[str, tuple[float, ...]] = {**dict(pairs), name: tuple(numbers)}
    return tuple(result.items())
