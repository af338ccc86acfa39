"""What simulations give is written, read and drawn: what is on pictures is what the numbers say."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import ContactGround, ContactPoint, Event, Simulation


@pytest.fixture(scope="module")
def run():
    ball = lw.Robot.build("ball", lw.Link("body", lw.shapes.Sphere(0.1), mass=1.0), floating_base=True)
    ground = ContactGround(ContactPoint("body", radius=0.1))
    q = np.stack([ball.neutral(), ball.neutral()])
    q[:, -1] = 0.11, 0.3
    events = [Event("low", lambda t, q, v: q[6] - 0.105, direction=-1, stop=True)]
    how = {"duration": 0.05, "dt": 0.005, "contacts": ground, "events": events}
    gravity = np.array([[0.0, 0.0, -9.81], [0.0, 0.0, -1.62]])
    return ball, ball.simulate(q, record=["kinetic_energy"], parameters={"gravity": gravity}, **how)


@pytest.mark.slow(every=3)
def test_saved_and_loaded(run, tmp_path):
    ball, found = run
    file = tmp_path / "run.npz"
    found.save(file)
    again = Simulation.load(file, robot=ball)
    assert again.status.tolist() == found.status.tolist() == ["ended_by_event", "completed"]
    for name in ("t", "q", "v", "stopped_at"):
        assert np.array_equal(getattr(again, name), getattr(found, name), equal_nan=True)
    assert again.records.keys() == found.records.keys() and again.contact_names == found.contact_names
    assert all(np.array_equal(x, found.records[name]) for name, x in again.records.items())
    every = [[run.explain(k) for k in range(2)] for run in (again, found)]
    assert every[0] == every[1] and "ended by the event 'low'" in every[0][0]
    ((mine,), (other,)) = found.events, again.events
    assert mine[:3] == other[:3] and all(np.array_equal(a, b) for a, b in zip(mine[3:], other[3:], strict=True))
    assert again.robot_of((1,)).gravity.tolist() == [0.0, 0.0, -1.62]
    for text, wrong in (
        ("named .npz", lambda: found.save(tmp_path / "run.csv")),
        ("those of robot 'arm7' are", lambda: Simulation.load(file, robot=lw.load("arm7"))),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()


def test_each_array_of_a_saved_run_has_its_shape(run, tmp_path):
    """One more element along the last axis, or one more axis, is refused with the array's name."""
    ball, found = run
    found.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        arrays = {name: file[name] for name in file.files if name != "said"}
        said = file["said"]
    assert {"t", "q", "events.time", "events.q"} <= arrays.keys()
    for name, x in arrays.items():
        if name.startswith(("records.", "parameters.")):  # of any shape that begins with the batch
            continue
        wider = np.concatenate((x, x[..., -1:]), axis=-1) if x.ndim else x[None]
        for wrong in (wider, x[..., None]):
            np.savez(tmp_path / "other.npz", **{**arrays, name: wrong, "said": said})
            with pytest.raises(ValueError, match=r"not a file that Simulation\.save wrote: array '"):
                Simulation.load(tmp_path / "other.npz", robot=ball)


def test_pictures(run):
    pytest.importorskip("matplotlib")
    _, found = run
    axes = found.plot(1)
    assert len(axes) == 4 and np.array_equal(axes[0].lines[6].get_ydata(), found.q[1, :, 6])
    assert [axis.get_ylabel() for axis in axes[:3]] == ["q [m]", "v [rad/s, m/s]", "energy [J]"]
    energies = {line.get_label(): line.get_ydata() for line in axes[2].lines}
    assert np.allclose(energies["kinetic"], found.records["kinetic_energy"][1])
    assert np.allclose(energies["potential"], 1.62 * found.q[1, :, 6])  # the environment's own gravity
    strip = found.strip(0, num_frames=3)
    assert [axis.get_title() for axis in strip] == ["0 s", "0.015 s", "0.03 s"]  # up to where it ended
    moving = found.animation(1, rate=40.0)
    moving._draw_frame(len(found.t) - 1)
    assert moving._fig.axes[0].get_title() == "0.05 s" and len(list(moving.new_frame_seq())) == 3
    moving._draw_was_started = True
    for text, wrong in (
        ("environment: expected 1 indices", lambda: found.plot()),
        ("environment: expected 1 indices", lambda: found.strip(2)),
        ("num_frames: expected", lambda: found.strip(0, num_frames=0)),
        ("speed: expected", lambda: found.animation(0, speed=0.0)),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()
