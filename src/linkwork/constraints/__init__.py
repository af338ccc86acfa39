"""Constraints of mechanisms: loops, rolling, couplings, prescribed motion and user functions."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names
from linkwork.constraints.constraint import Constraint as Constraint
from linkwork.constraints.constraint import Kinematics as Kinematics
from linkwork.constraints.constraint import Rates as Rates
from linkwork.constraints.constraint import References as References
from linkwork.constraints.constraint import RelativeMotion as RelativeMotion
from linkwork.constraints.couplings import Belt as Belt
from linkwork.constraints.couplings import Coupling as Coupling
from linkwork.constraints.couplings import Gear as Gear
from linkwork.constraints.couplings import PolynomialCoupling as PolynomialCoupling
from linkwork.constraints.couplings import Rack as Rack
from linkwork.constraints.couplings import Screw as Screw
from linkwork.constraints.frame_constraints import Angle as Angle
from linkwork.constraints.frame_constraints import Ball as Ball
from linkwork.constraints.frame_constraints import CenterOfMass as CenterOfMass
from linkwork.constraints.frame_constraints import Parallel as Parallel
from linkwork.constraints.frame_constraints import Weld as Weld
from linkwork.constraints.loop_joint import LoopJoint as LoopJoint
from linkwork.constraints.nonholonomic import BallRolling as BallRolling
from linkwork.constraints.nonholonomic import KnifeEdge as KnifeEdge
from linkwork.constraints.nonholonomic import NoSlip as NoSlip
from linkwork.constraints.nonholonomic import Rolling as Rolling
from linkwork.constraints.nonholonomic import RollingContact as RollingContact
from linkwork.constraints.point_constraints import Distance as Distance
from linkwork.constraints.point_constraints import PointOnCurve as PointOnCurve
from linkwork.constraints.point_constraints import PointOnLine as PointOnLine
from linkwork.constraints.point_constraints import PointOnPlane as PointOnPlane
from linkwork.constraints.point_constraints import PointOnSurface as PointOnSurface
from linkwork.constraints.prescribed_motion import Prescribed as Prescribed
from linkwork.constraints.user_functions import Holonomic as Holonomic
from linkwork.constraints.user_functions import Pfaffian as Pfaffian
from linkwork.constraints.user_functions import StateQuery as StateQuery

if TYPE_CHECKING:
    from linkwork.constraints.constraint_contract import check_constraint as check_constraint

ALL: tuple[type[Constraint], ...] = (
    LoopJoint,
    Holonomic,
    Pfaffian,
    NoSlip,
    KnifeEdge,
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
    PolynomialCoupling,
    Prescribed,
    CenterOfMass,
    Rolling,
    RollingContact,
    BallRolling,
)

__all__ = [
    "ALL",
    "StateQuery",
    "RelativeMotion",
    "Constraint",
    "Kinematics",
    "Rates",
    "References",
    *(kind.__name__ for kind in ALL),
    "check_constraint",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__, __all__, {"linkwork.constraints.constraint_contract": "check_constraint"}
    )
