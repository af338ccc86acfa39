"""Couplings of two joints by a function, q_a = f(q_b): polynomials, cams, Geneva wheels, gears of varying ratio."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import levels_up
from linkwork.constraints.arguments import check_coordinate_joint, check_joint_unit, name_or, read_number
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References
from linkwork.constraints.curve import Curve
from linkwork.constraints.jacobian_rows import timed
from linkwork.constraints.user_functions import OfUserFunctions, over_any_scalar
from linkwork.errors import ModelWarning
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["CouplingOfJoints", "CurveCoupling", "PolynomialCoupling", "TwoJoints"]

_SAME_PERIOD = 1e-6  # relative difference at which a curve's period is a multiple or a part of a revolution


class CouplingOfJoints(Constraint):
    """Coupling of joints by one equation."""

    unit: str

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the coupled joints."""

    @property
    def references(self) -> References:
        return References(joints=self.names)

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return (self.unit,)

    def _check_unit(self) -> None:
        if self.unit not in ("rad", "m"):
            raise ValueError(f'{type(self).__name__}: unit: expected "rad" or "m", got {self.unit!r}')


@dataclass(frozen=True)
class TwoJoints(CouplingOfJoints):
    """Coupling of two joints."""

    a: str
    b: str

    unit = "rad"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of both joints."""
        return self.a, self.b


@dataclass(frozen=True)
class _OfOneJoint(TwoJoints):
    """Coupling q_a = f(q_b) of two joints with one coordinate each."""

    @abstractmethod
    def _derivatives(self, q_b: Any) -> tuple[Any, Any, Any]:
        """Return f, f′ and f″ at a position of joint b."""

    def error(self, state: Kinematics) -> list[Any]:
        (q_a,), (q_b,) = state.q(self.a), state.q(self.b)
        return [q_a - self._derivatives(q_b)[0]]

    def rates(self, state: Kinematics) -> Rates:
        (a,), (b,), (v_b,) = state.moving(self.a), state.moving(self.b), state.v(self.b)
        _, slope, curvature = self._derivatives(state.q(self.b)[0])
        row = [x - y * slope for x, y in zip(a, b, strict=True)]
        sizes = [x * x + y * y * (slope * slope) for x, y in zip(a, b, strict=True)]
        return Rates([row], [-(curvature * (v_b * v_b))], None, [sizes])

    def checked(self, robot: Any) -> Iterable[str]:
        if self.a == self.b:
            yield f"joint {self.a!r} cannot be coupled with itself"
            return
        for joint in (self.a, self.b):
            yield from check_coordinate_joint(robot, joint, type(self).__name__)
        for fault in check_joint_unit(robot, self.a, self.unit, f"{type(self).__name__} with unit={self.unit!r}"):
            yield f"{fault}; pass unit={'m' if self.unit == 'rad' else 'rad'!r} for this joint"


@public_constructor
@dataclass(frozen=True)
class PolynomialCoupling(_OfOneJoint):
    """Coupling of two joints by a polynomial: q_a − r_a = c_0 + c_1 x + c_2 x² + ..., with x = q_b − r_b.

    Both joints have one coordinate.  ``coefficients`` are c_0, c_1, ..., and the references r are ``a_reference`` and
    ``b_reference`` [rad, m].  ``unit`` is the unit of the row and of joint a, "rad" or "m". The constraint force acts
    on joint a [N·m, N].

        lw.constraints.PolynomialCoupling("drum", "crank", (0.0, 0.5, 0.02))

    ``a`` and ``b`` are names of joints.  ``name`` is the constraint's name, by default composed of the names of its
    parts.
    """

    coefficients: tuple[float, ...]
    _: KW_ONLY
    a_reference: float = 0.0
    b_reference: float = 0.0
    unit: str = "rad"
    name: str = ""

    if TYPE_CHECKING:  # any numbers are converted to a tuple

        def __init__(
            self,
            a: str,
            b: str,
            coefficients: Sequence[float],
            *,
            a_reference: float = ...,
            b_reference: float = ...,
            unit: str = ...,
            name: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        kind, raw = "PolynomialCoupling", self.coefficients
        if isinstance(raw, str) or not isinstance(raw, Iterable):
            raise TypeError(f"{kind}: coefficients: expected numbers c_0, c_1, ..., got {raw!r}")
        coefficients = tuple(read_number(kind, f"coefficients: c_{k}", c) for k, c in enumerate(raw))
        if not any(coefficients[1:]):
            raise ValueError(
                f"{kind}: coefficients: expected a power of joint b's coordinate with a coefficient other than 0, got "
                f"{coefficients!r}; Coupling({{a: 1.0}}, offset=...) locks joint a"
            )
        self._check_unit()
        object.__setattr__(self, "coefficients", coefficients)
        for key in ("a_reference", "b_reference"):
            object.__setattr__(self, key, read_number(kind, key, getattr(self, key)))
        object.__setattr__(self, "name", name_or(self.name, f"polynomial_coupling({self.a}, {self.b})"))

    def _derivatives(self, q_b: Any) -> tuple[Any, Any, Any]:  # Horner's method
        x = q_b - self.b_reference
        value: Any = self.coefficients[-1]
        slope: Any = 0.0
        half: Any = 0.0  # of the second derivative
        for c in reversed(self.coefficients[:-1]):
            half = half * x + slope
            slope = slope * x + value
            value = value * x + c
        return self.a_reference + value, slope, 2.0 * half


@public_constructor
@dataclass(frozen=True)
class CurveCoupling(OfUserFunctions, _OfOneJoint):
    """Coupling of two joints by a curve: q_a = f(q_b), for cams, Geneva wheels and gears of varying ratio.

    ``curve`` is f, as a `Curve` or a function of one scalar, by NumPy's functions and those of `linkwork.expr`.  Both
    joints have one coordinate; ``unit`` is the unit of joint a and of the row, "rad" or "m".  Then v_a = f′ v_b and a_a
    = f′ a_b + f″ v_b², with exact derivatives.  The constraint holds in both directions.  Its force acts on joint a
    [N·m, N]. Where the force is negative, a follower that a cam only pushes loses contact.

        lift = lw.constraints.Curve(angles, lifts, periodic=True)
        lw.constraints.CurveCoupling("valve", "camshaft", lift, unit="m")
        lw.constraints.CurveCoupling("wheel", "crank", lw.constraints.Curve.geneva(6))
        lw.constraints.CurveCoupling("follower", "disc", lambda x: 0.01 * (1 - np.cos(x)), unit="m")

    ``a`` and ``b`` are names of joints.  ``name`` is the constraint's name, by default composed of the names of its
    parts.
    """

    curve: Curve | Callable[[Any], Any]
    _: KW_ONLY
    unit: str = "rad"
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.curve):
            raise TypeError(f"CurveCoupling: curve: expected a Curve or a function, got {self.curve!r}")
        self._check_unit()
        object.__setattr__(self, "name", name_or(self.name, f"curve_coupling({self.a}, {self.b})"))

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return () if isinstance(self.curve, Curve) else (self.curve,)

    def checked(self, robot: Any) -> Iterable[str]:
        yield from (faults := [*super().checked(robot)])
        if faults or not isinstance(self.curve, Curve) or not self.curve.periodic:
            return
        if robot.bodies[robot.joint_index(self.b)].joint.q_units != ("rad",):
            return
        period = self.curve.x[-1] - self.curve.x[0]
        if _is_whole_part(period, math.tau):
            return
        if _is_whole_part(period, 360.0) and period > 6.0 * math.tau:
            yield (
                f"the curve's period is {period:.6g} rad, as of angles in degrees, but joint {self.b!r} turns by "
                "radians: pass numpy.radians(x)"
            )
            return
        warnings.warn(
            f"constraint {self.name!r}: the curve's period is {math.degrees(period):.6g} degrees: it does not repeat "
            f"itself with each revolution of joint {self.b!r}; was a dwell or the last point at 2 pi forgotten?",
            ModelWarning,
            stacklevel=levels_up(),
        )

    def bind(self, state: Kinematics) -> Self:
        if not isinstance(self._value(Graph().input("x"))[0], Symbol):
            raise ValueError(
                f"constraint {self.name!r}: its curve returns the same value for all positions of {self.b!r}"
            )
        return self

    def _derivatives(self, q_b: Any) -> tuple[Any, Any, Any]:
        (slope,), (curvature,) = timed(self._value, q_b)
        return self._value(q_b)[0], slope, curvature

    def _value(self, x: Any) -> list[Any]:
        return over_any_scalar(f"constraint {self.name!r}", self.curve, x, count=1)


def _is_whole_part(period: float, revolution: float) -> bool:
    """Return True if a period is a multiple of a revolution, or a whole part of it."""
    ratio = max(period / revolution, revolution / period)
    return abs(ratio - round(ratio)) <= _SAME_PERIOD * ratio
