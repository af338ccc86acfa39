"""Equilibria of chains: the stable equilibrium is reached from any start."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.chains import chain, sagging
from helpers.linkages import linkage


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("count", [6, 8])
@pytest.mark.parametrize("is_hung", [True, False])
def test_hanging_chains_reach_the_stable_equilibrium_from_any_start(count, is_hung, drawn):
    robot = chain(count, 0.7 * count if is_hung else None)
    rng, lowest, energies = np.random.default_rng(1), None, []
    for start in drawn([sagging(robot, rng) if is_hung else rng.uniform(-2.5, 2.5, count) for _ in range(30)]):
        start = robot.assemble(start).q if is_hung else start
        equilibrium_result = robot.equilibrium(start)
        assert (
            equilibrium_result.status == "solved"
            and equilibrium_result.stability == "stable"
            and equilibrium_result.stable
        ), equilibrium_result
        energies.append(robot.potential_energy(equilibrium_result.q))
        lowest = equilibrium_result.q
        assert energies[-1] <= robot.potential_energy(start)
    assert np.ptp(energies) < 1e-9
    slopes = np.cumsum(lowest)
    if not is_hung:
        assert np.abs(np.sin(slopes) - 1.0).max() < 1e-12
        return
    # statics of a chain of equal rods: one horizontal tension, and slopes that weights of a rod tell apart
    weights = 9.81 * (0.5 * (count - 1) - np.arange(count))
    tension = weights[0] / np.tan(slopes[0])
    assert np.abs(np.tan(slopes) * tension - weights).max() < 1e-8 * weights[0]
    w = robot.joint_wrenches(lowest, np.zeros(count), np.zeros(count), actuators=(), expressed_in="world")
    assert np.abs(np.abs(w[:, 3]) - tension).max() < 1e-7 and np.isclose(w[0, 5], 9.81 * count / 2)


def test_two_hanging_rods_leave_unstable_states_for_the_stable_one_under_loads() -> None:
    """The stable state is that of least energy; at rest, gravity balances loads through the tip's Jacobian."""
    robot = chain(2).with_frame("tip", "rod1", lw.pose((1.0, 0.0, 0.0)))
    up = robot.equilibrium([-np.pi / 2, 0.0])
    assert (up.status, up.stability, up.iterations, up.stable) == ("solved", "unstable", 0, False)
    # eigenvalues of M⁻¹ K of two rods upright: 1.5 m g l sin and 0.5 m g l sin on M = [[8/3, 5/6], [5/6, 1/3]]
    M, K = np.array([[8 / 3, 5 / 6], [5 / 6, 1 / 3]]), -9.81 * np.array([[2.0, 0.5], [0.5, 0.5]])
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    assert up.stiffness == pytest.approx(expected, rel=1e-9)
    assert f"unstable, 0 steps, residual {up.residual:.2g}, smallest stiffness {expected[0]:.3g} 1/s²" in up.message
    folded = robot.equilibrium([-np.pi / 2, 0.4])  # the second rod falls first; on the way is no force on the first
    assert folded.stable and np.allclose(np.sin(np.cumsum(folded.q)), 1.0)
    assert folded.stiffness == pytest.approx(-expected[::-1], rel=1e-6)
    for wrench in ([0.0, 0.0, 0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 0.0, -3.0, 0.0, 2.0]):
        loaded = robot.equilibrium([0.3, -0.2], wrenches={"tip": wrench}, tau=[0.5, -0.4])
        ends = [[robot.pose(loaded.q + s * e, "tip")[:3, 3] for s in (1.0, -1.0)] for e in 1e-6 * np.eye(2)]
        J = np.array([(a - b) / 2e-6 for a, b in ends])
        assert robot.gravity_force(loaded.q) == pytest.approx(J @ wrench[3:] + [0.5, -0.4], abs=1e-7) and loaded.stable
    for message, loads in {
        r"no frame named 'tp'; did you mean 'tip'": {"wrenches": {"tp": np.zeros(6)}},
        r"wrenches: expected a dict by frame": {"wrenches": np.zeros(6)},
        r"equilibrium: q_init, tau, wrenches, gravity and parameters do not broadcast together": {
            "tau": np.zeros((3, 2)),
            "gravity": np.zeros((2, 3)),
        },
    }.items():
        with pytest.raises((ValueError, TypeError, lw.errors.UnknownNameError), match=message):
            robot.equilibrium([0.3, -0.2], **loads)


