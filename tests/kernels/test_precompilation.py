"""Precompiled functions: several compile together, each once, with a progress display.

A later process with the same cache neither traces nor compiles them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import thread_tasks
from linkwork.errors import UnknownNameError
from linkwork.kernels import function_kernels as kernels
from linkwork.kernels import robot_base as module

FUNCTIONS: list[Any] = ["gravity_force", "mass_matrix", ("pose", "link_2"), "bias_force"]


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> lw.Robot:
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    robot = lw.load("double_pendulum")
    FUNCTIONS[2] = ("pose", robot.frames[-1])
    return robot


class Compiled:
    """Counts kernels that are made, and how many were at the same time: the first waits for ``together`` of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.now = self.most = 0
        self.together = 1
        changed, compile_requests = threading.Condition(), module.compile_requests

        def counted(tree: Any, name: str, requests: Any) -> Any:
            with changed:
                self.names.append(name)
                self.now += 1
                self.most = max(self.most, self.now)
                changed.notify_all()
                changed.wait_for(lambda: self.most >= self.together, timeout=600.0)
            try:
                return compile_requests(tree, name, requests)
            finally:
                with changed:
                    self.now -= 1

        monkeypatch.setattr(module, "compile_requests", counted)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Compiled:
    monkeypatch.setattr(thread_tasks, "available_processors", lambda: 3)
    return Compiled(monkeypatch)


def test_functions_precompiled_in_parallel_are_ready_at_their_first_call(arm: lw.Robot, compiled: Compiled) -> None:
    compiled.together = 3
    arm.precompile([*FUNCTIONS, "mass_matrix", FUNCTIONS[0]])
    assert len(compiled.names) == len(set(compiled.names)) == 4
    assert compiled.most == 3
    q = arm.neutral()
    frame = FUNCTIONS[2][1]
    results = arm.gravity_force(q), arm.mass_matrix(q), arm.pose(q, frame), arm.bias_force(q, q)
    assert len(compiled.names) == 4
    fresh = lw.load("double_pendulum")
    for got, expected in zip(
        results,
        (fresh.gravity_force(q), fresh.mass_matrix(q), fresh.pose(q, frame), fresh.bias_force(q, q)),
        strict=True,
    ):
        assert np.array_equal(got, expected)
    arm.precompile(FUNCTIONS)
    arm.precompile([])
    assert len(compiled.names) == 8  # four of them the fresh robot's


