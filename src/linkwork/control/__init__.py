"""Controllers of robots, linear-quadratic regulators and model-predictive control."""

from linkwork.control.cartesian_controllers import Admittance, HybridForcePosition, Impedance
from linkwork.control.check_controller import check_controller
from linkwork.control.controller_base import ControlLaw
from linkwork.control.joint_controllers import PD, PID, ComputedTorque, GravityCompensation, JointImpedance
from linkwork.control.linear_quadratic.lqr_controllers import HoldingRegulator, TrackingRegulator, hold, track
from linkwork.control.linear_quadratic.lqr_gains import HorizonRegulator, Regulator, lqr, lqr_horizon
from linkwork.control.mpc.mpc import Controller
from linkwork.control.mpc.mpc_plan import Command, RecedingPlan
from linkwork.control.task_controllers import OperationalSpace
from linkwork.control.whole_body import WholeBody, WholeBodyAnswer

__all__ = [
    "PD",
    "PID",
    "Admittance",
    "Command",
    "ComputedTorque",
    "ControlLaw",
    "Controller",
    "GravityCompensation",
    "HoldingRegulator",
    "HorizonRegulator",
    "HybridForcePosition",
    "Impedance",
    "JointImpedance",
    "OperationalSpace",
    "RecedingPlan",
    "Regulator",
    "TrackingRegulator",
    "WholeBody",
    "WholeBodyAnswer",
    "check_controller",
    "hold",
    "lqr",
    "lqr_horizon",
    "track",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
