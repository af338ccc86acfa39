"""A joint that is tried, the states that it is tried in, and how far two results are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.contract_report import Requirement
from linkwork.joints import JointType
from linkwork.parts.joint.joint import Joint
from linkwork.spatial import Pose

__all__ = ["DIFFERENCES", "TOLERANCE", "Bare", "Line", "Trial", "flat", "matrix", "moved"]

TOLERANCE = 1e-8  # of identities between closed forms, relative to the size of what is compared
DIFFERENCES = 1e-5  # of those whose reference is a difference quotient
_SINGULAR = 1e-2  # of a type's `regularity`, beside the most that it is in any of the states


class Trial:
    """A joint and the states that it is tried in."""

    def __init__(self, joint: Joint, samples: int, rng: np.random.Generator) -> None:
        self.joint, self.type, self.samples = joint, joint.type, samples
        self.seed = int(rng.integers(2**32))

    def of(self, other: JointType) -> Trial:
        """The trial of another type with numbers of the same meaning, in the same states."""
        trial = Trial(Joint.of(other, name=self.joint.name), self.samples, np.random.default_rng(0))
        trial.seed = self.seed
        return trial

    def states(self, samples: int | None = None) -> list[tuple[list[float], list[float]]]:
        """Configurations, the first of them zero, and velocities; the same each time.

        Those are left out of which the type says that its coordinates are singular there, or nearly so.
        """
        rng = np.random.default_rng(self.seed)
        drawn = self.joint.random_configuration(rng, size=self.samples if samples is None else samples).tolist()
        q = [[float(x) for x in self.type.zero()], *drawn]
        v = rng.normal(size=(len(q), self.type.nv)).tolist()
        regular = [float(self.type.regularity(x)) for x in q]
        return [(x, w) for x, w, here in zip(q, v, regular, strict=True) if here > _SINGULAR * max(regular)]


@dataclass(frozen=True, slots=True)
class Line(Requirement[Trial]):
    """A requirement of the contract of a joint type."""

    holds: tuple[str, ...] = ()  # names of `JointType` that the requirement is about; its own name if empty


@dataclass(frozen=True)
class Bare(JointType):
    """A joint's transform and manifold, and nothing else: all that the contract derives is derived."""

    joint: JointType

    def __post_init__(self) -> None:
        names = "nq", "nv", "q_units", "v_units", "unit_length"
        self._set_attributes(**{name: getattr(self.joint, name) for name in names})

    def X(self, q: Sequence[Any]) -> Pose:
        return self.joint.X(q)

    def q_dot(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        return self.joint.q_dot(q, v)

    def velocity_from_rate(self, q: Sequence[Any], q_dot: Sequence[Any]) -> list[Any]:
        return self.joint.velocity_from_rate(q, q_dot)

    def integrate(self, q: Sequence[Any], phi: Sequence[Any]) -> list[Any]:
        return self.joint.integrate(q, phi)

    def difference(self, q: Sequence[Any], other: Sequence[Any]) -> list[Any]:
        return self.joint.difference(q, other)

    def zero(self) -> list[float]:
        return self.joint.zero()

    def normalize(self, q: Sequence[Any]) -> list[Any]:
        return self.joint.normalize(q)


def flat(columns: Any) -> list[Any]:
    """The numbers of motions or wrenches, one after the other."""
    return [x for column in columns for x in column.elements()]


def matrix(numbers: Sequence[Any], rows: int = 4) -> np.ndarray:
    """Numbers, row by row, as a matrix of floats."""
    return np.array([float(x) for x in numbers], dtype=float).reshape(rows, -1)


def moved(joint: JointType, q: Sequence[float], v: Sequence[float]) -> list[float]:
    """The configuration that local coordinates lead to, as floats."""
    return [float(x) for x in joint.integrate(q, list(v))]
