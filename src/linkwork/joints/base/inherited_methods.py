"""Inheritance rules of joint types: overriding a transform or rate drops outdated closed forms."""

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
DEPENDS_ON: dict[str, tuple[str, ...]] = {  # method or attribute: the methods that its closed form is derived from
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
    "deflection": ("difference", "q_dot"),
    "deflection_rate": ("deflection", "difference", "q_dot"),
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
    """Replace by defaults the inherited methods of a new joint type that do not fit its own methods.

    ``contract`` is `JointType`, which defines the defaults.  An inherited closed form is outdated if the class
    overrides a method that the form depends on (`DEPENDS_ON`).  Raises TypeError where no default exists: the class
    overrides one of two maps that belong together, but not the other.
    """
    for written, partner in _WRITTEN_TOGETHER:
        if _outdated(cls, contract, partner, written):
            definer = _definer(cls, partner)
            its = "its default, which assumes that the configuration's rate is the velocity,"
            if definer is not contract:
                its = f"the one of {definer.__name__}"
            raise TypeError(
                f"{cls.__name__}: {written} is written and {partner} is not, and {its} does not fit it; "
                f"write {cls.__name__}.{partner}"
            )
    for said, about in DEPENDS_ON.items():
        if any(_outdated(cls, contract, said, name) for name in about) and _definer(cls, said) is not contract:
            setattr(cls, said, vars(contract)[said])


def _outdated(cls: type[Any], contract: type[Any], said: str, about: str) -> bool:
    """Return True if ``cls`` inherits the method ``said`` from a class with another version of the method ``about``.

    The result is False if ``about`` is "X" and the class that defines ``said`` has no transform X: ``said`` then holds
    for any transform.
    """
    definer = _definer(cls, said)
    before = getattr(definer, about, None)
    if before is None or (about == "X" and before is contract.X):
        return False
    return before is not getattr(cls, about)


def _definer(cls: type[Any], name: str) -> type[Any]:
    return next(base for base in cls.__mro__ if name in vars(base))
