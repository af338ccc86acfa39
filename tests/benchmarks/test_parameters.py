"""Cost of parameters, measured for a small robot: constants are never more expensive."""

import pytest
from benchmarks.dynamics.parameters import FUNCTIONS, cost_table, costs, parameter_sets

import linkwork as lw
from linkwork.cli.function_timings import Effort


@pytest.mark.slow(every=5)
def test_benchmarked_functions_with_symbolic_parameters_never_need_fewer_operations():
    robot = lw.load("double_pendulum")
    result = costs("double_pendulum", robot, Effort(rounds=1, at_least=0.0), size=2)
    assert len(result) == sum(len(parameter_sets(robot, function)) for function in FUNCTIONS)
    for x in result:
        assert x.work >= 1.0 and x.count > 0 and min(x.constant_batch, x.shared, x.each) > 0.0
    assert len(cost_table(result)) == len(result) + 2