@pytest.mark.slow(every=9)
def test_equilibrium_searches_leave_saddle_points_and_follow_forces_without_a_potential():
    robot = chain(2)
    up = np.array([-np.pi / 2, 0.0])
    assert robot.equilibrium(up).stability == "unstable" and robot.equilibrium(up).iterations == 0
    folded = robot.equilibrium([-np.pi / 2, 0.4])  # the second rod falls first; on the way is no force on the first
    assert folded.stable and np.allclose(np.sin(np.cumsum(folded.q)), 1.0)
    assert robot.equilibrium([-np.pi / 2 + 0.1, 0.1], descend=False).stability == "unstable"
    pushed = robot.equilibrium([0.3, -0.2], tau=[-4.0, 1.0])
    assert pushed.stable and np.allclose(robot.gravity_force(pushed.q), [-4.0, 1.0], atol=1e-9)
    table = lw.Robot.build(
        "puck",
        lw.Joint.of(lw.joints.Planar(), name="on", parent="world", child="puck"),
        lw.Link("puck", mass=1.0, inertia=(0.1, 0.1, 0.1)),
    )
    assert table.equilibrium([0.1, 0.2, 0.3]).stability == "neutral"
    wheels = lw.load("differential_drive")
    assert wheels.equilibrium(wheels.neutral()).stability == "neutral"
    falling = robot.equilibrium([0.3, -0.2], tau=[-400.0, 1.0])
    assert not falling.success and falling.stability == "unknown"
    sprung = lw.Robot.build(
        "body on springs",
        lw.Joint.of(lw.joints.Floating(), name="hang", parent="world", child="body", stiffness=50.0),
        lw.Link("body", mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.15)),
    )
    q = sprung.integrate(sprung.neutral(), [0.5, -0.8, 0.3, 0.2, 0.1, -0.4])
    equilibrium = sprung.equilibrium(q)
    assert equilibrium.stable and np.abs(sprung.gravity_force(equilibrium.q, passive=True)).max() < 1e-9


@pytest.mark.slow(every=5)
def test_equilibrium_finds_soft_directions_of_a_robot_with_stiff_springs():
    """A hanging leg turns about its yaw axis against 1e-4 1/s², with springs of 3e6 1/s²."""
    leg = lw.load("leg")
    starts = [leg.neutral(), leg.assemble(leg.random_configuration(seed=3)).q]
    equilibrium_result = [leg.equilibrium(start) for start in starts]
    assert all(result.stable for result in equilibrium_result)
    assert np.isclose(*(leg.potential_energy(result.q) for result in equilibrium_result), rtol=0.0, atol=1e-9)
    assert (
        np.isclose(equilibrium_result[0].stiffness[0], equilibrium_result[1].stiffness[0], rtol=1e-4)
        and equilibrium_result[0].stiffness[0] < 1e-3
    )


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_equilibria_of_robots_with_slides_are_equal_in_other_units() -> None:
    """A load on three springs and a pendulum, in mm, m and km, in g, kg and t: the same iterations."""
    known = None
    for length, mass in ((1.0, 1.0), (1e-3, 1.0), (1e3, 1.0), (1e3, 1e3)):
        parts, axes = [lw.Link("base")], ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        inertia = (0.1 * mass * length**2,) * 3
        for k, axis in enumerate(axes):
            options = {"name": f"slide{k}", "parent": f"link{k - 1}" if k else "base", "child": f"link{k}"}
            parts.append(lw.Link(f"link{k}", mass=mass, com=(0.0, 0.0, 0.0), inertia=inertia))
            parts.append(lw.Joint.of(lw.joints.Prismatic(axis), **options, stiffness=30.0 * mass))
        hinge = {"name": "hinge", "parent": "link2", "child": "pole", "stiffness": 2.0 * mass * length**2}
        parts.append(lw.Link("pole", mass=0.5 * mass, com=(0.0, 0.0, -0.4 * length), inertia=inertia))
        parts.append(lw.Joint.of(lw.joints.Revolute((0, 1, 0)), **hinge))
        robot = lw.Robot.build("load", *parts, gravity=(0.0, 0.0, -9.81 * length))
        unit = np.array([length, length, length, 1.0])
        equilibrium_result = robot.equilibrium(np.array([0.3, -0.6, 0.9, 0.8]) * unit)
        known = equilibrium_result if known is None else known
        assert (
            equilibrium_result.success
            and equilibrium_result.stable
            and abs(equilibrium_result.iterations - known.iterations) <= 1
        ), equilibrium_result.explain()
        np.testing.assert_allclose(equilibrium_result.q / unit, known.q, rtol=0.0, atol=1e-12)


