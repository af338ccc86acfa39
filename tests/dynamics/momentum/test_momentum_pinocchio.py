"""Momentum, energies, centre of mass, M⁻¹ and Coriolis matrix of real robots, against Pinocchio.

What is fixed to the world is no part of Pinocchio's centre of mass, and is of ours: momentum about theirs is compared
after it is taken to ours.  Linear parts come first there.  Its rate of the centroidal matrix takes the velocity of the
centre of mass from what was computed before: so that is computed before.
"""

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import pinocchio as pin

from linkwork.model.body import WORLD
from linkwork.model.simplify import simplify_tree
from oracles.comparison import EPS, assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.pinocchio_model import Pinocchio
from oracles.scalars import Direct

SAMPLES = 3


def fields(model, data, *names):
    return np.concatenate([np.ravel(np.array(getattr(data, name))) for name in names])


@pytest.mark.parametrize("example", [*EXAMPLES, *SHIPPED], ids=str)
def test_momentum_energies_and_coriolis_matrices_equal_pinocchios(example):
    robot, oracle = example.robot(), Pinocchio(example)
    rng = np.random.default_rng(11)
    v, a = rng.normal(size=(2, SAMPLES, robot.nv))
    q = robot.random_configuration(rng, size=SAMPLES)
    f, light = Direct(robot.tree), Direct(simplify_tree(robot.tree))
    _check_centre_of_mass(robot.tree, f, oracle, q, v, a)
    _check_momentum(robot.tree, f, light, oracle, q, v)

    T = oracle.each(lambda m, d, q, v: pin.computeKineticEnergy(m, d, q, v), q, v)
    assert_close(light.kinetic_energy(q, v), T, 1e-12, core=0)
    U = oracle.each(lambda m, d, q: pin.computePotentialEnergy(m, d, q), q)
    fixed = -robot.tree.gravity.dot(robot.tree.fixed_inertia.moment)  # of what is fixed to the world
    assert_close(f.potential_energy(q), U + fixed, 1e-12, core=0)

    M = light.mass_matrix(q)
    upper = np.triu(oracle.each(pin.computeMinverse, q))
    inverse = (upper + np.swapaxes(np.triu(upper, 1), -1, -2))[:, oracle._v[:, None], oracle._v]
    bound = 10.0 * EPS * robot.nv * float(np.max(np.linalg.cond(M)))
    assert_close(light.mass_matrix_inverse(q), inverse, bound, core=2)

    C = oracle.each(pin.computeCoriolisMatrix, q, v)[:, oracle._v[:, None], oracle._v]
    ours = light.coriolis_matrix(q, v)
    assert_close(np.einsum("nij,nj->ni", ours, v), np.einsum("nij,nj->ni", C, v), 1e-12, core=1)
    assert_close(ours + np.swapaxes(ours, 1, 2), C + np.swapaxes(C, 1, 2), 1e-12, core=2)


def _check_centre_of_mass(tree, f, oracle, q, v, a):
    moving = sum(body.inertia.mass for body in tree.bodies)
    fixed = np.array([*tree.fixed_inertia.moment])

    def state_of(model, data, q, v, a):
        pin.centerOfMass(model, data, q, v, a, True)
        return np.array([data.com[0], data.vcom[0], data.acom[0]])

    c, c_dot, c_ddot = np.moveaxis(oracle.each(state_of, q, v, a), 1, 0)
    share = moving / tree.mass
    assert_close(f.center_of_mass(q), c * share + fixed / tree.mass, 1e-12, core=1)
    assert_close(f.center_of_mass_velocity(q, v), c_dot * share, 1e-12, core=1)
    assert_close(f.center_of_mass_acceleration(q, v, a), c_ddot * share, 1e-12, core=1)
    J = oracle.ours(oracle.each(pin.jacobianCenterOfMass, q))
    assert_close(f.center_of_mass_jacobian(q), J * share, 1e-12, core=2)

    body = next(i for i, _, body in tree.inward() if body.inertia.mass > 0.0 and body.parent != WORLD)
    joint = oracle.model.getJointId(tree.bodies[body].joint_name)

    def subtree_of(model, data, q, v):
        pin.centerOfMass(model, data, q, v, True)
        return np.array([data.oMi[joint].act(data.com[joint]), data.oMi[joint].rotation @ data.vcom[joint]])

    c, c_dot = np.moveaxis(oracle.each(subtree_of, q, v), 1, 0)
    name = tree.bodies[body].name
    assert_close(f.center_of_mass(q, subtree=name), c, 1e-12, core=1)
    assert_close(f.center_of_mass_velocity(q, v, subtree=name), c_dot, 1e-12, core=1)


def _check_momentum(tree, f, light, oracle, q, v):
    def of(model, data, q, v):
        h = pin.computeCentroidalMomentum(model, data, q, v).vector.copy()
        pin.centerOfMass(model, data, q, v, True)
        pin.computeCentroidalMapTimeVariation(model, data, q, v)
        return np.concatenate([data.com[0], h, np.ravel(data.Ag), np.ravel(data.dAg)])

    parts = np.split(oracle.each(of, q, v), [3, 9, 9 + 6 * tree.nv], axis=-1)
    center, h, A, A_dot = (
        parts[0],
        oracle.swapped(parts[1].T).T,
        *(oracle.ours(oracle.swapped(np.moveaxis(x.reshape(-1, 6, tree.nv), 0, 1)).swapaxes(0, 1)) for x in parts[2:]),
    )
    arm = center - f.center_of_mass(q)
    h[:, :3] += np.cross(arm, h[:, 3:])
    A[:, :3] += np.cross(arm[:, None], A[:, 3:].swapaxes(1, 2)).swapaxes(1, 2)
    assert_close(f.centroidal_momentum(q, v), h, 1e-12, core=1)
    assert_close(f.centroidal_momentum_matrix(q), A, 1e-12, core=2)
    origin = np.concatenate([h[:, :3] + np.cross(f.center_of_mass(q), h[:, 3:]), h[:, 3:]], axis=-1)
    assert_close(light.momentum(q, v), origin, 1e-12, core=1)
    if tree.fixed_inertia.mass == 0.0:  # otherwise the two centres move apart
        assert_close(f.centroidal_momentum_matrix_rate(q, v), A_dot, 1e-12, core=2)
        inertia = oracle.each(lambda m, d, q: pin.ccrba(m, d, q, np.zeros(m.nv)) is None or d.Ig.matrix(), q)
        swap = [3, 4, 5, 0, 1, 2]
        assert_close(f.locked_inertia(q), inertia[:, swap][:, :, swap], 1e-12, core=2)
