"""Control: linear-quadratic regulators, of matrices, around states of robots and along trajectories; receding plans."""

from .facade.control.holding import HoldingRegulator, hold
from .facade.control.plan import RecedingPlan
from .facade.control.receding import Command, Controller
from .facade.control.regulators import HorizonRegulator, Regulator, lqr, lqr_horizon
from .facade.control.tracking import TrackingRegulator, track

__all__ = [
    "Command",
    "Controller",
    "HoldingRegulator",
    "HorizonRegulator",
    "RecedingPlan",
    "Regulator",
    "TrackingRegulator",
    "hold",
    "lqr",
    "lqr_horizon",
    "track",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
