"""Results: one base class, public paths, no constructor, and statuses that the page on results lists."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
import typing
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.public_interface import public_classes, public_functions

import linkwork
import linkwork as lw
from linkwork._util.result import Result, ReturnedValue
from linkwork.errors import Status
from linkwork.kernels.robot_base import RobotBase

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
INTERNAL = {  # which public functions return, and people need no name of
    "linkwork.compiler": "of a kernel: its program, ports, loops and patterns",
    "linkwork.model": "of a robot: the tree of its bodies, and pairs that files disable",
    "linkwork.geometry": "kinds of solids in a scene",
    "linkwork.ik.algorithms": "what controllers share with inverse kinematics",
    "linkwork.control.algorithms": "what controllers of tasks compute on the way",
    "linkwork.optimal.algorithms": "a problem as its solvers see it",
    "linkwork.interop": "the functions of `Robot.xarray`, reached by the robot",
}
PRIVATE = {  # classes that stand alone: attributes of public ones that people do not call
    "Chain", "ContactCandidate", "ContractLine", "MidpointState", "PairSelection", "Section", "SoftResiduals",
    "_Transposed",
}  # fmt: skip


def _subclasses(kind: type) -> set[type]:
    below = {subclass for subclass in kind.__subclasses__() if subclass.__module__.startswith("linkwork")}
    return below.union(*map(_subclasses, below))


@pytest.fixture(scope="module")
def result_classes() -> set[type]:
    for module in pkgutil.walk_packages(linkwork.__path__, "linkwork."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return _subclasses(ReturnedValue) - {Result}


def test_result_classes_are_public_in_their_packages(result_classes):
    public = public_classes()
    assert len(result_classes) > 15 and {linkwork.planning.PlanResult, linkwork.mechanisms.Assembly} <= result_classes
    for kind in result_classes:
        assert public.get(kind) == kind.__module__, kind
        assert getattr(sys.modules[kind.__module__], kind.__name__) is kind


def test_result_classes_have_the_common_base_class(result_classes):
    for kind in result_classes:
        if issubclass(kind, Result):
            fields = {name for base in kind.__mro__ for name in inspect.get_annotations(base)}
            for name in ("success", "status", "message", "iterations", "explain"):
                assert hasattr(kind, name) or name in fields, (kind, name)
            assert kind.__bool__ is Result.__bool__, kind


def test_result_classes_show_no_constructor(result_classes):
    for kind in result_classes:
        assert str(inspect.signature(kind)) == "()", kind
        with pytest.raises(TypeError, match=f"{kind.__name__}: has no constructor"):
            kind()


def test_annotations_of_returned_objects_have_public_paths():
    public = public_classes()
    names = {"RobotBase": RobotBase, "Self": typing.Self} | {kind.__name__: kind for kind in public}
    unknown = {}
    for name, function in public_functions():
        stack = [typing.get_type_hints(function, localns=names).get("return")]
        while stack:
            kind = stack.pop()
            if isinstance(kind, list):  # the arguments of a function
                stack += kind
                continue
            stack += typing.get_args(kind)
            ours = inspect.isclass(kind) and kind.__module__.startswith("linkwork") and kind is not RobotBase
            known = kind in public or getattr(kind, "__name__", "") in PRIVATE
            if ours and not known and not kind.__module__.startswith((*INTERNAL,)):
                unknown[kind] = name
    assert unknown == {}


def test_results_page_explains_every_status(update_golden):
    """`python -m pytest tests/test_results.py --update-golden` writes the table of docs/results.md."""
    text = PAGE.read_text(encoding="utf-8")
    rows = [f"| `{status}` | {status.meaning} | {status.evidence} | {status.advice} |" for status in Status]
    head = ["| status | meaning | evidence | advice |", "|---|---|---|---|"]
    before, _, table = text.partition(f"{head[0]}\n{head[1]}\n")
    if update_golden:
        PAGE.write_text(before + "\n".join([*head, *rows]) + "\n", encoding="utf-8")
    assert table.splitlines() == rows or update_golden


def test_statuses_that_claim_impossibility_come_with_proofs():
    """Statuses that no search can justify require proofs."""
    kinds = {status: status.evidence.partition(": ")[0] for status in Status}
    assert set(kinds.values()) == {"proof", "example", "check", "search", "event"}
    everything = (
        "no configuration",
        "whole motion",
        "beyond the reach",
        "contradict",
        "inconsistent",
        "can be closed only",
    )
    for status, kind in kinds.items():
        claims = any(words in status.meaning.lower() for words in everything)
        assert claims == (kind == "proof"), status


def test_each_status_is_compared_with_a_result_in_a_test():
    """A test compares the status of a result with it; those of `_util` make results themselves."""
    provoked = set()
    for path in Path(__file__).parent.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for test in ast.walk(ast.parse(text)) if "status" in text and path.parent.name != "_util" else ():
            if isinstance(test, ast.FunctionDef):
                provoked |= _asserted_statuses(test)
    assert [status.value for status in Status if status not in provoked] == []


def _asserted_statuses(test: ast.FunctionDef) -> set[Status]:
    """Return the statuses that a function names, if it compares the status of a result with ==."""
    equations = [x for x in ast.walk(test) if isinstance(x, ast.Compare) and type(x.ops[0]) is ast.Eq]
    if not any("status" in ast.unparse(x) for x in equations):
        return set()
    words = {x.value for x in ast.walk(test) if isinstance(x, ast.Constant) and isinstance(x.value, str)}
    members = {x.attr for x in ast.walk(test) if isinstance(x, ast.Attribute)}
    return {status for status in Status if status.value in words or status.name in members}


def test_results_of_searches_that_end_early_have_the_matching_status():
    """Joints that determine each other, a motion that explodes, and a path whose next configuration is far."""
    with pytest.raises(lw.errors.AssemblyError, match="determine each other") as error:
        lw.load("fourbar").assemble(hold={"crank_hinge": 0.5, "coupler_hinge": 2.0})
    result = error.value.result
    assert result.status == Status.DEPENDENT_JOINTS
    assert np.abs(lw.load("fourbar").constraint_error(result.q)).max() > 1e-2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = lw.load("double_pendulum").simulate([0.0, 0.0], [1e6, 0.0], duration=0.5, dt=0.1, method="rk4")
    assert run.status == Status.DIVERGED and not np.abs(run.v[-1]).max() < 1e8
    arm, q = lw.load("arm6"), np.array([0.1, 0.5, 0.8, 0.2, 0.6, 0.1])
    X = arm.pose(q, "tool")
    path = lw.motion.line(X, lw.pose((0.05, 0.0, 0.0)) @ X)
    tracked = arm.track_cartesian_path(path, "tool", q_init=q, max_joint_step=1e-4, min_path_step=0.02)
    following = arm.ik_problem(lw.ik.PoseTask("tool", name="X")).solve(q, X=path(0.02))
    assert tracked.status == Status.JOINT_JUMP and np.abs(following.q - q).max() > 1e-4
    turns = lw.motion.arc(X, center=X[:3, 3] + 0.05 * X[:3, 1], axis=X[:3, 2], angle=8.0 * np.pi)
    tracked = arm.track_cartesian_path(turns, "tool", q_init=q, min_path_step=turns.length, max_joint_step=3.0)
    assert tracked.status == Status.DEVIATION and "densest waypoints" in tracked.message
