"""Forces, trajectories, tables and plots of driven motions, of one mechanism and of a batch of variations."""

from __future__ import annotations

import csv
import pickle
import re

import numpy as np
import pytest

import linkwork as lw
from helpers.cut_four_bar import four_bar
from linkwork.errors import UnknownNameError
from linkwork.mechanisms.assembly.reactions import undetermined_pins

ANGLES = np.linspace(0.8, 0.8 + 2 * np.pi, 73)


@pytest.fixture(scope="module")
def motion():
    return four_bar("C", damping=0.3).drive_mechanism({"A": ANGLES}, velocity={"A": 6.0})


@pytest.mark.slow(every=5)
def test_motors_of_a_driven_mechanism_supply_the_power_of_bodies_and_dampers(motion):
    robot = motion.trajectory().robot
    for passive in (True, False):
        loads = motion.reactions(passive=passive)
        v, a = motion.v, motion.a
        taken = (robot.inverse_dynamics(motion.q, v, a) * v).sum(axis=-1)
        if passive:  # of the damper in the pin that closes the loop
            taken += 0.3 * robot.loop_velocity(motion.q, v)[:, 0] ** 2
        np.testing.assert_allclose((loads.tau * v).sum(axis=-1), taken, rtol=0, atol=1e-9)
        assert not loads.tau[:, 1:].any()
        pins = robot.joint_wrenches(motion.q, v, a, actuators="A", passive=passive)
        np.testing.assert_allclose(loads.joint_wrenches, pins, rtol=0, atol=1e-9)
    pushed = motion.reactions(wrenches={"coupler": np.array([0, 0, 0, 3.0, 0, 0])}, gravity=(0, 0, 0), passive=False)
    rate = robot.twist(motion.q, motion.v, "coupler")[:, 3]
    static_reactions = motion.reactions(gravity=(0, 0, 0), passive=False)
    np.testing.assert_allclose((static_reactions.tau - pushed.tau)[:, 0] * 6.0, 3.0 * rate, rtol=0, atol=1e-9)
    with pytest.raises(lw.errors.UnderactuatedError, match="actuators none cannot induce in state 0"):
        motion.reactions(actuators=())


