"""Constraints of mechanisms: loops, rolling, couplings, prescribed motion and user functions."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.constraints.all_kinds import ALL as ALL
    from linkwork.constraints.constraint import Constraint as Constraint
    from linkwork.constraints.constraint import Kinematics as Kinematics
    from linkwork.constraints.constraint import Rates as Rates
    from linkwork.constraints.constraint import References as References
    from linkwork.constraints.constraint import RelativeMotion as RelativeMotion
    from linkwork.constraints.constraint_contract import check_constraint as check_constraint
    from linkwork.constraints.couplings import Belt as Belt
    from linkwork.constraints.couplings import Coupling as Coupling
    from linkwork.constraints.couplings import Gear as Gear
    from linkwork.constraints.couplings import Rack as Rack
    from linkwork.constraints.couplings import Screw as Screw
    from linkwork.constraints.curve import Curve as Curve
    from linkwork.constraints.curve_couplings import CurveCoupling as CurveCoupling
    from linkwork.constraints.curve_couplings import PolynomialCoupling as PolynomialCoupling
    from linkwork.constraints.frame_constraints import Angle as Angle
    from linkwork.constraints.frame_constraints import Ball as Ball
    from linkwork.constraints.frame_constraints import CenterOfMass as CenterOfMass
    from linkwork.constraints.frame_constraints import Parallel as Parallel
    from linkwork.constraints.frame_constraints import Weld as Weld
    from linkwork.constraints.function_constraints import Holonomic as Holonomic
    from linkwork.constraints.function_constraints import Pfaffian as Pfaffian
    from linkwork.constraints.function_constraints import StateQuery as StateQuery
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


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.constraints.all_kinds": "ALL",
            "linkwork.constraints.constraint": "Constraint Kinematics Rates References RelativeMotion",
            "linkwork.constraints.constraint_contract": "check_constraint",
            "linkwork.constraints.couplings": "Belt Coupling Gear Rack Screw",
            "linkwork.constraints.curve": "Curve",
            "linkwork.constraints.curve_couplings": "CurveCoupling PolynomialCoupling",
            "linkwork.constraints.frame_constraints": "Angle Ball CenterOfMass Parallel Weld",
            "linkwork.constraints.function_constraints": "Holonomic Pfaffian StateQuery",
            "linkwork.constraints.loop_joint": "LoopJoint",
            "linkwork.constraints.nonholonomic": "BallRolling KnifeEdge NoSlip Rolling RollingContact",
            "linkwork.constraints.point_constraints": "Distance PointOnCurve PointOnLine PointOnPlane PointOnSurface",
            "linkwork.constraints.prescribed_motion": "Prescribed",
        },
    )