@pytest.mark.slow(every=5)
def test_equilibria_under_wrenches_equal_equilibria_with_equal_payloads():
    """Equilibria of open and closed robots under a dead weight, and of a rod that a horizontal force pulls."""
    rod, chained = (chain(n).with_frame("end", f"rod{n - 1}", lw.pose((1.0, 0, 0))) for n in (1, 2))
    pulled = rod.equilibrium([0.3], wrenches={"end": [0, 0, 0, 2.0, 0, 0]})
    assert pulled.stable and np.isclose(np.tan(pulled.q[0]), 0.5 * rod.mass * 9.81 / 2.0, rtol=1e-12)
    closed = linkage()
    cases = (chained, "end", [0.3, -0.2], np.array([-4.0, 1.0])), (closed, "coupler", closed.assemble().q, None)
    for robot, frame, start, tau in cases:
        equilibrium_result = robot.equilibrium(
            start, tau=tau, wrenches={frame: [0, 0, 0, 0, 0, -30.0]}, gravity=(0, 0, -10.0)
        )
        expected = robot.with_payload("load", frame, 3.0).equilibrium(start, tau=tau, gravity=(0, 0, -10.0))
        assert equilibrium_result.success and equilibrium_result.stability == expected.stability
        assert np.abs(equilibrium_result.q - expected.q).max() < 1e-9
        assert np.abs(equilibrium_result.q - robot.equilibrium(start, tau=tau, gravity=(0, 0, -10.0)).q).max() > 1e-2
    loaded = rod.equilibrium([0.4], wrenches={"end": [0, 0, 0, 0, 0, -2.0]}, expressed_in="end")  # follows the rod
    assert loaded.success and np.isclose(np.cos(loaded.q[0]) * 0.5 * rod.mass * 9.81, -2.0, rtol=1e-9)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["scissor_lift", "arm6", "leg"])
def test_equilibrium_searches_pass_singular_configurations_flat_directions_and_saddle_points(name):
    """A lift folds, an arm turns about the vertical, and the leg passes a saddle point: all starts reach one energy."""
    robot = lw.load(name)
    starts = robot.random_configuration(seed=0, size=12)
    starts = starts if name == "arm6" else np.array([robot.assemble(q).q for q in starts])
    equilibria = robot.equilibrium(starts)
    assert equilibria.success.all(), equilibria.explain()
    assert equilibria.iterations.max() < 100
    if name != "leg":
        assert {*equilibria.stability} == {"neutral" if name == "arm6" else "stable"}
        assert np.ptp(robot.potential_energy(equilibria.q)) < 1e-8 * np.abs(robot.potential_energy(starts)).max()


