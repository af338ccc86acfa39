"""Problems in other units of cost, mass, length and time have the same status and solution."""

import itertools

import numpy as np
import pytest

import linkwork as lw

COSTS = (1e-9, 1e-5, 1e5, 1e9)


def arm(cost, solver):
    """Return a problem of the double pendulum with a speed limit that is active, and costs in another unit."""
    root, robot = np.sqrt(cost), lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=12, duration=1.0)
    problem = problem.add("torque", "least_squares", scale=0.1 * root)
    problem = problem.add(lambda w: cost * w.v()[0] ** 2, "cost", name="speed")
    if solver == "ilqr":
        kinds = {"kind": "least_squares", "scale": 10.0 * root}
    else:
        kinds = {"kind": "equality"}
    problem = problem.add("configuration", steps=-1, target=[0.9, 0.2], name="there", **kinds)
    return problem.add(lw.optimal.VelocityLimits(-2.2, 2.2), "inequality")


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("solver", ["augmented", "ilqr"])
def test_optimal_paths_do_not_depend_on_the_unit_of_cost(solver):
    """Paths, multipliers per cost, and derivatives with active limits are equal."""
    start = [-1.0, 0.2]
    known = arm(1.0, solver).solve(start, solver=solver)
    moved = known.derivative("there").q
    assert known.success and np.abs(known.multipliers["velocity limits"]).max() > 1e-3
    for cost in COSTS:
        result = arm(cost, solver).solve(start, solver=solver)
        assert result.success and result.iterations == known.iterations
        np.testing.assert_allclose(result.q, known.q, rtol=0.0, atol=1e-9)
        assert result.cost == pytest.approx(cost * known.cost, rel=1e-9)
        assert f"{float(result.cost):.6g}" in result.explain()
        assert f"units of the search: costs in {result._prepared.cost_unit:.3g}" in str(result)
        for name, forces in known.multipliers.items():
            size = np.abs(forces).max()
            np.testing.assert_allclose(result.multipliers[name] / cost, forces, rtol=0.0, atol=1e-6 * size)
        np.testing.assert_allclose(result.derivative("there").q, moved, rtol=0.0, atol=1e-6 * np.abs(moved).max())


def cart_pole(mass, length, time, free):
    """Return a swing-up of a pole on a cart, its unit of coordinates, and tolerances of its constraints."""
    force = mass * length / time**2
    inertia = 0.006 * mass * length**2
    robot = lw.Robot.build(
        "cart_pole",
        lw.Link("cart", mass=mass),
        lw.Link("pole", mass=0.3 * mass, com=(0, 0, -0.5 * length), inertia=(inertia, inertia, 0.0)),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart"),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="cart", child="pole"),
        gravity=(0.0, 0.0, -9.81 * length / time**2),
    )
    duration = (0.5 * time, 2.0 * time) if free else 2.0 * time
    problem = lw.TrajectoryProblem(robot, num_steps=40, duration=duration)
    problem = problem.add(lw.optimal.TorqueFeature(["rail"]), "least_squares", scale=0.05 / force)
    if free:
        problem = problem.add("duration", "cost", scale=1.0 / time)
    scale = np.array([1.0 / length, 1.0])
    problem = problem.add("configuration", "equality", steps=-1, target=[0.0, np.pi], scale=scale, name="upright")
    problem = problem.add("velocity", "equality", steps=-1, scale=scale * time, name="at rest")
    problem = problem.add(
        lw.optimal.TorqueFeature(["hinge"]), "equality", scale=1.0 / (force * length), name="no motor"
    )
    units = min(length, 1.0), min(length, 1.0) / time, force * length
    return problem, 1.0 / scale, dict(zip(("upright", "at rest", "no motor"), 1e-6 * np.array(units), strict=True))


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
@pytest.mark.parametrize("free", [False, True])
def test_optimal_paths_do_not_depend_on_units_of_mass_length_and_time(free):
    """Searches take about as many iterations to the same path in g, kg and t, in mm, m and km, in ms, s and ks."""
    share = np.linspace(0.0, 1.0, 41)[1:]
    guess = np.stack([0.3 * np.sin(6.0 * share), np.pi * share], axis=-1)
    known = None
    for units in (
        (1.0, 1.0, 1.0),
        (1e3, 1.0, 1.0),
        (1.0, 1e3, 1.0),
        (1.0, 1e-3, 1.0),
        (1.0, 1.0, 1e3),
        (1e3, 1e3, 1e-3),
    ):
        problem, unit, tolerances = cart_pole(*units, free)
        result = problem.solve(np.zeros(2), initial_guess=guess * unit, tolerance=tolerances)
        known = result if known is None else known
        assert result.success and abs(result.iterations - known.iterations) <= 2, units
        np.testing.assert_allclose(result.q / unit, known.q, rtol=0.0, atol=1e-6)


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_forward_dynamics_shooting_does_not_depend_on_the_unit_of_force():
    """Forces of 1e15 of their unit have effects of 1e-15; searches take the same steps, without false conflicts."""
    known = None
    for mass, length, time in ((1.0, 1.0, 1.0), (1e3, 1e3, 1e-3), (1e-3, 1e-3, 1e3)):
        torque, names = mass * (length / time) ** 2, ("base", "upper", "fore")
        inertia = (0.02 * mass * length**2,) * 3
        links = [lw.Link(name, mass=mass, com=(0.0, 0.0, -0.3 * length), inertia=inertia) for name in names[1:]]
        hinges = [
            lw.Joint.of(
                lw.joints.Revolute((0, 1, 0)), name=f"to {b}", parent=a, child=b,
                placement=(0.0, 0.0, -0.5 * length * k), velocity=4.2 / time,
            )
            for k, (a, b) in enumerate(itertools.pairwise(names))
        ]  # fmt: skip
        gravity = (0.0, 0.0, -9.81 * length / time**2)
        robot = lw.Robot.build("two", lw.Link("base"), *links, *hinges, gravity=gravity)
        problem = lw.TrajectoryProblem(robot, num_steps=16, duration=time).add_limits(positions=False)
        problem = problem.add("torque", "least_squares", scale=0.1 / torque)
        problem = problem.add("configuration", "equality", steps=-1, target=[1.6, -0.8], name="there")
        problem = problem.add("velocity", "equality", steps=-1, scale=time, name="rest")
        tolerance = {"there": 1e-9, "rest": 1e-9, "velocity limits": 1e-9 / time}
        result = problem.solve([0.0, 0.2], solver="ilqr", control_limits=False, tolerance=tolerance)
        known = result if known is None else known
        assert result.success and abs(result.iterations - known.iterations) <= 10, result.explain()
        assert np.abs(result.multipliers["velocity limits"]).max() > 0.0
        np.testing.assert_allclose(result.q, known.q, rtol=0.0, atol=1e-7)