@pytest.mark.slow(every=3)
def test_loads_affect_all_forces_of_a_driven_motion(motion, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    load = np.linspace([0.1, -0.2, 0.3, 3.0, 0.4, -1.0], [-0.3, 0.5, 0.2, -2.0, 1.0, 4.0], 73)
    gravity = (0.3, -0.2, -1.6)
    forces = {"wrenches": {"coupler end": load}, "expressed_in": "rocker", "gravity": gravity}
    loaded, expected = motion.with_loads(**forces), motion.reactions(**forces)
    assert np.array_equal(loaded.tau, expected.tau) and np.array_equal(loaded.pin_forces, expected.pin_forces)
    assert np.abs(loaded.tau - motion.tau).max() > 0.1
    rotation = loaded.robot.pose(loaded.q, "rocker")[:, :3, :3]  # virtual power of the load at its frame's origin
    axes = np.concatenate([np.einsum("nij,nj->ni", rotation, part) for part in (load[:, :3], load[:, 3:])], axis=1)
    power = (axes * loaded.robot.twist(loaded.q, loaded.v, "coupler end")).sum(axis=1)
    unloaded = motion.with_loads(gravity=gravity)
    np.testing.assert_allclose((unloaded.tau - loaded.tau)[:, 0] * 6.0, power, rtol=0, atol=1e-9)
    table = loaded.to_pandas()
    assert np.array_equal(table["tau:A"], expected.tau[:, 0])
    assert np.array_equal(table["pin_forces:C"], expected.pin_forces[:, 3])
    lines = [line for axis in np.ravel(loaded.plot()) for line in axis.lines]
    assert any(np.array_equal(line.get_ydata(), expected.tau[:, 0]) for line in lines)
    assert np.array_equal(loaded.with_loads().tau, motion.tau)


def test_each_motion_of_a_batch_has_its_own_loads():
    pytest.importorskip("pandas")
    robot = four_bar("C")
    motions = robot.drive_mechanism({"A": np.stack([ANGLES[:4], ANGLES[8:12]])})
    load = np.zeros((2, 1, 6))
    load[:, 0, 3] = 5.0, -2.0
    loaded = motions.with_loads(wrenches={"coupler": load})
    for k in range(2):
        alone = robot.drive_mechanism({"A": motions.q[k, :, 0]}, motions.q[k, 0])
        expected = alone.reactions(wrenches={"coupler": load[k, 0]}).tau[:, 0]
        np.testing.assert_allclose(loaded.to_pandas(k)["tau:A"], expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(loaded.tau[k, :, 0], expected, rtol=0, atol=1e-9)


def test_invalid_loads_are_refused(motion):
    for loads, error, message in (
        ({"wrenches": {"couplr": np.zeros(6)}}, lw.errors.UnknownNameError, "with_loads: wrenches: no frame .*coupler"),
        ({"wrenches": {"coupler": np.zeros(3)}}, ValueError, r"with_loads: wrenches: 'coupler': .*\(moment"),
        ({"wrenches": {"coupler": np.zeros((72, 6))}}, ValueError, r"with_loads: wrenches: 'coupler': .*\(73, 6\)"),
        ({"wrenches": {"coupler": np.full(6, np.inf)}}, ValueError, "with_loads: wrenches: 'coupler': .*finite"),
        ({"wrenches": np.zeros(6)}, TypeError, "with_loads: wrenches: expected a dict by frame"),
        ({"wrenches": {"coupler": np.zeros(6)}, "expressed_in": "x"}, lw.errors.UnknownNameError, "with_loads: .*'x'"),
        ({"gravity": -9.81}, ValueError, r"with_loads: gravity: .*\(3,\)"),
    ):
        with pytest.raises(error, match=message):
            motion.with_loads(**loads)


def test_driven_motion_of_a_mechanism_can_be_converted_to_a_trajectory_over_time(motion):
    path = motion.trajectory()
    robot, t = path.robot, np.linspace(0.0, np.pi / 3, 500)
    assert np.isclose(path.duration, np.pi / 3, rtol=1e-12)
    state = path(t)
    np.testing.assert_allclose(state.q[:, 0], 0.8 + 6.0 * t, rtol=0, atol=1e-9)
    assert np.abs(robot.constraint_error(state.q)).max() < 1e-9
    assert np.abs(robot.constraint_jacobian(state.q) @ state.v[..., None]).max() < 1e-6
    speed = 6.0 + 3.0 * np.linspace(0.0, 1.0, 40)  # at constant acceleration
    angle = 0.8 + (speed**2 - 36.0) / 6.0
    faster = robot.drive_mechanism({"A": angle}, velocity={"A": speed}, acceleration={"A": 3.0}).trajectory()
    assert np.isclose(faster.duration, 1.0, rtol=1e-12)
    s = np.linspace(0.0, 1.0, 50)
    np.testing.assert_allclose(faster(s).q[:, 0], 0.8 + 6.0 * s + 1.5 * s * s, rtol=0, atol=1e-9)
    motion_at_rest = robot.drive_mechanism({"A": ANGLES})
    timed = motion_at_rest.trajectory(times=np.linspace(0.0, np.pi / 3, 73))
    np.testing.assert_allclose(timed(t).q, state.q, rtol=0, atol=1e-8)
    for call, message in (
        (lambda: motion_at_rest.trajectory(), "pass times= "),
        (lambda: motion.trajectory(times=ANGLES), "times: expected None"),
        (lambda: motion_at_rest.trajectory(times=-ANGLES), r"expected increasing times \(73,\)"),
        (lambda: motion.trajectory(0), "index: expected 0 integers"),
        (lambda: robot.drive_mechanism({"A": ANGLES}, velocity={"A": -6.0}).trajectory(), "do not fit"),
        (lambda: robot.drive_mechanism({"A": angle}, velocity={"A": speed}).trajectory(), "do not fit"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.slow(every=5)
def test_driven_motion_with_time_dependent_constraints_has_no_trajectory_over_time():
    """States of a driven motion have one time, so their rates are not those of a motion."""
    plain = lw.load("double_pendulum")
    base, tip_joint = (joint.name for joint in plain.joints)
    robot = plain.with_constraints(lw.constraints.Prescribed(base, lambda t: 0.3 * t, name="motor"))
    drivers, times = {tip_joint: np.linspace(0.0, 1.0, 5)}, np.linspace(0.0, 1.0, 5)
    motion_at_rest = robot.drive_mechanism(drivers, time=2.0)
    moving = robot.drive_mechanism(drivers, time=2.0, velocity={tip_joint: 1.0})
    for call in (
        moving.trajectory,
        motion_at_rest.trajectory,
        lambda: motion_at_rest.trajectory(times=times),
        lambda: motion_at_rest.to_csv("", times=times),
    ):
        with pytest.raises(ValueError, match="constraints that depend on time were held at time = 2 s: motor"):
            call()
    with pytest.raises(ValueError, match="held at time = 0 s"):
        robot.drive_mechanism(drivers).trajectory()
    assert moving._timed("plot", (), None)[1] is None
    path = robot.spline(times, robot.assemble(hold=drivers, time=times).q)  # what the message advises
    np.testing.assert_allclose(path(0.3).q, [0.09, 0.3], rtol=0, atol=1e-9)


def test_tables_and_plots_of_driven_motions_contain_forces(motion, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    table, loads = motion.to_pandas(), motion.reactions()
    assert table.index.name == "t" and np.allclose(table["tau:A"], loads.tau[:, 0])
    assert table.shape == (73, 9 + 3 + 3 * 6 + 6 + 4)
    pins = ["A", "B", "D", "C"]
    assert [x for x in table if x.startswith("pin_forces")] == [f"pin_forces:{name}" for name in pins]
    for k, name in enumerate(pins):
        kind = "loop_joint_wrenches" if name == "C" else "joint_wrenches"
        force = table[[f"{kind}:{name}:linear.{axis}" for axis in "xyz"]].to_numpy()
        assert np.array_equal(np.linalg.norm(force, axis=1), table[f"pin_forces:{name}"])
        assert np.array_equal(table[f"pin_forces:{name}"], loads.pin_forces[:, k])
    points = motion.to_pandas(frames=["coupler", "rocker"])[[f"position:coupler:{axis}" for axis in "xyz"]]
    assert np.array_equal(points, motion.robot.pose(motion.q, "coupler")[:, :3, 3])
    with pytest.raises(lw.errors.UnknownNameError, match="coupler"):
        motion.to_csv(tmp_path / "none.csv", frames="copler")
    motion.to_csv(tmp_path / "motion.csv")
    with open(tmp_path / "motion.csv", encoding="utf-8") as file:
        rows = [*csv.reader(file)]
    assert rows[0][:2] == ["t", "q:A"] and np.array_equal(np.array(rows[1:], float)[:, 1:], table.to_numpy())
    robot = motion.trajectory().robot
    motion_at_rest = robot.drive_mechanism({"A": ANGLES})
    assert motion_at_rest.to_pandas().index.name == "state" and motion_at_rest.to_xarray().sizes["state"] == 73
    axes = motion.plot()
    assert [axis.get_ylabel() for axis in axes][3:] == ["motor force [N·m]", "pin force [N]"]
    assert [line.get_label() for line in axes[4].lines] == ["A", "B", "D", "C"]
    assert axes[-1].get_xlabel() == "t [s]" and motion_at_rest.plot()[-1].get_xlabel() == "A [rad]"
    chosen = motion.plot(joints=["D", "C"])
    drawn = {axis.get_ylabel(): [line.get_label() for line in axis.lines] for axis in chosen}
    assert drawn == {"q [rad]": ["D"], "v [rad/s]": ["D"], "a [rad/s²]": ["D"], "pin force [N]": ["D", "C"]}
    assert np.array_equal(chosen[0].lines[0].get_ydata(), motion.q[:, motion.robot.q_index(["D"])[0]])
    over = motion.plot(against="A")
    assert over[-1].get_xlabel() == "A [rad]" and len(over) == len(axes)
    np.testing.assert_array_equal(over[3].lines[0].get_xdata(), motion.q[:, motion.robot.q_index(["A"])[0]])
    np.testing.assert_array_equal(over[3].lines[0].get_ydata(), axes[3].lines[0].get_ydata())
    for options in ({"joints": "E"}, {"against": "E"}):
        with pytest.raises(lw.errors.UnknownNameError, match="no joint or coordinate of q named 'E'"):
            motion.plot(**options)
    with pytest.raises(ValueError, match=r"plot\(joints=...\) selects joints"):
        motion.plot("D")
    plots = lw.viewer.scene_document(motion).plots
    assert [(plot.title, plot.unit) for plot in plots[-2:]] == [("motor force", "N·m"), ("pin force", "N")]
    np.testing.assert_allclose(plots[-2].values[:, 0], loads.tau[:, 0])


def test_driven_motion_that_cannot_be_assembled_is_returned_with_check_false():
    robot = four_bar("C")
    short = {"frame:rocker end": np.array([0.0, 0.0, 0.0, -0.39, 0.0, 0.0])}  # of 0.4 m
    bars = "the bar between 'C' and 'B' is 0.5 m long, the others reach 0.348029 m"
    with pytest.raises(lw.errors.AssemblyError, match=re.escape(bars)):
        robot.drive_mechanism({"A": ANGLES}, parameters=short)
    motion = robot.drive_mechanism({"A": ANGLES}, parameters=short, check=False)
    several = robot.drive_mechanism({"A": ANGLES}, parameters={name: x[None] for name, x in short.items()})
    assert motion.success is False and motion.status == several.status[0] == "infeasible"
    assert not motion.reached.any() and np.isnan(motion.q).all() and np.isnan(motion.v).all()
    assert "is not assembled" in motion.explain()
    batch = {name: np.stack([0.0 * x, x]) for name, x in short.items()}
    assembled = robot.assemble(hold={"A": 0.8}, parameters=batch, check=False)
    assert assembled.status.tolist() == ["solved", "infeasible"] and bars in assembled.explain(1)
    assert bars in motion.explain() and bars in several.explain(0)


def test_report_of_driven_motion_names_angles_that_seem_to_be_in_degrees():
    robot = four_bar("C")
    turned = robot.drive_mechanism({"A": [0.8, 0.8 + 4.0 * np.pi, 0.8]})
    assert "up to 2 revolutions between two states: angles are in rad" in turned.explain()
    assert "revolutions" not in robot.drive_mechanism({"A": ANGLES}).explain()
    both = robot.drive_mechanism({"A": np.array([[0.8, 0.9], [0.8, 7.8]])})
    assert [("revolutions" in both.explain(k)) for k in range(2)] == [False, True]


def test_plots_of_a_slider_crank_have_separate_axes_for_angles_and_lengths():
    pytest.importorskip("matplotlib")
    robot = lw.Robot.build(
        "slider-crank",
        lw.Link("disc", mass=1.0, inertia=(0.1, 0.2, 0.3)),
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="crank", parent="world", child="disc"),
        lw.Link("block", mass=2.0, inertia=(0.1, 0.2, 0.3)),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="piston", parent="world", child="block"),
    ).with_point("pin", "disc", (0.3, 0.05, 0))
    robot = robot.with_constraints(lw.constraints.Distance("pin", "block", 0.9, name="rod"))
    motion = robot.drive_mechanism({"crank": np.linspace(0.1, 3.0, 9)}, velocity={"crank": 2.0})
    rows = {axis.get_ylabel(): axis.lines for axis in motion.plot()}
    assert [*rows][:5] == ["q [rad]", "q [m]", "v [rad/s]", "v [m/s]", "a [rad/s²]"]
    for key, values in (("q [m]", motion.q), ("v [m/s]", motion.v), ("a [m/s²]", motion.a)):
        (line,) = rows[key]
        assert line.get_label() == "piston" and np.array_equal(
            line.get_ydata(), values[:, robot.v_index(["piston"])[0]]
        )


@pytest.mark.slow(every=9)
def test_driven_motions_with_a_batch_of_parameters_equal_motions_of_each_mechanism():
    robot, rng = four_bar("C"), np.random.default_rng(1)
    ends = np.zeros((3, 6))
    ends[:, 3] = 0.01, -0.01, 5.0
    masses = robot.parameters("inertia:coupler")["inertia_coupler"] * rng.uniform(0.9, 1.1, (3, 1))
    values = {"frame:coupler end": ends, "inertia:coupler": masses}
    moved = robot.drive_mechanism({"A": ANGLES}, velocity={"A": 6.0}, parameters=values)
    assert moved.success.tolist() == [True, True, False]
    loads = moved.reactions()
    assert all(np.isnan(x[2]).all() for x in loads)
    both = np.concatenate([loads.joint_wrenches, loads.loop_joint_wrenches], axis=-2)[..., 3:]
    np.testing.assert_array_equal(moved.tau, loads.tau)
    np.testing.assert_allclose(moved.pin_forces, np.linalg.norm(both, axis=-1), rtol=1e-12)
    for k in range(2):
        edited = robot.with_parameters({name: x[k] for name, x in values.items()})
        alone = edited.drive_mechanism({"A": ANGLES}, velocity={"A": 6.0})
        for parameters, same in zip(loads, alone.reactions(), strict=True):
            np.testing.assert_allclose(parameters[k], same, rtol=0, atol=1e-8)
        np.testing.assert_allclose(moved.trajectory(k)(0.3).q, alone.trajectory()(0.3).q, rtol=0, atol=1e-9)
        assert moved.trajectory(k).robot.mass == pytest.approx(edited.mass, rel=1e-12)
        for base in ("world", "crank"):
            poses, expected = (
                moved.pose("coupler end", relative_to=base)[k],
                edited.pose(moved.q[k], "coupler end", relative_to=base),
            )
            np.testing.assert_allclose(poses, expected, rtol=0, atol=1e-14)
    assert np.isnan(moved.pose("coupler end")[2]).all()
    with pytest.raises(UnknownNameError, match="no frame named 'coupler tip'; did you mean 'coupler' or 'coupler end'"):
        moved.pose("coupler tip")
    with pytest.raises(ValueError, match="expected at least two states"):
        moved.trajectory(2)
    parameters = {"placement:D": [0.0, 0.0, 0.0, 0.05, 0.0, 0.0]}
    drawn = [
        lw.viewer.scene_document(x.drive_mechanism({"A": ANGLES}, **how)).actors[0].poses
        for x, how in ((robot, {"parameters": parameters}), (robot.with_parameters(parameters), {}))
    ]
    np.testing.assert_allclose(drawn[0], drawn[1], rtol=0, atol=1e-9)
    for result in (moved, robot.assemble(hold={"A": 0.8}, parameters={"frame:coupler end": ends})):
        with pytest.raises(ValueError, match="robot 'cut at C' has a batch"):
            lw.viewer.scene_document(result)
    posed = robot.assemble(hold={"A": 0.8}, parameters={"frame:coupler end": ends[:2]})
    at = [robot.with_parameters({"frame:coupler end": ends[k]}).pose(posed.q[k], "coupler end") for k in range(2)]
    np.testing.assert_allclose(posed.pose("coupler end"), at, rtol=0, atol=1e-14)
    empty = robot.drive_mechanism({"A": ANGLES}, parameters={"frame:coupler end": np.zeros((0, 6))})
    assert empty.q.shape == (0, 73, 3) and empty.success.shape == (0,)


def _spatial_four_bar(first, *base):
    """Return a four-bar with a joint ``first`` and a ball at its rod, and a rocker on the joint ``base``, if any."""
    links = [lw.Link("crank", mass=1.0, com=(0.05, 0, 0), inertia=np.diag([1e-3, 2e-3, 2e-3]))]
    links += [lw.Link("rod", mass=0.5, com=(0.25, 0, 0), inertia=np.diag([1e-10, 2e-2, 2e-2]))]
    links += [lw.Link("rocker", mass=1.0, com=(0.15, 0, 0), inertia=np.diag([1e-3, 2e-3, 2e-3]))]
    at, end = lw.pose((0.1, 0, 0)), lw.pose((0.4, 0.1, 0.05))
    joints = [
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="crank", parent="world", child="crank"),
        lw.Joint.of(first, name="first", parent="crank", child="rod", placement=at),
    ]
    hinge = lw.joints.Revolute((0, 1, 0))
    if base:
        links.append(lw.Link("sled", mass=1.0))
        joints.append(lw.Joint.of(*base, name="base", parent="world", child="sled"))
    ground = "sled" if base else "world"
    joints.append(lw.Joint.of(hinge, name="rocker", parent=ground, child="rocker", placement=end))
    robot = lw.Robot.build("rssr", *links, *joints)
    robot = robot.with_frame("a", "rod", lw.pose((0.5, 0, 0))).with_frame("b", "rocker", lw.pose((0.3, 0, 0)))
    return robot.with_loop("second", "a", "b", lw.joints.Spherical())


@pytest.mark.slow(every=9)
def test_coupler_that_spins_freely_between_two_balls_needs_no_force():
    """The crank's torque of a spatial four-bar between two balls is that with a universal joint, which has no spin."""
    motions = []
    for first in (lw.joints.Spherical(), lw.joints.Universal((0, 1, 0), (0, 0, 1))):
        robot = _spatial_four_bar(first)
        angles = np.linspace(0.1, 2.0, 9)
        start = robot.assemble(hold={"crank": 0.1})
        motions.append(robot.drive_mechanism({"crank": angles}, start.q, velocity={"crank": 2.0}))
        alone = robot.drive_mechanism({"crank": angles[:1]}, start.q, velocity={"crank": 2.0})
        np.testing.assert_allclose(alone.tau, motions[-1].tau[:1], rtol=0, atol=1e-8)  # of a single state
        of_masses = {"inertia:rocker": np.array(robot.parameters("inertia:rocker")["inertia_rocker"]) * [[1.0], [2.0]]}
        both = robot.drive_mechanism({"crank": angles}, start.q, velocity={"crank": 2.0}, parameters=of_masses)
        np.testing.assert_allclose(both.tau[0], motions[-1].tau, rtol=0, atol=1e-8)
        heavy = robot.with_parameters({"inertia:rocker": of_masses["inertia:rocker"][1]})
        alone = heavy.drive_mechanism({"crank": angles}, start.q, velocity={"crank": 2.0})
        np.testing.assert_allclose(both.tau[1], alone.tau, rtol=0, atol=1e-8)
    ball, universal = motions
    np.testing.assert_allclose(ball.tau[:, 0], universal.tau[:, 0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(ball.pin_forces[:, 0], universal.pin_forces[:, 0], rtol=0, atol=1e-6)
    assert "leave motions free" in ball.explain()
    assert not ball.singular
    assert "free" not in universal.explain()


@pytest.mark.slow(every=5)
def test_base_prescribed_as_a_function_of_time_needs_the_forces_of_a_driven_base():
    """Velocities, accelerations and forces are those of a motor that moves the base, though a rod spins freely."""
    robot = _spatial_four_bar(lw.joints.Spherical(), lw.joints.Prismatic((0.6, 0.0, 0.8)))
    moving = lw.constraints.Prescribed("base", lambda t: 0.1 * t + 0.2 * t * t)
    angles, time = np.linspace(0.1, 2.0, 5), 0.3
    at, rate, curvature = 0.1 * time + 0.2 * time**2, 0.1 + 0.4 * time, 0.4
    start = robot.assemble(hold={"crank": 0.1, "base": at}).q
    timed = robot.with_constraints(moving).drive_mechanism({"crank": angles}, start, velocity={"crank": 2.0}, time=time)
    both = {"crank": 2.0, "base": rate}
    drivers = {"crank": angles, "base": np.full(5, at)}
    driven = robot.drive_mechanism(drivers, start, velocity=both, acceleration={"base": curvature})
    fixed = robot.v_index(["crank", "base", "rocker"])  # the spin of the rod is free
    np.testing.assert_allclose(timed.v[:, fixed], driven.v[:, fixed], rtol=0, atol=1e-8)
    np.testing.assert_allclose(timed.a[:, fixed], driven.a[:, fixed], rtol=0, atol=1e-8)
    base = robot.v_index(["base"])
    np.testing.assert_allclose(np.delete(timed.tau, base, 1), np.delete(driven.tau, base, 1), rtol=0, atol=1e-7)
    assert np.abs(timed.tau).max() > 0.1


def crank_with_roller():
    """Return a slider-crank whose rod ends with a roller on the plane y = 0.02 m, and a gear on the crank."""
    turn, z = lw.Joint.of, lw.joints.Revolute("z")
    rod = lw.Link("rod", mass=0.7, com=(0.13, 0.02, 0.0), inertia=(0.01, 0.01, 0.02))
    robot = lw.Robot.build(
        "roller",
        lw.Link("crank", mass=0.4, com=(0.05, 0.0, 0.0), inertia=(0.01, 0.01, 0.01)),
        rod,
        lw.Link("wheel", mass=0.2, inertia=(0.002, 0.002, 0.003)),
        turn(z, name="A", parent="world", child="crank"),
        turn(z, name="B", parent="crank", child="rod", placement=(0.1, 0.0, 0.0)),
        turn(z, name="W", parent="world", child="wheel", placement=(0.0, 0.4, 0.0)),
        gravity=(0.0, -9.81, 0.0),
    ).with_point("end", "rod", (0.3, 0.0, 0.0))
    roller = lw.constraints.PointOnPlane("end", "world.y", offset=0.02, name="roller")
    return robot.with_constraints(roller, lw.constraints.Gear("W", "A", -3.0, name="gear"))


def test_forces_of_rollers_and_gears_are_in_results_tables_and_plots_of_driven_motions(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    robot, t = crank_with_roller(), np.linspace(0.0, 0.9, 73)
    motion = robot.drive_mechanism(
        {"A": 0.8 + 6.0 * t + 2.0 * t**2}, velocity={"A": 6.0 + 4.0 * t}, acceleration={"A": 4.0}
    )
    loads = motion.reactions()
    (crank, rod, _), rate, bend = motion.q.T, motion.v.T, motion.a.T
    swing, turn, spin = rod + crank, rate[0] + rate[1], bend[0] + bend[1]
    center = 0.1 * np.exp(1j * crank) * (1j * bend[0] - rate[0] ** 2)  # acceleration, x + i y
    center += (0.13 + 0.02j) * np.exp(1j * swing) * (1j * spin - turn**2)
    pin = loads.joint_wrenches[:, 1, 3:] @ [1.0, 1j, 0.0] * np.exp(1j * swing)
    roller = 0.7 * (center + 9.81j) - pin  # Newton's law of the rod
    np.testing.assert_allclose(roller, 1j * loads.constraint_forces[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(loads.constraint_forces[:, 1], 0.003 * -3.0 * 4.0, rtol=0, atol=1e-9)  # on the wheel
    assert len(loads) == 3 and np.abs(loads.constraint_forces[:, 0]).max() > 1.0
    table = motion.to_pandas()
    assert np.array_equal(table["constraint_forces:roller"], loads.constraint_forces[:, 0])
    assert table.attrs["units"]["constraint_forces:roller"] == "N"
    assert table.attrs["units"]["constraint_forces:gear"] == "N·m"
    drawn = {axis.get_ylabel(): axis.lines for axis in np.ravel(motion.plot())}
    assert np.array_equal(drawn["constraint force [N]"][0].get_ydata(), loads.constraint_forces[:, 0])
    assert len(drawn["constraint force [N·m]"]) == 1 and len(drawn["pin force [N]"]) == 3
    plots = lw.viewer.scene_document(motion).plots
    assert [plot.names for plot in plots if plot.title == "constraint force"] == [("roller",), ("gear",)]


def test_text_of_reactions_is_a_table_of_the_largest_forces():
    robot = crank_with_roller()
    motion = robot.drive_mechanism({"A": ANGLES}, velocity={"A": 6.0})
    loads = motion.reactions()
    lines = repr(loads).splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == ["motor A", "pin A", "pin B", "pin W", "roller", "gear"]
    for line, values in zip(lines[2:6], [loads.tau[:, 0], *loads.pin_forces.T], strict=True):
        _, size, state, unit = line.rsplit(maxsplit=3)
        assert float(size) == pytest.approx(np.abs(values).max(), rel=1e-4) and unit in ("N", "N·m")
        assert abs(values[int(state)]) == pytest.approx(np.abs(values).max(), rel=1e-9)
    assert lines[7].split() == ["gear", "0", "-", "N·m"]  # the wheel turns at a constant speed
    restored = pickle.loads(pickle.dumps(loads))
    assert repr(restored) == repr(loads) and np.array_equal(restored.constraint_forces, loads.constraint_forces)
    batch = robot.drive_mechanism({"A": np.stack([ANGLES[:3], ANGLES[8:11]])}).reactions()
    assert batch.constraint_forces.shape == (2, 3, 2)
    assert ", " in repr(batch).splitlines()[2]  # a state is the motion and its state


def parallel_cranks(count):
    """Return a plate on parallel cranks A0, A1, ... with pins B0, B1, ..., which carries an arm on a pin E."""
    joint, z = lw.Joint.of, lw.joints.Revolute("z")

    def bar(name):
        return lw.Link(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))

    parts = [bar("b0"), bar("plate"), joint(z, name="A0", parent="world", child="b0")]
    parts += [joint(z, name="B0", parent="b0", child="plate", placement=(0.3, 0.0, 0.0))]
    for k in range(1, count):
        parts += [bar(f"b{k}")]
        parts += [joint(z, name=f"A{k}", parent="world", child=f"b{k}", placement=(0.2 * k, 0.0, 0.0))]
    parts += [bar("arm"), joint(z, name="E", parent="plate", child="arm", placement=(0.5, 0.0, 0.0))]
    robot = lw.Robot.build("parallel", *parts, gravity=(0.0, -9.81, 0.0))
    for k in range(1, count):
        robot = robot.with_frame(f"t{k}", f"b{k}", (0.3, 0.0, 0.0)).with_frame(f"p{k}", "plate", (0.2 * k, 0.0, 0.0))
        robot = robot.with_constraints(lw.constraints.LoopJoint(f"B{k}", z, f"p{k}", f"t{k}"))
    return robot


@pytest.mark.slow(every=3)
def test_pins_of_overconstrained_mechanisms_are_named_in_the_text_of_their_forces():
    named = {}
    for count in (2, 3):
        robot = parallel_cranks(count)
        motion = robot.drive_mechanism({"A0": np.linspace(0.8, 1.2, 4), "E": np.zeros(4)})
        named[count] = motion.undetermined_pins
        loads, mobility = motion.reactions(), robot.mobility(motion.q[1])
        assert loads.undetermined_pins == named[count] == mobility.undetermined_pins
        assert ("depend on tolerances and stiffness: A0" in str(mobility)) == bool(named[count])
        assert ("depend on tolerances" in repr(loads)) == bool(named[count])
        assert motion.explain().endswith(f"forces in {', '.join(named[count])} depend on tolerances and stiffness") == (
            bool(named[count])
        )
        batch = robot.drive_mechanism({"A0": np.linspace(0.8, [1.2, 1.3], 4).T, "E": np.zeros((2, 4))})
        assert all(("depend on tolerances" in batch.explain(k)) == bool(named[count]) for k in ((), 1, (0,)))
        # the sizes of the in-plane components that are arbitrary, by an independent kernel
        arbitrary = robot.joint_wrench_indeterminacy(motion.q[1])[:, 3:5].max(axis=1) > 1e-6
        names = [joint.name for joint in robot.joints]
        assert {name for name, x in zip(names, arbitrary, strict=True) if x} == set(names) & set(named[count])
    assert named[2] == () and set(named[3]) == {"A0", "B0", "A1", "A2", "B1", "B2"}
    restored = pickle.loads(pickle.dumps(loads))
    assert restored.undetermined_pins == named[3] and repr(restored) == repr(loads)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["fourbar", "delta", "jansen_leg", "double_wishbone", "leg"])
def test_pins_of_bundled_mechanisms_are_determined_in_the_plane_of_each_loop(name):
    robot = lw.load(name)
    assert undetermined_pins(robot, robot.assemble().q) == ()
