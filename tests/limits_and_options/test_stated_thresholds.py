"""Thresholds that pages state: a page's number and the constant of the code are one."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from linkwork.formats import Budget

DOCS = Path(__file__).parents[2] / "docs"
STATED = [  # page, text with the number as its group, module, constant
    ("simulation.md", r"([\d.]+) √\(g L\) at most", "simulation.algorithms.contact.contact_terms", "_RECOVERY"),
    ("control.md", r"violates them by more than (\S+) rad", "control.linear_quadratic.constrained_states", "_OPEN"),
    ("algorithms/closed_form.md", r"olerance is (\S+) of the", "ik.algorithms.closed_form.axis_geometry", "TOLERANCE"),
    ("optimal.md", r"\| `tolerance` \| (\S+) \|", "optimal.solve", "TOLERANCE"),
    ("optimal.md", r"\| `step_tolerance` \| (\S+) \|", "optimal.solve", "TOLERANCE"),
    ("optimal.md", r"\(for shooting (\S+?)\)", "optimal.shooting.shooting_solve", "TOLERANCE"),
    ("joints.md", r"quaternion more than (\S+) from unit", "joints.base.checks", "MAX_MANIFOLD_DISTANCE"),
    ("joints.md", r"rounding \((\S+), float32's\)", "joints.base.checks", "SILENT_MANIFOLD_DISTANCE"),
    ("motion.md", r"satisfy the constraints within (\S+) \[rad", "motion.closed_motion", "_CLOSED"),
    ("compiler.md", r"Programs of more than (\d+) instructions", "compiler.codegen.code_segments", "MAX_WHOLE"),
    ("compiler.md", r"by value, up to ([\d ]+) elements of containers", "compiler.trace.user_state", "_LARGE"),
    ("control_flow.md", r"more than ([\d ]+) operations, the result is", "compiler.casadi.to_casadi", "MAX_EXPANDED"),
]  # fmt: skip


def test_documentation_pages_state_the_thresholds_of_the_code():
    for page, text, module, name in STATED:
        stated = re.findall(text, " ".join((DOCS / page).read_text(encoding="utf-8").split()))
        constant = getattr(import_module(f"linkwork.{module}"), name)
        assert [float(x.replace(" ", "")) for x in stated] == [constant], (page, text, name)


def test_table_of_file_budgets_on_its_page_has_the_default_values():
    page = (DOCS / "robot_files.md").read_text(encoding="utf-8").partition("## Limits of values and files")[2]
    rows = re.findall(r"^\| (`max_\w+`(?:, `max_\w+`)*) \| ([^|]+) \|", page, re.MULTILINE)
    stated = {}
    for names, values in rows:
        for name, value in zip(re.findall(r"\w+", names), values.split(", "), strict=True):
            number, unit = re.fullmatch(r"([\d ]+?) ?(MiB|s)?", value.strip()).groups()
            stated[name] = float(number.replace(" ", "")) * (1 << 20 if unit == "MiB" else 1)
    assert stated == {field.name: getattr(Budget(), field.name) for field in fields(Budget)}
