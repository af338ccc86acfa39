"""Passive joint forces and armature on random trees of every joint type.

The oracle is written here anew: each joint, a follower too, feels its springs, damping and friction at its own q and v,
and what it does is felt by the numbers of the tree through its ratio.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork import joints
from linkwork.dynamics.algorithms.passive_joint_forces import armature, gyroscopic_force, spring_energy
from linkwork.model.body import Drive
from linkwork.model.random_tree import random_tree
from oracles.comparison import EPS, assert_close, solving_bound
from oracles.scalars import Direct, with_few_functions
from oracles.trees import TREES, every_moving_tree, state

LAWS = ("smooth", "coulomb")


def direct(tree):
    return Direct(tree, "batch")


def joint_values(body, values, offset=False):
    """Return a joint's own values from those of the tree."""
    if body.coupling is None:
        return values
    return body.coupling.ratio * values + (body.coupling.offset if offset else 0.0)


def ratio_of(body):
    return 1.0 if body.coupling is None else body.coupling.ratio


def energy(tree, q):
    parts = tree.split_q(list(np.moveaxis(q, -1, 0)))
    return sum(spring_energy(body, part) for body, part in zip(tree.bodies, parts, strict=True))


def resisted(tree, v, law):
    """−D v − friction, joint by joint."""
    force = np.zeros_like(v)
    for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
        w = joint_values(body, v[..., columns])
        direction = np.sign(w) if law == "coulomb" else np.tanh(w / np.array(body.drive.friction_velocity))
        force[..., columns] -= ratio_of(body) * (np.array(body.damping) * w + np.array(body.friction) * direction)
    return force


def armature_of(tree):
    armature_values = np.zeros(tree.nv)
    for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
        armature_values[columns] += ratio_of(body) ** 2 * np.array(body.drive.armature)
    return armature_values


def gyroscopic(tree, q, v):
    parts = gyroscopic_force(tree, *(list(np.moveaxis(x, -1, 0)) for x in (q, v)))
    return np.stack([0.0 * v[..., 0] + x for x in parts], axis=-1) if parts else 0.0 * v


def without_springs(tree):
    bodies = [replace(body, drive=replace(body.drive, stiffness=())) for body in tree.bodies]
    return replace(tree, bodies=tuple(bodies))


@every_moving_tree
def test_passive_forces_of_damping_and_friction_follow_their_stated_laws(tree):
    q, v, _ = state(tree)
    for law in LAWS:
        force = direct(without_springs(tree)).passive_force(q, v, friction=law)
        assert_close(force, resisted(tree, v, law), 10.0 * EPS * tree.nv, law, core=1)
    v[0] = 0.0
    assert not direct(without_springs(tree)).passive_force(q, v)[0].any()


@pytest.mark.costly
@every_moving_tree
def test_joint_spring_forces_are_negative_gradients_of_their_energy(tree):
    """Every velocity, by central differences of the energy over a motion at that velocity."""
    f = direct(tree)
    q, v, _ = state(tree)
    h = 1e-5
    for k in range(tree.nv):
        ahead, behind = (energy(tree, f.integrate(q, s * h * np.eye(tree.nv)[k])) for s in (1.0, -1.0))
        force = f.passive_force(q, np.zeros(tree.nv))[:, k]
        assert np.allclose(-(ahead - behind) / (2.0 * h), force, rtol=1e-7, atol=1e-7 * (1.0 + energy(tree, q).max()))
    spring_force = f.passive_force(q, v) - f.passive_force(q, np.zeros(tree.nv))
    assert_close(spring_force, resisted(tree, v, "smooth"), 1e-12, core=1)  # springs and the rest add up


@every_moving_tree
def test_joint_spring_forces_at_rest_and_half_a_turn_away_are_negative_gradients_of_their_energy(tree):
    """At rest they are zero, near rest −K φ, and near π they are the gradient."""
    f = direct(tree)
    rest_configuration = np.concatenate([body.drive.rest for _, body in tree.stacked()])
    loose = replace(tree, bodies=tuple(replace(body, coupling=None) for body in tree.bodies))
    if tree.has_couplings:
        f, rest_configuration, tree = direct(loose), np.concatenate([b.drive.rest for _, b in loose.stacked()]), loose
    K = np.concatenate([body.drive.stiffness for _, body in tree.stacked()])
    zero = np.zeros(tree.nv)
    assert np.allclose(f.passive_force(rest_configuration, zero), 0.0, atol=1e-14)
    for scale in (1e-12, 1e-6):
        phi = scale * np.random.default_rng(0).normal(size=tree.nv)
        away = f.integrate(rest_configuration, phi)
        phi = f.difference(rest_configuration, away)  # what rounding left of it
        assert np.allclose(f.passive_force(away, zero), -K * phi, rtol=0.0, atol=20.0 * scale**2 + 1e-15)
    h = 1e-5
    for phi in np.random.default_rng(1).normal(size=(3, tree.nv)):
        far = f.integrate(rest_configuration, 3.14 * phi / np.linalg.norm(phi[:3]))
        force = f.passive_force(far, zero)
        assert np.isfinite(force).all()
        steps = h * np.eye(tree.nv)
        slope = (energy(tree, f.integrate(far, steps)) - energy(tree, f.integrate(far, -steps))) / (2.0 * h)
        assert np.allclose(-slope, force, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(force).max()))


