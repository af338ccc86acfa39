"""Contract of a force element, over any scalar: a force law between two bodies of a robot.

An element acts between a frame B and a frame A.  It depends on the pose X_AB and the twist V of B relative to A, in B's
coordinates at B's origin.  The wrench of its springs on B, in the same coordinates, is minus the gradient of its
energy.  The power of its dampers is never positive.  The opposite wrench acts on A.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, Self

from linkwork.constraints.constraint import NO_NAMES, References, renamed_fields, renames
from linkwork.spatial import Force, Motion, Pose

__all__ = ["ForceElement", "Marks", "Resistance"]


class Marks(Protocol):
    """Points of a robot by name; the name of a frame stands for its origin."""

    def point(self, name: str) -> Any:
        """Return the point with this name: its ``frame``, and its ``position`` in the frame."""


class Resistance(NamedTuple):
    """Direction in which a force element resists motion of its frame B relative to its frame A.

    Its ``wrench`` w acts on B, at B's origin in B's axes. If B moves relative to A with the twist V, the spring's
    wrench changes at the rate −k w (w · V), with the ``stiffness`` k. The damper exerts −c w (w · V), with the
    ``damping`` c.
    """

    wrench: Force
    stiffness: Any
    damping: Any


class ForceElement(ABC):
    """Base class of force elements: springs, dampers and other force laws between two frames B and A of a robot.

    A force element is an immutable value with a unique name.
    """

    name: str

    @property
    @abstractmethod
    def references(self) -> References:
        """Frames and points that the element names."""

    @abstractmethod
    def ends(self, marks: Marks) -> tuple[str, str]:
        """Return the names of the frames B and A between which the element acts.

        ``marks`` are the robot's points by name.
        """

    @abstractmethod
    def energy(self, marks: Marks, X: Pose) -> Any:
        """Return the energy of the element's springs [J] at the pose X of the frame B in the frame A.

        ``marks`` are the robot's points by name.
        """

    @abstractmethod
    def spring_wrench(self, marks: Marks, X: Pose) -> Force:
        """Return the wrench that the element's springs exert on the frame B, at B's origin in B's axes.

        ``marks`` are the robot's points by name. X is the pose of B in the frame A; `ends` has both frames.
        """

    @abstractmethod
    def damper_wrench(self, marks: Marks, X: Pose, V: Motion) -> Force:
        """Return the wrench that the element's dampers exert on the frame B, at B's origin in B's axes.

        ``marks`` are the robot's points by name. X is the pose and V the twist of B relative to the frame A; `ends` has
        both frames.
        """

    def resistances(self, marks: Marks, X: Pose) -> Sequence[Resistance]:
        """Return the directions in which the element resists motion, each with its stiffness and its damping.

        ``marks`` are the robot's points by name. X is the pose of the frame B in the frame A. None has a negative
        stiffness or damping. Simulations treat dampers, and springs that are too stiff for the time step, implicitly
        along these directions. By default there are none.
        """
        return ()

    def checked(self, robot: Any) -> Iterable[str]:
        """Yield messages about faults of the element on this robot, except for unknown names."""
        B, A = self.ends(robot)
        body_B, body_A = robot.frame(B).body, robot.frame(A).body
        if body_B == body_A:
            description = "are fixed to the world" if body_B < 0 else f"are of one body, {robot.bodies[body_B].name!r}"
            yield f"its ends {description}, so they do not move relative to each other"

    def with_names(self, names: Mapping[str, str]) -> Self:
        """Return the element with frames, points and axes renamed: ``names`` has the new name for each old one."""
        return replace(self, **renamed_fields(self, renames(self.references, names, NO_NAMES)))  # type: ignore[type-var]
