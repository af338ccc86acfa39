"""Laws of dry friction in joints: the force with which a joint resists its velocity.

A law is one class with one formula, over any scalar.  Algorithms evaluate its force and its slope, and read whether it
sticks; they name no law.  Every function with the keyword ``friction`` accepts the name of a law in `ALL`, or a law of
the caller's own.  A new law of the library is a class, its entry in `ALL`, and its name in `FrictionName`, which
editors show.  `check_friction_law` proves the contract.

Damping, −D v, is viscous friction.  It is a parameter of joints in addition to dry friction and acts with every law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, TypeAlias

from linkwork._util.lazy_dataclass import dataclass
from linkwork.errors import UnknownNameError
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import eq, fabs, fmax, sign, tanh, where

__all__ = [
    "ALL",
    "BY_NAME",
    "DEFAULT",
    "NO_FRICTION",
    "Coulomb",
    "DryFriction",
    "Friction",
    "FrictionLaw",
    "FrictionName",
    "SmoothCoulomb",
    "Stribeck",
    "friction_law",
    "read_friction",
    "read_smooth_friction",
    "same",
]

_LEAST = 1e-12  # part of v_s: the lowest speed at which a law is evaluated where it may be discontinuous at rest


@dataclass(frozen=True, slots=True)
class DryFriction:
    """Parameters of dry friction along a velocity of a joint; a friction law may use only some of them."""

    sliding: Any  # f: friction of motion [N·m, N]
    static: Any  # f_s: maximum friction at rest, at least f [N·m, N]
    velocity: Any  # v_s: speed of the transition from rest to sliding, positive [rad/s, m/s]


class FrictionLaw(ABC):
    """A law of dry friction: the force on the joint is −F(v), F odd in v, with F(v) v ≥ 0.

    The power that it dissipates is F(v) v [W].  A law that ``sticks`` holds joints at rest by any force up to f_s; F is
    then the friction of motion, and forward dynamics and simulations solve for the force at rest.

    Laws of one class with equal attributes are equal, so functions are compiled once for them.
    """

    name: ClassVar[str]  # value of the keyword ``friction``
    uses: ClassVar[tuple[str, ...]]  # the fields of `DryFriction` that F depends on
    sticks: ClassVar[bool] = False

    @abstractmethod
    def resistance(self, v: Any, friction: DryFriction) -> Any:
        """Return F(v), the force that opposes the velocity v [N·m, N]."""

    def slope(self, v: Any, friction: DryFriction) -> Any:
        """Return ∂F/∂v [N·m·s/rad, N·s/m].

        Default: by differentiation of `resistance`.
        """
        moving = seeded([v], [1.0])[0]
        return parts(self.resistance(moving, friction), moving.level)[1]

    def implicit_damping(self, v: Any, friction: DryFriction, resolved: Any = 0.0) -> Any:
        """Return the damping D ≥ 0 of a linearly implicit step that starts with velocity v [N·m·s/rad, N·s/m].

        The step has the friction F(v) + D (v⁺ − v).  D is the slope of the law where F rises, but at least its chord
        F(v)/v minus ``resolved``, the inertia m/h of a step of h [s] in the same unit.  A step of m that only friction
        resists then never reverses and never gains energy, also where it does not resolve how the joint stops.
        """
        speed = fmax(fabs(v), _LEAST * friction.velocity)
        return fmax(fmax(self.slope(v, friction), 0.0), fabs(self.resistance(v, friction)) / speed - resolved)

    def magnitude(self, v: Any, friction: DryFriction) -> Any:
        """Return |F(v)| [N·m, N]; at v = 0, the friction F(0⁺) of a joint that starts to move."""
        return self.resistance(fmax(fabs(v), _LEAST * friction.velocity), friction)

    def starting(self, v: Any, a: Any, friction: DryFriction) -> Any:
        """Return the force in addition to F(v) that opposes a joint at the start of its motion [N·m, N].

        The joint starts from rest, v = 0, with acceleration a.  The force is zero for v ≠ 0, and for a law that does
        not stick.
        """
        if not self.sticks:
            return 0.0
        return where(eq(v, 0.0), sign(a) * self.magnitude(0.0, friction), 0.0)

    def per_friction(self, v: Any, a: Any, friction: DryFriction) -> Any:
        """Return the friction force of a joint per unit of its sliding friction f, the column of f in a regressor [1].

        It includes the starting force.  F(v) plus the starting force must be proportional to f, which this method
        assumes without a check.  A law for which it may not be must override this method and raise ValueError.
        """
        unit = DryFriction(1.0, 1.0, friction.velocity)
        return self.resistance(v, unit) + self.starting(v, a, unit)

    def vanishes(self, friction: DryFriction) -> bool:
        """Return True if it is known at trace time that F is zero at every velocity with these parameters."""
        return is_zero(friction.sliding)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        try:
            return hash((type(self), tuple(sorted(vars(self).items()))))
        except TypeError:
            raise TypeError(
                f"{type(self).__name__}: expected attributes that can be hashed, got {vars(self)}; give a law of "
                "friction numbers and tuples in place of lists and arrays"
            ) from None


class SmoothCoulomb(FrictionLaw):
    """Coulomb's law, smoothed at rest: F(v) = f tanh(v / v_s).

    Source: Andersson, Söderberg and Björklund, Friction models for sliding dry, boundary and mixed lubricated contacts,
    Tribology International 40, 2007.
    """

    name = "smooth"
    uses = ("sliding", "velocity")

    def resistance(self, v: Any, friction: DryFriction) -> Any:
        return tanh(v * (1.0 / friction.velocity)) * friction.sliding

    def slope(self, v: Any, friction: DryFriction) -> Any:
        share = tanh(v * (1.0 / friction.velocity))
        return friction.sliding / friction.velocity * (1.0 - share * share)

    def per_friction(self, v: Any, a: Any, friction: DryFriction) -> Any:
        return tanh(v / friction.velocity)


class Coulomb(FrictionLaw):
    """Coulomb's law: F(v) = f sign(v), and at rest the force up to f_s that keeps the joint at rest.

    Source: Coulomb, Théorie des machines simples, 1785; Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter
    11.
    """

    name = "coulomb"
    uses = ("sliding", "static")
    sticks = True

    def resistance(self, v: Any, friction: DryFriction) -> Any:
        return sign(v) * friction.sliding

    def slope(self, v: Any, friction: DryFriction) -> Any:
        return 0.0

    def magnitude(self, v: Any, friction: DryFriction) -> Any:
        return friction.sliding

    def per_friction(self, v: Any, a: Any, friction: DryFriction) -> Any:
        return where(eq(v, 0.0), sign(a), sign(v))


class Stribeck(FrictionLaw):
    """Stribeck's law: F(v) = f tanh(4 u) + (f_s − f) u / (¼ u² + ¾)², u = v / v_s.

    F rises to f_s at v_s and decreases to f beyond.

    Source: Brown and McPhee, A continuous velocity-based friction model for dynamics and control with physically
    meaningful parameters, Journal of Computational and Nonlinear Dynamics 11(5), 2016.
    """

    name = "stribeck"
    uses = ("sliding", "static", "velocity")

    def resistance(self, v: Any, friction: DryFriction) -> Any:
        u = v * (1.0 / friction.velocity)
        sliding = tanh(u * 4.0) * friction.sliding
        if same(friction.static, friction.sliding):
            return sliding
        width = u * u * 0.25 + 0.75
        return sliding + (friction.static - friction.sliding) * (u / (width * width))

    def per_friction(self, v: Any, a: Any, friction: DryFriction) -> Any:
        if not same(friction.static, friction.sliding):
            raise ValueError(
                'friction: law "stribeck": expected static_friction equal to friction, because joint forces '
                "must be proportional to friction here; leave static_friction out, or choose another law"
            )
        return tanh(v * (4.0 / friction.velocity))

    def vanishes(self, friction: DryFriction) -> bool:
        return is_zero(friction.sliding) and is_zero(friction.static)


class NoFriction(FrictionLaw):
    """Law without friction, F(v) = 0, for algorithms that determine the friction force in another way."""

    name = "none"
    uses = ()

    def resistance(self, v: Any, friction: DryFriction) -> Any:
        return 0.0

    def slope(self, v: Any, friction: DryFriction) -> Any:
        return 0.0

    def vanishes(self, friction: DryFriction) -> bool:
        return True


ALL: tuple[FrictionLaw, ...] = (SmoothCoulomb(), Coulomb(), Stribeck())

FrictionName: TypeAlias = Literal["smooth", "coulomb", "stribeck"]
"""Names of the library's laws, for signatures."""

