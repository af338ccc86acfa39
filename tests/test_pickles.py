"""Pickles of all public objects: another process computes the same results, to the bit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.pickle_results import RESULTS, results_of
from linkwork.compiler.pickling import kernel_pickle

pytest.importorskip("gymnasium")  # the environments are among the objects
from benchmarks.fuzz.callable_objects import INSTANCES

SCRIPT = """
import pickle, sys
sys.path[:0] = sys.argv[1:3]
from helpers.pickle_results import results_of
objects = pickle.load(sys.stdin.buffer)
found = [results_of(one) for one in objects]
again = [results_of(pickle.loads(pickle.dumps(one))) for one in objects]
sys.stdout.buffer.write(pickle.dumps((found, again)))
"""
SIMPLE = (lw.Robot, lw.Kernel, lw.Simulator, lw.motion.Trajectory)


def same_in_another_process(objects: list[Any]) -> None:
    tests = Path(__file__).parent
    command = [sys.executable, "-c", SCRIPT, str(tests), str(tests.parent)]
    result = subprocess.run(command, input=pickle.dumps(objects), capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
    outcome, again = pickle.loads(result.stdout)
    for instance, results, later in zip(objects, outcome, again, strict=True):
        expected = results_of(instance)
        assert results == expected, type(instance)
        if not isinstance(
            instance,
            (
                lw.Simulator,
                lw.environments.SingleEnvironment,
                lw.environments.VectorEnvironment,
                lw.control.ModelPredictiveController,
            ),
        ):
            assert later == expected, type(instance)  # the others have gone on meanwhile


def test_every_class_of_public_objects_has_a_pickle_test() -> None:
    assert RESULTS.keys() == INSTANCES.keys()


def test_selected_unpickled_objects_compute_equal_results_in_another_process() -> None:
    same_in_another_process([INSTANCES[kind]("") for kind in SIMPLE])


@pytest.mark.slow(every=9)
def test_all_unpickled_public_objects_compute_equal_results_in_another_process() -> None:
    same_in_another_process([make("") for make in INSTANCES.values()])


def test_unpickled_object_compiles_its_own_kernels(monkeypatch: pytest.MonkeyPatch, drawn: Any) -> None:
    """Compare objects and their pickles without the kernels that the process has."""
    for kind in drawn([kind for kind in INSTANCES if kind is not lw.environments.VectorEnvironment]):
        instance = INSTANCES[kind]("")
        data = pickle.dumps(instance)
        with monkeypatch.context() as patch:
            patch.setattr(kernel_pickle, "_loaded", type(kernel_pickle._loaded)())
            patch.setattr(kernel_pickle, "_recent", type(kernel_pickle._recent)())
            assert results_of(pickle.loads(data)) == results_of(instance), kind


def local_functions() -> dict[str, Callable[[], Any]]:
    arm = lw.load("arm7")
    task = lw.ik.FunctionTask("level", lambda k: k.pose("hand")[2, 3])
    level = lw.constraints.Holonomic("level", lambda k: k.pose("hand")[2, 3])
    return {
        "task 'level'": lambda: arm.ik_problem(task),
        "constraint 'level'": lambda: arm.with_constraints(level),
        "feature 'height'": lambda: lw.TrajectoryProblem(arm, num_steps=3, duration=1.0).add(
            lw.optimal.FunctionFeature("height", lambda w: w.pose("hand")[2, 3]), "least_squares"
        ),
    }


def test_messages_about_pickling_local_functions_name_them() -> None:
    for owner, make in local_functions().items():
        with pytest.raises(
            pickle.PicklingError, match=rf"{owner}: its function \(.*test_pickles.*\) cannot be pickled"
        ):
            pickle.dumps(make())


@pytest.mark.slow(every=3)
def test_kernels_of_robots_with_local_functions_are_pickled_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    level = lw.constraints.Holonomic("level", lambda k: k.pose("hand")[2, 3])
    kernel = lw.load("arm7").with_constraints(level).compile("constraint_error")
    data = pickle.dumps(kernel)
    monkeypatch.setattr(kernel_pickle, "_loaded", type(kernel_pickle._loaded)())
    result = pickle.loads(data)
    q = np.full(7, 0.2)
    assert result is not kernel and np.array_equal(result(q), kernel(q))
