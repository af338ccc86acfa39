"""Refusals of edits and arguments of robots: each names the function, the value and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.kernels.robot_arguments import read_limits
from linkwork.model.friction_laws import friction_law
from linkwork.model.random_tree import random_tree
from linkwork.shapes import Sphere

ARM = lw.load("arm7")
JOINTS = [joint.name for joint in ARM.joints]
FIRST, SECOND = JOINTS[:2]
LINKS = [body.name for body in ARM.tree.bodies]
WELDED = ARM.with_attached("probe", LINKS[3], Sphere(0.02))


def refused_calls():
    coupled = ARM.with_couplings({SECOND: (FIRST, 2.0)})
    mixed = lw.Robot(random_tree(np.random.default_rng(0), 3, types=[lw.joints.Revolute, lw.joints.Universal]))
    cardan = next(joint.name for joint in mixed.joints if joint.nv == 2)
    hinge = next(joint.name for joint in mixed.joints if joint.nv == 1)
    hinge_type = lw.joints.Revolute((0.48, -0.6, 0.64))
    mimicked = lw.Robot.build(
        "pair",
        *(lw.Link(name, mass=1.0) for name in ("base", "a", "b")),
        lw.Joint.of(hinge_type, name="j0", parent="base", child="a"),
        lw.Joint.of(hinge_type, name="j1", parent="a", child="b", mimic=("j0", 2.0)),
    )
    return {
        r"with_joint: joint 'j1' follows a joint or is followed: its nq and nv": lambda: mimicked.with_joint(
            mimicked.joint("j1").with_type(lw.joints.Spherical())
        ),
        r"with_joint: joint 'j0' follows a joint or is followed: its nq and nv": lambda: mimicked.with_joint(
            mimicked.joint("j0").with_type(lw.joints.Spherical())
        ),
        r"with_collisions: 'world' is not a link: pass a scene, or attach": lambda: ARM.with_collisions(
            "world", Sphere(0.1)
        ),
        rf"links '{LINKS[3]}' and 'probe' are on one body: they never move": lambda: WELDED.with_collision_pairs(
            [("probe", LINKS[3])]
        ),
        r"with_couplings: .*expected numbers for ratio and offset, got \('.*', 'fast'\)": lambda: ARM.with_couplings(
            {SECOND: (FIRST, "fast")}
        ),
        rf"joint '{cardan}' with 2 coordinates cannot follow joint '{hinge}' with 1": lambda: mixed.with_couplings(
            {cardan: (hinge, 2.0)}
        ),
        rf"joint '{SECOND}' cannot follow joint '{FIRST}': a master .* as many coordinates": lambda: coupled.with_joint(
            coupled.joint(SECOND).with_type(lw.joints.Spherical())
        ),
        r"no law of friction named 'smoth'; did you mean 'smooth'": lambda: friction_law("smoth"),
        r"position_limits: '.*': expected \(lower, upper\), got 0.3": lambda: read_limits("f", ARM, {FIRST: 0.3}),
        r"position_limits: '.*': lower: .*got \[0.1, 0.2\]": lambda: read_limits("f", ARM, {FIRST: ([0.1, 0.2], 0.3)}),
        r"random_configuration: expected a generator or a seed, got both": lambda: ARM.random_configuration(
            np.random.default_rng(0), seed=3
        ),
        r"random_configuration: .*got 'three'": lambda: ARM.random_configuration(seed="three"),
        r"parameters: .*, got an array of shape \(2,\)": lambda: lw.compile(
            lambda m: ARM.with_parameters({f"inertia:{LINKS[2]}": m}).total_mass(), m=(2,)
        ),
        r"gravity: .* of at most 1e\+20, got \[0.0, 0.0, 1e\+200\]": lambda: ARM.with_parameters(
            {"gravity": [0.0, 0.0, 1e200]}
        ),
        r"expressed_in: expected a frame's name without .*wrench": lambda: ARM.inverse_dynamics(
            *np.zeros((3, 7)), expressed_in={"flange": "world"}
        ),
        r"with_mounted: robot: robot 'arm7' has symbols among its parameters: set them later": lambda: lw.compile(
            lambda g: ARM.with_mounted(ARM.with_parameters({"gravity": g}), LINKS[-1], prefix="b_").total_mass(), g=3
        ),
    }


def test_refused_edits_and_arguments_of_robots_name_the_value_and_the_remedy() -> None:
    problems = []
    for message, call in refused_calls().items():
        try:
            with pytest.raises((ValueError, TypeError, UnknownNameError), match=message):
                call()
        except BaseException as problem:
            problems.append(f"{message}: {problem}")
    assert not problems, "\n\n".join(problems)
    lower, upper = read_limits("f", ARM, {FIRST: (-0.2, 0.3)})
    assert (lower[0], upper[0]) == (-0.2, 0.3) and np.array_equal(lower[1:], ARM.lower[1:])
