"""Recorded logs: columns in any order, units, rates, delimiters, reports of other columns, and bad tables."""

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelWarning
from linkwork.motion import Trajectory

ARM = lw.load("arm6")
NAMES = [*ARM.q_names]


def recorded():
    motion = ARM.spline(np.linspace(0.0, 3.0, 8), ARM.random_configuration(seed=5, size=8))
    t = np.linspace(0.0, 3.0, 61)
    return motion, t, motion(t)


def table(path, columns, delimiter=","):
    rows = [delimiter.join(columns)]
    rows += [delimiter.join(repr(float(x)) for x in row) for row in np.column_stack([*columns.values()])]
    path.write_text("\n".join([*rows, ""]))
    return path


def shuffled(columns, seed=0):
    keys = [*columns]
    np.random.default_rng(seed).shuffle(keys)
    return {key: columns[key] for key in keys}


def test_logs_with_only_position_columns_in_any_order_are_read(tmp_path):
    motion, t, state = recorded()
    columns = shuffled({"time": t, **dict(zip(NAMES, state.q.T, strict=True))})
    loaded = Trajectory.load(table(tmp_path / "log.csv", columns), robot=ARM)
    spline = ARM.spline(t, state.q)
    inside = np.linspace(0.0, 3.0, 400)
    assert np.abs(loaded(inside).q - spline(inside).q).max() == 0.0
    assert np.abs(loaded(inside).v - spline(inside).v).max() == 0.0
    error = loaded(inside[20:-20]).v - motion(inside[20:-20]).v
    assert np.abs(error).max() < 0.005 * np.abs(motion(inside).v).max()


FORMS = {
    "words after": ("{}_position", "{}_velocity", "{}_acceleration"),
    "words before": ("pos:{}", "vel:{}", "acc:{}"),
    "topics": ("/joint_states/{}/position", "/joint_states/{}/velocity", "/joint_states/{}/acceleration"),
    "units": ("{} [deg]", "{}.velocity [deg/s]", "{}.acceleration [deg/s^2]"),
    "linkwork": ("q:{}", "v:{}", "a:{}"),
}


@pytest.mark.parametrize("form", FORMS)
def test_velocities_and_accelerations_of_a_recorded_log_are_used(form, tmp_path):
    _, t, state = recorded()
    factor = 180.0 / np.pi if form == "units" else 1.0
    columns = {"t": t}
    for text, x in zip(FORMS[form], state, strict=True):
        columns |= {text.format(name): factor * x[:, k] for k, name in enumerate(NAMES)}
    loaded = Trajectory.load(table(tmp_path / "log.csv", shuffled(columns, 3)), robot=ARM)
    for x, y in zip(loaded(t), state, strict=True):
        assert np.abs(x - y).max() < 1e-12
    no_a = {key: x for key, x in columns.items() if "acc" not in key and not key.startswith("a:")}
    loaded = Trajectory.load(table(tmp_path / "log.csv", shuffled(no_a, 4)), robot=ARM)
    assert np.abs(loaded(t).v - state.v).max() < 1e-12 and np.abs(loaded(t).q - state.q).max() < 1e-12
    degrees = {key.partition(" [")[0]: x for key, x in columns.items()}
    path = table(tmp_path / "log.csv", shuffled(degrees, 5))
    if form == "units":
        assert np.abs(Trajectory.load(path, robot=ARM, degrees=True)(t).q - state.q).max() < 1e-12


@pytest.mark.parametrize(
    ("title", "scale"),
    [("time", 1.0), ("timestamp_ns", 1e9), ("Time [ms]", 1e3), ("stamp (us)", 1e6), ("__time", 1.0), ("t", 1.0)],
)
def test_times_of_a_recorded_log_may_have_several_names_and_units(title, scale, tmp_path):
    _, t, state = recorded()
    columns = {**dict(zip(NAMES, state.q.T, strict=True)), title: scale * (t + 1e3)}
    loaded = Trajectory.load(table(tmp_path / "log.csv", columns), robot=ARM)
    assert abs(loaded.start_time - 1e3) < 1e-9 and abs(loaded.duration - 3.0) < 1e-9


def test_a_rate_replaces_the_time_column_of_a_log_and_unknown_columns_are_reported(tmp_path):
    _, t, state = recorded()
    columns = {**dict(zip(NAMES, state.q.T, strict=True)), "battery": t, f"{NAMES[0]}_effort": t}
    path = table(tmp_path / "log.csv", columns)
    with pytest.warns(ModelWarning, match=f"columns that are not read: 'battery', '{NAMES[0]}_effort'"):
        loaded = Trajectory.load(path, robot=ARM, rate=20.0)
    assert loaded.duration == 3.0 and np.abs(loaded(t).q - state.q).max() < 1e-12
    with pytest.raises(ValueError, match=r"expected a column of time .* pass rate="):
        Trajectory.load(path, robot=ARM)
    path = table(tmp_path / "log.csv", {"t": t, **dict(zip(NAMES, state.q.T, strict=True)), "v:elbow": t})
    with pytest.warns(ModelWarning, match="not read: 'v:elbow'"):  # not for all joints
        Trajectory.load(path, robot=ARM)
    with pytest.raises(ValueError, match="leave rate out"):
        Trajectory.load(path, robot=ARM, rate=20.0)