def linkage(mass, length, time):
    """Return a motion of a four-bar linkage with torques as costs, and tolerances of its constraints."""
    root, names = mass * (length / time) ** 2, ("a", "b", "c")
    links = [
        lw.Link(name, mass=mass * (1.0 + 0.5 * k), com=(0.2 * length, 0.0, 0.0), inertia=(0.02 * mass * length**2,) * 3)
        for k, name in enumerate(names)
    ]
    hinges = [
        lw.Joint.of(
            lw.joints.Revolute((0, 0, 1)),
            name=f"to {name}",
            parent=parent,
            child=name,
            placement=(x * length, 0.0, 0.0),
        )
        for name, parent, x in zip(names, ("base", "a", "base"), (0.0, 0.3, 0.8), strict=True)
    ]
    gravity = (0.0, -9.81 * length / time**2, 0.0)
    robot = lw.Robot.build("four", lw.Link("base"), *links, *hinges, gravity=gravity)
    robot = robot.with_frame("end of b", "b", (0.9 * length, 0.0, 0.0)).with_frame(
        "end of c", "c", (0.6 * length, 0, 0)
    )
    robot = robot.with_loop("pin", "end of b", "end of c", lw.joints.Revolute((0, 0, 1)))
    problem = lw.TrajectoryProblem(robot, num_steps=8, duration=time)
    problem = problem.add("torque", "least_squares", scale=0.1 / root)
    problem = problem.add("velocity", "equality", steps=-1, scale=time, name="rest")
    problem = problem.add(lw.ik.JointTask("to a", target=1.0), "equality", steps=-1, name="there")
    return problem, {"pin": 1e-9 * min(length, 1.0), "rest": 1e-9 / max(time, 1.0), "there": 1e-9}


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_optimal_paths_of_closed_loops_do_not_depend_on_units():
    """Errors of loops in lengths and angles, and forces of loops as variables, take the same steps in all units."""
    known = None
    for units in ((1.0, 1.0, 1.0), (1.0, 1e3, 1.0), (1.0, 1e-3, 1.0), (1e3, 1.0, 1.0), (1e-3, 1e3, 1e-3)):
        problem, tolerances = linkage(*units)
        start = problem.robot.assemble([0.5, 0.8, 1.8]).q
        result = problem.solve(start, tolerance=tolerances)
        known = result if known is None else known
        assert result.success and abs(result.iterations - known.iterations) <= 2, units
        np.testing.assert_allclose(result.q, known.q, rtol=0.0, atol=1e-6)


@pytest.mark.slow(every=12)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_default_tolerances_are_above_rounding_and_small_compared_with_constraints():
    """Speeds of 1e8 of their unit are zero within their rounding, and those of 1e-6 within a smaller default."""
    known = None
    for mass, length, time in ((1.0, 1.0, 1.0), (1.0, 1e3, 1e-5), (1.0, 1.0, 1e6)):
        swing, unit, _ = cart_pole(mass, length, time, False)
        force = mass * length / time**2
        problem = lw.TrajectoryProblem(swing.robot, num_steps=16, duration=time)
        problem = problem.add("torque", "least_squares", scale=0.1 / (force * np.array([1.0, length])))
        problem = problem.add("velocity", "equality", steps=-1, scale=time / unit, name="rest")
        problem = problem.add("configuration", "equality", steps=-1, target=[0.4, 0.9] * unit, scale=1.0 / unit)
        result = problem.solve(np.zeros(2), solver="shooting")
        known = result if known is None else known
        assert result.success and result.gap < 1e-9, (result.explain(), time)
        np.testing.assert_allclose(result.q / unit, known.q, rtol=0.0, atol=3e-7)
    problem, unit, _ = cart_pole(1e3, 1e3, 1e-3, False)
    share = np.linspace(0.0, 1.0, 41)[1:, None] * [0.0, np.pi]
    result = problem.solve(np.zeros(2), initial_guess=share * unit, tolerance=1e-7)
    assert result.success and result.violations["no motor"] > 1e-3, result.explain()
