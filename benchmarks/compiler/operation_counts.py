"""`python -m benchmarks.compiler.operation_counts`: count the operations in the tables of docs/decisions.

The counts do not depend on the machine.  ``--write`` updates the tables in the pages; a test compares the two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import linkwork as lw
from benchmarks.measurement.robots import example_robots, quietly
from benchmarks.tables.rows import require
from linkwork.compiler.program import Port, Program
from linkwork.expr.scalar.symbol import Graph
from linkwork.kernels.function_trace import elements_of
from linkwork.model.simplify import align_axes, align_joint_frames, regroup_inertias, shift_origins
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import ROBOT

__all__ = ["PAGES", "figures", "written"]

DECISIONS = Path(__file__).parents[2] / "docs" / "decisions"
PAGES = {"passes": DECISIONS / "model-simplified-tree.md", "couplings": DECISIONS / "model-coupled-joints.md"}
FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
PASSED = {
    "Panda with fingers": ("panda_description/urdf/panda.urdf", False),
    "UR5": ("ur_description/urdf/ur5_robot.urdf", False),
    "Talos, free base": ("talos_data/robots/talos_reduced.urdf", True),
    "G1, free base": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    "Solo12, free base": ("solo_description/robots/solo12.urdf", True),
    "Kinova (1.5708 for π/2)": ("kinova_description/robots/kinova.urdf", False),
    "TIAGo Pro": ("tiago_pro_description/robots/tiago_pro.urdf", False),
}
COUPLED = {
    "Panda": "panda_description/urdf/panda.urdf",
    "PR2": "pr2_description/urdf/pr2.urdf",
    "TIAGo Pro": "tiago_pro_description/robots/tiago_pro.urdf",
}
WITHOUT: dict[str, Callable[[Tree], Tree]] = {
    "regrouping": lambda tree: shift_origins(align_axes(tree)),
    "sliding": lambda tree: regroup_inertias(align_axes(tree)),
    "tilting": lambda tree: regroup_inertias(shift_origins(tree)),
}


def count(tree: Tree, function: str) -> int:
    """Multiplications, additions and subtractions of a function on just this tree."""
    graph, row = Graph(), ROBOT[function]
    ports = [Port(quantity.name, (tree.nq if quantity.shape == ("nq",) else tree.nv,)) for quantity in row.quantities]
    inputs = [(port, graph.inputs(port.name, port.shape)) for port in ports]
    elements = elements_of(row.compute(tree, *(symbols for _, symbols in inputs)))
    return Program.of(function, inputs, [(Port("result", (len(elements),)), elements)]).arithmetic


def figures() -> dict[str, str]:
    """Return the tables by name, as in `PAGES`."""
    return {"passes": _passes(), "couplings": _couplings()}


def _tree(file: str, floating_base: bool = False, mimic: str = "free") -> Tree:
    with quietly():
        return lw.load(example_robots() / file, floating_base=floating_base, mimic=mimic).tree  # type: ignore[arg-type]


def _passes() -> str:
    lines = [f"| | {' | '.join(WITHOUT)} |", f"|---{'|---' * len(WITHOUT)}|"]
    for name, (file, floating) in PASSED.items():
        tree = align_joint_frames(_tree(file, floating))
        full = [count(regroup_inertias(shift_origins(align_axes(tree))), function) for function in FUNCTIONS]
        cells = []
        for without in WITHOUT.values():
            counts = [count(without(tree), function) for function in FUNCTIONS]
            saved = [round(100.0 * (1.0 - a / b)) for a, b in zip(full, counts, strict=True)]
            cells.append(f"{', '.join(map(str, saved)).replace('-', '−')} %" if any(saved) else "0")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _couplings() -> str:
    lines = ["| | followers | bound | free |", "|---|---|---|---|"]
    for name, file in COUPLED.items():
        free, bound = _tree(file), _tree(file, mimic="coupled")
        counts = [
            count(regroup_inertias(shift_origins(align_axes(align_joint_frames(tree)))), "forward_dynamics")
            for tree in (bound, free)
        ]
        lines.append(f"| {name} | {free.nv - bound.nv} | {counts[0]} | {counts[1]} |")
    return "\n".join(lines)


def written(page: str, tables: dict[str, str]) -> str:
    """Return the page's text with the tables, each between two comments of its name.  Raises NoRowsError for none."""
    require(len(tables), "no tables for a page")
    for name, table in tables.items():
        begin, end = f"<!-- figures: {name} -->\n", "<!-- end of figures -->"
        start = page.index(begin) + len(begin)
        page = page[:start] + table + "\n" + page[page.index(end, start) :]
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them; returns the exit code."""
    about = "Count the operations in docs/decisions."
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiler.operation_counts", description=about)
    parser.add_argument("--write", action="store_true", help="write them into docs/decisions")
    chosen, result = parser.parse_args(arguments), figures()
    for name, table in result.items():
        sys.stdout.write(f"{name}\n\n{table}\n\n")
        if chosen.write:
            page = PAGES[name]
            page.write_text(written(page.read_text(encoding="utf-8"), {name: table}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
