"""Centre of mass, energies, momentum and power of real robots, against MuJoCo.

MuJoCo counts links fixed to the world as linkwork does.  Of subtrees it has the momentum about their own centre.
"""

import numpy as np
import pytest

pytest.importorskip("mujoco")

import mujoco

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.mujoco_model import MuJoCo
from oracles.scalars import Direct

ACCEPTED = ("panda", "ur5", "talos", "g1", "solo12", "go2")
ROBOTS = [*(example for example in EXAMPLES if example.name in ACCEPTED), *SHIPPED]


@pytest.mark.costly
@pytest.mark.parametrize("example", ROBOTS, ids=str)
def test_momentum_energies_and_power_equal_mujocos(example):
    robot, oracle = example.robot(), MuJoCo(example)
    tree, model, data = robot.tree, oracle.model, oracle.data
    rng = np.random.default_rng(9)
    f = Direct(tree)
    body = next(body for _, _, body in tree.inward() if body.inertia.mass > 0.0).name
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    for _ in range(3):
        v = rng.normal(size=(1, robot.nv))
        q = robot.random_configuration(rng, size=1)
        T = oracle._put(q[0], v[0], np.zeros(robot.nv))
        mujoco.mj_forward(model, data)
        mujoco.mj_subtreeVel(model, data)
        world, subtree = 0, model.body(body).id
        mass = model.body_subtreemass[0]
        assert_close(tree.mass, mass, 1e-13)
        assert_close(f.center_of_mass(q)[0], data.subtree_com[world], 1e-10)
        assert_close(f.center_of_mass(q, subtree=body)[0], data.subtree_com[subtree], 1e-10)
        assert_close(f.center_of_mass_velocity(q, v)[0], data.subtree_linvel[world], 1e-10)
        assert_close(f.center_of_mass_velocity(q, v, subtree=body)[0], data.subtree_linvel[subtree], 1e-10)
        h = f.centroidal_momentum(q, v)[0]
        assert_close(h[:3], data.subtree_angmom[world], 1e-10)
        assert_close(h[3:], mass * data.subtree_linvel[world], 1e-10)
        assert_close([f.potential_energy(q)[0], f.kinetic_energy(q, v)[0]], data.energy, 1e-10)
        turning, moving = np.zeros((3, robot.nv)), np.zeros((3, robot.nv))
        mujoco.mj_angmomMat(model, data, turning, world)
        mujoco.mj_jacSubtreeCom(model, data, moving, world)
        assert_close(f.centroidal_momentum_matrix(q)[0], np.vstack([turning, mass * moving]) @ T, 1e-10)
        assert_close(f.center_of_mass_jacobian(q)[0], moving @ T, 1e-10)
        x = rng.normal(size=(1, robot.nv))
        solved = np.zeros((1, robot.nv))
        mujoco.mj_solveM(model, data, solved, np.linalg.solve(T.T, x[0])[None])
        bound = 1e-10 + 1e-15 * np.linalg.cond(f.mass_matrix(q)[0])
        assert_close(f.mass_matrix_solve(q, x)[0], np.linalg.solve(T, solved[0]), bound)
