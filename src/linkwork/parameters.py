"""Inertial parameters of a rigid body: the functions of `linkwork.dynamics.inertial_parameters`."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names
from linkwork.dynamics.algorithms.regressors import JOINT_PARAMETERS as JOINT_NAMES
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
    "JOINT_NAMES",
    "LOG_CHOLESKY",
    "NAMES",
    "explain",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "is_physical",
    "log_cholesky",
    "pseudo_inertia",
]

if not TYPE_CHECKING:
    __getattr__, __dir__, _ = public_names(__name__, names=__all__)