def test_springs_of_positions_and_rotations_of_a_free_body_are_independent():
    """Their energy is ½ Σ k d² + ½ Σ k φ²: the displacement d along M's axes at rest, and the rotation vector φ.

    The energy is continuous where the rotation passes half a revolution, and finite after full revolutions.
    """
    rng, floating, flat = np.random.default_rng(2), joints.Floating(), joints.Planar.example(np.random.default_rng(1))
    free = (floating, joints.Floating(scalar_last=True), joints.FloatingMRP(), joints.Composite((floating,)))
    for joint in (*free, flat, floating.reversed(), flat.reversed()):
        between = lw.Joint.of(joint, name="free", parent="world", child="body")
        robot = lw.Robot.build("free", lw.Link("body", mass=1.0), between, gravity=(0, 0, 0))
        k, q_rest = rng.uniform(1.0, 9.0, robot.nv), robot.random_configuration(rng)
        robot = robot.with_joint_dynamics(stiffness=k, rest=q_rest)
        f, q = Direct(robot.tree), robot.random_configuration(rng, size=20)
        inverted = isinstance(joint, joints.Reversed)
        X = np.linalg.inv(robot.pose(q, "body")) if inverted else robot.pose(q, "body")
        X_rest = np.linalg.inv(robot.pose(q_rest, "body")) if inverted else robot.pose(q_rest, "body")
        change = np.linalg.inv(X_rest) @ X
        if robot.nv == 3:
            axes = np.array([[*flat.x_axis], [*flat.y_axis]])
            phi = np.concatenate([change[:, :3, 3] @ axes.T, q[:, 2:] - q_rest[2:]], axis=-1)
        else:
            phi = np.concatenate([Rotation.from_matrix(change[:, :3, :3]).as_rotvec(), change[:, :3, 3]], axis=-1)
        assert_close(f.potential_energy(q, passive=True), 0.5 * phi**2 @ k, 1e-12, joint.type_name())
        turn = np.zeros(robot.nv)
        turn[[2] if robot.nv == 3 else [0, 1, 2]] = 1.0 if robot.nv == 3 else (0.48, 0.6, 0.64)
        sides = []
        for revolutions in (0.5 - 1e-9, 0.5 + 1e-9, 1.0 - 1e-9, 1.0 + 1e-9, 3.0):
            turned = robot.integrate(q_rest, 2.0 * np.pi * revolutions * turn)
            turned[: 2 if robot.nv == 3 else None][-2:] += (0.7, -0.3)  # positions in F
            sides.append(f.potential_energy(turned[None], passive=True)[0])
        assert abs(sides[0] - sides[1]) < 1e-6 * sides[0] and abs(sides[2] - sides[3]) < 1e-6 * (sides[2] + 1.0)
        assert sides[4] < 0.5 * (6.0 * np.pi) ** 2 * k.max() + k.max()


@with_few_functions
def test_armature_is_added_to_the_diagonal_of_the_mass_matrix(tree, f):
    q, _, _ = state(tree)
    M, laden = f.mass_matrix(q), f.mass_matrix(q, passive=True)
    expected = M.copy()
    k = np.arange(tree.nv)
    expected[..., k, k] += armature_of(tree)
    assert_close(laden, expected, 10.0 * EPS, core=2)
    expected = M.copy()
    expected[..., k, k] += armature(tree)
    assert np.array_equal(laden, expected)


@pytest.mark.costly
@with_few_functions
def test_inverse_dynamics_includes_armature_and_passive_forces(tree, f):
    """τ = (M + armature) a + h + g − τ_p, for both laws."""
    q, v, a = state(tree)
    g = gyroscopic(tree, q, v)
    for law in LAWS:
        parts = f.inverse_dynamics(q, v, a), armature_of(tree) * a, g, -f.passive_force(q, v, friction=law)
        torque = f.inverse_dynamics(q, v, a, passive=True, friction=law)
        assert_close(torque, sum(parts), 20.0 * EPS * max(1, tree.nv), law, core=1)
        bias = f.bias_force(q, v, passive=True, friction=law)
        assert_close(bias, f.bias_force(q, v) + g - f.passive_force(q, v, friction=law), 1e-14, law, core=1)
    springs = f.passive_force(q, 0.0 * v)
    assert_close(f.gravity_force(q, passive=True), f.gravity_force(q) - springs, 1e-14, core=1)


