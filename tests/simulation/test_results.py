"""Results of simulations are saved, loaded and drawn with their values."""

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


@pytest.mark.slow(every=5)
def test_loaded_simulation_result_equals_the_saved_result(run, tmp_path):
    ball, saved = run
    file = tmp_path / "run.npz"
    saved.save(file)
    again = Simulation.load(file, robot=ball)
    assert again.status.tolist() == saved.status.tolist() == ["ended_by_event", "completed"]
    for name in ("t", "q", "v", "stopped_at"):
        assert np.array_equal(getattr(again, name), getattr(saved, name), equal_nan=True)
    assert again.records.keys() == saved.records.keys() and again.contact_names == saved.contact_names
    assert all(np.array_equal(x, saved.records[name]) for name, x in again.records.items())
    every = [[run.explain(k) for k in range(2)] for run in (again, saved)]
    assert every[0] == every[1] and "ended by the event 'low'" in every[0][0]
    ((mine,), (loaded_event,)) = saved.events, again.events
    assert mine[:3] == loaded_event[:3] and all(
        np.array_equal(a, b) for a, b in zip(mine[3:], loaded_event[3:], strict=True)
    )
    assert again.robot_of((1,)).gravity.tolist() == [0.0, 0.0, -1.62]
    for text, wrong in (
        ("named .npz", lambda: saved.save(tmp_path / "run.csv")),
        ("those of robot 'arm7' are", lambda: Simulation.load(file, robot=lw.load("arm7"))),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()


def test_wrong_shapes_in_a_saved_simulation_are_refused_with_their_names(run, tmp_path):
    """One more element along the last axis, or one more axis, is refused with the array's name."""
    ball, saved = run
    saved.save(tmp_path / "run.npz")
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


@pytest.mark.slow(every=9)
def test_plots_of_simulations_draw_a_reference_and_have_a_figure(run, tmp_path):
    pytest.importorskip("matplotlib")
    ball, result = run
    q = result.q[1][[0, -1]]
    target = ball.spline([0.0, 0.5 * result.t[-1]], q)
    plain, panels = result.plot(1), result.plot(1, reference=target)
    assert panels.figure is panels[0].figure and panels[:2].figure is panels.figure
    panels.figure.savefig(tmp_path / "run.png")
    state = target(result.t, outside="hold")
    for k, (values, columns) in enumerate(((state.q, range(4)), (state.q, range(4, 7)), (state.v, range(3)))):
        lines = panels[k].lines[len(plain[k].lines) :] if k else panels[k].lines[len(columns) :]
        dotted = [line for line in lines if line.get_linestyle() == ":"]
        assert len(dotted) == len(columns)
        assert all(np.allclose(line.get_ydata(), values[:, c]) for line, c in zip(dotted, columns, strict=True))
    assert all(line.get_linestyle() != ":" for line in plain[0].lines)
    for wrong, error, message in (
        (state.q, TypeError, "plot: reference: expected a linkwork.motion.Trajectory"),
        (lw.motion.spline([0.0, 1.0], [[0.0], [1.0]]), ValueError, "plot: reference: expected a trajectory of 7"),
        (lw.motion.Trajectory(target.sections, ball, is_timed=False), ValueError, "expected a trajectory over time"),
    ):
        with pytest.raises(error, match=message):
            result.plot(1, reference=wrong)
    for call, message in (
        (lambda: result.animation("run.gif"), r"animation: environment: expected an integer, .*save\('run.gif'\)"),
        (lambda: result.plot(["q", "tau"]), r"plot: environment: expected an integer, .*panels="),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    for option, message in (("video", 'mp4="film.mp4"'), ("picture", 'png="picture.png"'), ("gif", "save")):
        with pytest.raises(TypeError, match=message):
            result.show(**{option: "run"})


@pytest.mark.slow(every=9)
def test_plots_of_simulations_omit_forces_of_joints_without_motors():
    pytest.importorskip("matplotlib")
    slide = lw.Joint.of(lw.joints.Prismatic("x"), name="slide", parent="world", child="cart")
    hinge = lw.Joint.of(lw.joints.Revolute("y"), name="hinge", parent="cart", child="pole")
    pole = lw.Link("pole", mass=0.1, com=(0.0, 0.0, 0.5), inertia=(0.01, 0.01, 0.01))
    robot = lw.Robot.build("cart_pole", lw.Link("cart", mass=1.0), slide, pole, hinge)
    for law, expected in ((lambda t, q, v: [-q[0], 0.0], ["tau [N]"]), (None, ["tau [N]", "tau [N·m]"])):
        result = robot.simulate([0.1, 0.2], duration=0.02, dt=1e-3, controller=law, record=["tau"])
        assert [axis.get_ylabel() for axis in result.plot()][-len(expected) :] == expected
        assert len(result.plot()) == 5 + len(expected)


def test_plots_of_simulations_draw_the_chosen_panels_and_joints(run):
    pytest.importorskip("matplotlib")
    _, result = run
    axes = result.plot(1, panels=["energy", "v", "q"], joints="floating_base.x")
    assert [axis.get_ylabel() for axis in axes] == ["energy [J]", "q [m]"]
    assert np.array_equal(axes[1].lines[0].get_ydata(), result.q[1, :, 4]) and len(axes[1].lines) == 1
    assert [axis.get_ylabel() for axis in result.plot(1, panels="v")] == ["v [rad/s]", "v [m/s]"]
    for options, message in (
        ({"panels": ["q", "torque"]}, r"plot: panels: no panel named 'torque'; there are .*'energy', 'q', 'v'"),
        ({"joints": ["base"]}, r"plot: joints: no joint or coordinate named 'base'; "),
    ):
        with pytest.raises(lw.errors.UnknownNameError, match=message):
            result.plot(1, **options)


def test_plots_of_one_panel_and_of_joints_with_dots_in_their_names_have_the_lines_of_the_joints():
    pytest.importorskip("matplotlib")
    links = [lw.Link(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in "ab"]
    ball = lw.Joint.of(lw.joints.Spherical(), name="wrist.1", parent="world", child="a")
    hinge = lw.Joint.of(lw.joints.Revolute("y"), name="wrist", parent="a", child="b")
    robot = lw.Robot.build("hand", *links, ball, hinge)
    result = robot.simulate(robot.neutral(), duration=0.02, dt=0.01, record=["tau"])
    for joints, counts in (("wrist.1", [4, 3, 3]), ("wrist", [1, 1, 1]), (["wrist", "wrist.1"], [4, 1, 4, 4])):
        axes = result.plot(panels=["q", "v", "tau"], joints=joints)
        assert [len(axis.lines) for axis in axes] == counts, joints
    (axis,) = result.plot(panels="energy")
    assert axis.get_ylabel() == "energy [J]" and result.plot(panels="v").figure is not None
    with pytest.raises(ValueError, match=r"plot: .*expected panels with values of the joints, got none"):
        result.plot(panels=[])


def test_plots_of_simulations_show_the_recorded_values(run):
    pytest.importorskip("matplotlib")
    _, result = run
    axes = result.plot(1)
    assert [axis.get_ylabel() for axis in axes[:5]] == ["q", "q [m]", "v [rad/s]", "v [m/s]", "energy [J]"]
    for columns, axis in ((range(4), axes[0]), (range(4, 7), axes[1])):
        assert all(np.array_equal(x.get_ydata(), result.q[1, :, k]) for x, k in zip(axis.lines, columns, strict=True))
    energies = {line.get_label(): line.get_ydata() for line in axes[4].lines}
    assert not any("_energy" in axis.get_ylabel() for axis in axes), "the energies are drawn once"
    assert np.allclose(energies["kinetic"], result.records["kinetic_energy"][1])
    assert np.allclose(energies["potential"], 1.62 * result.q[1, :, 6])  # the environment's own gravity
    strip = result.strip(0, num_frames=3)
    assert [axis.get_title() for axis in strip] == ["0 s", "0.015 s", "0.03 s"]  # up to where it ended
    moving = result.animation(1, rate=40.0)
    moving._draw_frame(2)
    assert moving._fig.axes[0].get_title() == "0.05 s" and len(list(moving.new_frame_seq())) == 3
    moving._draw_was_started = True
    with_path = result.animation(1, frames="body")
    paths = [line for line in with_path._fig.axes[0].lines if line.get_color() == "0.4"]
    with_path._draw_was_started = True
    assert len(paths) == 1 and len(paths[0].get_data_3d()[0]) == len(result.t)
    for text, wrong in (
        ("environment: expected 1 indices", lambda: result.plot()),
        ("environment: expected 1 indices", lambda: result.strip(2)),
        ("num_frames: expected", lambda: result.strip(0, num_frames=0)),
        ("speed: expected", lambda: result.animation(0, speed=0.0)),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()
