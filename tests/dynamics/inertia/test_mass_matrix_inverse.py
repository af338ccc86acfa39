"""Inverse of the mass matrix, and products with it, against NumPy; zeros, and singular robots."""

from dataclasses import replace

import numpy as np
import pytest

from linkwork import Joint, Link, Robot
from linkwork.errors import SingularInertiaError
from linkwork.joints import ALL, Prismatic, Revolute, SphericalEuler
from linkwork.model.body import Drive
from linkwork.model.random_tree import random_tree
from linkwork.model.simplify import simplify_tree
from linkwork.spatial import Inertia, Pose
from oracles.comparison import EPS, assert_close
from oracles.scalars import Direct
from oracles.trees import TREES, every_moving_tree, robot_of, state


def bound(M):
    """Bound the error of solving with M: cond · eps · n."""
    return 10.0 * EPS * M.shape[-1] * float(np.max(np.linalg.cond(M)))


def times(matrix, v):
    return np.einsum("nij,nj->ni", matrix, v)


@every_moving_tree
def test_inverse_mass_matrices_equal_numpys_inverses(tree):
    q, x, _ = state(tree)
    f = Direct(tree)
    M, inverse = f.mass_matrix(q), f.mass_matrix_inverse(q)
    assert np.array_equal(inverse, np.swapaxes(inverse, -1, -2))
    assert_close(inverse @ M, np.broadcast_to(np.eye(tree.nv), M.shape), bound(M), core=2)
    assert_close(inverse, np.linalg.inv(M), bound(M), core=2)
    assert_close(f.mass_matrix_solve(q, x), np.linalg.solve(M, x[..., None])[..., 0], bound(M), core=1)
    assert_close(Direct(simplify_tree(tree)).mass_matrix_inverse(q), inverse, bound(M), core=2)
    assert_close(Direct(simplify_tree(tree)).mass_matrix_solve(q, x), times(inverse, x), bound(M), core=1)


@every_moving_tree
def test_inverse_mass_matrices_with_armature_equal_numpys_inverses(tree):
    rng = np.random.default_rng(2)
    heavier = replace(tree, bodies=tuple(_with_rotors(body, rng) for body in tree.bodies))
    q, x, _ = state(tree)
    f = Direct(heavier)
    M = f.mass_matrix(q, passive=True)
    rotors = M - Direct(tree).mass_matrix(q)
    assert np.all(np.diagonal(rotors, axis1=-2, axis2=-1) > 0.0)
    assert_close(f.mass_matrix_inverse(q, passive=True), np.linalg.inv(M), bound(M), core=2)
    assert_close(f.mass_matrix_solve(q, x, passive=True), np.linalg.solve(M, x[..., None])[..., 0], bound(M), core=1)


def _with_rotors(body, rng):
    """Springs, damping and friction too, of which the inverse knows nothing."""
    n = body.joint.nv
    drive = Drive(armature=tuple(rng.uniform(0.1, 1.0, n)), stiffness=(3.0,) * n)
    return replace(body, drive=drive, damping=(2.0,) * n, friction=(1.0,) * n)


def test_mass_matrix_solve_does_not_depend_on_gravity_and_velocity():
    robot = robot_of(TREES["mixed_0"])
    q, x, _ = state(robot.tree)
    assert_close(robot.mass_matrix_solve(q, x), times(robot.mass_matrix_inverse(q), x), 1e-11, core=1)
    assert not np.any(robot.mass_matrix_solve(q, np.zeros_like(x)))


def test_inverse_mass_matrices_of_separate_branches_have_zero_blocks():
    star = random_tree(np.random.default_rng(3), 4, types=[Revolute, Prismatic], shape="star")
    q, _, _ = state(star)
    inverse = robot_of(star).mass_matrix_inverse(q)
    for i, first_body in enumerate(star.bodies):
        for j, second_body in enumerate(star.bodies):
            if first_body.parent == second_body.parent == -1 and i != j:
                assert not np.any(inverse[:, i, j])


MOVING = [kind for kind in ALL if kind.example(np.random.default_rng(0)).nv]


def without_mass(tree, *bodies):
    lightened = [replace(b, inertia=Inertia.zero()) if i in bodies else b for i, b in enumerate(tree.bodies)]
    frames = [replace(f, inertia=Inertia.zero()) if f.body in bodies else f for f in tree.frames]
    return replace(tree, bodies=tuple(lightened), frames=tuple(frames))


@pytest.mark.slow(every=3)
def test_massless_last_body_is_refused_by_mass_matrix_inverse_with_its_name():
    for kind in MOVING:
        tree = random_tree(np.random.default_rng(0), 3, types=[kind], shape="chain")
        tree = without_mass(tree, 2)
        q, x, _ = state(tree)
        for f in (Robot(tree), Direct(tree, "floats")):
            for name, arrays in {"mass_matrix_inverse": (q,), "mass_matrix_solve": (q, x)}.items():
                with pytest.raises(SingularInertiaError, match="joint2") as caught:
                    getattr(f, name)(*arrays)
                assert (caught.value.joint, caught.value.motions) == ("joint2", False), kind


def test_coaxial_joints_with_no_inertia_between_them_are_refused_by_mass_matrix_inverse():
    axis = Revolute((0.0, 0.0, 1.0))
    links = [Link("base"), Link("between"), Link("end", mass=1.0, com=(0.3, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))]
    joints = [
        Joint.of(axis, name="first", parent="base", child="between"),
        Joint.of(axis, name="second", parent="between", child="end"),
    ]
    robot = Robot.build("r", links, joints)
    for function in ("mass_matrix_inverse", "mass_matrix_solve"):
        with pytest.raises(SingularInertiaError, match="joints 'first' and 'second' move no inertia"):
            robot.compile(function)
    with pytest.raises(SingularInertiaError, match="joint 'first' moves bodies without inertia"):
        Direct(robot.tree, "floats").mass_matrix_inverse(np.zeros((1, 2)))
    first, second = robot.tree.bodies
    geared = Robot(replace(robot.tree, bodies=(replace(first, drive=Drive(armature=(0.5,))), second)))
    M = np.array([[0.19 + 0.5, 0.19], [0.19, 0.19]])
    assert_close(geared.mass_matrix_inverse([0.1, 0.2], passive=True), np.linalg.inv(M), 1e-13)


def test_dependent_velocities_of_one_joint_are_refused_by_mass_matrix_inverse():
    tree = random_tree(np.random.default_rng(3), 1, types=[SphericalEuler])
    body = replace(tree.bodies[0], joint=SphericalEuler("xyx"), placement=Pose.identity(), rotor=Pose.identity())
    with pytest.raises(SingularInertiaError, match="joint 'joint0': its motions depend on each other"):
        Direct(replace(tree, bodies=(body,)), "floats").mass_matrix_inverse(np.array([0.4, 0.0, 0.0]))


def test_compiled_inverse_mass_matrices_equal_interpreted_matrices():
    for name in ("mixed_1", "rerooted_coupled"):
        tree = TREES[name]
        q, x, _ = state(tree)
        f, robot = Direct(tree), robot_of(tree)
        inverse = robot.mass_matrix_inverse(q)
        assert np.array_equal(inverse, np.swapaxes(inverse, -1, -2))
        tolerance = bound(f.mass_matrix(q))
        assert_close(inverse, f.mass_matrix_inverse(q), tolerance, name, core=2)
        assert_close(robot.mass_matrix_solve(q, x), f.mass_matrix_solve(q, x), tolerance, name, core=1)
