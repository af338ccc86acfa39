"""Laws of dry friction in all uses: the Stribeck law, and laws of the user."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import linkwork as lw
from helpers.resisted import resisted
from linkwork import joints
from linkwork.expr.scalar.functions import exp, sign, sqrt
from linkwork.model.friction_law_contract import check_friction_law
from linkwork.model.friction_laws import FrictionLaw


@dataclass(frozen=True)
class Rough(FrictionLaw):
    """F(v) = f v / (v² + (c v_s)²)^(1/2)."""

    c: float = 1.0
    name = "rough"
    uses = ("sliding", "velocity")

    def resistance(self, v, friction):
        width = self.c * friction.velocity
        return friction.sliding * (v / sqrt(v * v + width * width))


class Weakening(FrictionLaw):
    """F(v) = sign(v) (f + (f_s − f) exp(−(v/v_s)²)), which sticks."""

    name = "weakening"
    uses = ("sliding", "static", "velocity")
    sticks = True

    def resistance(self, v, friction):
        u = v / friction.velocity
        return sign(v) * (friction.sliding + (friction.static - friction.sliding) * exp(-(u * u)))


LAWS = {
    "stribeck": lambda v, f, f_s, v_s: (
        f * np.tanh(4 * v / v_s) + (f_s - f) * (v / v_s) / ((v / v_s) ** 2 / 4 + 0.75) ** 2
    ),
    Rough(2.0): lambda v, f, f_s, v_s: f * v / np.hypot(v, 2.0 * v_s),
}
EACH = pytest.mark.parametrize("law", LAWS, ids=str)
F, F_S, V_S = 0.8, 1.3, 0.2


def test_friction_laws_of_users_fulfil_the_friction_contract():
    check_friction_law(Rough(2.0))
    check_friction_law(Weakening())


def slope(function, x, step=1e-6):
    """Return the derivative of a function (m,) by x (n,), by central differences: (m, n)."""
    units = step * np.eye(len(x))
    return np.array([(function(x + u) - function(x - u)) / (2.0 * step) for u in units]).T


@pytest.mark.slow(every=5)
@EACH
def test_derivatives_of_dynamics_with_friction_laws_equal_finite_differences(law):
    arm = lw.load("arm7").with_joint_dynamics(friction=F, static_friction=F_S, friction_velocity=V_S)
    q, (v, a, tau, w) = arm.random_configuration(seed=0), 0.3 * np.random.default_rng(0).normal(size=(4, 7))
    how = {"passive": True, "friction": law}
    of = arm.inverse_dynamics_derivatives(q, v, a, **how)
    assert of.dtau_dv == pytest.approx(slope(lambda v: arm.inverse_dynamics(q, v, a, **how), v), abs=1e-6)
    a = arm.forward_dynamics(q, v, tau, **how)
    of = arm.forward_dynamics_derivatives(q, v, tau, **how)
    assert of.da_dv == pytest.approx(slope(lambda v: arm.forward_dynamics(q, v, tau, **how), v), rel=1e-6, abs=1e-4)
    h = 1e-4
    A, _ = arm.linearize(q, v, tau, dt=h, **how)
    assert A[7:, 7:] == pytest.approx(np.eye(7) + h * of.da_dv, abs=1e-9)

    def gradient(v):
        return w @ arm.forward_dynamics_derivatives(q, v, tau, **how).da_dv

    second = arm.forward_dynamics_hessian(q, v, tau, w, **how).d2_dv_dv
    assert second == pytest.approx(slope(gradient, v), rel=1e-5, abs=1e-3)
    every = arm.forward_dynamics_second_derivatives(q, v, tau, **how).d2a_dv_dv
    assert np.einsum("i,ijk->jk", w, every) == pytest.approx(second, rel=1e-9, abs=1e-7)


@EACH
def test_friction_laws_act_in_tree_joints_and_the_loop_joint_of_a_four_bar(law):
    bar = lw.load("fourbar").with_joint_dynamics(friction=F, static_friction=F_S, friction_velocity=V_S)
    bar = bar.without_constraints("pin").with_loop(
        "pin", "coupler_tip", "rocker_tip", joints.Revolute((0, 1, 0)), friction=F, static_friction=F_S,
        friction_velocity=V_S,
    )  # fmt: skip
    q = bar.assemble().q
    v = bar.project_velocity(q, np.array([1.0, -0.5, 0.3]))
    tau, how = np.array([0.4, 0.1, -0.2]), {"passive": True, "friction": law}
    a, forces = bar.constrained_forward_dynamics(q, v, tau, **how)
    formula = LAWS[law]
    in_pin = -formula(bar.loop_velocity(q, v), F, F_S, V_S)
    assert bar.loop_passive_force(q, v, friction=law) == pytest.approx(in_pin, abs=1e-12)
    bare = bar.with_joint_dynamics(friction=0.0, static_friction=0.0)
    exerted = tau - formula(v, F, F_S, V_S)
    loops = {"pin": bar.loop_velocity(q, v)}
    assert loops["pin"].size == 1
    J = slope(lambda v: bar.loop_velocity(q, v), v)
    exerted = exerted + J.T @ in_pin
    M, h = bare.mass_matrix(q, passive=True), bare.without_constraints().bias_force(q, v)
    h = h - bare.without_constraints().passive_force(q, v)
    assert M @ a + h == pytest.approx(exerted + bar.constraint_jacobian(q).T @ forces, abs=1e-9)
    assert bar.forward_dynamics(q, v, tau, **how) == pytest.approx(a, abs=1e-12)
    of = bar.constrained_forward_dynamics_derivatives(q, v, tau, **how)
    of_v = slope(lambda v: bar.constrained_forward_dynamics(q, v, tau, **how).a, v)
    assert of.da_dv == pytest.approx(of_v, rel=1e-5, abs=1e-4)
    again, torque_again, _ = bar.constrained_inverse_dynamics(q, v, a, actuators=["crank_hinge"], **how)
    felt = bar.constrained_forward_dynamics(q, v, again, **how)
    assert felt.a == pytest.approx(a, abs=1e-7)
    assert felt.constraint_forces == pytest.approx(torque_again, abs=1e-6)
    reduced = bar.reduced_forward_dynamics(q, v, tau, ["crank_hinge"], **how)
    assert reduced == pytest.approx(a[:1], abs=1e-8)


def pendulum(law_of_joint):
    """Return a pendulum of mass 1 kg and length 0.5 m with dry friction, and v̇ by its equation of motion."""
    hinge = lw.Joint.of(
        joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="rod", friction=F, static_friction=F_S,
        friction_velocity=V_S,
    )  # fmt: skip
    robot = lw.Robot.build("pendulum", hinge, lw.Link("rod", mass=1.0, com=(0, 0, -0.5)))
    m = float(robot.mass_matrix([0.0])[0, 0])

    def rates(t, x):
        force = LAWS[law_of_joint](x[1], F, F_S, V_S)
        g = float(robot.gravity_force(x[:1])[0])
        return [x[1], (-g - force) / m, force * x[1]]

    return robot, rates


METHODS = {
    "semi_implicit_euler": 2e-3, "implicit_euler": 1e-2, "rk4": 1e-8, "implicit_midpoint": 1e-5, "variational": 1e-5,
    "dormand_prince": 1e-7, "scipy:DOP853": 1e-8,
}  # fmt: skip


@pytest.mark.slow(every=3)
@EACH
def test_joint_with_friction_moves_as_simulated_by_scipy_with_every_method(law, drawn):
    integrate = pytest.importorskip("scipy.integrate")
    robot, rates = pendulum(law)
    exact = integrate.solve_ivp(rates, (0.0, 1.0), [0.4, 3.0, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]
    for method, error in drawn(METHODS.items()):
        result = robot.simulate([0.4], [3.0], duration=1.0, friction=law, method=method)
        assert result.q[-1] == pytest.approx(exact[:1], abs=error), method
        assert result.v[-1] == pytest.approx(exact[1:2], abs=5.0 * error), method
        energy = [robot.kinetic_energy(result.q[k], result.v[k]) + robot.potential_energy(result.q[k]) for k in (0, -1)]
        lost = [energy[0] - energy[1]]
        assert lost == pytest.approx(exact[2:], abs=20.0 * error), method


def sled(friction, static=1.0):
    """A mass on three slides that are not perpendicular: its mass matrix is constant and full."""
    axes = (1.0, 0.0, 0.0), (0.6, 0.8, 0.0), (0.3, 0.4, 0.866)
    parts, parent = [], "world"
    for k, axis in enumerate(axes):
        parts += [lw.Joint.of(joints.Prismatic(axis), name=f"s{k}", parent=parent, child=f"b{k}")]
        parts += [lw.Link(f"b{k}", mass=0.01 * (k + 1), inertia=(1e-4, 1e-4, 1e-4))]
        parent = f"b{k}"
    built = lw.Robot.build("sled", *parts, gravity=(0.0, 0.0, 0.0))
    return built.with_joint_dynamics(friction=friction, static_friction=static * friction, friction_velocity=1e-3)


@pytest.mark.slow(every=9)
def test_friction_never_reverses_a_joint_and_never_adds_energy():
    for friction in (1e-3, 1.0, 1e3):
        three_slides = sled(friction, 1.5)
        single_slide = three_slides.with_locked_joints({"s1": 0.0, "s2": 0.0})
        for law, h in itertools.product(("smooth", "stribeck", *LAWS), (1e-3, 0.1)):
            for robot in (three_slides, single_slide):
                v = np.array([0.3, -0.2, 0.5])[: robot.nv]
                run = robot.simulate(np.zeros(robot.nv), v, duration=50 * h, dt=h, friction=law)
                energy = robot.kinetic_energy(run.q, run.v)
                assert run.success and (np.diff(energy) <= 1e-15 * energy[0]).all(), (law, friction, h)
            assert (run.v >= -1e-15).all(), (law, friction, h)


def test_sliding_with_static_friction_does_not_depend_on_the_scale():
    """A force between both frictions keeps a sliding body in motion."""
    for size in (1.0, 1e-3, 1e-6):
        robot = sled(0.1 * size, 2.0).with_locked_joints({"s1": 0.0, "s2": 0.0})
        for v in (0.02 * size, 0.0):
            run = robot.simulate(
                [0.0],
                [v],
                duration=1.0,
                friction="coulomb",
                controller=lambda t, q, v, u: u,
                constants={"u": [0.15 * size]},
            )
            far = v + 0.5 * 0.05 / 0.06 * size if v else 0.0
            assert abs(run.q[-1, 0] - far) < 2e-3 * size, (size, v)


@pytest.mark.slow(every=5)
@EACH
def test_simulated_four_bar_loses_the_energy_of_its_joints_friction(law):
    bar = lw.load("fourbar").with_joint_dynamics(friction=F, static_friction=F_S, friction_velocity=V_S)
    q = bar.assemble().q
    v = bar.project_velocity(q, np.array([3.0, 0.0, 0.0]))
    record = {"record": ["kinetic_energy", "potential_energy"]}
    fine = bar.simulate(q, v, duration=0.3, dt=1e-4, friction=law, method="rk4", **record)
    errors = {"rk4": 1e-5, "semi_implicit_euler": 2e-3, "variational": 1e-5, "implicit_midpoint": 1e-5}
    for method, error in errors.items():
        result = bar.simulate(q, v, duration=0.3, dt=2e-4, friction=law, method=method, **record)
        energy = result.records["kinetic_energy"] + result.records["potential_energy"]
        taken = np.einsum("ti,ti->t", result.v, LAWS[law](result.v, F, F_S, V_S) + bar.damping * result.v)
        lost = np.trapezoid(taken, result.t)
        assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-3), method
        assert result.q[-1] == pytest.approx(fine.q[-1], abs=error), method


def test_joint_with_a_users_static_friction_law_sticks_and_starts():
    integrate = pytest.importorskip("scipy.integrate")
    law = Weakening()
    rail = lw.Joint.of(
        joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="box", friction=F, static_friction=F_S,
        friction_velocity=V_S,
    )  # fmt: skip
    robot = lw.Robot.build("sled", rail, lw.Link("box", mass=2.0))
    at_rest = np.zeros(1)
    for push, a in ((1.29, 0.0), (-1.29, 0.0), (1.31, 0.005), (-2.0, -0.35)):
        assert robot.forward_dynamics(at_rest, at_rest, [push], passive=True, friction=law) == pytest.approx([a])
        assert robot.inverse_dynamics(at_rest, at_rest, [a], passive=True, friction=law) == pytest.approx(
            [push if a else 0.0]
        )

    def pushed(t, q, v, tau):
        return tau

    sticking = robot.simulate([0.0], duration=0.5, controller=pushed, constants={"tau": [1.25]}, friction=law)
    assert abs(sticking.v[-1, 0]) < 1e-5
    sliding = robot.simulate([0.0], duration=0.5, controller=pushed, constants={"tau": [1.5]}, friction=law)

    def rates(t, x):
        return [x[1], (1.5 - F - (F_S - F) * np.exp(-((x[1] / V_S) ** 2))) / 2.0]

    exact = integrate.solve_ivp(rates, (0.0, 0.5), [0.0, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    assert sliding.v[-1] == pytest.approx(exact[1:], abs=1e-3)
    stops = robot.simulate([0.0], [0.3], duration=1.0, friction=law)
    assert abs(stops.v[-1, 0]) < 1e-9


def test_simulators_and_gradients_accept_friction_laws():
    robot, _ = pendulum("stribeck")
    simulator = lw.Simulator(robot, friction=Rough(2.0))
    simulator.reset([0.4], [3.0])
    later = simulator.step(count=100)
    result = robot.simulate([0.4], [3.0], duration=0.1, friction=Rough(2.0))
    assert later.q == pytest.approx(result.q[-1], abs=1e-15)

    def end(v):
        return robot.simulate([0.4], v, duration=0.1, friction="stribeck", record_every=100).q[-1]

    kernel = lw.compile(end, v=(1,))
    numeric = (kernel(v=[3.0 + 1e-5]) - kernel(v=[3.0 - 1e-5])) / 2e-5
    assert kernel.jacobian("v")(v=[3.0]).ravel() == pytest.approx(numeric, rel=1e-6)


def test_first_sensor_readings_depend_on_passive_forces():
    robot = lw.load("double_pendulum").with_joint_dynamics(damping=0.0, friction=0.0)
    spring = lw.force_elements.SpringDamper("world", robot.links[-1].name, stiffness=200.0)
    robot = robot.with_force_elements(spring)
    q = np.array([0.4, 0.3])
    sensors = {"wrist": lw.simulation.ForceTorqueSensor(robot.joints[-1].name)}
    for passive in (True, False):
        result = robot.simulate(q, duration=2e-3, sensors=sensors, passive=passive)
        zero_velocity = np.zeros(2)
        wrenches = robot.joint_wrenches(q, zero_velocity, zero_velocity, passive=passive)
        assert result.records["wrist"][0] == pytest.approx(wrenches[-1], abs=1e-9), passive


@pytest.mark.slow(every=9)
def test_friction_with_inertia_parameters_equals_that_of_the_robot():
    """Nominal inertias as parameters of a tree and of a mechanism give the same motion."""
    bar = lw.Robot(resisted(lw.load("fourbar").tree))
    start = bar.assemble(bar.neutral()).q
    arm = lw.load("arm7")
    cases = [
        (arm, 0.5 * (arm.lower + arm.upper) + 0.2, np.random.default_rng(0).normal(size=7)),
        (bar, start, bar.project_velocity(start, [1.0, 0.0, 0.0])),
    ]
    for robot, q, v in cases:
        options = {"duration": 0.2, "record_every": 200, "joint_limit_mode": "ignored"}
        nominal, with_parameters = (
            robot.simulate(q, v, parameters=x, **options) for x in (None, robot.parameters(["inertia:*"]))
        )
        assert np.abs(nominal.q[-1] - q).max() > 1e-2 and np.abs(nominal.q[-1] - with_parameters.q[-1]).max() < 1e-6, (
            robot.name
        )
