"""Lazy imports: public names at first access, a robot's algorithms at the first call."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pickle
import subprocess
import sys
import typing
from collections.abc import Iterator
from inspect import getattr_static
from pathlib import Path
from types import FunctionType

import pytest
from tests.helpers.public_interface import public_functions, public_modules

import linkwork as lw
from helpers.source_imports import SOURCE
from linkwork._util.lazy_imports import LazyAttribute
from linkwork._util.own_code import is_own, state_of_attributes
from linkwork.kernels.robot_base import RobotBase
from linkwork.robot.robot_methods import METHODS

SUBJECTS = ("control", "environments", "identify", "ik", "motion", "optimal", "planning", "simulation")
LIGHT = {f"linkwork.{subject}" for subject in SUBJECTS}

STEPS = """
import contextlib, io, json, sys
import numpy, llvmlite
before, found = set(sys.modules), []
def note(step):
    found.append((step, sorted(set(sys.modules) - before)))
with contextlib.redirect_stdout(io.StringIO()):
    import linkwork as lw
    note("import")
    from linkwork.cli.main import main
    main(["--help"]), main(["--version"])
    note("help")
    for owner, name in ((lw, "PDControler"), (lw.control, "Impedence"), (lw.expr, "sinn")):
        with contextlib.suppress(AttributeError):
            getattr(owner, name)
    note("misspelled")
    robot = lw.load("double_pendulum")
    robot.pose([0.0, 0.0], "tip"), robot.inverse_dynamics([0.0] * 2, [0.0] * 2, [0.0] * 2)
    note("robot")
print(json.dumps(found))
"""


def printed(code: str, *arguments: str) -> str:
    """Return the output of Python code in a new process."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def steps() -> dict[str, list[str]]:
    """The modules that were imported until the end of each step of a new process."""
    return dict(json.loads(printed(STEPS)))


def subjects(modules: list[str]) -> set[str]:
    """Return the modules of subjects that do more than name what is in them."""
    return {name for name in modules if name.startswith(tuple(f"linkwork.{s}" for s in SUBJECTS))} - LIGHT


def test_importing_linkwork_imports_only_tables_of_names(steps: dict[str, list[str]]) -> None:
    assert len(steps["import"]) <= 20
    assert not [
        name for name in steps["import"] if name.startswith("linkwork.") and not name.startswith("linkwork._util")
    ]


def test_option_help_of_the_command_imports_only_its_own_modules(steps: dict[str, list[str]]) -> None:
    rooms = {name.split(".")[1] for name in steps["help"] if name.startswith("linkwork.")}
    assert rooms == {"_util", "cli", "errors"}
    assert not [name for name in steps["help"] if name.startswith("linkwork.cli.commands.")]


def test_misspelled_names_get_hints_without_importing_algorithms(steps: dict[str, list[str]]) -> None:
    assert "linkwork.planning" in steps["misspelled"]
    assert subjects(steps["misspelled"]) == set()
    assert not [name for name in steps["misspelled"] if name.startswith(("linkwork.compiler", "linkwork.kernels"))]


def test_subjects_of_a_robot_are_imported_at_the_first_use_of_their_methods(steps: dict[str, list[str]]) -> None:
    """A subject's methods are imported when one of them is accessed."""
    assert {name for name in steps["robot"] if name.endswith("methods")} == {
        "linkwork.expr.scalar.symbol_methods",
        *("linkwork.kinematics.methods", "linkwork.dynamics.methods", "linkwork.joints.base.inherited_methods"),
        "linkwork.robot.robot_methods",
    }
    assert subjects(steps["robot"]) == set()
    assert not [name for name in steps["robot"] if name.startswith(("linkwork.geometry.", "linkwork.collision.alg"))]


def test_importing_linkwork_and_loading_a_robot_import_no_optional_libraries(steps: dict[str, list[str]]) -> None:
    extras = {"dask", "distributed", "xarray", "pandas", "ray", "joblib", "zarr", "scipy", "matplotlib"}
    assert extras & {name.partition(".")[0] for name in steps["robot"]} == set()


def test_every_public_name_exists() -> None:
    for title, module in public_modules().items():
        listed = dir(module)
        assert {*module.__all__} <= {*listed}, title
        for name in listed:
            assert getattr(module, name) is not None, f"{title}.{name}"
            assert name in vars(module) or title == "linkwork", f"{title}.{name} is imported again and again"
    everything: dict[str, object] = {}
    exec("from linkwork import *", everything)
    assert {*lw.__all__} <= {*everything}


