"""Messages about drifts of the energy: where they come, and that they state the change of the energy."""

import re

import numpy as np
import pytest

import linkwork as lw


@pytest.fixture(scope="module")
def pendulum():
    return lw.load("double_pendulum")


def shares(run):
    """Return the percentages of the change of the energy that a message states."""
    return [float(x) for x in re.findall(r"energy changes by ([0-9.e+]+) %", run.explain())]


def test_drift_of_the_energy_is_stated_for_methods_of_first_order(pendulum):
    q = [2.0, 0.5]
    run = pendulum.simulate(q, duration=3.0, dt=0.01)
    kinetic, potential = pendulum.kinetic_energy(run.q, run.v), pendulum.potential_energy(run.q)
    total = kinetic + potential
    expected = 100.0 * np.abs(total - total[0]).max() / kinetic.max()
    assert expected > 1.5 and shares(run) == [pytest.approx(expected, rel=0.06)]
    assert 'method="rk4"' in run.explain() and "semi_implicit_euler" in run.explain()
    batch = pendulum.simulate([q, [0.0, 1e-9]], duration=3.0, dt=0.01)
    assert "energy changes" in batch.explain(0) and "energy changes" not in batch.explain(1)
    for method, dt in (("rk4", 0.01), ("semi_implicit_euler", 1e-4)):
        assert not shares(pendulum.simulate(q, duration=1.0, dt=dt, method=method)), method
    pytest.importorskip("matplotlib").use("Agg")
    axes = run.plot()
    assert [len(x.texts) == 1 for x in axes] == [x.get_ylabel() == "energy [J]" for x in axes]
    axes.figure.canvas.draw()


def test_change_of_the_energy_by_forces_is_not_called_a_drift(pendulum):
    q = [2.0, 0.5]

    def push(t, q, v):
        return [1.0, 0.0]

    damped = pendulum.with_joint_dynamics(damping=[0.3, 0.3])
    for robot, options in ((pendulum, {"controller": push}), (damped, {})):
        run = robot.simulate(q, duration=3.0, dt=0.01, **options)
        total = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
        assert np.ptp(total) > 0.02 * robot.kinetic_energy(run.q, run.v).max() and not shares(run)
    assert shares(damped.simulate(q, duration=3.0, dt=0.01, passive=False))
