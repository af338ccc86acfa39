"""Linear couplings of joints with one coordinate (gears, racks, screws, belts), and couplings by user functions.

A coupling here is a constraint, which exerts a force and may be redundant with others.  ``robot.with_couplings``
removes the coordinates of the coupled joint from q and v instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import boolean
from linkwork.constraints.arguments import (
    check_coordinate_joint,
    check_joint_unit,
    name_or,
    read_length,
    read_number,
)
from linkwork.constraints.constraint import Kinematics, Rates
from linkwork.constraints.curve_couplings import CouplingOfJoints, TwoJoints
from linkwork.constraints.jacobian_rows import chained
from linkwork.constraints.user_functions import OfUserFunctions, over_any_scalar
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["Belt", "Coupling", "Gear", "Rack", "Screw"]


@dataclass(frozen=True)
class _Pair(TwoJoints):
    """Linear coupling of two joints: w_a q_a − w_b q_b − offset = 0."""

    offset = 0.0
    units = ("rad", "rad")  # of the joints' coordinates

    @property
    @abstractmethod
    def weights(self) -> tuple[float, float]:
        """Weights w_a and w_b of the joints' coordinates."""

    def error(self, state: Kinematics) -> list[Any]:
        (q_a,), (q_b,), (w_a, w_b) = state.q(self.a), state.q(self.b), self.weights
        return [q_a * w_a - q_b * w_b - self.offset]

    def rates(self, state: Kinematics) -> Rates:
        (a,), (b,), (w_a, w_b) = state.moving(self.a), state.moving(self.b), self.weights
        row = [x * w_a - y * w_b for x, y in zip(a, b, strict=True)]
        sizes = [x * x * (w_a * w_a) + y * y * (w_b * w_b) for x, y in zip(a, b, strict=True)]
        return Rates([row], [0.0], None, [sizes])

    def checked(self, robot: Any) -> Iterable[str]:
        kind = type(self).__name__
        if self.a == self.b:
            yield f"joint {self.a!r} cannot be coupled with itself"
            return
        for joint, unit in zip((self.a, self.b), self.units, strict=True):
            wrong = [*check_coordinate_joint(robot, joint, kind)] or [*check_joint_unit(robot, joint, unit, kind)]
            yield from wrong

    def _set_checked(self, **values: float) -> None:
        """Set checked parameters, which must not be 0, the checked offset and the name."""
        kind = type(self).__name__
        for name, value in values.items():
            object.__setattr__(self, name, read_number(kind, name, value, zero=False))
        object.__setattr__(self, "offset", read_number(kind, "offset", self.offset))
        object.__setattr__(self, "name", name_or(self.name, f"{kind.lower()}({self.a}, {self.b})"))


@public_constructor
@dataclass(frozen=True)
class Gear(_Pair):
    """Gear between two revolute joints: q_a = ratio · q_b + offset, so v_a = ratio · v_b, as in `Robot.with_couplings`.

    Gear wheels with z_a and z_b teeth on one carrier have the ratio −z_b/z_a, or z_b/z_a for an internal gear.  The
    constraint force is the torque on a [N·m]; the torque on b is −ratio times as large.

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    ratio: float
    _: KW_ONLY
    offset: float = 0.0  # [rad]
    name: str = ""

    def __post_init__(self) -> None:
        self._set_checked(ratio=self.ratio)

    @property
    def weights(self) -> tuple[float, float]:
        return 1.0, self.ratio


@public_constructor
@dataclass(frozen=True)
class Rack(_Pair):
    """Rack and pinion: a prismatic joint a (rack) and a revolute joint b (pinion), q_a = radius · q_b + offset.

    With a negative radius the pinion is on the other side of the rack. The constraint force acts on the rack [N].

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    radius: float  # [m]
    _: KW_ONLY
    offset: float = 0.0  # [m]
    name: str = ""

    units, unit = ("m", "rad"), "m"

    def __post_init__(self) -> None:
        self._set_checked(radius=self.radius)

    @property
    def weights(self) -> tuple[float, float]:
        return 1.0, self.radius


