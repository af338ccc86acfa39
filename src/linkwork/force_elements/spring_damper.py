"""A spring and a damper in parallel, between two points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import name_or, read_number
from linkwork.constraints.constraint import References
from linkwork.expr.scalar.functions import eq, fmax, sqrt, where
from linkwork.force_elements.force_element import ForceElement, Marks, Resistance
from linkwork.spatial import Force, Motion, Pose, Vec3

__all__ = ["SpringDamper"]


@public_constructor
@dataclass(frozen=True)
class SpringDamper(ForceElement):
    """Linear spring and linear damper between two points, or origins of frames, at a distance l.

        f = −k (l − l₀) − c l̇,      U = ½ k (l − l₀)².

    The force f [N] along the line from a to b is positive where it pushes the points apart.  ``stiffness`` k [N/m],
    ``damping`` c [N·s/m] and ``rest_length`` l₀ [m] are 0 by default.  Coincident points have no line between them.
    The force is zero there; for l₀ > 0 it jumps.

    >>> import linkwork as lw
    >>> lw.force_elements.SpringDamper("hook", "mass", stiffness=100.0, rest_length=0.2).name
    'spring(hook, mass)'
    """

    a: str
    b: str
    _: KW_ONLY
    stiffness: float = 0.0
    damping: float = 0.0
    rest_length: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        for parameter in ("stiffness", "damping", "rest_length"):
            number = read_number("SpringDamper", parameter, getattr(self, parameter))
            if number < 0.0:
                raise ValueError(f"SpringDamper: {parameter}: expected a number >= 0, got {number!r}")
            object.__setattr__(self, parameter, number)
        object.__setattr__(self, "name", name_or(self.name, f"spring({self.a}, {self.b})"))

    @property
    def references(self) -> References:
        return References(points=(self.a, self.b))

    def ends(self, marks: Marks) -> tuple[str, str]:
        return marks.point(self.b).frame, marks.point(self.a).frame

    def checked(self, robot: Any) -> Iterable[str]:
        if self.a == self.b:
            yield f"both of its ends are {self.a!r}"
            return
        yield from super().checked(robot)

    def energy(self, marks: Marks, X: Pose) -> Any:
        if self.stiffness == 0.0:
            return 0.0
        _, p, length, _ = self._line(marks, X)
        if self.rest_length == 0.0:
            return p.dot(p) * (0.5 * self.stiffness)
        longer = length - self.rest_length
        return longer * longer * (0.5 * self.stiffness)

    def spring_wrench(self, marks: Marks, X: Pose) -> Force:
        if self.stiffness == 0.0:
            return Force.zero()
        b, p, _, share = self._line(marks, X)
        f = p * (-self.stiffness)
        if self.rest_length != 0.0:
            f = f + p * (share * (self.stiffness * self.rest_length))
        return Force(b.cross(f), f)

    def damper_wrench(self, marks: Marks, X: Pose, V: Motion) -> Force:
        if self.damping == 0.0:
            return Force.zero()
        b, p, _, share = self._line(marks, X)
        u = p * share
        f = u * (u.dot(V.linear + V.angular.cross(b)) * -self.damping)
        return Force(b.cross(f), f)

    def resistances(self, marks: Marks, X: Pose) -> list[Resistance]:
        """Return the resistances: k and c along the line from a to b, and k (1 − l₀/l) across it.

        X and ``marks`` are as in `energy`.  Only a spring longer than its rest length l₀ resists across the line. Where
        the points coincide, k acts in all directions.
        """
        b, p, _, share = self._line(marks, X)
        k, u = self.stiffness, p * share
        across: Any = 1.0 if self.rest_length == 0.0 else fmax(1.0 - share * self.rest_length, 0.0)
        result = [Resistance(Force(b.cross(u), u), k * (1.0 - across), self.damping)]
        if k != 0.0:
            axes = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
            result += [Resistance(Force(b.cross(e), e), k * across, 0.0) for e in axes]
        return result

    def _line(self, marks: Marks, X: Pose) -> tuple[Vec3, Vec3, Any, Any]:
        """Return b, p, |p| and 1/|p|: the position of point b, and the vector p from point a to point b [m].

        b and p are in the axes of the frame B to which point b is fixed. 1/|p| is returned as 0 if the points
        coincide.
        """
        a, b = marks.point(self.a).position, marks.point(self.b).position
        p = b + X.rotation.inv_act(X.translation - a)
        square = p.dot(p)
        meet = eq(square, 0.0)
        length = sqrt(where(meet, 1.0, square))  # keeps derivatives finite
        return b, p, where(meet, 0.0, length), where(meet, 0.0, 1.0 / length)
