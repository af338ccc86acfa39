"""The tables of every function of a robot and of a joint, in the order of the reference page."""

from linkwork.dynamics import algorithms as dynamics
from linkwork.dynamics.algorithms import derivatives, momentum, regressors
from linkwork.dynamics.algorithms import merged_forces_init as forces
from linkwork.kinematics import algorithms as kinematics
from linkwork.kinematics.algorithms import jacobians, joint, points
from linkwork.kinematics.algorithms import merged_configuration_init as configuration
from linkwork.mechanisms import algorithms as mechanisms
from linkwork.mechanisms.algorithms import constraints
from linkwork.model.function_spec import table

__all__ = ["JOINT", "ROBOT"]

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