def lazy_packages() -> Iterator[Path]:
    """The files that have a table of names for `public_names`."""
    for path in sorted(SOURCE.rglob("__init__.py")):
        if "public_names(" in path.read_text(encoding="utf-8"):
            yield path


def test_imports_for_type_checkers_equal_the_table_of_public_names_in_every_package() -> None:
    """Imports for types and the table of a package agree, and no name is also that of a module in the package."""
    count = 0
    for path in lazy_packages():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = ".".join(path.relative_to(SOURCE.parent).parent.parts)
        imported: dict[str, str] = {}
        table: dict[str, str] = {}
        for node in tree.body:
            if not isinstance(node, ast.If):
                continue
            for inner in node.body:
                if isinstance(inner, ast.ImportFrom):
                    assert inner.module is not None
                    assert all(alias.asname == alias.name for alias in inner.names), "only such names are exported"
                    imported |= {alias.name: inner.module for alias in inner.names}
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "public_names":
                    homes = ast.literal_eval(call.args[1]) if len(call.args) > 1 else {}
                    table |= {name: home for home, names in homes.items() for name in names.split()}
                    for keyword in [x for x in call.keywords if x.arg != "names"]:
                        table |= dict.fromkeys(ast.literal_eval(keyword.value).split(), package)
        assert imported == table, package
        files = {
            child.stem for child in path.parent.iterdir() if child.suffix == ".py" or (child / "__init__.py").exists()
        }
        assert not [name for name in table if name in files and table[name] != package], package
        count += bool(table)
    assert count > 15


