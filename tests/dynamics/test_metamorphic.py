"""Results that do not change when a robot is described differently, besides invariants 33 to 41: on random trees."""

from dataclasses import replace

import numpy as np
import pytest

from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.body import Frame
from linkwork.model.composite_body import without_inertias
from linkwork.model.random_tree import random_pose
from linkwork.robot.robot_table import ROBOT, robot_owner
from linkwork.spatial import Pose
from oracles.comparison import assert_close
from oracles.scalars import Direct, names_for
from oracles.trees import TREES, every_plain_tree, state


def outcomes(f, q, v, a):
    return {
        "forward_kinematics": f.forward_kinematics(q),
        "inverse_dynamics": f.inverse_dynamics(q, v, a),
        "mass_matrix": f.mass_matrix(q),
        "forward_dynamics": f.forward_dynamics(q, v, a),
    }


@pytest.mark.costly
@pytest.mark.parametrize("name", ROBOT)
def test_adding_a_massless_frame_does_not_change_the_compiled_program(name):
    """The compiled program is the same."""
    tree = TREES["mixed_2"]
    extra = Frame("extra", 3, random_pose(np.random.default_rng(1)))
    extended = replace(tree, frames=(*tree.frames, extra))
    request = (name, *names_for(tree, ROBOT[name], tree.frames[-3].name))
    plain_program, extended_program = (
        trace_requests(robot_owner(t), name, {name: read_request(robot_owner(t), request)}) for t in (tree, extended)
    )
    assert plain_program == extended_program


@pytest.mark.costly
@every_plain_tree
def test_splitting_a_body_by_a_fixed_joint_does_not_change_dynamics(tree):
    """A fixed joint's body adds its inertia to its parent."""
    from linkwork.joints import Fixed
    from linkwork.model.body import Limits

    rng, frames = np.random.default_rng(6), without_inertias(tree.frames)
    for host in range(len(tree.bodies)):
        shift = random_pose(rng)
        load = tree.bodies[(host + 1) % len(tree.bodies)].inertia
        heavier = replace(tree.bodies[host], inertia=tree.bodies[host].inertia + shift @ load)
        together = replace(tree, bodies=(*tree.bodies[:host], heavier, *tree.bodies[host + 1 :]), frames=frames)
        weld = replace(
            heavier, name="load", joint_name="weld", parent=host, joint=Fixed(), placement=shift, rotor=Pose.identity(),
            inertia=load, limits=Limits.none(Fixed()), damping=(), friction=(),
        )  # fmt: skip
        apart = replace(tree, bodies=(*tree.bodies, weld), frames=frames)
        q, v, a = state(tree)
        split, whole = outcomes(Direct(apart), q, v, a), outcomes(Direct(together), q, v, a)
        split["forward_kinematics"] = split["forward_kinematics"][:, :-1]
        for name, value in whole.items():
            assert_close(split[name], value, 1e-12, name)
