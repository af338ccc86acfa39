"""Invalid constraints are refused by name before anything is computed."""

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints.constraint import Constraint

NAN = math.nan


def robot():
    return lw.load("arm7").with_point("p", "hand", (0.1, 0, 0)).with_point("r", "hand", (0.2, 0, 0))


BAD = (
    (
        lambda: lw.constraints.Gear("elbow", "wrist_roll", 0.0),
        ValueError,
        "Gear: ratio: expected a number other than 0",
    ),
    (lambda: lw.constraints.Gear("elbow", "wrist_roll", NAN), ValueError, "Gear: ratio: .*nan"),
    (lambda: lw.constraints.Gear("elbow", "wrist_roll", 2.0, offset="x"), ValueError, "Gear: offset"),
    (lambda: lw.constraints.Rack("elbow", "wrist_roll", 0), ValueError, "Rack: radius"),
    (lambda: lw.constraints.Screw("elbow", "wrist_roll", math.inf), ValueError, "Screw: pitch"),
    (
        lambda: lw.constraints.Belt("elbow", "wrist_roll", -0.1, 0.2),
        ValueError,
        "Belt: radius_a: expected a length > 0",
    ),
    (lambda: lw.constraints.Belt("elbow", "wrist_roll", 0.1, 0.2, crossed=1), TypeError, "Belt: crossed"),
    (lambda: lw.constraints.Distance("p", "world", -1.0), ValueError, "Distance: length: expected a length > 0"),
    (lambda: lw.constraints.Distance("p", "world", 0.0), ValueError, "Distance: length"),
    (lambda: lw.constraints.Distance("p", "world", NAN), ValueError, "Distance: length"),
    (lambda: lw.constraints.PointOnPlane("p", "world.z", offset=NAN), ValueError, "PointOnPlane: offset"),
    (
        lambda: lw.constraints.PointOnLine("p", "world.z", line_point=(0, 0)),
        ValueError,
        "PointOnLine: line_point: expected three numbers",
    ),
    (
        lambda: lw.constraints.PointOnLine("p", "world.z", line_point="rocker"),
        ValueError,
        r"line_point: .* coordinates in the axes of its frame, got 'rocker'; the frame's origin is \(0, 0, 0\)",
    ),
    (lambda: lw.constraints.PointOnSurface("p", "z"), TypeError, "PointOnSurface: function: expected a function"),
    (lambda: lw.constraints.Angle("hand.x", "world.z", 0.0), ValueError, "between 0 and π .* Parallel"),
    (lambda: lw.constraints.Angle("hand.x", "world.z", 3.2), ValueError, "between 0 and π"),
    (lambda: lw.constraints.Weld("hand", pose=np.ones((4, 4))), ValueError, "Weld: pose"),
    (lambda: lw.constraints.Weld("hand", pose=np.full((4, 4), NAN)), ValueError, "Weld: pose"),
    (lambda: lw.constraints.Ball("p", point=(0, 0, NAN)), ValueError, "Ball: point"),
    (lambda: lw.constraints.CenterOfMass(), ValueError, "CenterOfMass: .*expected a coordinate"),
    (lambda: lw.constraints.CenterOfMass(z=NAN), ValueError, "CenterOfMass: z"),
    (lambda: lw.constraints.Coupling({}), TypeError, "Coupling: joints"),
    (lambda: lw.constraints.Coupling({"elbow": 0.0}), ValueError, "weight of 'elbow': expected a number other than 0"),
    (lambda: lw.constraints.Coupling("elbow"), TypeError, "Coupling: joints"),
    (lambda: lw.constraints.Coupling(("elbow", "wrist_roll")), TypeError, "expected weights"),
    (lambda: lw.constraints.Coupling({"elbow": 1.0}, unit="deg"), ValueError, "Coupling: unit"),
    (lambda: lw.constraints.PolynomialCoupling("a", "b", "1"), TypeError, "coefficients: expected numbers c_0, c_1"),
    (lambda: lw.constraints.PolynomialCoupling("a", "b", (1.0, 0.0)), ValueError, "with a coefficient other than 0"),
    (lambda: lw.constraints.PolynomialCoupling("a", "b", (1.0, np.nan)), ValueError, "c_1: expected a number, got nan"),
    (lambda: lw.constraints.PolynomialCoupling("a", "b", (0.0, 1.0), unit="deg"), ValueError, "unit: expected"),
    (lambda: lw.constraints.Coupling(("elbow",), 3.0), TypeError, "a function of them"),
    (lambda: lw.constraints.Prescribed("elbow"), TypeError, "Prescribed: motion"),
    (lambda: lw.constraints.Prescribed(motion=lambda t: t), ValueError, "expected either a joint or a point"),
    (
        lambda: lw.constraints.Prescribed("elbow", lambda t: t, point="p"),
        ValueError,
        "expected either a joint or a point",
    ),
    (lambda: lw.constraints.Prescribed(point="p", motion=lambda t: t, axes="xx"), ValueError, "axes"),
    (lambda: lw.constraints.Prescribed(point="p", motion=lambda t: t), ValueError, "expected 3 numbers, got 1"),
)

