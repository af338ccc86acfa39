"""Table of functions and the robot's methods: names, inputs, options, shapes and units agree."""

import inspect
import re

import numpy as np
import pytest

from linkwork import Robot, load
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.kernels.owners import shape_of
from linkwork.model.function_spec import QUANTITIES
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.example_robots import SHIPPED
from oracles.scalars import listed, names_for

every_row = pytest.mark.parametrize("row", ROBOT.values(), ids=ROBOT)


def parameters(row):
    return inspect.signature(getattr(Robot, row.name)).parameters


def options(row):
    return [option.name for option in row.options]


def request_for(row, robot):
    return (row.name, *names_for(robot.tree, row)) if row.requires_frame else row.name


@every_row
def test_each_entry_of_the_function_table_has_an_algorithm_of_its_name(row):
    assert ROBOT[row.name] is row
    names = [*inspect.signature(row.compute).parameters]
    optional = [name for name in row.optional if name != "gravity"]  # which is the tree's
    assert names[: 1 + len(row.inputs)] == ["tree", *row.inputs]
    assert sorted(names) == sorted(["tree", *row.inputs, *optional, *options(row), *row.wrench_arguments[:1]])


@every_row
def test_generated_methods_have_the_inputs_of_their_table_entry_in_order(row):
    taken = [*parameters(row).values()]
    required = [option.name for option in row.options if option.required]
    more = [name for name in options(row) if name not in required]
    assert [p.name for p in taken][: 1 + len(row.inputs) + len(required)] == ["self", *row.inputs, *required]
    assert sorted(p.name for p in taken) == sorted(
        ["self", *row.inputs, *required, *row.optional, *more, *row.wrench_arguments, "out"]
    )
    positional = 1 + len(row.inputs) + len(required)  # the frame comes after the arrays
    for k, parameter in enumerate(taken):
        is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert is_keyword == (k >= positional), parameter.name
        assert (parameter.default is inspect.Parameter.empty) == (k < positional), parameter.name
    assert parameters(row)["out"].default is None


@every_row
def test_generated_methods_and_algorithms_have_equal_defaults(row):
    of_algorithm = inspect.signature(row.compute).parameters
    for option in row.options:
        assert parameters(row)[option.name].default == of_algorithm[option.name].default, option.name
        assert option.required or option.default == of_algorithm[option.name].default


@every_row
def test_docstrings_of_generated_methods_state_shapes_and_units(row):
    """Example: q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N]; inputs may have their units in brackets too."""
    text = " ".join(getattr(Robot, row.name).__doc__.split())
    output = r"(?:[a-z_A-Z0-9]+ )?\([^)]*\) \[[^\]]*\]"
    match = re.search(rf"((?:[a-z0-9_, ]+ \(\.\.\., n[qv]\)(?: \[[^\]]*\])?)+) -> ({output}(?:, {output})*)", text)
    assert match, text
    inputs, outputs = match.groups()
    stated = {}
    for names, size in re.findall(r"([a-z0-9_, ]+) \(\.\.\., (n[qv])\)", inputs):
        for name in re.findall(r"[a-z0-9_]+", names):
            stated[name] = size
    assert stated == {name: QUANTITIES[name].shape[0] for name in row.inputs}
    expected = [
        f"{output.name} ({', '.join(['...', *map(str, output.shape)])}) [{output.units}]".strip()
        for output in row.outputs
    ]
    assert outputs == ", ".join(expected)


@every_row
def test_entries_of_the_function_table_state_units_and_inputs(row):
    assert row.units
    assert row.doc.endswith(".")
    assert row.inputs
    for name in row.inputs:
        assert re.search(r"\[.+\]", QUANTITIES[name].doc), name


@every_row
def test_traced_robot_functions_have_the_shapes_stated_in_the_function_table(row):
    """Each function is traced for one of the built-in robots."""
    example = SHIPPED[[*ROBOT].index(row.name) % len(SHIPPED)]
    robot = example.robot()
    of = robot_owner(robot.tree)
    assert of.sizes.items() >= {"nq": robot.nq, "nv": robot.nv, "nb": len(robot.bodies)}.items()
    request = read_request(of, request_for(row, robot))
    program = trace_requests(of, row.name, {row.name: request})
    assert [(p.name, p.shape) for p in program.inputs] == [(n, shape_of(of, QUANTITIES[n].shape)) for n in row.inputs]
    shapes = [shape_of(of, output.shape, request.sizes) for output in row.outputs]
    assert [output.shape for output in program.outputs] == shapes
    assert len(program.results) - program.guards == sum(output.size for output in program.outputs)


@every_row
def test_robot_methods_return_the_arrays_of_their_kernel(row):
    robot = next(example for example in SHIPPED if example.name == "arm7").robot()
    rng = np.random.default_rng(0)
    arrays = [
        robot.random_configuration(rng, size=3) if QUANTITIES[name].shape == ("nq",) else rng.normal(size=(3, robot.nv))
        for name in row.inputs
    ]
    kernel = robot.compile(request_for(row, robot))
    names = names_for(robot.tree, row)
    by_method = getattr(robot, row.name)(*arrays, *names)
    results, expected = listed(by_method), listed(kernel(*arrays))
    sizes = read_request(robot_owner(robot.tree), request_for(row, robot)).sizes
    assert [x.shape for x in results] == [(3, *shape_of(robot_owner(robot.tree), o.shape, sizes)) for o in row.outputs]
    assert all(map(np.array_equal, results, expected))
    into = tuple(np.full_like(x, np.nan) for x in results)
    again = getattr(robot, row.name)(*arrays, *names, out=into if len(into) > 1 else into[0])
    assert all(a is b for a, b in zip(listed(again), into, strict=True))
    assert all(map(np.array_equal, into, results))


def test_function_requests_with_default_options_equal_requests_without_options() -> None:
    tree = robot_owner(load("arm7").tree)
    short = read_request(tree, ("jacobian", "hand"))
    stated = {"relative_to": "world", "expressed_in": "world", "point": None}
    assert read_request(tree, ("jacobian", "hand", stated)) == short
    assert read_request(tree, ("jacobian", "hand", {"point": "world"})) != short