def test_logs_with_semicolons_tabs_or_decimal_commas_are_read(tmp_path):
    _, t, state = recorded()
    columns = {"t": t, **dict(zip(NAMES, state.q.T, strict=True))}
    expected = Trajectory.load(table(tmp_path / "log.csv", columns), robot=ARM)
    table(tmp_path / "tabs.csv", columns, "\t")
    path = table(tmp_path / "semicolons.csv", columns, ";")
    assert Trajectory.load(tmp_path / "tabs.csv", robot=ARM) == expected == Trajectory.load(path, robot=ARM)
    path.write_text("# " + path.read_text().replace(".", ","))
    assert Trajectory.load(path, robot=ARM) == expected


def test_saved_trajectory_tables_with_reordered_columns_load_as_the_same_motion(tmp_path):
    motion, *_ = recorded()
    motion.save(tmp_path / "a.csv")
    lines = [line.split(",") for line in (tmp_path / "a.csv").read_text().splitlines()]
    order = np.random.default_rng(1).permutation(len(lines[0]))
    (tmp_path / "b.csv").write_text("\n".join(",".join(line[k] for k in order) for line in lines))
    first, second = (Trajectory.load(tmp_path / name, robot=ARM) for name in ("a.csv", "b.csv"))
    assert first == second


def test_quaternions_of_a_floating_base_are_read_from_a_log_by_their_names(tmp_path):
    robot = lw.load("quadruped", floating_base=True)
    q = robot.random_configuration(seed=2, size=9)
    t = np.arange(9.0)
    columns = shuffled({"t": t, **dict(zip(robot.q_names, q.T, strict=True))})
    loaded = Trajectory.load(table(tmp_path / "log.csv", columns), robot=robot)
    assert np.abs(robot.difference(loaded(t).q, q)).max() < 1e-12


BROKEN = {
    "no joint": (lambda s: s.replace("elbow", "elbo"), "no column for 'elbow' of robot 'arm6'; did you mean 'elbo'"),
    "twice": (lambda s: s.replace("battery", "q:elbow"), "are the same coordinate"),
    "unit": (lambda s: s.replace("elbow", "elbow [m]"), "expected a unit such as rad, got 'm'"),
    "a word": (lambda s: s.replace("0.05,", "now,", 1), "line 3: expected a finite number under 't', got 'now'"),
    "empty": (lambda s: s.replace("0.05,", ",", 1), "line 3: expected a finite number"),
    "nan": (lambda s: s.replace("\n0.05,", "\nnan,", 1), "line 3: expected a finite number"),
    "time": (lambda s: s.replace("\n0.1,", "\n0.01,", 1), "line 4: expected times that increase, got 0.01"),
    "short": (lambda s: s.replace("0.05,", "", 1), "line 3: expected 8 cells, got 7"),
    "few": (lambda s: "\n".join(s.splitlines()[:2]), "at least two lines"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_logs_are_refused_with_their_lines(fault, tmp_path):
    _, t, state = recorded()
    columns = {"t": np.round(t, 9), **dict(zip(NAMES, state.q.T, strict=True)), "battery": t}
    path = table(tmp_path / "log.csv", columns)
    change, said = BROKEN[fault]
    path.write_text(change(path.read_text()))
    with pytest.raises(ValueError, match=said):
        Trajectory.load(path, robot=ARM)


def test_logs_without_a_robot_are_refused(tmp_path):
    _, t, state = recorded()
    path = table(tmp_path / "log.csv", {"t": t, **dict(zip(NAMES, state.q.T, strict=True))})
    with pytest.raises(ValueError, match="expected columns t or length"):
        Trajectory.load(path)
    with pytest.raises(ValueError, match="pass robot="):
        Trajectory.load(path, rate=10.0)


def test_records_of_a_simulations_table_are_left_out_without_a_warning(tmp_path):
    robot = lw.load("double_pendulum")
    run = robot.simulate([0.3, 0.2], duration=0.05, record=["kinetic_energy", "tau"])
    run.to_csv(tmp_path / "run.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = Trajectory.load(tmp_path / "run.csv", robot=robot)
    assert np.abs(loaded(run.t).q - run.q).max() < 1e-12
    text = (tmp_path / "run.csv").read_text().replace("v:elbow", "v:elbw")
    (tmp_path / "run.csv").write_text(text)
    with pytest.warns(ModelWarning, match="not read: 'v:elbw'"):
        Trajectory.load(tmp_path / "run.csv", robot=robot)
