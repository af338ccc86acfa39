"""Sentences and refusals of driven motions, for motions that are written down without a simulation."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import Prescribed
from linkwork.errors import Status
from linkwork.mechanisms.assembly.continuation import SINGULAR_SLACK
from linkwork.mechanisms.assembly.driven_motion import DrivenMotion
from linkwork.mechanisms.assembly.driven_output import DrivenOutput

FOURBAR = lw.load("fourbar")


def motion(angles: Any, slack: Any, singular: Any = (), status: Any = Status.SOLVED) -> Any:
    """Return a motion of the four-bar linkage whose crank has these angles (..., n)."""
    values, n = np.asarray(angles, dtype=float)[..., None], np.shape(angles)[-1]
    lead = np.shape(angles)[:-1]
    result: Any = DrivenMotion.__new__(DrivenMotion)
    result.__dict__.update(
        _start=SimpleNamespace(success=np.ones(lead, dtype=bool)),
        _mechanism=SimpleNamespace(robot=FOURBAR, tree=FOURBAR.tree),
        q=np.zeros((*lead, n, 3)),
        reached=np.ones((*lead, n), dtype=bool),
        _drivers=SimpleNamespace(names=("crank_hinge",), values={"crank_hinge": values}),
        iterations=np.full(lead, 7),
        slack=np.broadcast_to(slack, (*lead, n)),
        singular=singular,
        status=np.full(lead, status),
        last=np.zeros((*lead, 3)),
    )
    return result


def test_sentences_of_driven_motions_name_singular_states_and_fast_drivers() -> None:
    crank = np.array([0.1, 0.4, 0.7])
    plain = "'fourbar' followed crank_hinge through 3 of 3 states, in 7 steps"
    assert motion(crank, 0.5)._sentence(()) == plain
    loose = "; the drivers leave motions free, of which the smallest are taken: another assembly, passed as q_init, "
    loose += "may have none (Robot.branches)"
    assert motion(crank, 0.5 * SINGULAR_SLACK)._sentence(()) == plain + loose
    assert motion(crank, [0.5 * SINGULAR_SLACK, 0.5, 0.5])._sentence(()) == plain
    assert loose not in motion(crank[:1], 0.5 * SINGULAR_SLACK)._sentence(())  # a single state says less
    fast = "; up to 1.5 revolutions between two states: angles are in rad"
    assert motion([0.0, 3.0 * math.pi, 0.0], 0.5)._sentence(()) == plain + fast
    assert motion([0.0, 2.0 * math.pi, 0.0], 0.5)._sentence(()) == plain
    passed = "; passed singular configurations at or before states 1, 2"
    assert motion(crank, 0.5, (1, 2))._sentence(()) == plain + passed
    two = motion(np.stack([crank, 2.0 * crank]), 0.5, ((0, 2), (1, 1)))
    assert two._sentence((1,)).endswith("at or before states 1") and two._sentence((0,)).endswith("states 2")
    text = motion(crank, 0.5, status=Status.TURNING_POINT)._sentence(())
    assert text.startswith(plain) and "turning point of the mechanism at crank_hinge = 0" in text


def test_times_of_driven_motions_increase_and_are_of_constraints_without_time() -> None:
    def timed(robot: Any, times: Any, caller: str = "trajectory") -> Any:
        drivers = SimpleNamespace(names=("crank_hinge",), values={"crank_hinge": np.array([[0.1], [0.4], [0.7]])})
        state = np.zeros((3, 3))
        output: Any = SimpleNamespace(
            q=state,
            v=state,
            a=state,
            _drivers=drivers,
            _mechanism=SimpleNamespace(robot=robot),
            _inputs_of=lambda index: SimpleNamespace(options={"time": 0.5}),
            _rates=np.zeros((2, 3, 3)),
        )
        return DrivenOutput._timed(output, caller, (), times)

    moved = FOURBAR.with_constraints(Prescribed("rocker_hinge", lambda t: 0.1 * t))
    for caller, times in (("trajectory", None), ("plot", [0.0, 0.1, 0.2])):
        with pytest.raises(ValueError, match=f"{caller}: expected a motion over time, but constraints .* time = 0.5 s"):
            timed(moved, times, caller)
    assert timed(moved, None, "plot")[1] is None and timed(FOURBAR, None)[1] is None
    for times in ([0.0, 0.1, 0.1], [0.2, 0.1, 0.3], [0.0, 0.1]):
        with pytest.raises(ValueError, match=r"trajectory: times: expected increasing times \(3,\) \[s\]"):
            timed(FOURBAR, times)
    with pytest.raises(ValueError, match="index: expected 0 integers for a batch"):
        DrivenOutput._timed(SimpleNamespace(q=np.zeros((3, 3))), "plot", (1,), None)  # type: ignore[arg-type]
