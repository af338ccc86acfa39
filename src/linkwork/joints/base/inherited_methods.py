"""Inheritance rules of joint types: a subclass with another transform or other rates keeps no outdated closed form."""

from __future__ import annotations

from typing import Any

__all__ = ["DEPENDS_ON", "drop_outdated_methods"]

_WRITTEN_TOGETHER = (
    ("q_dot", "velocity_from_rate"),
    ("velocity_from_rate", "q_dot"),
    ("integrate", "difference"),
    ("difference", "integrate"),
    ("q_dot", "integrate"),
)
_MAPS = ("q_dot", "velocity_from_rate", "integrate", "difference")
_ALL = (
    "X",
    "S",
    *_MAPS,
    "zero",
    "normalize",
    "unit_length",
    "canonical",
    "random",
    "regularity",
    "commuting_translations",
    "commuting_rotations",
)
DEPENDS_ON: dict[str, tuple[str, ...]] = {  # what is said of a type: what it is said about
    "S": ("X", "q_dot"),
    "bias": ("X", "q_dot", "S"),
    "twist": ("X", "q_dot", "S"),
    "acceleration": ("X", "q_dot", "S", "bias"),
    "torque": ("X", "q_dot", "S"),
    "constraint_wrench_subspace": ("X", "q_dot", "S"),
    "configuration_from_pose": ("X",),
    "velocity_from_twist": ("X", "q_dot", "S"),
    "pose_residual": ("X",),
    "q_dot_jacobian": ("q_dot",),
    "velocity_from_rate_jacobian": ("velocity_from_rate",),
    "velocity_from_rate_adjoint": ("velocity_from_rate",),
    "difference_rate": ("difference", "q_dot"),
    "distance": ("normalize", "unit_length"),
    "canonical": ("X",),
    "regularity": ("X", "q_dot"),
    "commuting_translations": ("X",),
    "commuting_rotations": ("X",),
    "reduced_inertia": ("X",),
    "num_constraints": ("X", "q_dot", "S"),
    "is_floating": ("X", "q_dot", "S"),
    "has_fixed_subspaces": ("X", "q_dot", "S"),
    "reversed": (*_ALL, "reduced_inertia"),
}


def drop_outdated_methods(cls: type[Any], contract: type[Any]) -> None:
    """Lets a new class fall back to the contract's defaults where what it inherits was said about something else.

    Raises TypeError where there is no default: of two maps that are each other's inverse, or of which one follows
    from the other, only one is written.
    """
    for written, other in _WRITTEN_TOGETHER:
        if _outdated(cls, contract, other, written):
            whose = _definer(cls, other)
            its = "its default, which takes the configuration's rate for its velocity,"
            if whose is not contract:
                its = f"the one of {whose.__name__}"
            raise TypeError(
                f"{cls.__name__}: {written} is written and {other} is not, and {its} does not fit it; "
                f"write {cls.__name__}.{other}"
            )
    for said, about in DEPENDS_ON.items():
        if any(_outdated(cls, contract, said, name) for name in about) and _definer(cls, said) is not contract:
            setattr(cls, said, vars(contract)[said])


def _outdated(cls: type[Any], contract: type[Any], said: str, about: str) -> bool:
    """Whether the class that says it says it about another method than the one that this class has.

    A base without a transform says what holds for any.
    """
    definer = _definer(cls, said)
    before = getattr(definer, about, None)
    if before is None or (about == "X" and before is contract.X):
        return False
    return before is not getattr(cls, about)


def _definer(cls: type[Any], name: str) -> type[Any]:
    return next(base for base in cls.__mro__ if name in vars(base))
