"""Joint under test, the states at which it is checked, and comparisons of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.contract_report import Requirement
from linkwork.joints import JointType
from linkwork.robot.joint.joint import Joint
from linkwork.spatial import Pose

__all__ = ["DIFFERENCES", "TOLERANCE", "Bare", "Line", "Trial", "flat", "matrix", "moved"]

TOLERANCE = 1e-8  # relative, of identities between closed forms
DIFFERENCES = 1e-5  # relative, of identities whose reference is a difference quotient
_SINGULAR = 1e-2  # minimum regularity of a state relative to the maximum over all states


class Trial:
    """Joint under test, with the states at which it is checked."""

    def __init__(self, joint: Joint, samples: int, rng: np.random.Generator) -> None:
        self.joint, self.type, self.samples = joint, joint.type, samples
        self.seed = int(rng.integers(2**32))

    def of(self, other: JointType) -> Trial:
        """Return a check of the joint type ``other``, which has the same coordinates, at the same states."""
        trial = Trial(Joint.of(other, name=self.joint.name), self.samples, np.random.default_rng(0))
        trial.seed = self.seed
        return trial

    def states(self, samples: int | None = None) -> list[tuple[list[float], list[float]]]:
        """Return pairs of a configuration q and a velocity v; each call returns the same pairs.

        The first configuration is zero. Configurations where the type's `regularity` is close to zero are excluded.
        """
        rng = np.random.default_rng(self.seed)
        drawn = self.joint.random_configuration(rng, size=self.samples if samples is None else samples).tolist()
        q = [[float(x) for x in self.type.zero()], *drawn]
        v = rng.normal(size=(len(q), self.type.nv)).tolist()
        regular = [float(self.type.regularity(x)) for x in q]
        return [(x, w) for x, w, regularity in zip(q, v, regular, strict=True) if regularity > _SINGULAR * max(regular)]


@dataclass(frozen=True, slots=True)
class Line(Requirement[Trial]):
    """Requirement of the contract of a joint type, a line of the report."""

    holds: tuple[str, ...] = ()  # names of `JointType` that the requirement checks; its own name if empty


@dataclass(frozen=True)
class Bare(JointType):
    """Reference joint type with the transform and the manifold of another type; all other methods are derived.

    The base class `JointType` derives them from the transform and the manifold, to check the other type's own methods.
    """

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
    """Return the elements of several 6-vectors (motions or wrenches) as one list."""
    return [x for column in columns for x in column.elements()]


def matrix(elements: Sequence[Any], rows: int = 4) -> np.ndarray:
    """Return a matrix of floats from its elements in row-major order."""
    return np.array([float(x) for x in elements], dtype=float).reshape(rows, -1)


def moved(joint: JointType, q: Sequence[float], v: Sequence[float]) -> list[float]:
    """Return the configuration with local coordinates v about q, as floats."""
    return [float(x) for x in joint.integrate(q, list(v))]
