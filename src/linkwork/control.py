"""Control: laws of robots, linear-quadratic regulators, receding plans."""

from .facade.control.admittance import Admittance
from .facade.control.cartesian import HybridForcePosition, Impedance
from .facade.control.command import Command
from .facade.control.holding import HoldingRegulator, hold
from .facade.control.joint_laws import PD, PID, ComputedTorque, GravityCompensation, JointImpedance
from .facade.control.operational_space import OperationalSpace
from .facade.control.plan import RecedingPlan
from .facade.control.receding import Controller
from .facade.control.regulators import HorizonRegulator, Regulator, lqr, lqr_horizon
from .facade.control.tracking import TrackingRegulator, track
from .facade.control.whole_body import WholeBody, WholeBodyAnswer

__all__ = [
    "PD",
    "PID",
    "Admittance",
    "Command",
    "ComputedTorque",
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
    "hold",
    "lqr",
    "lqr_horizon",
    "track",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
