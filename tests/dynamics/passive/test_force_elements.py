"""Force elements between bodies: forces are gradients of energy, dampers dissipate, and both ends bear wrenches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.dynamics.algorithms.passive_joint_forces import (
    element_dissipation,
    element_energy,
    element_wrenches,
    passive_force,
)
from linkwork.joints import ALL
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Pose

REST_POSE = lw.pose((0.1, -0.2, 0.05), rpy=(0.2, 0.3, -0.1))
ELEMENTS = (
    lw.force_elements.SpringDamper("tool1", "tool5", stiffness=30.0, damping=2.0, rest_length=0.4),
    lw.force_elements.SpringDamper("marker1", "marker0", stiffness=10.0),
    lw.force_elements.SpringDamper("body3", "ground0", damping=4.0),
    lw.force_elements.Bushing(
        "tool2", "body6", stiffness=(3, 4, 5, 60, 70, 80), damping=(0.1, 0.2, 0.3, 4, 5, 6), rest=REST_POSE
    ),
    lw.force_elements.Bushing("body4", "world", stiffness=(0, 0, 7, 0, 0, 0), name="torsion spring"),
)


def sprung(seed=0, elements=ELEMENTS):
    """A random tree of every joint type, with elements, and a state of it."""
    rng = np.random.default_rng(seed)
    robot = lw.Robot(random_tree(rng, 7, types=ALL)).with_force_elements(*elements)
    q = robot.random_configuration(rng)
    return robot, q, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def lists(*arrays):
    return [np.asarray(x).tolist() for x in arrays]


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_spring_forces_are_negative_energy_gradients_and_dampers_dissipate(seed):
    for element in ELEMENTS:
        robot, q, v, _ = sprung(seed, [element])
        bare_tree = robot.without_force_elements().tree
        tree, h = robot.tree, 1e-6
        alone = np.array(passive_force(tree, *lists(q, 0.0 * v))) - passive_force(bare_tree, *lists(q, 0.0 * v))
        for direction in np.eye(robot.nv):
            ahead, behind = (element_energy(tree, robot.integrate(q, s * direction).tolist()) for s in (h, -h))
            assert abs((ahead - behind) / (2.0 * h) + alone @ direction) < 1e-6 * max(1.0, np.abs(alone).max()), element
        moving = np.array(passive_force(tree, *lists(q, v))) - passive_force(bare_tree, *lists(q, v))
        taken = element_dissipation(tree, *lists(q, v))
        assert abs((moving - alone) @ v + taken) < 1e-9 * max(1.0, abs(taken)) and taken >= 0.0
        total = np.zeros(6)  # seen from the world's origin, both ends feel opposite wrenches
        for frame, axes, w in element_wrenches(tree, *lists(q, v)):
            X = robot.pose(q, axes)
            moment, force = X[:3, :3] @ w[:3], X[:3, :3] @ w[3:]
            total += [*(moment + np.cross(robot.pose(q, frame)[:3, 3], force)), *force]
        is_grounded = any(tree.frame(frame).body < 0 for frame in element.ends(tree))
        assert is_grounded or np.abs(total).max() < 1e-9


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("seed", [0, 1])
def test_force_elements_act_as_opposite_wrenches_on_both_ends(seed):
    """Joint space, the simplified tree, in bodies, and in exact derivatives by dual numbers."""
    robot, q, v, a = sprung(seed)
    free, tree = robot.without_force_elements(), robot.tree
    wrenches = element_wrenches(tree, *lists(q, v))
    known = np.array(inverse_dynamics(free.tree, *lists(q, v, a), wrenches, True))
    size = np.abs(known).max()
    assert np.abs(known - inverse_dynamics(tree, *lists(q, v, a), (), True)).max() < 1e-10 * size
    tau = robot.inverse_dynamics(q, v, a, passive=True)
    assert np.abs(tau - known).max() < 1e-9 * size
    assert np.abs(tau - robot.inverse_dynamics(q, v, a)).max() > 1.0
    assert np.abs(robot.forward_dynamics(q, v, tau, passive=True) - a).max() < 1e-7
    elements, joints = np.array(passive_force(tree, *lists(q, v))), free.passive_force(q, v)
    assert np.abs(robot.passive_force(q, v) - elements).max() < 1e-9 * size
    assert np.abs(elements - joints).max() > 1.0
    by_q, by_v, _ = map(np.array, inverse_dynamics_derivatives(tree, *lists(q, v, a), (), True))
    h = 1e-5
    for k, direction in enumerate(h * np.eye(robot.nv)):
        around = [robot.inverse_dynamics(robot.integrate(q, s * direction), v, a, passive=True) for s in (1, -1)]
        assert np.abs((around[0] - around[1]) / (2 * h) - by_q[:, k]).max() < 1e-6 * max(1.0, np.abs(by_q).max())
        around = [robot.inverse_dynamics(q, v + s * direction, a, passive=True) for s in (1, -1)]
        assert np.abs((around[0] - around[1]) / (2 * h) - by_v[:, k]).max() < 1e-6 * max(1.0, np.abs(by_v).max())


@pytest.mark.slow(every=5)
def test_force_elements_satisfy_the_power_balance_and_load_joints():
    """d/dt (T + U) = vᵀ τ − D, with U of springs; joint wrenches include the elements."""
    robot, q, v, _ = sprung(3)
    tau, h = np.random.default_rng(1).normal(size=robot.nv), 1e-6
    a = robot.forward_dynamics(q, v, tau, passive=True)

    def energy(s):
        at = robot.integrate(q, s * v)
        return robot.kinetic_energy(at, v + s * a, passive=True) + robot.potential_energy(at, passive=True)

    joints, _, lost = robot.power(q, v, tau, passive=True)
    rate = (energy(h) - energy(-h)) / (2.0 * h)
    assert abs(rate - (joints - lost)) < 1e-5 * max(1.0, abs(rate))
    free = robot.without_force_elements()
    wrenches = {f"end{k}": w for k, (_, _, w) in enumerate(element_wrenches(robot.tree, *lists(q, v)))}
    for k, (frame, _, _) in enumerate(element_wrenches(robot.tree, *lists(q, v))):
        free = free.with_frame(f"end{k}", frame, np.eye(4))
    axes = {name: name for name in wrenches}
    known = free.joint_wrenches(q, v, a, wrenches=wrenches, wrenches_expressed_in=axes)
    assert np.abs(robot.joint_wrenches(q, v, a, passive=True) - known).max() < 1e-9 * np.abs(known).max()
    assert np.abs(robot.joint_wrenches(q, v, a, passive=False) - known).max() > 1.0
    assert robot.force_element_wrenches(q, v).shape == (len(ELEMENTS), 6)


def oscillator(**element):
    rail = lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass")
    robot = lw.Robot.build("oscillator", rail, lw.Link("mass", mass=2.0))
    return robot.with_force_elements(lw.force_elements.SpringDamper("world", "mass", **element))


@pytest.mark.slow(every=5)
def test_spring_damper_oscillates_as_in_closed_form_by_every_simulation_method(drawn):
    """z̈ = −g − (k z + c ż)/m by every method, at its order; energy is conserved without damping."""
    k, c, m, T = 50.0, 1.0, 2.0, 0.4
    robot = oscillator(stiffness=k, damping=c)
    decay, low = c / (2.0 * m), -m * 9.81 / k
    omega = np.sqrt(k / m - decay**2)
    exact = low + np.exp(-decay * T) * (0.3 - low) * (np.cos(omega * T) + decay / omega * np.sin(omega * T))
    methods = ("semi_implicit_euler", "rk4", "dormand_prince", "implicit_midpoint", "implicit_euler", "variational")
    orders = dict(zip(methods, (1, 4, 5, 2, 1, 2), strict=True))
    for method, order in drawn(orders.items()):
        errors = []
        for h in (0.02, 0.01):
            result = robot.simulate([0.3], duration=T, dt=h, method=method)
            errors.append(abs(result.q[-1, 0] - exact))
        assert errors[1] < 1e-11 or errors[1] < 0.7 * 2.0**-order * 2.0 * errors[0], (method, errors)
    undamped = oscillator(stiffness=k)
    for method in drawn(methods[:4]):
        result = undamped.simulate([0.3], duration=10.0, dt=1e-3, method=method)
        energy = undamped.kinetic_energy(result.q, result.v) + undamped.potential_energy(result.q, passive=True)
        assert np.abs(energy - energy[0]).max() < 0.02 * np.ptp(undamped.potential_energy(result.q, passive=True)), (
            method
        )
    equilibrium = robot.equilibrium([0.3])
    assert equilibrium.stable and np.isclose(equilibrium.q[0], low) and np.isclose(equilibrium.stiffness[0], k / m)


@pytest.mark.slow(every=5)
def test_springs_in_mechanisms_conserve_energy_and_have_an_equilibrium():
    robot = lw.load("fourbar")
    ends = [body.name for body in robot.tree.bodies]
    robot = robot.with_force_elements(
        lw.force_elements.SpringDamper(ends[0], ends[2], stiffness=200.0, rest_length=0.1)
    )
    q = robot.assemble(hold={"crank_hinge": 0.8}).q
    result = robot.simulate(q, duration=1.0, method="rk4", record=["constraint_forces", "joint_wrenches"])
    energy = robot.kinetic_energy(result.q, result.v, passive=True) + robot.potential_energy(result.q, passive=True)
    assert np.abs(energy - energy[0]).max() < 1e-6 * np.ptp(robot.potential_energy(result.q, passive=True))
    equilibrium = robot.equilibrium(q)
    assert equilibrium.stable
    rest_state = equilibrium.q, np.zeros(3), np.zeros(3)
    tau, _, _ = robot.constrained_inverse_dynamics(*rest_state, actuators="crank_hinge", passive=True)
    assert np.abs(tau).max() < 1e-8
    w = robot.joint_wrenches(*rest_state, actuators=(), passive=True)
    assert np.abs(w[:, [1]]).max() < 1e-8  # hinges are free


@pytest.mark.slow(every=3)
def test_robots_with_force_elements_can_be_compared_pickled_and_edited():
    robot, q, v, a = sprung(4)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot and hash(again) == hash(robot) and robot != robot.without_force_elements()
    assert [e.name for e in robot.force_elements][-1] == "torsion spring"
    assert robot.without_force_elements("torsion spring").with_force_elements(ELEMENTS[-1]) == robot
    moved = robot.with_parameters({"point:marker0": [0.1, 0.2, 0.3]})
    kernel = robot.compile(("inverse_dynamics", {"passive": True}), parameters=["point:marker0"])
    assert np.allclose(kernel(q, v, a, [0.1, 0.2, 0.3]), moved.inverse_dynamics(q, v, a, passive=True), atol=1e-9)
    rerooted = lw.load("arm7", floating_base=True).with_force_elements(
        lw.force_elements.SpringDamper("world", "hand", stiffness=3.0)
    )
    rerooted_twice = rerooted.with_root("hand")
    at = rerooted.integrate(rerooted.neutral(), 0.3 * np.arange(13))
    assert rerooted_twice.force_elements[0].references.points
    assert (
        np.isfinite(rerooted_twice.passive_force(rerooted_twice.neutral(), np.zeros(rerooted_twice.nv))).all()
        and np.isfinite(at).all()
    )


def test_loops_files_contain_force_elements():
    robot = lw.load("fourbar").with_force_elements(
        lw.force_elements.SpringDamper("crank", "rocker", stiffness=20.0, rest_length=0.1),
        lw.force_elements.Bushing(
            "coupler", "world", stiffness=(1, 2, 3, 4, 5, 6), damping=0.5, rest=REST_POSE, name="mount"
        ),
    )
    text = robot.loops_document()
    again = lw.load(lw.robots.path("fourbar")).with_loops_document(text)
    assert again.force_elements[0] == robot.force_elements[0]
    read, written = again.force_elements["mount"], robot.force_elements["mount"]
    assert (read.stiffness, read.damping) == (written.stiffness, written.damping)
    assert np.abs(np.subtract(read.rest.elements(), written.rest.elements())).max() < 1e-15
    for wrong in ("spring_dampr", "bushing"):
        with pytest.raises(lw.errors.ModelError, match="FORCE_ELEMENT"):
            lw.load("fourbar").with_loops_document(
                f'{{"version": 1, "force_elements": [{{"kind": "{wrong}", "frame": "crank", "relative_to": "crank"}}]}}'
            )


def test_invalid_force_elements_are_refused():
    robot = lw.load("arm7")
    for wrong, error, message in (
        (
            lw.force_elements.SpringDamper("hand", "nowhere", stiffness=1.0),
            KeyError,
            "no frame or point named 'nowhere'",
        ),
        (lw.force_elements.SpringDamper("hand", "hand", stiffness=1.0), ValueError, "both of its ends"),
        (lw.force_elements.Bushing("base", "world"), ValueError, "fixed to the world"),
        ("spring", TypeError, "expected force elements"),
    ):
        with pytest.raises(error, match=message):
            robot.with_force_elements(wrong)
    spring = lw.force_elements.SpringDamper("world", "hand", stiffness=1.0)
    with pytest.raises(ValueError, match="already"):
        robot.with_force_elements(spring, spring)
    with pytest.raises(KeyError, match="force element"):
        robot.without_force_elements("none")
    for arguments in ({"stiffness": -1.0}, {"damping": np.nan}, {"rest_length": "long"}):
        with pytest.raises(ValueError, match=f"SpringDamper: {next(iter(arguments))}"):
            lw.force_elements.SpringDamper("world", "hand", **arguments)
    for arguments in ({"stiffness": (1, 2)}, {"damping": -1.0}, {"rest": np.zeros((4, 4))}):
        with pytest.raises(ValueError, match=f"Bushing: {next(iter(arguments))}"):
            lw.force_elements.Bushing("world", "hand", **arguments)
    sprung_robot = robot.with_force_elements(spring)
    with pytest.raises(ValueError, match="inverse_dynamics_regressor: it includes passive joint forces"):
        sprung_robot.inverse_dynamics_regressor(np.zeros(7), np.zeros(7), np.zeros(7), passive=True)
    sprung_robot.inverse_dynamics_regressor(np.zeros(7), np.zeros(7), np.zeros(7))


@pytest.mark.light
def test_bushings_without_stiffness_about_axes_exert_no_moment():
    element = lw.force_elements.Bushing("body4", "world", stiffness=(0, 0, 0, 7.0, 5.0, 3.0))
    X = Pose.of(lw.pose((0.1, -0.2, 0.3), rpy=(0.4, -0.5, 0.6)).tolist())
    wrench = [float(x) for x in element.spring_wrench(None, X).elements()]
    assert wrench[:3] == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(np.linalg.norm(wrench[3:]), np.linalg.norm([0.7, -1.0, 0.9]), rtol=1e-12)