@every_moving_tree
def test_gyroscopic_forces_of_armature_equal_hamels_equations(tree):
    """Commutators of two motions give the brackets of their velocities."""
    f, (q, v, _) = direct(tree), state(tree)
    n, s, expected = tree.nv, 1e-3, np.zeros_like(v)
    p, units = armature_of(tree) * v, np.eye(n)
    for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
        indices = range(n)[columns] if body.coupling is None and body.joint.nv > 1 else ()
        for i in indices:
            for j in indices:
                ends = [
                    f.difference(*(f.integrate(f.integrate(q, h * a), h * b) for a, b in ((i, j), (j, i))))
                    for i, j, h in ((units[j], units[i], s), (units[j], units[i], -s))
                ]
                expected[..., i] += v[..., j] * np.sum(sum(ends) / (2.0 * s * s) * p, axis=-1)
    assert np.allclose(gyroscopic(tree, q, v), expected, rtol=0.0, atol=1e-5 * (1.0 + np.abs(expected).max()))


@with_few_functions
def test_forward_dynamics_with_passive_forces_inverts_inverse_dynamics(tree, f):
    q, v, a = state(tree)
    for law in LAWS:
        tau = f.inverse_dynamics(q, v, a, passive=True, friction=law)
        M, h = f.mass_matrix(q, passive=True), f.bias_force(q, v, passive=True, friction=law)
        acceleration = f.forward_dynamics(q, v, tau, passive=True, friction=law)
        assert_close(acceleration, a, solving_bound(M, (tau, h), a), law, core=1)


@every_moving_tree
def test_rate_of_energy_is_the_power_of_joints_less_dissipation(tree):
    """d/dt (½ vᵀ (M + armature) v + springs) = (τ − damping − friction) · v, by differences along a motion."""
    weightless = replace(tree, gravity=tree.gravity * 0.0)
    f = direct(weightless)
    q, v, tau = state(tree)
    for law in LAWS:
        a = f.forward_dynamics(q, v, tau, passive=True, friction=law)

        def total(t, a=a):
            moved, rate = f.integrate(q, t * v + 0.5 * t * t * a), v + t * a
            M = f.mass_matrix(moved, passive=True)
            return 0.5 * np.einsum("...i,...ij,...j->...", rate, M, rate) + energy(tree, moved)

        h = 1e-5
        gained = (total(h) - total(-h)) / (2.0 * h)
        power = np.sum((tau + resisted(tree, v, law)) * v, axis=-1)
        assert np.allclose(gained, power, rtol=1e-6, atol=1e-6 * (1.0 + np.abs(total(0.0)).max())), law


def test_joints_with_dynamics_none_have_no_damping_and_friction():
    tree = TREES["mixed_0"]
    undamped = replace(tree, bodies=tuple(replace(body, dynamics="none") for body in tree.bodies))
    q, v, a = state(tree)
    f = direct(undamped)
    for law in LAWS:
        springs = direct(tree).passive_force(q, 0.0 * v)
        assert np.array_equal(f.passive_force(q, v, friction=law), springs)
        tau = f.inverse_dynamics(q, 0.0 * v, a, passive=True, friction=law)  # no dry friction at rest either
        acceleration = f.forward_dynamics(q, 0.0 * v, tau, passive=True, friction=law)
        assert_close(acceleration, a, 1e-9, core=1)
    assert np.array_equal(f.mass_matrix(q, passive=True), direct(tree).mass_matrix(q, passive=True))


def test_armature_makes_joints_without_inertia_movable():
    """The equation of a massless leaf with a rotor is armature · a = τ."""
    tree = random_tree(np.random.default_rng(5), 3, types=[joints.Revolute], shape="chain")
    massless = type(tree.bodies[-1].inertia).zero()
    bodies = [*tree.bodies[:-1], replace(tree.bodies[-1], inertia=massless, drive=Drive(armature=(0.5,)))]
    light = [replace(frame, inertia=massless) if frame.body == 2 else frame for frame in tree.frames]
    tree = replace(tree, bodies=tuple(bodies), frames=tuple(light))
    q, v, a = state(tree)
    f = Direct(tree, "floats")
    tau = f.inverse_dynamics(q, v, a, passive=True)
    assert_close(f.forward_dynamics(q, v, tau, passive=True), a, 1e-12, core=1)
    resistance = tree.bodies[-1].damping[0] * v[:, 2] + tree.bodies[-1].friction[0] * np.tanh(v[:, 2] / 0.01)
    assert_close(tau[:, 2], 0.5 * a[:, 2] + resistance, 1e-13, core=1)
