"""Operation counts of a robot's functions: a slower program shows as a difference.

The counts do not depend on the machine.  `python -m pytest tests/test_golden_counts.py --update-golden` writes them
anew, to be looked at in the diff.
"""

import json
from pathlib import Path

import pytest
from benchmarks.tables.targets import TARGETS

from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.robot.robot_table import robot_owner
from oracles.example_robots import EXAMPLES, SHIPPED

BOUNDS = {
    robot: {f: bound for (name, f, measure), bound in TARGETS.items() if name == robot and measure == "operations"}
    for robot in ("panda", "talos")
}
GOLDEN = Path(__file__).parent / "golden" / "operation_counts.json"
ROBOTS = {example.name: example for example in (*EXAMPLES, *SHIPPED) if not example.file or example.name in BOUNDS}
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_kinematics", "pose")
ARITHMETIC = ("mul", "add", "sub")
OPERATIONS = ("sin", "cos", "div", "sqrt")


def counts(example):
    """Return operation counts by function: multiplications, additions and subtractions together, others separately."""
    tree, result = example.robot().tree, {}
    for function in FUNCTIONS:
        request = (function, example.frames[0]) if function == "pose" else function
        program = trace_requests(robot_owner(tree), function, {function: read_request(robot_owner(tree), request)})
        operations = program.operations
        label = f"{function} of {example.frames[0]}" if function == "pose" else function
        result[label] = {"mul+add+sub": sum(operations.get(name, 0) for name in ARITHMETIC)}
        result[label] |= {name: operations[name] for name in OPERATIONS if name in operations}
        assert result[label]["mul+add+sub"] == program.arithmetic
    return result


@pytest.mark.parametrize("example", ROBOTS.values(), ids=ROBOTS)
def test_operation_counts_equal_the_golden_file(example, update_golden):
    result = counts(example)
    if update_golden:
        golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
        golden = {name: result if name == example.name else golden.get(name, {}) for name in ROBOTS}
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps(golden, indent=2) + "\n", encoding="utf-8")
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden.keys() == ROBOTS.keys()
    hint = "python -m pytest tests/test_golden_counts.py --update-golden writes the new counts"
    assert result == golden[example.name], hint


def test_operation_counts_meet_the_targets_of_the_benchmarks():
    """The targets hold for any content of the golden file."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    for robot, bounds in BOUNDS.items():
        for function, bound in bounds.items():
            assert bound.met(golden[robot][function]["mul+add+sub"]), (robot, function)
