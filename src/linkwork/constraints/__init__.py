"""Constraints: what a mechanism obeys besides its joints, a kind or a family a file."""

from .asking import Asking as Asking
from .contract import Between as Between
from .contract import Constraint as Constraint
from .contract import Kinematics as Kinematics
from .contract import Rates as Rates
from .contract import References as References
from .couplings import Belt as Belt
from .couplings import Coupling as Coupling
from .couplings import Gear as Gear
from .couplings import Rack as Rack
from .couplings import Screw as Screw
from .directions import Angle as Angle
from .directions import Parallel as Parallel
from .distance import Distance as Distance
from .held import Ball as Ball
from .held import CenterOfMass as CenterOfMass
from .held import Weld as Weld
from .holonomic import Holonomic as Holonomic
from .loop import LoopJoint as LoopJoint
from .no_slip import NoSlip as NoSlip
from .pfaffian import Pfaffian as Pfaffian
from .point_on import PointOnCurve as PointOnCurve
from .point_on import PointOnLine as PointOnLine
from .point_on import PointOnPlane as PointOnPlane
from .point_on import PointOnSurface as PointOnSurface
from .prescribed import Prescribed as Prescribed
from .rolling import BallRolling as BallRolling
from .rolling import Rolling as Rolling
from .rolling import RollingContact as RollingContact
from .skate import Skate as Skate

ALL: tuple[type[Constraint], ...] = (
    LoopJoint,
    Holonomic,
    Pfaffian,
    NoSlip,
    Skate,
    Distance,
    PointOnLine,
    PointOnPlane,
    PointOnCurve,
    PointOnSurface,
    Parallel,
    Angle,
    Weld,
    Ball,
    Gear,
    Rack,
    Screw,
    Belt,
    Coupling,
    Prescribed,
    CenterOfMass,
    Rolling,
    RollingContact,
    BallRolling,
)

__all__ = [
    "ALL",
    "Asking",
    "Between",
    "Constraint",
    "Kinematics",
    "Rates",
    "References",
    *(kind.__name__ for kind in ALL),
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