Friction: TypeAlias = FrictionName | FrictionLaw
"""Values of the keyword ``friction``: the name of a law, or a law."""

BY_NAME = {law.name: law for law in ALL}
DEFAULT = ALL[0]
NO_FRICTION = NoFriction()  # not in `ALL`: a robot without friction has none in its joints


def read_friction(caller: str, value: Any) -> str | FrictionLaw:
    """Return ``value`` after a check that it is the name of a friction law of the library, or a friction law.

    Raises ValueError for any other value.
    """
    if isinstance(value, str) and value in BY_NAME:
        return value
    if not isinstance(value, FrictionLaw):
        names = ", ".join(map(repr, BY_NAME))
        raise ValueError(f"{caller}: friction: expected one of {names}, or a FrictionLaw, got {value!r}")
    return value.name if BY_NAME.get(value.name) == value else value


def read_smooth_friction(caller: str, value: Any) -> str | FrictionLaw:
    """Return the friction law ``value`` after a check that it does not stick: F must be a continuous function.

    The argument is checked as in `read_friction`, with the same errors. Raises ValueError for a law that sticks.
    """
    result = read_friction(caller, value)
    law = friction_law(result)
    if law.sticks:
        smooth = ", ".join(repr(x.name) for x in ALL if not x.sticks)
        raise ValueError(
            f"{caller}: friction: expected a law that does not stick, got {law.name!r}; choose one of {smooth}, or a "
            f"FrictionLaw of your own.  forward_dynamics of robots without constraints, and simulate, take laws that "
            f"stick"
        )
    return result


def friction_law(law: str | FrictionLaw) -> FrictionLaw:
    """Return the law of friction with a name; return a law unchanged.  Raises UnknownNameError."""
    if isinstance(law, FrictionLaw):
        return law
    if law not in BY_NAME:
        raise UnknownNameError("law of friction", str(law), BY_NAME)
    return BY_NAME[law]


def same(a: Any, b: Any) -> bool:
    """Return True if two parameters are equal, and this is known at trace time."""
    return a is b or (isinstance(a, float) and isinstance(b, float) and a == b)
