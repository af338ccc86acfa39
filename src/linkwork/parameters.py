"""Inertial parameters of a rigid body: the functions of `linkwork.dynamics.inertial_parameters`."""

from linkwork.dynamics.inertial_parameters import (
    LOG_CHOLESKY,
    NAMES,
    explain,
    from_log_cholesky,
    from_pseudo_inertia,
    is_physical,
    log_cholesky,
    pseudo_inertia,
)

__all__ = [
    "LOG_CHOLESKY",
    "NAMES",
    "explain",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "is_physical",
    "log_cholesky",
    "pseudo_inertia",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
