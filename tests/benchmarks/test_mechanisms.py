"""Benchmarks of mechanisms: compared results agree, and the table shows the measured values."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.mechanisms.__main__ import chains, growths
from benchmarks.mechanisms.peers import fixed_feet_humanoid, four_bar, four_bars, side_by_side
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.targets import MECHANISMS

from linkwork.cli.function_timings import Effort

TINY = Effort(rounds=1, at_least=1e-5)


@pytest.mark.slow(every=3)
def test_mechanism_benchmark_accelerations_agree_with_pinocchio():
    for mechanism in (four_bar(), fixed_feet_humanoid()):
        assert any(name == mechanism.name for name, _ in MECHANISMS)
        robot, state = mechanism.robot, (mechanism.q, mechanism.v, mechanism.tau)
        assert robot.nv == (3 if mechanism.name == "four-bar" else 34)
        assert np.abs(robot.constraint_jacobian(mechanism.q) @ mechanism.v).max() < 1e-12
        try:
            peer = mechanism.peer()
        except CannotCompare as reason:
            pytest.skip(str(reason))
        a = robot.forward_dynamics(*state)
        result = peer.accelerations(*state, "constraintDynamics")
        np.testing.assert_allclose(result, a, rtol=0, atol=1e-9 * np.abs(a).max())


@pytest.mark.slow(every=3)
def test_mechanism_benchmark_cost_of_four_bar_chains_grows_with_the_count_of_four_bars():
    result = chains(TINY, (5, 10, 20))
    power = next(row for row in growths(result) if row.label == "growth of operations")
    assert power.met and power.value is not None and power.value > 0.9
    robot = four_bars(5)
    q, _ = side_by_side(robot, 0.9, 0.0)
    assert np.abs(robot.constraint_error(q)).max() < 1e-13
