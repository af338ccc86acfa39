"""Controllers of robots, linear-quadratic regulators and model-predictive control."""

from linkwork.control.cartesian_controllers import Admittance, HybridForcePosition, Impedance
from linkwork.control.check_controller import check_controller
from linkwork.control.controller_base import ControlLaw
from linkwork.control.joint_controllers import PD, PID, ComputedTorque, GravityCompensation, JointImpedance
from linkwork.control.linear_quadratic.lqr_controllers import (
    LQRController,
    TVLQRController,
    lqr_about_state,
    lqr_about_trajectory,
)
from linkwork.control.linear_quadratic.lqr_gains import FiniteHorizonLQR, LQRGain, finite_horizon_lqr, lqr
from linkwork.control.mpc.mpc import ModelPredictiveController
from linkwork.control.mpc.mpc_plan import MPCCommand, MPCPlan
from linkwork.control.task_controllers import OperationalSpace
from linkwork.control.whole_body import WholeBody, WholeBodyAnswer

__all__ = [
    "PD",
    "PID",
    "Admittance",
    "ComputedTorque",
    "ControlLaw",
    "FiniteHorizonLQR",
    "GravityCompensation",
    "HybridForcePosition",
    "Impedance",
    "JointImpedance",
    "LQRController",
    "LQRGain",
    "MPCCommand",
    "MPCPlan",
    "ModelPredictiveController",
    "OperationalSpace",
    "TVLQRController",
    "WholeBody",
    "WholeBodyAnswer",
    "check_controller",
    "finite_horizon_lqr",
    "lqr",
    "lqr_about_state",
    "lqr_about_trajectory",
]


def __dir__() -> list[str]:
    """Return the documented names of the package."""
    return sorted(__all__)
