"""Tuple of all kinds of constraints, which loop files and the reference use."""

from __future__ import annotations

from linkwork.constraints.constraint import Constraint
from linkwork.constraints.couplings import Belt, Coupling, Gear, Rack, Screw
from linkwork.constraints.curve_couplings import CurveCoupling, PolynomialCoupling
from linkwork.constraints.frame_constraints import Angle, Ball, CenterOfMass, Parallel, Weld
from linkwork.constraints.function_constraints import Holonomic, Pfaffian
from linkwork.constraints.loop_joint import LoopJoint
from linkwork.constraints.nonholonomic import BallRolling, KnifeEdge, NoSlip, Rolling, RollingContact
from linkwork.constraints.point_constraints import Distance, PointOnCurve, PointOnLine, PointOnPlane, PointOnSurface
from linkwork.constraints.prescribed_motion import Prescribed

__all__ = ["ALL"]

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
    CurveCoupling,
    Prescribed,
    CenterOfMass,
    Rolling,
    RollingContact,
    BallRolling,
)
