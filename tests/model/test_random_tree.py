"""Random trees: their structure, and dynamics on trees of any seed, size and mix of joint types."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.joints import ALL
from linkwork.model.body import WORLD
from linkwork.model.random_tree import random_inertia, random_pose, random_tree
from linkwork.spatial import Pose
from oracles.comparison import assert_close, solving_bound
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES, every_plain_tree


def tree(seed=0, bodies=6, **options):
    return random_tree(np.random.default_rng(seed), bodies, **options)


def principal_moments(inertia):
    """About the centre of mass, smallest first."""
    xx, xy, xz, yy, yz, zz = inertia.shifted(-inertia.moment * (1.0 / inertia.mass)).about.elements()
    return np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_equal_generators_give_equal_random_trees():
    assert tree(3) == tree(3)
    assert hash(tree(3)) == hash(tree(3))
    assert tree(3) != tree(4)
    generator = np.random.default_rng(0)
    assert random_tree(generator, 4) != random_tree(generator, 4)


@pytest.mark.parametrize("bodies", [len(ALL), len(ALL) + 1, 3 * len(ALL)])
def test_random_trees_use_every_joint_type_equally(bodies):
    kinds = [type(body.joint) for body in tree(bodies=bodies).bodies]
    assert {*kinds[: len(ALL)]} == {*ALL}
    assert max(map(kinds.count, ALL)) - min(map(kinds.count, ALL)) <= 1


def test_random_trees_have_the_requested_topology():
    assert [body.parent for body in tree(shape="chain").bodies] == [-1, 0, 1, 2, 3, 4]
    assert [body.parent for body in tree(shape="star").bodies] == [-1, 0, 0, 0, 0, 0]
    parents = {tuple(body.parent for body in tree(seed).bodies) for seed in range(20)}
    assert len(parents) > 15
    assert any(WORLD in parent[1:] for parent in parents)  # several bodies on the world
    assert all(-1 <= p < i for parent in parents for i, p in enumerate(parent))


@every_plain_tree
def test_random_trees_have_unique_names_and_physical_inertias(tree):
    names = [frame.name for frame in tree.frames]
    assert len({*names}) == len(names)
    assert len({body.joint_name for body in tree.bodies}) == len(tree.bodies)
    assert {frame.body for frame in tree.frames} == {WORLD, *range(len(tree.bodies))}
    for i, body in enumerate(tree.bodies):
        assert body.placement != Pose.identity() != body.rotor  # a joint is placed on both of its sides
        assert tree.frame(body.name).body == i
        assert len(body.damping) == len(body.friction) == body.joint.nv
        inertias = [frame.placement @ frame.inertia for frame in tree.frames if frame.body == i]
        assert_close(body.inertia.mass, sum(x.mass for x in inertias), 1e-15)
        moments = principal_moments(body.inertia)
        assert moments[0] > 0.0
        assert moments[2] < moments[0] + moments[1]


def test_random_poses_and_axes_are_normalised():
    rng = np.random.default_rng(0)
    for _ in range(100):
        low, middle, high = principal_moments(random_inertia(rng))
        assert low > 0.0
        assert high < low + middle
        matrix = np.reshape(np.array(random_pose(rng, 2.0).elements(), dtype=float), (4, 4))
        assert_close(matrix[:3, :3] @ matrix[:3, :3].T, np.eye(3), 1e-14)
        assert np.all(np.abs(matrix[:3, 3]) <= 2.0)


def test_invalid_arguments_of_random_trees_are_refused():
    assert tree(bodies=0).bodies == ()
    with pytest.raises(ValueError, match="number of bodies"):
        tree(bodies=-1)
    with pytest.raises(ValueError, match="at least one type"):
        tree(types=[])
    with pytest.raises(ValueError, match="expected a shape"):
        tree(shape="ring")


def test_test_trees_contain_every_joint_type():
    assert {type(body.joint) for tree in TREES.values() for body in tree.bodies} >= {*ALL}


@pytest.mark.slow(every=5)
@settings(max_examples=40, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    bodies=st.integers(1, 7),
    types=st.lists(st.sampled_from(ALL), min_size=1, max_size=4),
    shape=st.sampled_from(["random", "chain", "star"]),
)
def test_dynamics_of_random_trees_equal_the_textbooks(seed, bodies, types, shape):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, bodies, types=types, shape=shape)
    q = np.concatenate([body.joint.random(rng, body.limits.lower, body.limits.upper, ()) for body in tree.bodies])
    v, a = rng.normal(size=(2, tree.nv))
    f, book = Direct(tree, "floats"), Textbook(tree, q, v, a)
    tau, M = book.inverse_dynamics(), book.mass_matrix()
    assert_close(f.inverse_dynamics(q, v, a), tau, 1e-13)
    assert_close(f.mass_matrix(q), M, 1e-13)
    bound = solving_bound(M, (tau, f.bias_force(q, v)), a)
    assert_close(f.forward_dynamics(q, v, tau), a, bound)
