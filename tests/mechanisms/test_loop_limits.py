"""Position limits of joints that close loops: driven motions, branches and assemblies stay within them."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from invariants.changes import in_other_units
from linkwork.errors import AssemblyError


def _fourbar(**limits):
    robot = lw.load("fourbar")
    pin = robot.loops["pin"]
    return robot.without_constraints().with_loop("pin", pin.frame, pin.other, pin.type, **limits)


@pytest.mark.slow(every=3)
def test_driven_motion_ends_at_the_limit_of_a_loop_joint():
    angles = {"crank_hinge": np.linspace(0.0, 1.5, 30)}
    whole = _fourbar().drive_mechanism(angles)
    pin = _fourbar().loop_configuration(whole.q)[:, 0]
    least = float(pin[14] + 0.5 * (pin[15] - pin[14]))
    robot = _fourbar(lower=least, upper=1.0)
    moved = robot.drive_mechanism(angles, q_init=whole.q[0], check=False)
    assert moved.status == "at_limits" and moved.reached.tolist() == [True] * 15 + [False] * 15
    assert np.allclose(robot.loop_configuration(moved.last)[0], least, atol=1e-6)  # up to the limit itself
    with pytest.raises(AssemblyError, match="joint limits reached"):
        robot.drive_mechanism(angles, q_init=whole.q[0])
    assert robot.drive_mechanism(angles, q_init=whole.q[0], position_limits=False).success


@pytest.mark.slow(every=5)
def test_assembly_branches_satisfy_the_limits_of_loop_joints():
    """Each limit of the pin keeps the branches whose pin is within it."""
    hold = {"rocker_hinge": -0.5}
    every = _fourbar().branches(hold)
    pin = _fourbar().loop_configuration(every.q)[:, 0]
    assert len(pin) == 2 and abs(pin[0] - pin[1]) > 0.1
    middle = float(pin.mean())
    for limits in ({"lower": middle}, {"upper": middle}):
        branches = _fourbar(**limits).branches(hold)
        within = pin > middle if "lower" in limits else pin < middle
        assert np.allclose(branches.q, every.q[within], atol=1e-8)
        assert int(_fourbar(**limits).branches(hold, position_limits=False).count) == 2


@pytest.mark.slow(every=3)
def test_length_limits_of_assembly_branches_are_applied_in_any_units():
    """A slider-crank of 0.1 mm to 10 km: a slide that is a ten-millionth beyond its limit is no branch."""
    axis, rng = (0, 1, 0), np.random.default_rng(0)
    tree = lw.Robot.build(
        "slider_crank",
        *(lw.Link(name, mass=1.0, inertia=(0.1, 0.2, 0.2)) for name in ("crank", "rod", "slide")),
        lw.Joint.of(lw.joints.Revolute(axis), name="first", parent="world", child="crank"),
        lw.Joint.of(lw.joints.Revolute(axis), name="second", parent="crank", child="rod", placement=(0.3, 0, 0)),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="third", parent="world", child="slide"),
    )
    tree = tree.with_frame("pin", "rod", (0.7, 0, 0)).with_loop("pin", "pin", "slide", lw.joints.Revolute(axis)).tree
    for angle in rng.uniform(0.3, 1.2, 2):
        far = 0.3 * np.cos(angle) + np.sqrt(0.49 - 0.09 * np.sin(angle) ** 2)
        for beyond, count in ((1e-7, 1), (-1e-7, 2)):
            limits = replace(tree.bodies[2].limits, lower=(-2.0,), upper=(far * (1.0 - beyond),))
            limited = replace(tree, bodies=(*tree.bodies[:2], replace(tree.bodies[2], limits=limits)))
            for size in (1e-4, 1.0, 1e4):
                robot = lw.Robot(in_other_units(limited, size, 1.0)[0])
                assert int(robot.branches({"first": -angle}).count) == count, (angle, size)
