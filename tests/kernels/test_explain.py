"""Where operations come from: every one is counted once, for the body and the walk that made it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from linkwork import load
from linkwork.errors import SingularInertiaError, UnknownNameError
from linkwork.expr import cos, sin
from linkwork.kernels.function_request import Request, read_request
from linkwork.kernels.function_trace import trace_requests, traced
from linkwork.kernels.operation_report import explain
from linkwork.model.body import WORLD
from linkwork.model.composite_body import without_inertias
from linkwork.model.random_tree import random_inertia, random_tree
from linkwork.robot.robot_table import ROBOT, robot_owner
from linkwork.spatial import Inertia
from oracles.example_robots import SHIPPED
from oracles.scalars import names_for

every_row = pytest.mark.parametrize("row", ROBOT.values(), ids=ROBOT)
DYNAMICS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_force", "gravity_force")


def asked(row, robot):
    return (row.name, *names_for(robot.tree, row)) if row.requires_frame else row.name


def added(*works):
    """The operations of several parts together."""
    return sum((Counter(work.operations) for work in works), Counter())


def is_whole(explained, program):
    """Whether the parts of an explanation make up a traced program."""
    parts = (*explained.bodies, explained.elsewhere)
    assert added(*parts) == Counter(program.operations) == Counter(explained.total.operations)
    assert sum(part.arithmetic for part in parts) == program.arithmetic == explained.total.arithmetic
    for part in (*parts, explained.total):
        assert len(part.by_pass) == len(explained.passes)
    assert sum(explained.total.by_pass) + explained.elsewhere.arithmetic == explained.total.arithmetic
    for part in explained.bodies:
        assert sum(part.by_pass) == part.arithmetic
    assert all(explained.total.by_pass), "a pass without arithmetic is no pass"


@pytest.mark.slow
@every_row
def test_the_parts_make_up_the_traced_function(row):
    """Of one of the robots inside, another one for each function."""
    robot = SHIPPED[[*ROBOT].index(row.name) % len(SHIPPED)].robot()
    request = read_request(robot_owner(robot.tree), asked(row, robot))
    explained = explain(robot_owner(robot.tree), asked(row, robot))
    assert len(explained.bodies) == len(robot.bodies)
    is_whole(explained, trace_requests(robot_owner(robot.tree), row.name, {row.name: request}))


@pytest.mark.parametrize("function", DYNAMICS)
def test_and_the_kernel(function):
    robot = load("arm7_gripper")
    kernel = robot.compile(function)
    total = explain(robot_owner(robot.tree), function).total
    assert dict(total.operations) == dict(kernel.operations)
    assert total.arithmetic == kernel.arithmetic


@pytest.mark.parametrize("seed", range(5))
def test_random_trees(seed):
    tree = random_tree(np.random.default_rng(seed), 8)
    for function in DYNAMICS:
        request = {function: read_request(robot_owner(tree), function)}
        is_whole(explain(robot_owner(tree), function), trace_requests(robot_owner(tree), function, request))


def test_the_tree_of_every_request_may_be_watched():
    tree, seen = load("arm6").tree, []
    functions = ("mass_matrix", "bias_force")
    requests = {function: read_request(robot_owner(tree), function) for function in functions}

    def watched(walked, graph):
        seen.append((walked.nq, len(walked.bodies), len(graph.nodes)))
        return walked

    inputs, outputs, _ = traced(robot_owner(tree), requests, watched)
    assert [port.name for port, _ in inputs] == ["q", "v"]
    assert [port.name for port, _ in outputs] == list(functions)
    assert [(nq, bodies) for nq, bodies, _ in seen] == [(6, 6)] * 2
    assert seen[0][2] == 12 < seen[1][2]


@pytest.mark.parametrize(
    ("function", "passes"),
    [
        ("inverse_dynamics", ("outward", "inward")),
        ("forward_dynamics", ("outward 1", "inward", "outward 2")),
        ("mass_matrix", ("inward",)),
        ("forward_kinematics", ("outward",)),
        (("jacobian", "hand"), ("chain",)),
        ("normalize", ()),
    ],
    ids=str,
)
def test_passes(function, passes):
    assert explain(robot_owner(load("arm7").tree), function).passes == passes


def test_sines_belong_to_the_joint_they_are_of():
    """Each of the first passes makes a sine and a cosine for each turning joint, and for no other."""
    robot = load("arm7_gripper")
    for body, work in zip(robot.tree.bodies, explain(robot_owner(robot.tree), "forward_dynamics").bodies, strict=True):
        turns = body.joint.type_name() == "revolute" and body.parent != WORLD  # the first one turns under gravity
        assert work.count("sin", "cos") == (2 if turns else 0), body.name


def test_only_the_bodies_of_a_chain_take_part():
    robot = load("humanoid")
    i = robot.tree.frame("left_hand").body
    chain = ancestors(robot.tree, i)
    explained = explain(robot_owner(robot.tree), ("twist", "left_hand"))
    for k, work in enumerate(explained.bodies):
        assert bool(work.operations) <= (k in chain), robot.bodies[k]
    assert not explained.elsewhere.operations
    assert explained.bodies[i].arithmetic


def ancestors(tree, i):
    """A body and all that carry it."""
    found = set()
    while i != WORLD:
        found.add(i)
        i = tree.bodies[i].parent
    return found


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix"])
def test_a_mass_at_a_tip_is_work_for_those_who_carry_it_alone(function):
    """Other branches take the same operations as before, kind by kind."""
    tree = load("quadruped", floating_base=True).tree
    parents = {body.parent for body in tree.bodies}
    tips = [i for i in range(len(tree.bodies)) if i not in parents]
    assert len(tips) == 4
    for tip in tips:
        bare = with_inertia(tree, tip, Inertia.zero())
        laden = with_inertia(tree, tip, random_inertia(np.random.default_rng(tip)))
        without, with_mass = explain(robot_owner(bare), function), explain(robot_owner(laden), function)
        carriers = ancestors(tree, tip)
        for k, (before, after) in enumerate(zip(without.bodies, with_mass.bodies, strict=True)):
            if k not in carriers:
                assert dict(before.operations) == dict(after.operations), tree.bodies[k].name
        assert with_mass.bodies[tip].arithmetic > without.bodies[tip].arithmetic
        assert with_mass.total.arithmetic > without.total.arithmetic


def with_inertia(tree, i, inertia):
    bodies = list(tree.bodies)
    bodies[i] = replace(bodies[i], inertia=inertia)
    return replace(tree, bodies=tuple(bodies), frames=without_inertias(tree.frames))


# -- walks of other kinds than our algorithms take


def made_by(monkeypatch, algorithm, tree):
    """The explanation of a function that is not in the table: how many operations in each body and elsewhere."""
    row = replace(ROBOT["normalize"], compute=algorithm)
    monkeypatch.setattr("linkwork.kernels.operation_report.read_request", lambda tree, asked: Request(row))
    explained = explain(robot_owner(tree), "normalize")
    return [work.arithmetic for work in explained.bodies], explained.elsewhere.arithmetic, explained.passes


def test_before_and_after_the_walks_is_elsewhere(monkeypatch):
    def algorithm(tree, q):
        total = q[0] + 1.0
        for i, _, _ in tree.outward():
            total = total + sin(q[i])
        return [total * total + q[0]] * tree.nq

    assert made_by(monkeypatch, algorithm, load("arm6").tree) == ([1] * 6, 3, ("outward",))


def test_a_walk_in_a_walk_gives_way_to_it_again(monkeypatch):
    def algorithm(tree, q):
        total = 0.0
        for i, _, _ in tree.outward():
            for j, _, _ in tree.inward():
                total = total + q[j] * float(2 + i)  # a product is made once for each pair
                if j == tree.nq - 1:
                    break
            total = total * q[i]
        return [total] * tree.nq

    counts, elsewhere, passes = made_by(monkeypatch, algorithm, load("double_pendulum").tree)
    assert elsewhere == 0
    assert counts == [1, 4]  # the first walk's product with q[0]; both inner walks' of the last body, and q[1]
    assert passes == ("outward", "inward 1", "inward 2")


def test_what_no_result_needs_does_not_count(monkeypatch):
    def algorithm(tree, q):
        for i, _, _ in tree.outward():
            sin(q[i]) * cos(q[i])
        return [q[0] * 2.0] * tree.nq

    assert made_by(monkeypatch, algorithm, load("arm6").tree) == ([0] * 6, 1, ())


def test_what_two_bodies_need_counts_where_it_was_made_first(monkeypatch):
    def algorithm(tree, q):
        return [sin(q[0]) * q[0] + float(i) for i, _, _ in tree.outward()]

    counts, elsewhere, _ = made_by(monkeypatch, algorithm, load("arm6").tree)
    assert (counts, elsewhere) == ([1, 1, 1, 1, 1, 1], 0)  # the product once; nothing is added in the first body


@pytest.mark.slow(every=3)
def test_long_chains_take_no_longer_than_their_length():
    tree = random_tree(np.random.default_rng(0), 1500, shape="chain")
    assert len(explain(robot_owner(tree), ("pose", "body5")).bodies) == len(tree.bodies)


# -- errors


def test_names_that_are_not_there():
    tree = load("arm7").tree
    with pytest.raises(UnknownNameError, match="did you mean 'mass_matrix'"):
        explain(robot_owner(tree), "mass_matrx")
    with pytest.raises(UnknownNameError, match="did you mean 'hand'"):
        explain(robot_owner(tree), ("pose", "hnd"))


def test_a_joint_that_moves_no_mass():
    tree = load("double_pendulum").tree
    for i in range(2):
        tree = with_inertia(tree, i, Inertia.zero())
    with pytest.raises(SingularInertiaError, match="'elbow' and 'shoulder' move no inertia"):
        explain(robot_owner(tree), "forward_dynamics")
