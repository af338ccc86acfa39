"""Named derivatives of long trees are reverse derivatives in a trace, and equal the forward ones."""

from __future__ import annotations

import importlib
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.program import Program
from linkwork.dynamics.algorithms.derivatives import body_motion_derivatives
from linkwork.dynamics.algorithms.derivatives import momentum_and_energy_derivatives as center_of_mass_derivatives
from linkwork.dynamics.algorithms.derivatives import momentum_and_energy_derivatives as energy_derivatives
from linkwork.dynamics.algorithms.derivatives import momentum_and_energy_derivatives as momentum_derivatives
from linkwork.expr.autodiff.graph_derivative import are_independent
from linkwork.expr.scalar.symbol import Graph
from linkwork.joints import Revolute
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import robot_owner
from oracles.trees import TREES

MODULE = importlib.import_module("linkwork.dynamics.algorithms.derivatives.tangent_autodiff")
FILES = (center_of_mass_derivatives, energy_derivatives, body_motion_derivatives, momentum_derivatives)
ROWS = [row for file in FILES for row in file.ROWS]


def traced(tree, row, many) -> Program:
    request = (row.name, "tool1") if any(option.name == "frame" for option in row.options) else row.name
    with mock.patch.object(MODULE, "_MANY", many):
        subject = robot_owner(tree)
        return trace_requests(subject, row.name, {row.name: read_request(subject, request)})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reverse_mode_derivatives_of_dynamics_equal_forward_mode_derivatives(row, drawn):
    rng = np.random.default_rng(0)
    for name, tree in drawn([*TREES.items()][::4]):
        if not tree.nv or not any(frame.name == "tool1" for frame in tree.frames):
            continue
        reverse, forward = traced(tree, row, -1), traced(tree, row, np.inf)
        robot = lw.Robot(tree)
        states = [
            robot.random_configuration(rng, size=3) if port.name == "q" else rng.normal(size=(3, *port.shape))
            for port in reverse.inputs
        ]
        for actual, expected in zip(reverse.interpret(*states), forward.interpret(*states), strict=True):
            scale = np.abs(expected).max(initial=1.0)
            np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-12 * scale, err_msg=name)


@pytest.mark.slow(every=5)
def test_operations_of_a_chains_reverse_derivatives_grow_linearly_with_its_length():
    counts = []
    for n in (50, 100):
        tree = random_tree(np.random.default_rng(1), n, types=[Revolute], shape="chain")
        counts.append(traced(tree, momentum_derivatives.ROWS[0], MODULE._MANY).arithmetic)
    assert counts[1] < 2.2 * counts[0]


def test_only_distinct_symbols_count_as_independent_inputs():
    x, y = Graph().inputs("x", (2,))
    assert are_independent([x, y]) and are_independent([])
    assert not are_independent([x, x]) and not are_independent([x, 2.0 * y]) and not are_independent([x, 1.0])