@pytest.mark.slow(every=5)
def test_equilibria_of_a_batch_equal_those_of_each_state_bit_for_bit(monkeypatch):
    """Descents, saddles, failures and Newton's method, in blocks of other sizes: the same bits."""
    monkeypatch.setattr("linkwork.mechanisms.equilibrium._BLOCK", 5)
    rng, hung, rods = np.random.default_rng(3), linkage(), chain(2)
    starts = np.vstack([rng.uniform(-2.5, 2.5, (6, 2)), [[-np.pi / 2, 0.4], [np.pi / 2, 0.0]]])
    pull = np.where(np.arange(8)[:, None] == 2, 400.0, rng.normal(size=(8, 2)))
    lifts = rng.normal(size=(8, 3)) * [1.0, 1.0, 5.0]
    for robot, q, options in (
        (rods, starts, {"tau": pull}),
        (rods, starts, {"descend": False}),
        (rods, starts, {"max_iterations": 4, "gravity": lifts}),
        (hung, np.tile(hung.assemble().q, (8, 1)), {"wrenches": {"coupler": np.repeat(5.0 * lifts, 2, axis=1)}}),
    ):
        equilibrium_result = robot.equilibrium(q, **options)
        for k in range(8):
            state_options = {name: x[k] if isinstance(x, np.ndarray) else x for name, x in options.items()}
            state_options |= {"wrenches": {"coupler": options["wrenches"]["coupler"][k]}} if robot is hung else {}
            alone = robot.equilibrium(q[k], **state_options)
            assert alone.status == equilibrium_result.status[k] and alone.iterations == equilibrium_result.iterations[k]
            for name in ("q", "constraint_forces", "residual", "stiffness"):
                np.testing.assert_allclose(
                    getattr(equilibrium_result, name)[k], getattr(alone, name), rtol=1e-9, atol=1e-12
                )
    assert {*rods.equilibrium(starts, tau=pull).status} == {"solved", "not_found"}


@pytest.mark.slow(every=5)
def test_equilibria_with_batches_of_loads_and_lengths_equal_single_equilibria():
    """Starts, loads, lengths and masses; a failed search does not affect the others."""
    robot = linkage()
    start = robot.assemble().q
    ends, rng = np.zeros((2, 1, 6)), np.random.default_rng(2)
    ends[:, 0, 3] = 0.1, -0.05
    masses = robot.parameters("inertia:coupler")["inertia_coupler"] * rng.uniform(0.5, 2.0, (2, 3, 1))
    values = {"frame:end": ends, "inertia:coupler": masses}
    pull = rng.normal(size=(3, 6)) * [0, 0, 0, 5.0, 0, 5.0]
    equilibrium_result = robot.equilibrium(start, wrenches={"coupler": pull}, tau=[0.5, 0.0, 0.0], parameters=values)
    assert (
        equilibrium_result.q.shape == (2, 3, 3)
        and equilibrium_result.success.all()
        and "6 of 6 solved" in str(equilibrium_result)
    )
    for index in np.ndindex(2, 3):
        edited = robot.with_parameters({"frame:end": ends[index[0], 0], "inertia:coupler": masses[index]})
        alone = edited.equilibrium(start, wrenches={"coupler": pull[index[1]]}, tau=[0.5, 0.0, 0.0])
        assert (
            np.abs(equilibrium_result.q[index] - alone.q).max() < 1e-9
            and equilibrium_result.stability[index] == alone.stability
        )
        np.testing.assert_allclose(equilibrium_result.stiffness[index], alone.stiffness, rtol=1e-6)
        np.testing.assert_allclose(
            equilibrium_result.constraint_forces[index], alone.constraint_forces, rtol=0, atol=1e-6
        )
    torques = chain(2).equilibrium([0.3, -0.2], tau=[[-4.0, 1.0], [-400.0, 1.0]])
    assert torques.success.tolist() == [True, False] and torques.stability.tolist() == ["stable", "unknown"]
    named = robot.equilibrium(start, tau={robot.v_names[0]: 0.5})
    assert np.array_equal(named.q, robot.equilibrium(start, tau=[0.5, 0.0, 0.0]).q)
    for wrong, message in (
        ({"tau": {robot.v_names[1]: np.nan}}, rf"equilibrium: tau: .* with nan at \[1\] \('{robot.v_names[1]}'\)"),
        ({"tau": np.zeros(4)}, r"equilibrium: tau: expected finite numbers \(..., 3\)"),
        ({"wrenches": {"coupler": np.zeros(5)}}, r"equilibrium: coupler: expected finite numbers \(..., 6\)"),
        ({"tau": np.zeros((4, 3)), "parameters": {"frame:end": ends}}, "do not broadcast together"),
    ):
        if "parameters" in wrong:
            wrong["parameters"] = {"frame:end": ends[:, 0]}
        with pytest.raises(ValueError, match=message):
            robot.equilibrium(start, **wrong)