def test_table_of_robot_methods_lists_the_methods_of_all_subjects() -> None:
    """It lists each method of the classes of methods once, and type checkers see these classes as bases."""
    listed = [name for names in METHODS.values() for name in names.split()]
    assert len(listed) == len(set(listed)) > 200
    for home, names in METHODS.items():
        module, _, kind = home.rpartition(".")
        attributes = vars(getattr(importlib.import_module(module), kind)).keys()
        assert attributes - {"__module__", "__doc__", "__slots__", "__firstlineno__", "__static_attributes__"} == {
            *names.split()
        }, home
    tree = ast.parse((SOURCE / "robot" / "robot_methods.py").read_text(encoding="utf-8"))
    bases = [[ast.unparse(base) for base in node.bases] for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    inherited = {"DistanceMethods", "ResistanceMethods", "Constructors"}  # by others of these classes
    assert {home.rpartition(".")[2] for home in METHODS} == {*bases[0]} | inherited


def test_robot_methods_are_plain_python_methods_after_the_first_access() -> None:
    """All descriptors of methods have been replaced, and what replaces them counts as linkwork's own code."""
    for name in [name for names in METHODS.values() for name in names.split()]:
        assert getattr(lw.Robot, name) is not None, name
        value = getattr_static(lw.Robot, name)
        assert not isinstance(value, LazyAttribute), name
        if isinstance(value, FunctionType):
            assert (value.__module__, value.__qualname__) == ("linkwork", f"Robot.{name}")
            assert is_own(value), name
    assert state_of_attributes() == ""


REPLACED = """
import inspect, pickle
from unittest import mock
import numpy as np
import linkwork as lw
from linkwork._util.own_code import state_of_attributes

class Own(lw.Robot):
    def pose(self, q, frame):
        return super().pose(q, frame) + 1.0

robot = lw.load("double_pendulum")
q = robot.neutral()
with mock.patch("linkwork.Robot.momentum", autospec=True) as patched:
    robot.momentum(q, q)
lw.Robot.power = lambda self: 3.0
del lw.Robot.power
print(patched.call_count, callable(robot.power), state_of_attributes() == "")
with mock.patch.object(lw.Robot, "jacobian", lambda self, q: 7.0):
    print(robot.jacobian(q), state_of_attributes() != "")
print(state_of_attributes() == "", robot.jacobian(q, "tip").shape, state_of_attributes() == "")
print(np.array_equal(Own(robot.tree).pose(q, "tip"), robot.pose(q, "tip") + 1.0), state_of_attributes() == "")
print("frame" in inspect.signature(robot.twist).parameters, hasattr(robot, "plan"), hasattr(robot, "nothing"))
method = pickle.loads(pickle.dumps(robot.mass_matrix))
print({"pose", "plan", "frames"} <= {*dir(robot)}, str(robot)[:5], method(q).shape)
"""


@pytest.mark.slow(every=5)
def test_robot_methods_can_be_replaced_and_inherited_before_their_first_access() -> None:
    assert printed(REPLACED).split("\n") == [
        *("1 True True", "7.0 True", "True (6, 2) True", "True True", "True True False", "True world (2, 2)", "")
    ]


def test_annotations_of_public_functions_can_be_evaluated() -> None:
    names = {"RobotBase": RobotBase}
    functions = list(public_functions())
    assert len(functions) > 1000
    for _, function in functions:
        typing.get_type_hints(function, localns=names)
    hints = typing.get_type_hints(lw.Robot.plan)
    assert hints["return"] is lw.planning.PlanResult and hints["scene"] == lw.Scene | None


POSE = """
import sys
import linkwork as lw
robot = lw.load("arm7")
robot.pose(robot.neutral(), "hand")
print(*sorted(name for name in sys.modules if name.startswith(("linkwork", "llvmlite."))))
"""
UNNEEDED = {
    *("compiler.program", "compiler.operation_counts", "compiler.derivatives.kernel_derivatives", "expr.control"),
    *("constraints.constraint", "dynamics.methods", "robot.methods", "joints.universal", "joints.all_types"),
    *("model.simplify", "expr.linalg.least_squares", "kinematics.algorithms.jacobians"),
}


@pytest.mark.slow(every=5)
def test_pose_computed_with_cached_code_imports_few_modules(tmp_path: Path) -> None:
    environment = {**os.environ, "LINKWORK_CACHE": str(tmp_path), "LINKWORK_EFFORT": "2"}
    for _ in range(2):
        run = [sys.executable, "-c", POSE]
        names = subprocess.run(run, capture_output=True, text=True, env=environment, check=True).stdout.split()
    assert not {f"linkwork.{name}" for name in UNNEEDED} & {*names}
    assert len(names) <= 185


@pytest.mark.slow(every=5)
def test_robots_and_results_can_be_unpickled_in_a_new_process() -> None:
    robot = lw.load("double_pendulum")
    solution = robot.inverse_kinematics(robot.pose([0.3, 0.4], "tip"), "tip")
    values = robot, solution, lw.errors.Status.SOLVED, lw.Scene().with_box("box", (1, 1, 1), (2, 0, 0))
    code = "import pickle, sys; print(*(type(x).__name__ for x in pickle.loads(bytes.fromhex(sys.argv[1]))))"
    assert printed(code, pickle.dumps(values).hex()).split() == ["Robot", "IKResult", "Status", "Scene"]


@pytest.mark.slow(every=5)
def test_trajectory_problem_can_construct_its_controller_in_a_new_process() -> None:
    code = """
import linkwork as lw
robot = lw.load("double_pendulum")
problem = lw.TrajectoryProblem(robot, num_steps=2, duration=0.1).add("acceleration", "least_squares")
print(type(problem.controller()).__name__)
"""
    assert printed(code).strip() == "ModelPredictiveController"


THREADS = """
import sys, threading
import linkwork as lw
names = sys.argv[1:]
ready, wrong = threading.Barrier(6), []
def touch(k):
    ready.wait()
    for name in names[k:] + names[:k]:
        value = lw
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except BaseException as error:
            wrong.append((name, repr(error)))
threads = [threading.Thread(target=touch, args=(k,)) for k in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong)
"""


@pytest.mark.slow(every=5)
def test_several_threads_may_access_lazy_names_for_the_first_time() -> None:
    names = ("control.PD", "Robot.plan", "expr.linalg.solve", "Robot.pose", "TrajectoryProblem", "motion.spline")
    assert printed(THREADS, *names, "constraints.Gear", "ik.check_task", "Scene", "joints.ALL").strip() == "[]"


def test_private_modules_are_not_attributes_but_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """But they are imported as always."""
    for owner, name in ((lw, "kernels"), (lw.ik, "kernels")):
        monkeypatch.delitem(vars(owner), name, raising=False)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; "):
            getattr(owner, name)
    module = importlib.import_module("linkwork.ik.kernels")
    from linkwork.ik import kernels

    assert kernels is module


def test_robots_from_files_contain_no_users_code() -> None:
    """Their classes are proved to be linkwork's, although the packages that publish them are not imported."""
    code = "import linkwork as lw; from linkwork.compiler.trace.user_state import user_state; "
    assert printed(code + "print(user_state(lw.load('arm6')))").strip() == "None"
