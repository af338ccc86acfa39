"""Labels of the dimensions of a robot's quantities."""

from __future__ import annotations

import linkwork as lw
from linkwork.constraints import Weld
from linkwork.model.coordinate_names import dimensions_of, labels_of


def test_every_dimension_of_a_robots_quantities_has_the_labels_of_its_elements() -> None:
    robot = lw.load("double_pendulum").with_frame("peg", "world", (0.3, 0.2, 0.9))
    robot = robot.with_constraints(Weld("tip", "peg", name="grip"))
    tree = robot.tree
    rows = robot.constraints["grip"].component_names
    joints = ("shoulder", "elbow")
    for dimension, expected in {
        "coordinate": joints,
        "dof": joints,
        "dof_2": joints,
        "state": ("dq:shoulder", "dq:elbow", "v:shoulder", "v:elbow"),
        "body": ("upper_rod", "lower_rod"),
        "constraint": rows,
        "holonomic_constraint": rows,
        "loop": (),
        "axis": ("x", "y", "z"),
        "sample": None,
    }.items():
        assert labels_of(tree, dimension) == expected, dimension
    assert dimensions_of(("nv", "nv")) == ("dof", "dof_2") and dimensions_of((4, 4)) == ("row", "column")