def test_threads_that_request_the_same_kernel_compile_it_once(arm: lw.Robot, compiled: Compiled) -> None:
    together, results = threading.Barrier(8), []

    def work(k: int) -> None:
        together.wait()
        if k % 2:
            arm.precompile(["mass_matrix", "gravity_force"])
        results.append(arm.mass_matrix(arm.neutral()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(compiled.names) == ["gravity_force", "mass_matrix"]
    assert len(results) == 8 and all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize("progress", [True, False, None])
def test_progress_of_precompilation_is_printed_to_standard_error(
    arm: lw.Robot, progress: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    arm.precompile(FUNCTIONS, progress=progress)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [f"compiling: {share} % of 4" for share in (25, 50, 75, 100)]
    assert printed.err.splitlines() == (lines if progress else [])  # by itself, only in a terminal


def test_wrong_precompile_requests_are_refused_before_anything_is_compiled(arm: lw.Robot, compiled: Compiled) -> None:
    for wrong in ("mass_matrix", {"mass_matrix": 1}, None, 3):
        with pytest.raises(TypeError, match="precompile: functions: expected a list of functions"):
            arm.precompile(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="mass_matrx"):
        arm.precompile(["mass_matrix", "mass_matrx"])
    with pytest.raises(UnknownNameError, match="nowhere"):
        arm.precompile(["mass_matrix", ("pose", "nowhere")])
    with pytest.raises(TypeError, match="pose: expected"):
        arm.precompile(["mass_matrix", "pose"])
    assert compiled.names == []


def test_error_while_precompiling_is_raised_and_other_functions_are_compiled(
    arm: lw.Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_requests = kernels.trace_requests

    def fails(tree: Any, name: str, requests: Any) -> Any:
        if name == "mass_matrix":
            raise ArithmeticError("no luck")
        return trace_requests(tree, name, requests)

    with monkeypatch.context() as patch:
        patch.setattr(kernels, "trace_requests", fails)
        for _ in range(2):
            with pytest.raises(ArithmeticError, match="no luck"):
                arm.precompile(FUNCTIONS)
        assert arm.gravity_force(arm.neutral()).shape == (2,)
    assert arm.mass_matrix(arm.neutral()).shape == (2, 2)


PREPARE = """
import numpy as np, linkwork as lw
robot = lw.load("double_pendulum").with_collisions("tip", lw.shapes.Capsule(0.02, 0.1))
scene = lw.Scene().with_box("box", (0.1, 0.1, 0.1), (3.0, 0.0, 0.0))
q = np.array([0.3, -0.2])
law = lw.control.ComputedTorque(robot, kp=10.0)
"""
PRECOMPILE = """
functions = ["mass_matrix", ("pose", "tip"), "plan", ("timed", {"acceleration": 2.0}), "distances"]
functions += ["is_motion_free"]
functions += [("simulate", {"controller": law, "constants": {"target_q": q}}), "in_collision"]
functions += [("inverse_kinematics", "tip", {"orientation_tolerance": np.inf}), lambda: law(0.0, q, q, target_q=q)]
robot.precompile(functions, scene=scene, progress=False)
"""
USE = """
from linkwork._util import own_code
from linkwork.compiler import code_parts
from linkwork.compiler.trace import trace
def refuse(*arguments, **named):
    raise AssertionError(f"traced or compiled: {arguments}")
code_parts._emitted = lambda source, backend, texts, stored: refuse(texts) if texts else {}
trace.traced_function = refuse
own_code._replaced = {}  # these two functions do not change results
two = np.array([q, 2.0 * q])
robot.mass_matrix(q), robot.mass_matrix(two), robot.pose(q, "tip"), robot.pose(two, "tip")
plan = robot.plan(q, 3.0 * q, scene)
plan.timed(acceleration=3.0)
robot.distances(two, scene), robot.in_collision(q, scene), robot.is_motion_free(q, q, scene)
robot.simulate(q, duration=0.1, controller=law, constants={"target_q": 2.0 * q})
robot.inverse_kinematics(robot.pose(q, "tip"), "tip", orientation_tolerance=np.inf)
law(0.0, q, q, target_q=2.0 * q)
"""


@pytest.mark.slow(every=9)
def test_later_process_loads_precompiled_functions_from_the_cache(tmp_path: Path) -> None:
    environment = {**os.environ, "LINKWORK_CACHE": str(tmp_path / "cache")}
    environment.pop("LINKWORK_DEBUG", None)
    for code in (PREPARE + PRECOMPILE, PREPARE + USE):
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def test_methods_with_options_and_python_functions_can_be_precompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, calls = lw.load("double_pendulum"), []
    robot.precompile([("simulate", {"dt": 0.01}), lambda: calls.append(1), lambda: calls.append(2)], progress=False)
    assert calls == [1, 2]
    with pytest.raises(TypeError, match=r"simulate: no option named .step.; use dt"):
        robot.precompile([("simulate", {"step": 1})])
    with pytest.raises(TypeError, match="inverse_kinematics: expected"):
        robot.precompile(["inverse_kinematics"])
    with pytest.raises(UnknownNameError, match="did you mean 'plan'"):
        robot.precompile(["plann"])
    with pytest.raises(UnknownNameError, match=r"pass the function's name: 'mass_matrix'"):
        robot.precompile([robot.mass_matrix])
    blocked = lw.Scene().with_box("everywhere", (9.0, 9.0, 9.0), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="plan: expected a collision-free configuration"):
        lw.load("arm7").precompile(["plan"], scene=blocked)