UNFIT = (
    (lw.constraints.Gear("elbow", "elbow", 2.0), "joint 'elbow' cannot be coupled with itself"),
    (lw.constraints.Coupling((("elbow", 1.0), ("elbow", 2.0))), "joint 'elbow' cannot be coupled with itself"),
    (
        lw.constraints.Rack("elbow", "wrist_roll", 0.1),
        "joint 'elbow' is of type revolute, measured in rad: Rack needs one",
    ),
    (lw.constraints.Distance("p", "r", 0.1), "'p' and 'r' are of one body"),
    (lw.constraints.Distance("p", "p", 0.1), "between 'p' and itself"),
    (lw.constraints.Distance("world", "base", 0.1), "'world' and 'base' are fixed to the world"),
    (lw.constraints.PointOnPlane("p", "hand.z"), "are of one body"),
    (lw.constraints.PointOnLine("p", "hand.z"), "are of one body"),
    (lw.constraints.PointOnSurface("p", lambda r: r[0], frame="hand"), "are of one body"),
    (lw.constraints.Parallel("hand.x", "hand.y"), "are of one body"),
    (lw.constraints.Angle("world.x", "base.y", 0.3), "are fixed to the world"),
    (lw.constraints.Weld("hand", "hand"), "between frame 'hand' and itself"),
    (lw.constraints.Weld("base"), "are fixed to the world"),
    (lw.constraints.Ball("p", "hand"), "are of one body"),
    (lw.constraints.Prescribed(point="base", motion=lambda t: (t, t, t)), "are fixed to the world"),
    (lw.constraints.Gear("elbow", "wrist_roll", 2.0, name=" "), "name: expected a non-empty string"),
    (lw.constraints.Coupling(("elbow",), lambda elbow: 1.0), "returns the same value for all joint positions"),
    (lw.constraints.Coupling(("elbow",), lambda: 1.0), "raised TypeError"),
    (lw.constraints.Coupling(("elbow",), lambda elbow: (elbow, elbow)), "expected 1 numbers, got 2"),
    (lw.constraints.PointOnSurface("p", lambda r: 0.0), "returns the same value for all positions"),
    (lw.constraints.PointOnCurve("p", lambda r: r[0]), "expected 2 numbers, got 1"),
    (lw.constraints.PointOnSurface("p", lambda r: "z"), "expected a number or an array of numbers, got 'z'"),
    (lw.constraints.Prescribed("elbow", lambda t: (t, t)), "expected 1 numbers, got 2"),
    (lw.constraints.Prescribed("elbow", lambda t: t * NAN), "computes with NaN"),
    (
        lw.constraints.Holonomic("f", lambda k: k.q("elbow") + k.twist("hand")[0]),
        "k.twist: a constraint of configurations",
    ),
    (lw.constraints.Holonomic("f", lambda k: k.q("elbow"), units=("m", "m")), "units: expected one for each of 1 rows"),
)

