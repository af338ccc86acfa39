"""Inertias, mass matrices and force elements on both sides of their limits, on floats."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics import inertial_parameters
from linkwork.dynamics.algorithms.derivatives.linearize import linearize
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import with_values
from linkwork.dynamics.algorithms.mass_matrix import _is_solid
from linkwork.dynamics.algorithms.mass_matrix_inverse import _inverse
from linkwork.dynamics.algorithms.passive_joint_forces import _constant, element_wrenches
from linkwork.dynamics.base_parameters import BaseParameters
from linkwork.dynamics.singular_inertia import (
    _clause,
    inertia_guards,
    unfelt,
    unfelt_joints,
    warn_of_singular_inertia,
)
from linkwork.dynamics.singular_inertia import _inverse as inverse_or_zero
from linkwork.errors import ConfigurationWarning, SingularInertiaError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.symbol import Graph
from linkwork.force_elements import Bushing
from linkwork.kernels.function_request import read_request
from linkwork.spatial import Inertia, Symmetric3, Vec3

ARM = lw.load("double_pendulum")


def parameters(mass: float, com: tuple[float, float, float], moments: tuple[float, float, float]) -> np.ndarray:
    """Return the ten parameters (m, m c, J) of a body with these principal moments about its centre of mass."""
    c = np.array(com)
    J = np.diag(moments) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), *J[np.triu_indices(3)]])


def test_light_bodies_are_as_physical_as_heavy_ones() -> None:
    com = (0.3, -0.1, 0.2)
    for mass in (1e-3, 0.4, 1.0, 30.0):
        solid = parameters(mass, com, (3.0 * mass, 4.0 * mass, 5.0 * mass))
        flat = parameters(mass, com, (3.0 * mass, 4.0 * mass, 7.0 * mass))
        thin = parameters(mass, com, (3.0 * mass, 4.0 * mass, 7.01 * mass))
        assert [bool(inertial_parameters.is_physical(x)) for x in (solid, flat, thin)] == [True, True, False]
        assert [bool(inertial_parameters.is_physical(x, definite=True)) for x in (solid, flat, thin)] == [
            True,
            False,
            False,
        ]
    lone = np.array([0.0, 0.1, 0.0, 0.0, *np.eye(3)[np.triu_indices(3)]])  # a first moment without mass
    assert not inertial_parameters.is_physical(lone) and inertial_parameters.is_physical(np.zeros(10))
    assert not inertial_parameters.is_physical(np.zeros(10), definite=True)
    assert not inertial_parameters.is_physical(-parameters(0.4, com, (1.0, 1.0, 1.0)))


def test_parameters_with_symbols_have_ten_elements() -> None:
    symbols = Graph().inputs("p", (10,))
    assert np.shape(inertial_parameters.pseudo_inertia(array(symbols))) == (4, 4)
    for wrong in (symbols[:9], [*symbols, 1.0]):
        with pytest.raises(
            ValueError, match=r"pseudo_inertia: parameters: expected shape \(\.\.\., 10\), got \((9|11),\)"
        ):
            inertial_parameters.pseudo_inertia(array(wrong))


def test_bodies_are_solid_with_mass_and_extent() -> None:
    for mass in (0.4, 3.0):
        for moments, solid in (((3.0, 4.0, 5.0), True), ((0.0, 0.0, 0.0), False), ((0.0, 4.0, 4.0), False)):
            body = Inertia(mass, Vec3(0.0, 0.0, 0.0), Symmetric3.diagonal(*(mass * x for x in moments)))
            assert bool(_is_solid(body)) is solid
    assert not _is_solid(Inertia(0.0, Vec3(0.0, 0.0, 0.0), Symmetric3.diagonal(3.0, 4.0, 5.0)))


def test_pivots_that_are_rounding_are_refused() -> None:
    for whole in (1.0, 300.0):
        for D, alone, motions in ((0.9e-15, 1.0, True), (0.0, 1.0, True), (0.9e-15, 0.0, False), (-1.0, 1.0, True)):
            with pytest.raises(SingularInertiaError, match="elbow") as error:
                _inverse(whole * D, whole, whole * alone, "elbow")
            plain = str(SingularInertiaError("elbow", motions=motions))
            assert str(error.value) == plain
        assert _inverse(whole * 5e-15, whole, whole, "elbow") == 1.0 / (whole * 5e-15)
    assert [float(inverse_or_zero(x)) for x in (0.4, 2.0, 0.0, -0.4)] == [2.5, 0.5, 0.0, 0.0]


def test_null_space_of_the_mass_matrix_is_that_of_any_scale() -> None:
    v = np.array([0.6, 0.0, -0.8])
    M = np.eye(3) - np.outer(v, v)
    for scale in (1.0, 0.25, 1e-4, 1e4):
        basis = unfelt(scale * M, [scale * 0.5] * 3)
        assert basis.shape == (3, 1) and abs(abs(basis[:, 0] @ v) - 1.0) < 1e-9
        assert unfelt(scale * (M + 1e-9 * np.eye(3)), [scale] * 3).shape == (3, 0)
    uneven = np.diag([1.0, 1e-3, 1e2])
    assert unfelt(uneven @ M @ uneven, [1.0, 1e-6, 1e4]).shape == (3, 1)
    assert unfelt(np.diag([0.5, 0.0]), [0.5, 0.0]).shape == (2, 1)
    assert _clause(["a"]) == "it moves" and _clause(["a", "b", "c"]) == "joints 'a', 'b' and 'c' together move"
    axis = lw.joints.Revolute((0.0, 1.0, 0.0))
    links = [
        lw.Link(name, mass=mass, inertia=inertia)
        for name, mass, inertia in (("a", 1.0, (0.1, 0.2, 0.3)), ("b", 0.0, (0.0, 0.0, 0.0)))
    ]
    robot = lw.Robot.build(
        "bare",
        *links,
        lw.Joint.of(axis, name="first", parent="world", child="a"),
        lw.Joint.of(axis, name="second", parent="a", child="b"),
    )
    assert unfelt_joints(robot.tree, [0.3, 0.7], False) == ["second"]
    assert unfelt_joints(robot.tree, [0.3, 0.7], False, (1,)) == []


def test_linearization_of_an_integrator_needs_a_time_step() -> None:
    state = [0.3, 0.7], [0.1, -0.2], [0.0, 0.0]
    A, B = linearize(ARM.tree, *state)
    discrete, _ = linearize(ARM.tree, *state, dt=[1e-6], integrator="semi_implicit_euler")
    change = (np.array(discrete, dtype=float) - np.eye(4)) / 1e-6
    assert np.abs(change[:2, 2:] - np.array(A, dtype=float)[:2, 2:]).max() < 1e-4 and np.shape(B) == (4, 2)
    for integrator in ("explicit_euler", "rk4"):
        with pytest.raises(
            ValueError, match=rf"linearize: dt: expected a time step \[s\] for integrator='{integrator}'"
        ):
            linearize(ARM.tree, *state, integrator=integrator)


def test_functions_of_robots_without_joints_have_empty_derivatives() -> None:
    post = lw.Robot.build("post", lw.Link("post", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    values, derivatives = with_values(post.tree, lambda q, x: [2.0], [], [])
    assert values == [2.0] and derivatives == [[], []]
    values, derivatives = with_values(ARM.tree, lambda q, x: [q[0] * q[1] + 3.0 * x[0]], [0.3, 0.7], [0.5])
    assert abs(values[0] - 1.71) < 1e-12
    assert np.allclose(derivatives[0], [[0.7, 0.3]]) and np.allclose(derivatives[1], [[3.0]])


def test_springs_between_the_world_and_the_first_body_pull_that_body() -> None:
    first = "upper_rod"
    assert ARM.tree.frame(first).body == 0
    tree = ARM.with_force_elements(Bushing("world", first, stiffness=5.0)).tree
    wrenches = element_wrenches(tree, [0.3, 0.7], [0.0, 0.0])
    assert [frame for frame, _, _ in wrenches] == [first] and any(abs(x) > 0.1 for x in wrenches[0][2])


def test_brackets_of_rotations_are_constant() -> None:
    assert _constant(lw.joints.Revolute((0.0, 1.0, 0.0))) == {}
    ball = _constant(lw.joints.Spherical())
    assert ball is not None and {abs(c) for c in ball.values()} == {1.0} and len(ball) == 6


def test_base_parameters_are_independent_above_the_tolerance() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(40, 3))
    names = ("a", "b", "c", "d", "e")
    for scale in (0.01, 100.0):
        Y = scale * np.column_stack([y[:, 0], 2.0 * y[:, 0] + 0.5 * y[:, 1], y[:, 1], np.zeros(40), y[:, 2]])
        base = BaseParameters.of_regressor(Y, names)
        assert base.columns.tolist() == [0, 1, 4]
        assert np.abs(Y[:, base.columns] @ base.matrix - Y).max() < 1e-9 * scale
        assert not base.matrix[:, 3].any()


def test_configurations_of_singular_inertia_are_guarded_for_functions_that_need_its_inverse() -> None:
    """A point mass on two hinges that cross: the first moves no inertia where the mass is on its axis."""
    robot = lw.Robot.build(
        "crossed",
        lw.Link("a"),
        lw.Link("b", mass=2.0, com=(0.0, 0.0, -0.5)),
        lw.Joint.of(lw.joints.Revolute((0.0, 0.0, 1.0)), name="first", parent="world", child="a"),
        lw.Joint.of(lw.joints.Revolute((1.0, 0.0, 0.0)), name="second", parent="a", child="b"),
    )
    subject = robot._subject

    def guards(name: str, q: list[float]) -> list[float]:
        return [float(x) for x in inertia_guards(subject, read_request(subject, name), subject.joint_space_tree, q)]

    assert guards("mass_matrix", [0.3, 1e-7]) == guards("inverse_dynamics", [0.3, 1e-7]) == []
    for angle, singular in ((1e-7, True), (1e-5, True), (0.3, False), (math.pi, True)):
        assert [x > 0.0 for x in guards("forward_dynamics", [0.3, angle])] == [singular], angle
    request = read_request(subject, "forward_dynamics")
    with pytest.warns(ConfigurationWarning, match="'first'"):
        warn_of_singular_inertia(subject, request, "forward_dynamics", [np.array([0.3, 0.0])] * len(request.inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, q in (("forward_dynamics", [0.3, 0.4]), ("mass_matrix", [0.3, 0.0])):
            request = read_request(subject, name)
            warn_of_singular_inertia(subject, request, name, [np.array(q)] * len(request.inputs))
