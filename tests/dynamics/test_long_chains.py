"""Chains of thousands of links load and trace without recursion."""

import pickle

import numpy as np
import pytest

from linkwork import Robot
from linkwork.joints import Prismatic, Revolute
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT, robot_owner

LINKS = 5000  # loaded and traced
FEWER_LINKS = 1100  # computed with, over floats: Python allows some 1000 nested calls


def chain_text(links):
    parts = ['<robot name="chain"><link name="link0"/>']
    for k in range(1, links + 1):
        parts.append(
            f'<link name="link{k}"><inertial><mass value="0.01"/>'
            '<inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{k}" type="continuous"><parent link="link{k - 1}"/><child link="link{k}"/>'
            '<origin xyz="0.01 0 0"/><axis xyz="0 0 1"/></joint>'
        )
    return "".join(parts) + "</robot>"


@pytest.mark.slow
def test_chain_of_thousands_of_links_can_be_loaded_and_traced():
    robot = Robot.from_urdf_string(chain_text(LINKS))
    assert robot.nv == LINKS
    requests = {"inverse_dynamics": read_request(robot_owner(robot.tree), "inverse_dynamics")}
    program = trace_requests(robot_owner(robot.tree), "inverse_dynamics", requests)
    assert len(program.results) == LINKS
    assert LINKS < program.arithmetic < 100 * LINKS
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert hash(again) == hash(robot)


@pytest.mark.slow(every=5)
def test_dynamics_of_a_chain_of_a_thousand_links_equal_the_closed_form():
    """A line of 0.01 kg every 0.01 m, straight in x; gravity along −y bends its hinges about z."""
    robot = Robot.from_urdf_string(chain_text(FEWER_LINKS), gravity=(0.0, -9.81, 0.0))
    zero = [0.0] * FEWER_LINKS
    tau = np.array(ROBOT["inverse_dynamics"].compute(robot.tree, zero, zero, zero))
    after = np.arange(FEWER_LINKS, 0, -1)  # links that a joint carries, itself the first
    expected = 0.01 * 9.81 * 0.01 * after * (after - 1) / 2.0
    assert np.max(np.abs(tau - expected)) <= 1e-12 * expected[0]
    X = ROBOT["pose"].compute(robot.tree, zero, f"link{FEWER_LINKS}")
    assert abs(X.translation.x - 0.01 * FEWER_LINKS) <= 1e-10
    a = np.array(ROBOT["forward_dynamics"].compute(robot.tree, zero, zero, tau.tolist()))
    assert np.all(np.isfinite(a))
    zeros_after = [*zero[1:], 1.0]
    V = ROBOT["twist"].compute(robot.tree, zero, zeros_after, f"link{FEWER_LINKS}", relative_to="link0")
    assert V.angular.z == 1.0


@pytest.mark.slow
def test_random_chains_of_a_thousand_links_can_be_computed_and_traced():
    tree = random_tree(np.random.default_rng(0), FEWER_LINKS, types=[Revolute, Prismatic], shape="chain")
    assert [body.parent for body in tree.bodies[:3]] == [-1, 0, 1]
    q = [0.01] * tree.nq
    assert len(ROBOT["inverse_dynamics"].compute(tree, q, q, q)) == FEWER_LINKS
    assert len(ROBOT["forward_kinematics"].compute(tree, q)) == FEWER_LINKS
    sliding = random_tree(np.random.default_rng(0), FEWER_LINKS, types=[Prismatic], shape="chain")
    of = robot_owner(sliding)
    requests = {"inverse_dynamics": read_request(of, "inverse_dynamics")}
    assert len(trace_requests(of, "inverse_dynamics", requests).results) == FEWER_LINKS
