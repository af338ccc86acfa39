"""Algorithms over any scalar, one file a computed quantity with its row beside it, a folder a subject.

`ROBOT` and `JOINT` are the tables of every function of a robot and of a joint.
"""

from . import (
    configuration,
    constraints,
    derivatives,
    dynamics,
    forces,
    jacobians,
    joint,
    kinematics,
    mechanisms,
    momentum,
    points,
    regressors,
)
from .row import table

ROBOT = table(
    (
        *configuration.ROWS,
        *kinematics.ROWS,
        *points.ROWS,
        *jacobians.ROWS,
        *dynamics.ROWS,
        *momentum.ROWS,
        *forces.ROWS,
        *constraints.ROWS,
        *mechanisms.ROWS,
        *regressors.ROWS,
        *derivatives.ROWS,
    )
)
JOINT = table(joint.ROWS)

__all__ = ["JOINT", "ROBOT"]
