"""Each attribute of MuJoCo's schema changes the robot or the report, or has no mechanical meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

import linkwork as lw

mujoco = pytest.importorskip("mujoco", minversion="4.0", reason="older versions do not print their schema")
from formats import mjcf_content  # noqa: E402
from formats.element_tables import disagreements, read  # noqa: E402
from formats.silent_content import NOT_READ  # noqa: E402


def cases(drawn: Callable[[Sequence[Any]], Iterable[Any]] = iter) -> Iterator[tuple[str, str, str]]:
    """Yield elements and attributes, and the outcome of a change."""
    for path, kind in mjcf_content.whole_elements():
        yield path, "*", kind
    for attribute in drawn(mjcf_content.attributes()):
        element, _, name = attribute.name.partition("@")
        yield element, name, mjcf_content.outcome_of(attribute)


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_every_mjcf_attribute_is_read_or_reported(drawn: Any) -> None:
    rows = [*cases(drawn)]
    assert [f"{element} {name}: {outcome}" for element, name, outcome in rows if outcome.startswith("silent")] == []
    if mujoco.__version__ == read()["mujoco"]["version"]["is"]:
        assert disagreements("mjcf", rows) == []


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_report_names_the_mjcf_elements_that_are_not_read() -> None:
    named = set(re.findall(r'<(\w+) name="(\w+\d)"', mjcf_content.NAMED))
    issues = lw.Robot.from_mujoco(mjcf_content.mujoco.MjModel.from_xml_string(mjcf_content.NAMED)).report.warnings
    messages = " ".join(issue.message for issue in issues if issue.code in NOT_READ)
    assert [name for _, name in named if f"{name!r}" not in messages] == []
    whole = {path.split("/")[-1] for path, kind in mjcf_content.whole_elements() if kind == "reported"}
    tags = {tag for tag, _ in named}
    inside = {
        *("bone", "contact", "edge", "elasticity", "pin", "element", "plugin", "config", "layer", "geom", "pulley")
    }
    sensors = {path.split("/")[-1] for path in mjcf_content.schema() if path.startswith("sensor/")}
    assert whole - inside - sensors - {"flexstrain"} <= tags


def test_every_mjcf_attribute_occurs_in_a_test_document_or_on_a_list_of_exceptions() -> None:
    assert mjcf_content.untested() == []
    record = read()["mjcf"]
    unchanged = {f"{x}@{name}" for x, items in record.items() for name in items if items[name] == "compiler"}
    assert {name for name in unchanged if not name.endswith("@*")} == mjcf_content.LISTED