UNKNOWN = (
    (lw.constraints.Gear("elbov", "wrist_roll", 2.0), "no joint named 'elbov'; did you mean 'elbow'"),
    (lw.constraints.Coupling({"elbov": 2.0}), "did you mean 'elbow'"),
    (lw.constraints.Coupling(("elbov",), lambda a: a), "did you mean 'elbow'"),
    (lw.constraints.Prescribed("elbov", lambda t: t), "did you mean 'elbow'"),
    (lw.constraints.Distance("hnd", "world", 1.0), "did you mean 'hand'"),
    (lw.constraints.PointOnPlane("p", "hnd.z"), "did you mean 'hand'"),
    (lw.constraints.PointOnSurface("p", lambda r: r[0], frame="worl"), "did you mean 'world'"),
    (lw.constraints.Parallel("hand", "world.z"), "axes of a frame are hand.x, hand.y, hand.z"),
    (lw.constraints.Weld("hnd"), "did you mean 'hand'"),
    (lw.constraints.CenterOfMass(x=1.0, relative_to="hnd"), "did you mean 'hand'"),
)


def test_constraints_with_invalid_values_are_refused_on_construction():
    for make, kind, message in BAD:
        with pytest.raises(kind, match=message):
            make()


def test_constraints_that_do_not_fit_the_robot_are_refused():
    arm = robot()
    for constraint, message in UNFIT:
        with pytest.raises(ValueError, match=message):
            arm.with_constraints(constraint)
    for constraint, message in UNKNOWN:
        with pytest.raises(lw.errors.UnknownNameError, match=message):
            arm.with_constraints(constraint)
    gear = lw.constraints.Gear("elbow", "wrist_roll", 2.0)
    with pytest.raises(ValueError, match=r"already has a constraint 'gear\(elbow, wrist_roll\)'"):
        arm.with_constraints(gear, gear)


def test_couplings_of_joints_with_several_coordinates_are_refused():
    free = lw.Joint.of(lw.joints.Planar(), name="base", parent="world", child="cart")
    wheel = lw.Joint.of(lw.joints.UnboundedRevolute((0, 1, 0)), name="wheel", parent="cart", child="disc")
    arm = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="arm", parent="cart", child="rod")
    links = [lw.Link(name, mass=1.0, inertia=(1, 1, 1)) for name in ("cart", "disc", "rod")]
    cart = lw.Robot.build("cart", *links, free, wheel, arm)
    for constraint, message in (
        (
            lw.constraints.Gear("base", "arm", 2.0),
            "joint 'base' is of type planar, with 3 coordinates and 3 velocities",
        ),
        (
            lw.constraints.Gear("arm", "wheel", 2.0),
            "joint 'wheel' is of type unbounded revolute, with 2 coordinates and 1 velocities",
        ),
        (lw.constraints.Coupling({"arm": 1.0, "base": 1.0}), "'base' is of type planar"),
        (lw.constraints.Coupling(("arm", "base"), lambda a, b: a - b), "'base' is of type planar"),
        (lw.constraints.Prescribed("wheel", lambda t: (t, t)), "whose velocity is not the rate of its configuration"),
    ):
        with pytest.raises(ValueError, match=message):
            cart.with_constraints(constraint)
    weightless = lw.Robot.build("light", lw.Link("rod"), lw.Joint.of(arm.type, name="a", parent="world", child="rod"))
    with pytest.raises(ValueError, match="has no mass"):
        weightless.with_constraints(lw.constraints.CenterOfMass(z=0.1))


def test_a_constraint_class_without_required_attributes_is_refused_with_its_name():
    class Silent(Constraint):
        name = "silent"

    class Named(Silent):
        component_names = ("row",)
        row_units = ("m",)

    with pytest.raises(TypeError, match=r"Silent: expected a class that defines the names of its rows"):
        robot().with_constraints(Silent()).constraint_error(np.zeros(7))
    with pytest.raises(TypeError, match=r"Named: expected a class that defines its error \(`error`\)"):
        robot().with_constraints(Named()).constraint_error(np.zeros(7))
