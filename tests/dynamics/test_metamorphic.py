"""What must not change when a robot is described otherwise, beside the invariants 33 to 41: on random trees."""

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


@pytest.mark.parametrize("name", ROBOT)
def test_a_massless_frame_changes_no_bit(name):
    """What is compiled is the same program."""
    tree = TREES["mixed_2"]
    extra = Frame("extra", 3, random_pose(np.random.default_rng(1)))
    other = replace(tree, frames=(*tree.frames, extra))
    asked = (name, *names_for(tree, ROBOT[name], tree.frames[-3].name))
    here, there = (
        trace_requests(robot_owner(t), name, {name: read_request(robot_owner(t), asked)}) for t in (tree, other)
    )
    assert here == there


@every_plain_tree
def test_a_body_may_be_split_by_a_fixed_joint(tree):
    """A fixed joint's body welds its load to its parent: same kinetics as one body."""
    from linkwork.joints import Fixed
    from linkwork.model.body import Limits

    rng, frames = np.random.default_rng(6), without_inertias(tree.frames)
    for host in range(len(tree.bodies)):
        place = random_pose(rng)
        load = tree.bodies[(host + 1) % len(tree.bodies)].inertia
        one = replace(tree.bodies[host], inertia=tree.bodies[host].inertia + place @ load)
        together = replace(tree, bodies=(*tree.bodies[:host], one, *tree.bodies[host + 1 :]), frames=frames)
        weld = replace(
            one, name="load", joint_name="weld", parent=host, joint=Fixed(), placement=place, rotor=Pose.identity(),
            inertia=load, limits=Limits.none(Fixed()), damping=(), friction=(),
        )  # fmt: skip
        apart = replace(tree, bodies=(*tree.bodies, weld), frames=frames)
        q, v, a = state(tree)
        there, here = outcomes(Direct(apart), q, v, a), outcomes(Direct(together), q, v, a)
        there["forward_kinematics"] = there["forward_kinematics"][:, :-1]
        for name, value in here.items():
            assert_close(there[name], value, 1e-12, name)
