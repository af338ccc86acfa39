"""Origin of operations: each is counted once, for the body and the pass that created it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from linkwork import Robot, load
from linkwork.errors import SingularInertiaError, UnknownNameError
from linkwork.expr import cos, sin
from linkwork.kernels.function_request import Request, read_request
from linkwork.kernels.function_trace import trace_requests, traced
from linkwork.kernels.operation_report import report_operations
from linkwork.model.body import WORLD
from linkwork.model.composite_body import without_inertias
from linkwork.model.random_tree import random_inertia, random_tree
from linkwork.robot.robot_table import ROBOT, robot_owner
from linkwork.spatial import Inertia
from oracles.example_robots import SHIPPED
from oracles.scalars import names_for

every_row = pytest.mark.parametrize("row", ROBOT.values(), ids=ROBOT)
DYNAMICS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_force", "gravity_force")


def request_for(row, robot):
    return (row.name, *names_for(robot.tree, row)) if row.requires_frame else row.name


def added(*works):
    """The operations of several parts together."""
    return sum((Counter(work.operations) for work in works), Counter())


def is_whole(explained, program):
    """Assert that the parts of an explanation add up to a traced program."""
    parts = (*explained.bodies, explained.elsewhere)
    assert added(*parts) == Counter(program.operations) == Counter(explained.total.operations)
    assert sum(part.arithmetic for part in parts) == program.arithmetic == explained.total.arithmetic
    for part in (*parts, explained.total):
        assert len(part.by_pass) == len(explained.passes)
    assert sum(explained.total.by_pass) + explained.elsewhere.arithmetic == explained.total.arithmetic
    for part in explained.bodies:
        assert sum(part.by_pass) == part.arithmetic
    assert all(explained.total.by_pass), "a pass without arithmetic is not listed"


@pytest.mark.slow
@every_row
def test_operation_counts_of_an_explanation_sum_to_the_traced_function(row):
    """Each function is explained for one of the built-in robots."""
    robot = SHIPPED[[*ROBOT].index(row.name) % len(SHIPPED)].robot()
    request = read_request(robot_owner(robot.tree), request_for(row, robot))
    explained = report_operations(robot, request_for(row, robot))
    assert len(explained.bodies) == len(robot.bodies)
    is_whole(explained, trace_requests(robot_owner(robot.tree), row.name, {row.name: request}))


@pytest.mark.parametrize("function", DYNAMICS)
def test_total_operation_count_of_an_explanation_equals_the_kernels(function):
    robot = load("arm7_gripper")
    kernel = robot.compile(function)
    total = report_operations(robot, function).total
    assert dict(total.operations) == dict(kernel.operations)
    assert total.arithmetic == kernel.arithmetic


@pytest.mark.parametrize("seed", range(5))
def test_operation_counts_of_explained_random_trees_sum_to_the_traced_function(seed):
    tree = random_tree(np.random.default_rng(seed), 8)
    for function in DYNAMICS:
        request = {function: read_request(robot_owner(tree), function)}
        is_whole(report_operations(Robot(tree), function), trace_requests(robot_owner(tree), function, request))


def test_every_function_request_is_traced_on_a_tree_that_counts_operations_by_body():
    tree, walks = load("arm6").tree, []
    functions = ("mass_matrix", "bias_force")
    requests = {function: read_request(robot_owner(tree), function) for function in functions}

    def watched(walked, graph):
        walks.append((walked.nq, len(walked.bodies), len(graph.nodes)))
        return walked

    inputs, outputs, _ = traced(robot_owner(tree), requests, watched)
    assert [port.name for port, _ in inputs] == ["q", "v"]
    assert [port.name for port, _ in outputs] == list(functions)
    assert [(nq, bodies) for nq, bodies, _ in walks] == [(6, 6)] * 2
    assert walks[0][2] == 12 < walks[1][2]


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
def test_operation_reports_name_the_passes_of_an_algorithm(function, passes):
    assert report_operations(load("arm7"), function).passes == passes


def test_operation_reports_count_sines_for_their_own_joint():
    """Each of the first passes has a sine and a cosine for each revolute joint, and for no other."""
    robot = load("arm7_gripper")
    for body, work in zip(robot.tree.bodies, report_operations(robot, "forward_dynamics").bodies, strict=True):
        turns = body.joint.type_name() == "revolute" and body.parent != WORLD  # the first one turns under gravity
        assert work.count("sin", "cos") == (2 if turns else 0), body.name


def test_operation_report_of_a_frames_twist_has_only_the_bodies_of_its_chain():
    robot = load("humanoid")
    i = robot.tree.frame("left_hand").body
    chain = ancestors(robot.tree, i)
    explained = report_operations(robot, ("twist", "left_hand"))
    for k, work in enumerate(explained.bodies):
        assert bool(work.operations) <= (k in chain), robot.bodies[k]
    assert not explained.elsewhere.operations
    assert explained.bodies[i].arithmetic


def ancestors(tree, i):
    """Return a body and all its ancestors."""
    bodies = set()
    while i != WORLD:
        bodies.add(i)
        i = tree.bodies[i].parent
    return bodies


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix"])
def test_payload_adds_operations_only_to_its_ancestors(function):
    """Other branches take the same operations as before, kind by kind."""
    tree = load("quadruped", floating_base=True).tree
    parents = {body.parent for body in tree.bodies}
    tips = [i for i in range(len(tree.bodies)) if i not in parents]
    assert len(tips) == 4
    for tip in tips:
        bare = with_inertia(tree, tip, Inertia.zero())
        laden = with_inertia(tree, tip, random_inertia(np.random.default_rng(tip)))
        without, with_mass = report_operations(Robot(bare), function), report_operations(Robot(laden), function)
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


def counts_by_body(monkeypatch, algorithm, tree):
    """Explain a function that is not in the table: operations of each body and of the rest."""
    row = replace(ROBOT["normalize"], compute=algorithm)
    monkeypatch.setattr("linkwork.kernels.operation_report.read_request", lambda tree, request: Request(row))
    explained = report_operations(Robot(tree), "normalize")
    return [work.arithmetic for work in explained.bodies], explained.elsewhere.arithmetic, explained.passes


def test_operations_outside_of_passes_belong_to_no_body_in_the_report(monkeypatch):
    def algorithm(tree, q):
        total = q[0] + 1.0
        for i, _, _ in tree.outward():
            total = total + sin(q[i])
        return [total * total + q[0]] * tree.nq

    assert counts_by_body(monkeypatch, algorithm, load("arm6").tree) == ([1] * 6, 3, ("outward",))


def test_operations_after_a_nested_pass_count_for_the_body_of_the_outer_pass(monkeypatch):
    def algorithm(tree, q):
        total = 0.0
        for i, _, _ in tree.outward():
            for j, _, _ in tree.inward():
                total = total + q[j] * float(2 + i)  # a product is made once for each pair
                if j == tree.nq - 1:
                    break
            total = total * q[i]
        return [total] * tree.nq

    counts, elsewhere, passes = counts_by_body(monkeypatch, algorithm, load("double_pendulum").tree)
    assert elsewhere == 0
    assert counts == [1, 4]  # the first walk's product with q[0]; both inner walks' of the last body, and q[1]
    assert passes == ("outward", "inward 1", "inward 2")


def test_unneeded_operations_are_not_counted_in_the_report(monkeypatch):
    def algorithm(tree, q):
        for i, _, _ in tree.outward():
            sin(q[i]) * cos(q[i])
        return [q[0] * 2.0] * tree.nq

    assert counts_by_body(monkeypatch, algorithm, load("arm6").tree) == ([0] * 6, 1, ())


def test_operation_shared_by_several_bodies_counts_for_the_first_body(monkeypatch):
    def algorithm(tree, q):
        return [sin(q[0]) * q[0] + float(i) for i, _, _ in tree.outward()]

    counts, elsewhere, _ = counts_by_body(monkeypatch, algorithm, load("arm6").tree)
    assert (counts, elsewhere) == ([1, 1, 1, 1, 1, 1], 0)  # the product once; nothing is added in the first body


@pytest.mark.slow(every=3)
def test_operations_of_a_chain_of_1500_bodies_are_counted_by_body():
    tree = random_tree(np.random.default_rng(0), 1500, shape="chain")
    assert len(report_operations(Robot(tree), ("pose", "body5")).bodies) == len(tree.bodies)


# -- errors


def test_unknown_functions_and_frames_of_reports_are_refused_with_a_suggestion():
    tree = load("arm7").tree
    with pytest.raises(UnknownNameError, match="did you mean 'mass_matrix'"):
        report_operations(Robot(tree), "mass_matrx")
    with pytest.raises(UnknownNameError, match="did you mean 'hand'"):
        report_operations(Robot(tree), ("pose", "hnd"))


def test_operation_report_of_a_joint_that_moves_no_inertia_is_refused_with_its_name():
    tree = load("double_pendulum").tree
    for i in range(2):
        tree = with_inertia(tree, i, Inertia.zero())
    with pytest.raises(SingularInertiaError, match="'elbow' and 'shoulder' move no inertia"):
        report_operations(Robot(tree), "forward_dynamics")