@public_constructor
@dataclass(frozen=True)
class Screw(_Pair):
    """Screw drive: a prismatic joint a (nut) and a revolute joint b (spindle), q_a = pitch · q_b + offset.

    The pitch is the advance per radian, as in `linkwork.joints.Helical`: the lead over 2π, negative for a left-hand
    thread.  The constraint force acts on the nut [N].

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    pitch: float  # advance per radian [m/rad]
    _: KW_ONLY
    offset: float = 0.0  # [m]
    name: str = ""

    units, unit = ("m", "rad"), "m"

    def __post_init__(self) -> None:
        self._set_checked(pitch=self.pitch)

    @property
    def weights(self) -> tuple[float, float]:
        return 1.0, self.pitch


@public_constructor
@dataclass(frozen=True)
class Belt(_Pair):
    """Belt or chain over two pulleys without slip: r_a q_a = r_b q_b + offset, with −r_b q_b if crossed.

    The joint axes are parallel.  The constraint force is the difference of the tensions of both sides [N].

    ``a`` and ``b`` are revolute joints, ``radius_a`` and ``radius_b`` the radii of their pulleys [m].  ``name`` is the
    constraint's name, by default composed of the names of its parts.
    """

    radius_a: float  # r_a [m]
    radius_b: float
    _: KW_ONLY
    crossed: bool = False
    offset: float = 0.0  # displacement of the belt at q_a = q_b = 0 [m]
    name: str = ""

    unit = "m"

    def __post_init__(self) -> None:
        for name in ("radius_a", "radius_b"):
            object.__setattr__(self, name, read_length("Belt", name, getattr(self, name)))
        object.__setattr__(self, "crossed", boolean("Belt", "crossed", self.crossed))
        self._set_checked()

    @property
    def weights(self) -> tuple[float, float]:
        return self.radius_a, -self.radius_b if self.crossed else self.radius_b


@public_constructor
@dataclass(frozen=True)
class Coupling(OfUserFunctions, CouplingOfJoints):
    """Coupling of several joints with one coordinate each: Σ w_i q_i = offset, or f(q_1, q_2, ...) = offset.

    ``joints`` is a dict of weights, or a tuple of the names of the arguments of ``function``.

        lw.constraints.Coupling({"left": 1.0, "right": 1.0, "ring": -2.0})
        lw.constraints.Coupling(("valve", "cam"), lambda valve, cam: valve - 0.01 * np.cos(cam), unit="m")

    The function has one scalar argument per joint and returns a scalar, by NumPy's functions and those of
    `linkwork.expr`.

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    joints: tuple[Any, ...]  # names, with a function; else pairs (name, weight)
    function: Callable[..., Any] | None = None
    _: KW_ONLY
    offset: float = 0.0
    unit: str = "rad"  # of its row: "rad" or "m"
    name: str = ""

    if TYPE_CHECKING:  # a dict is converted to pairs

        def __init__(
            self,
            joints: Mapping[str, float] | Sequence[Any],
            function: Callable[..., Any] | None = ...,
            *,
            offset: float = ...,
            unit: str = ...,
            name: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        joints: Any = self.joints
        parts = joints.items() if isinstance(joints, Mapping) else joints
        if isinstance(joints, str) or not isinstance(parts, Iterable):
            raise TypeError(f"Coupling: joints: expected a dict of weights, or names and a function, got {joints!r}")
        if self.function is None:
            if any(isinstance(part, str) or len(part) != 2 for part in parts):
                raise TypeError(f'Coupling: joints: expected weights, as in {{"a": 1.0, "b": -2.0}}, got {joints!r}')
            named = [(name, read_number("Coupling", f"joints: weight of {name!r}", x, zero=False)) for name, x in parts]
            names = [name for name, _ in named]
            object.__setattr__(self, "joints", tuple(named))
        else:
            if not callable(self.function):
                raise TypeError(
                    f"Coupling: function: expected names of joints and a function of them, got {self.function!r}"
                )
            if isinstance(joints, Mapping):
                raise TypeError(
                    f"Coupling: joints and function: expected names of joints with a function, got {joints!r}"
                )
            names = list(joints)
            object.__setattr__(self, "joints", tuple(names))
        if not names or not all(isinstance(name, str) for name in names):
            raise TypeError(f"Coupling: joints: expected names, got {joints!r}")
        self._check_unit()
        object.__setattr__(self, "offset", read_number("Coupling", "offset", self.offset))
        object.__setattr__(self, "name", name_or(self.name, f"coupling({', '.join(names)})"))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coupled joints."""
        return tuple(part if isinstance(part, str) else part[0] for part in self.joints)

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return () if self.function is None else (self.function,)

    def error(self, state: Kinematics) -> list[Any]:
        return self._of([state.q(joint)[0] for joint in self.names])

    def rates(self, state: Kinematics) -> Rates:
        rows = [state.moving(joint)[0] for joint in self.names]
        q, v = ([ask(joint)[0] for joint in self.names] for ask in (state.q, state.v))
        return chained(self._of, q, v, Rates(rows, [0.0] * len(rows)))

    def bind(self, state: Kinematics) -> Self:
        for joint in self.names:
            if len(state.q(joint)) != 1:
                return self  # `checked` reports it
        if self.function is not None and not isinstance(self.error(state)[0], Symbol):
            raise ValueError(f"constraint {self.name!r}: its function returns the same value for all joint positions")
        return self

    def checked(self, robot: Any) -> Iterable[str]:
        for i, joint in enumerate(self.names):
            if joint in self.names[:i]:
                yield f"joint {joint!r} cannot be coupled with itself"
            yield from check_coordinate_joint(robot, joint, "Coupling")

    def _of(self, q: list[Any]) -> list[Any]:
        if self.function is not None:
            result = over_any_scalar(f"constraint {self.name!r}", self.function, *q, count=1)[0]
        else:
            result = sum((x * weight for x, (_, weight) in zip(q, self.joints, strict=True)), 0.0)
        return [result - self.offset]
