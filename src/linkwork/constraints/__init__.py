"""Constraints of mechanisms: loops, rolling, couplings, prescribed motion and user functions."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.constraints.all_kinds import ALL
    from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion
    from linkwork.constraints.constraint_contract import check_constraint
    from linkwork.constraints.couplings import Belt, Coupling, Gear, Rack, Screw
    from linkwork.constraints.curve import Curve
    from linkwork.constraints.curve_couplings import CurveCoupling, PolynomialCoupling
    from linkwork.constraints.frame_constraints import Angle, Ball, CenterOfMass, Parallel, Weld
    from linkwork.constraints.loop_joint import LoopJoint
    from linkwork.constraints.nonholonomic import BallRolling, KnifeEdge, NoSlip, Rolling, RollingContact
    from linkwork.constraints.point_constraints import Distance, PointOnCurve, PointOnLine, PointOnPlane, PointOnSurface
    from linkwork.constraints.prescribed_motion import Prescribed
    from linkwork.constraints.user_functions import Holonomic, Pfaffian, StateQuery

__all__ = [
    "ALL",
    "Angle",
    "Ball",
    "BallRolling",
    "Belt",
    "CenterOfMass",
    "Constraint",
    "Coupling",
    "Curve",
    "CurveCoupling",
    "Distance",
    "Gear",
    "Holonomic",
    "Kinematics",
    "KnifeEdge",
    "LoopJoint",
    "NoSlip",
    "Parallel",
    "Pfaffian",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "PointOnSurface",
    "PolynomialCoupling",
    "Prescribed",
    "Rack",
    "Rates",
    "References",
    "RelativeMotion",
    "Rolling",
    "RollingContact",
    "Screw",
    "StateQuery",
    "Weld",
    "check_constraint",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.constraints.all_kinds": "ALL",
            "linkwork.constraints.constraint": "Constraint Kinematics Rates References RelativeMotion",
            "linkwork.constraints.constraint_contract": "check_constraint",
            "linkwork.constraints.couplings": "Belt Coupling Gear Rack Screw",
            "linkwork.constraints.curve": "Curve",
            "linkwork.constraints.curve_couplings": "CurveCoupling PolynomialCoupling",
            "linkwork.constraints.frame_constraints": "Angle Ball CenterOfMass Parallel Weld",
            "linkwork.constraints.loop_joint": "LoopJoint",
            "linkwork.constraints.nonholonomic": "BallRolling KnifeEdge NoSlip Rolling RollingContact",
            "linkwork.constraints.point_constraints": "Distance PointOnCurve PointOnLine PointOnPlane PointOnSurface",
            "linkwork.constraints.prescribed_motion": "Prescribed",
            "linkwork.constraints.user_functions": "Holonomic Pfaffian StateQuery",
        },
    )
