"""The table of functions, and the robot's methods that it drives: names, inputs, options, shapes and units agree."""

import inspect
import re

import numpy as np
import pytest

from linkwork import Robot, load
from linkwork.algorithms import ROBOT
from linkwork.algorithms.row import QUANTITIES
from linkwork.bridge.requests import read_request
from linkwork.bridge.subjects import OfRobot, shape_of
from linkwork.bridge.tracing import trace_requests
from oracles.example_robots import SHIPPED

every_row = pytest.mark.parametrize("row", ROBOT.values(), ids=ROBOT)


def parameters(row):
    return inspect.signature(getattr(Robot, row.name)).parameters


def options(row):
    return [option.name for option in row.options]


def asked(row, robot):
    return (row.name, robot.frames[-1]) if row.options else row.name


@every_row
def test_each_row_is_an_algorithm_by_its_name(row):
    assert ROBOT[row.name] is row
    names = [*inspect.signature(row.compute).parameters]
    assert names == ["tree", *row.inputs, *row.optional, *options(row)]


@every_row
def test_the_method_takes_the_inputs_in_their_order(row):
    taken = [*parameters(row).values()]
    expected = ["self", *row.inputs, *row.optional, *options(row), "out"]
    assert [p.name for p in taken] == expected
    positional = len(row.inputs) + (2 if row.options else 1)  # the frame comes after the arrays
    for k, parameter in enumerate(taken):
        is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert is_keyword == (k >= positional), parameter.name
        assert (parameter.default is inspect.Parameter.empty) == (k < positional), parameter.name
    assert parameters(row)["out"].default is None


@every_row
def test_the_method_and_the_algorithm_have_the_same_defaults(row):
    of_algorithm = inspect.signature(row.compute).parameters
    for option in row.options:
        assert parameters(row)[option.name].default == of_algorithm[option.name].default, option.name
        assert option.required or option.default == of_algorithm[option.name].default


@every_row
def test_the_docstring_states_shapes_and_units(row):
    """As in: q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N]; inputs may have their units in brackets too."""
    text = " ".join(getattr(Robot, row.name).__doc__.split())
    found = re.search(r"((?:[a-z0-9_, ]+ \(\.\.\., n[qv]\)(?: \[[^\]]*\])?)+) -> \(([^)]*)\) \[([^\]]*)\]", text)
    assert found, text
    inputs, shape, units = found.groups()
    stated = {}
    for names, size in re.findall(r"([a-z0-9_, ]+) \(\.\.\., (n[qv])\)", inputs):
        for name in re.findall(r"[a-z0-9_]+", names):
            stated[name] = size
    assert stated == {name: QUANTITIES[name].shape[0] for name in row.inputs}
    assert shape == ", ".join(["...", *map(str, row.outputs[0].shape)])
    assert units == row.units


@every_row
def test_the_row_says_what_goes_in_and_out(row):
    assert row.units
    assert row.doc.endswith(".")
    assert row.inputs
    for name in row.inputs:
        assert re.search(r"\[.+\]", QUANTITIES[name].doc), name
    assert set(options(row)) <= {"frame", "relative_to", "expressed_in", "at"}


@every_row
@pytest.mark.parametrize("example", SHIPPED, ids=str)
def test_shapes_of_every_shipped_robot(row, example):
    """What is traced has the shapes that the table states."""
    robot = example.robot()
    sizes = {"nq": robot.nq, "nv": robot.nv, "nb": len(robot.bodies)}
    of = OfRobot(robot.tree)
    program = trace_requests(of, row.name, {row.name: read_request(of, asked(row, robot))})
    assert [(p.name, p.shape) for p in program.inputs] == [(n, shape_of(of, QUANTITIES[n].shape)) for n in row.inputs]
    (output,) = program.outputs
    assert output.shape == tuple(sizes.get(n, n) for n in row.outputs[0].shape)
    assert len(program.results) - program.guards == output.size


@every_row
def test_the_method_gives_what_the_kernel_gives(row):
    robot = next(example for example in SHIPPED if example.name == "arm7").robot()
    rng = np.random.default_rng(0)
    arrays = [
        robot.random_configuration(rng, size=3) if QUANTITIES[name].shape == ("nq",) else rng.normal(size=(3, robot.nv))
        for name in row.inputs
    ]
    kernel = robot.compile(asked(row, robot))
    frame = asked(row, robot)[1:] if row.options else ()
    by_method = getattr(robot, row.name)(*arrays, *frame)
    assert by_method.shape == (3, *shape_of(OfRobot(robot.tree), row.outputs[0].shape))
    assert np.array_equal(kernel(*arrays), by_method)
    into = np.full_like(by_method, np.nan)
    assert getattr(robot, row.name)(*arrays, *frame, out=into) is into
    assert np.array_equal(into, by_method)


def test_a_request_that_states_the_defaults_is_the_one_that_leaves_them_out() -> None:
    tree = OfRobot(load("arm7").tree)
    short = read_request(tree, ("jacobian", "hand"))
    stated = {"relative_to": "world", "expressed_in": "world", "at": None}
    assert read_request(tree, ("jacobian", "hand", stated)) == short
    assert read_request(tree, ("jacobian", "hand", {"at": "world"})) != short
