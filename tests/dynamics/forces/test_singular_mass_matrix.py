"""Motions that move no inertia: an error where M is singular everywhere, a warning where it is singular in places."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.algorithms.mass_matrix import mass_pivots, mass_sizes, yielding
from linkwork.dynamics.singular_inertia import refuse_singular_inertia
from linkwork.errors import ConfigurationWarning, SingularInertiaError
from linkwork.joints import Prismatic, Revolute, Spherical
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.random_tree import random_tree
from linkwork.model.simplify import simplify_tree
from linkwork.robot.robot_table import robot_owner
from linkwork.spatial import Inertia
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.scalars import Direct
from oracles.trees import every_moving_tree, state

ROD = {"mass": 1.0, "com": (0.0, 0.1, 0.5), "inertia": (0.08, 0.09, 0.01)}


def twice_coaxial(seed=0, bodies=4, where=1, types=(Revolute, Prismatic)):
    """A chain with general axes, of which two joints in a row share their axis, with nothing that weighs between."""
    tree = random_tree(np.random.default_rng(seed), bodies, types=list(types), shape="chain")
    first, second = tree.bodies[where], tree.bodies[where + 1]
    changed = list(tree.bodies)
    changed[where] = replace(first, inertia=Inertia.zero())
    properties = {"joint": first.joint, "limits": first.limits, "damping": first.damping, "friction": first.friction}
    changed[where + 1] = replace(second, placement=first.rotor.inv().formed(), drive=first.drive, **properties)
    frames = [replace(f, inertia=Inertia.zero()) if f.body == where else f for f in tree.frames]
    return replace(tree, bodies=tuple(changed), frames=tuple(frames))


def asks(robot, q):
    x = np.ones_like(q)
    last = robot.frames[-1]
    return {
        "forward_dynamics": lambda: robot.forward_dynamics(q, x, x),
        "by the mass matrix": lambda: robot.forward_dynamics(q, x, x, method="mass_matrix"),
        "hybrid_dynamics": lambda: robot.hybrid_dynamics(q, x, x, x, []),
        "impact": lambda: robot.impact(q, x, impulses={robot.bodies[-1]: np.ones(6)}),
        "mass_matrix_inverse": lambda: robot.mass_matrix_inverse(q),
        "mass_matrix_solve": lambda: robot.mass_matrix_solve(q, x),
        "compile": lambda: robot.compile(["mass_matrix", "forward_dynamics"]),
        "symbols": lambda: lw.compile(lambda y: robot.forward_dynamics(y, x, x), y=len(q)),
        "gravity": lambda: (
            robot.forward_dynamics(q, x, x, gravity=[0, 0, 0], wrenches={last: np.ones(6)})
            if robot.tree.frame(last).body >= 0
            else robot.forward_dynamics(q, x, x, gravity=[0, 0, 0])
        ),
    }


@pytest.mark.slow(every=9)
def test_coaxial_joints_with_no_inertia_between_them_are_refused_with_their_names():
    """About any axis: the trace has values near zero, and no exact zeros."""
    for seed, where in ((0, 0), (1, 1), (2, 2)):
        tree = twice_coaxial(seed, where=where)
        robot = lw.Robot(tree)
        q = state(tree, size=1)[0][0]
        for name, ask in asks(robot, q).items():
            with pytest.raises(SingularInertiaError, match=f"joints 'joint{where}' and 'joint{where + 1}' move") as e:
                ask()
            assert (e.value.joint, e.value.joints) == (f"joint{where}", (f"joint{where}", f"joint{where + 1}")), name
            assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)
        assert np.isfinite(robot.inverse_dynamics(q, q, q)).all()  # what needs no inverse is there
        with_rotors = robot.forward_dynamics(q, q, q, passive=True)
        assert_close(robot.inverse_dynamics(q, q, with_rotors, passive=True), q, 1e-9)
        basis = robot.mass_matrix_null_space(q)
        expected = np.zeros(robot.nv)
        expected[where : where + 2] = 0.5**0.5, -(0.5**0.5)
        assert_close(np.abs(basis.T @ expected), [1.0], 1e-12)
        assert np.abs(robot.mass_matrix(q) @ basis).max() <= 1e-13
        assert robot.mass_matrix_null_space(q, passive=True).shape == (robot.nv, 0)
        result = robot.hybrid_dynamics(q, q, q, q, f"joint{where}")  # held, it resists
        assert_close(robot.inverse_dynamics(q, q, result.a), result.tau, 1e-10)


def test_massless_last_link_is_refused_by_forward_dynamics_with_its_name():
    for kind in (Revolute, Prismatic, Spherical):
        tree = random_tree(np.random.default_rng(5), 3, types=[kind], shape="chain")
        bodies = (*tree.bodies[:2], replace(tree.bodies[2], inertia=Inertia.zero()))
        frames = tuple(replace(f, inertia=Inertia.zero()) if f.body == 2 else f for f in tree.frames)
        tree = replace(tree, bodies=bodies, frames=frames)
        robot = lw.Robot(tree)
        q = state(tree, size=1)[0][0]
        x = np.ones(robot.nv)
        for ask in (
            lambda: robot.forward_dynamics(q, x, x),  # noqa: B023
            lambda: robot.forward_dynamics(q, x, x, method="mass_matrix"),  # noqa: B023
        ):
            with pytest.raises(SingularInertiaError, match="joint 'joint2' moves bodies without inertia"):
                ask()
        basis = robot.mass_matrix_null_space({"joint0": q[tree.q_slices[0]] if tree.bodies[0].joint.nq > 1 else q[0]})
        assert basis.shape == (robot.nv, tree.bodies[2].joint.nv)
        assert np.abs(basis[: -basis.shape[1]]).max() <= 1e-12


def test_coupled_joints_with_opposite_motions_of_a_body_are_refused_by_forward_dynamics():
    """A master and its follower rotate a body back: it does not move."""
    links = [lw.Link("a"), lw.Link("b", **ROD), lw.Link("c", **ROD)]
    axis = (0.6, 0.0, 0.8)
    joints = [
        lw.Joint.of(Revolute(axis), name="one", parent="world", child="a"),
        lw.Joint.of(Revolute(axis), name="two", parent="a", child="b"),
        lw.Joint.of(Revolute((1, 0, 0)), name="three", parent="b", child="c"),
    ]
    free = lw.Robot.build("r", links, joints)
    with pytest.raises(SingularInertiaError, match="joints 'one' and 'two'"):
        free.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))
    back = free.with_couplings({"two": ("one", -1.0, 0.0)})
    with pytest.raises(SingularInertiaError, match="joint 'one' moves bodies without inertia"):
        back.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))
    assert_close(np.abs(back.mass_matrix_null_space([0.3, 0.4])), [[1.0], [0.0]], 1e-14)
    along = free.with_couplings({"two": ("one", 2.0, 0.1)})
    assert np.isfinite(along.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))).all()
    assert along.mass_matrix_null_space([0.3, 0.4]).shape == (2, 0)


def wrist(*more):
    """A massless body between a hinge about z and one about y, before another about z: singular where these align."""
    links = [lw.Link("a"), lw.Link("b"), lw.Link("c", mass=1.0, com=(0, 0, 0.5), inertia=(0.08, 0.09, 0.01))]
    kinds = (Revolute((0, 0, 1)), Revolute((0, 1, 0)), Revolute((0, 0, 1)))
    joints = [
        lw.Joint.of(kind, name=name, parent=parent, child=child)
        for kind, name, parent, child in zip(kinds, ("one", "two", "three"), ("world", "a", "b"), "abc", strict=True)
    ]
    links += [lw.Link(name, **ROD) for name in more]
    for name in more:
        joints.append(lw.Joint.of(Revolute((1, 0, 0)), name=f"to_{name}", parent="c", child=name))
    return lw.Robot.build("wrist", links, joints)


@pytest.mark.slow(every=3)
def test_singular_mass_matrices_give_warnings_with_the_joints_names():
    """Single calls, batches and float32 warn; regular configurations do not."""
    robot = wrist()
    v, tau = np.zeros(3), np.array([0.1, 0.2, 0.3])
    straight, bent = np.array([0.1, 0.0, 0.2]), np.array([0.1, 0.5, 0.2])
    message = r"joints 'one' and 'three' together move no inertia at q = \[0.1, 0.0, 0.2\]"
    functions = {
        "forward_dynamics": lambda q: robot.forward_dynamics(q, v, tau),
        "out": lambda q: robot.forward_dynamics(q, v, tau, out=np.empty(q.shape)),
        "by the mass matrix": lambda q: robot.forward_dynamics(q, v, tau, method="mass_matrix"),
        "hybrid_dynamics": lambda q: robot.hybrid_dynamics(q, v, tau, tau, "two").a,
        "impact": lambda q: robot.impact(q, tau, impulses={"c": np.ones(6)}),
        "mass_matrix_inverse": lambda q: robot.mass_matrix_inverse(q),
    }
    for name, ask in functions.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite(ask(bent)).all()
            assert np.isfinite(ask(np.stack([bent, -bent]))).all()
            assert np.isfinite(ask(straight + 1e-4)).all()  # hard to turn, but not singular
        for q in (straight, np.stack([bent, straight, -bent])):
            with pytest.warns(ConfigurationWarning, match=message):
                result = ask(q)
            if q.ndim > 1 and name != "out":
                assert np.isfinite(result[0]).all() and np.isfinite(result[2]).all()
    with pytest.warns(ConfigurationWarning, match="joints 'one' and 'three' together move no inertia"):
        robot.forward_dynamics(np.float32(straight), np.float32(v), np.float32(tau))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.forward_dynamics(np.float32(bent), np.float32(v), np.float32(tau))
        robot.hybrid_dynamics(straight, v, tau, tau, "three")  # which is held
        robot.mass_matrix(straight)
        bodies = [replace(b, drive=replace(b.drive, armature=(0.1,))) for b in robot.tree.bodies]
        armed = lw.Robot(replace(robot.tree, bodies=tuple(bodies)))
        assert np.isfinite(armed.forward_dynamics(straight, v, tau, passive=True)).all()
    assert robot.mass_matrix_null_space(straight).shape == (3, 1)
    assert robot.mass_matrix_null_space(bent).shape == (3, 0)
    with pytest.raises(ValueError, match=r"q: expected one configuration \(3,\), got a batch of \(2,\)"):
        robot.mass_matrix_null_space(np.stack([bent, straight]))


def test_singular_mass_matrices_of_robots_with_couplings_give_warnings():
    robot = wrist("d", "e").with_couplings({"to_e": ("to_d", -2.0, 0.1)})
    v = np.zeros(4)
    assert np.isfinite(robot.forward_dynamics([0.1, 0.5, 0.2, 0.0], v, v)).all()
    with pytest.warns(ConfigurationWarning, match="joints 'one' and 'three' together move no inertia"):
        robot.forward_dynamics([0.1, 0.0, 0.2, 0.3], v, v + 1.0)


def test_robots_with_regular_mass_matrices_have_no_singularity_guards(drawn):
    """Every joint is resisted by its own body, or pivots show that the matrix is regular."""
    for example in drawn((*EXAMPLES, *SHIPPED)):
        subject = robot_owner(example.robot().tree)
        request = read_request(subject, "forward_dynamics")
        refuse_singular_inertia(subject, request)
        q = example.robot().neutral().tolist()
        weak = yielding(subject.tree, q)
        assert bool(weak) == (example.name == "icub"), example.name
    robot = next(example for example in SHIPPED if example.name == "arm7").robot()
    program = trace_requests(
        robot_owner(robot.tree), "f", {"f": read_request(robot_owner(robot.tree), "forward_dynamics")}
    )
    assert program.guards == 0
    wrists = robot_owner(wrist().tree)
    program = trace_requests(wrists, "f", {"f": read_request(wrists, "forward_dynamics")})
    assert program.guards == 2  # of the joints that carry the massless bodies
    assert program.operations["sub"] <= program.unguarded.operations["sub"] + 2


@every_moving_tree
def test_product_of_mass_matrix_pivots_is_the_determinant(tree):
    """The product of the pivots is the determinant, and no pivot is near to rounding."""
    q = state(tree, size=1)[0][0].tolist()
    M = Direct(tree).mass_matrix(np.array(q))
    D = mass_pivots(tree, q)
    assert np.prod([*D.values()]) == pytest.approx(np.linalg.det(M), rel=1e-9)
    sizes = mass_sizes(tree, q)
    most = 1.0 + sum(body.coupling is not None for body in tree.bodies)  # what moves with one number, together
    assert all(1e-6 * sizes[k] < x <= most * sizes[k] * (1.0 + 1e-12) for k, x in D.items())
    light = mass_pivots(simplify_tree(tree), q)
    assert [light[k] for k in D] == pytest.approx([*D.values()], rel=1e-9)


@pytest.mark.slow(every=9)
def test_mass_matrix_pivots_of_chains_of_2000_bodies_are_computed():
    tree = random_tree(np.random.default_rng(0), 2000, types=[Revolute], shape="chain")
    subject = robot_owner(tree)
    refuse_singular_inertia(subject, read_request(subject, "forward_dynamics"))
    q = [0.1] * 2000
    assert all(x > 0.0 for x in mass_pivots(tree, q).values())
