"""Invariants 15 to 32: dynamics."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from invariants.cases import Case, Functions, cases, coupled_cases, floating_cases, per_unit, slope
from linkwork.expr import adjoint, tangent
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.model.body import Drive
from linkwork.robot.robot_table import ROBOT
from linkwork.spatial import Vec3
from oracles.comparison import solving_bound
from oracles.coupling import Constrained
from oracles.trees import robot_of


def times(A, x):
    return np.einsum("...ij,...j->...i", A, x)


def dot(x, y):
    return np.sum(x * y, axis=-1)


def transposed(A):
    return np.swapaxes(A, -1, -2)


def weightless(tree):
    return replace(tree, gravity=Vec3(0.0, 0.0, 0.0))


@pytest.mark.slow(every=3)
def test_15_inverse_dynamics_undoes_forward_dynamics():
    """15. ID(q, v, FD(q, v, τ)) = τ: 1e-12 (1 + ‖τ‖) up to cond(M) = 1e5, above cond · eps · n."""
    for case in cases():
        tau = case.a
        again = case.f("inverse_dynamics", case.q, case.v, case.f("forward_dynamics", case.q, case.v, tau))
        case.close(again, tau, case.solving(1e-12), core=1)


def test_16_forward_dynamics_undoes_inverse_dynamics():
    """16. FD(ID(a)) = a: 10 · cond · eps · n, and ten times what M⁻¹ makes of the rounding of τ and h.

    The joint forces between the two are rounded, and where gravity fills them, as with little to accelerate, M⁻¹ makes
    more of that than any solver adds.  Weightless and at rest there is nothing but M a, and the first bound holds.
    """
    for case in cases():
        tau, h = case.f("inverse_dynamics", case.q, case.v, case.a), case.f("bias_force", case.q, case.v)
        again = case.f("forward_dynamics", case.q, case.v, tau)
        case.close(again, case.a, case.n * solving_bound(case.M, (tau, h), case.a), core=1)
        free, zero = Functions(weightless(case.tree)), 0.0 * case.v
        again = free("forward_dynamics", case.q, zero, free("inverse_dynamics", case.q, zero, case.a))
        case.close(again, case.a, 10.0 * case.cond * case.eps, "weightless at rest", core=1)


def test_17_columns_of_the_mass_matrix_are_inverse_dynamics_of_unit_accelerations():
    """17. M's columns are the joint forces of unit accelerations, weightless and at rest: 10 · eps · n."""
    for case in cases():
        free, zero = Functions(weightless(case.tree)), 0.0 * case.v
        columns = per_unit(case, partial(free, "inverse_dynamics", case.q, zero))
        case.close(case.M, columns, 10.0 * case.eps, core=2)


def test_18_mass_matrix_is_symmetric_and_positive_definite():
    """18. M is symmetric to the bit, and has a Cholesky factor."""
    for case in cases():
        assert np.array_equal(case.M, transposed(case.M)), case.name
        assert np.all(np.isfinite(np.linalg.cholesky(case.M))), case.name


def test_19_kinetic_energy_is_that_of_all_bodies():
    """19. ½ vᵀ M v is the sum of the bodies' kinetic energies: 1e-12."""
    for case in cases():
        expected = np.broadcast_to(case.book.kinetic_energy(), case.q.shape[:-1])
        case.close(0.5 * dot(case.v, times(case.M, case.v)), expected, 1e-12, core=0)
        case.close(case.f("kinetic_energy", case.q, case.v), expected, 1e-12, "kinetic_energy", core=0)


def test_20_bias_force_is_coriolis_matrix_times_velocity_plus_gravity_force():
    """20. h(q, v) = C(q, v) v + g(q): 1e-12."""
    for case in cases():
        C, g = case.f("coriolis_matrix", case.q, case.v), case.f("gravity_force", case.q)
        case.close(times(C, case.v) + g, case.f("bias_force", case.q, case.v), 1e-12, core=1)


def test_21_coriolis_matrix_and_its_transpose_are_the_rate_of_the_mass_matrix():
    """21. Ṁ − C − Cᵀ = 0: Ṁ by differences 1e-8, by dual numbers 1e-12."""
    for case in cases():
        C = case.f("coriolis_matrix", case.q, case.v)
        exact = case.f.rate("mass_matrix", (case.q, case.q_dot))
        case.close(C + transposed(C), exact, 1e-12, core=2)
        nearly = case.difference(lambda q, v, case=case: case.f("mass_matrix", q))
        case.close(C + transposed(C), nearly, 1e-8, "differences", core=2)


def test_22_gravity_force_is_the_gradient_of_potential_energy():
    """22. g(q) = ∂PE/∂q: by differences 1e-8, by dual numbers 1e-12."""
    for case in cases():
        g = case.f("gravity_force", case.q)

        def exact(unit, case=case):
            q_dot = case.f("velocity_to_configuration_derivative", case.q, unit)
            return case.f.rate("potential_energy", (case.q, q_dot))

        def nearly(unit, case=case):
            return slope(lambda h: case.f("potential_energy", case.f("integrate", case.q, h * unit)))

        case.close(g, per_unit(case, exact), 1e-12, core=1)
        case.close(g, per_unit(case, nearly), 1e-8, "differences", core=1)
        expected = case.book.potential_energy()
        case.close(case.f("potential_energy", case.q), expected, 1e-12, "potential_energy", core=0)


def test_23_mass_matrix_times_its_inverse_is_the_identity():
    """23. M⁻¹ M = 1: cond · eps · n; M⁻¹ is symmetric to the bit."""
    for case in cases():
        inverse = case.f("mass_matrix_inverse", case.q)
        assert np.array_equal(inverse, transposed(inverse)), case.name
        case.close(inverse @ case.M, np.broadcast_to(np.eye(case.tree.nv), case.M.shape), case.cond * case.eps, core=2)


def test_24_forward_dynamics_equals_a_dense_solution_with_the_mass_matrix():
    """24. Forward dynamics is M⁻¹ (τ − h): 2 · cond · eps · n."""
    for case in cases():
        h = case.f("bias_force", case.q, case.v)
        expected = np.linalg.solve(case.M, (case.a - h)[..., None])[..., 0]
        acceleration = case.f("forward_dynamics", case.q, case.v, case.a)
        case.close(acceleration, expected, 2.0 * case.cond * case.eps, core=1)


def test_25_power_is_the_rate_of_energy():
    """25. d(KE + PE)/dt = vᵀ τ: by differences 1e-6, by dual numbers 1e-12."""
    for case in cases():
        power = dot(case.v, case.f("inverse_dynamics", case.q, case.v, case.a))
        q, v = (case.q, case.q_dot), (case.v, case.a)
        exact = case.f.rate("kinetic_energy", q, v) + case.f.rate("potential_energy", q)
        case.close(exact, power, 1e-12, core=0)

        def energy(q, v, case=case):
            return case.f("kinetic_energy", q, v) + case.f("potential_energy", q)

        case.close(case.difference(energy), power, 1e-6, "differences", core=0)


def test_26_wrenches_act_as_joint_forces_of_the_transposed_jacobian():
    """26. Forward dynamics under a wrench is that under τ + Jᵀ w: 1e-11; inverse dynamics likewise."""
    rng = np.random.default_rng(26)
    for case in cases():
        for frame in case.frames:
            w = rng.normal(size=(len(case.q), 6))
            J = case.f(("jacobian", frame), case.q)
            under = {"wrenches": [frame]}
            felt = times(transposed(J), w)
            values = case.f(("forward_dynamics", under), case.q, case.v, case.a, w)
            expected = case.f("forward_dynamics", case.q, case.v, case.a + felt)
            case.close(values, expected, case.solving(1e-11), f"{frame}: FD", core=1)
            values = case.f(("inverse_dynamics", under), case.q, case.v, case.a, w)
            expected = case.f("inverse_dynamics", case.q, case.v, case.a) - felt
            case.close(values, expected, 1e-11, f"{frame}: ID", core=1)


@pytest.mark.slow(every=3)
def test_27_only_wrenches_and_weight_change_the_momentum():
    """27. Centroidal momentum is Σ of the bodies'; its rate is Σ of wrenches and weight: 1e-10; free fall: 1e-12."""
    rng = np.random.default_rng(27)
    for case in floating_cases():
        f, mass, g = case.f, case.tree.mass, np.array([*case.tree.gravity])
        c, c_dot = f("center_of_mass", case.q), f("center_of_mass_velocity", case.q, case.v)
        h = f("centroidal_momentum", case.q, case.v)
        case.close(h[..., 3:], mass * c_dot, 1e-10, "linear", core=1)
        about_origin = f("momentum", case.q, case.v)
        case.close(h[..., :3] + np.cross(c, h[..., 3:]), about_origin[..., :3], 1e-10, "angular", core=1)

        frame, w, tau = case.frames[0], rng.normal(size=(len(case.q), 6)), case.a.copy()
        tau[..., :6] = 0.0
        for label, wrench in {"a wrench": w, "free fall": 0.0 * w}.items():
            a = f(("forward_dynamics", {"wrenches": [frame]}), case.q, case.v, tau, wrench)
            rate = f.rate("centroidal_momentum", (case.q, case.q_dot), (case.v, a))
            arm = f(("pose", frame), case.q)[..., :3, 3] - c
            moment = wrench[..., :3] + np.cross(arm, wrench[..., 3:])
            expected = np.concatenate([moment, wrench[..., 3:] + mass * g], axis=-1)
            case.close(rate, expected, 1e-10, label, core=1)
            if label == "free fall":
                falling = f("center_of_mass_acceleration", case.q, case.v, a)
                case.close(falling, np.broadcast_to(g, falling.shape), 1e-12, label, core=1)


def test_28_joint_forces_are_linear_in_inertial_parameters():
    """28. ID = Y(q, v, a) π: 1e-12."""
    for case in cases():
        Y = case.f("inverse_dynamics_regressor", case.q, case.v, case.a)
        pi = robot_of(case.tree).inertial_parameters().ravel()
        case.close(Y @ pi, case.f("inverse_dynamics", case.q, case.v, case.a), 1e-12, core=1)


def test_29_joint_forces_are_affine_in_acceleration_and_quadratic_in_velocity():
    """29. ID is affine in a, and of second degree in v without a linear part: 1e-11."""
    rng = np.random.default_rng(29)
    for case in cases():
        w, b = rng.normal(size=(2, *case.v.shape))

        def tau(v, a, case=case):
            return case.f("inverse_dynamics", case.q, v, a)

        v, a = case.v, case.a
        case.close(tau(v, 0.25 * a + 0.75 * b), 0.25 * tau(v, a) + 0.75 * tau(v, b), 1e-11, "affine in a", core=1)
        third = tau(v + 3.0 * w, a) - 3.0 * tau(v + 2.0 * w, a) + 3.0 * tau(v + w, a)
        case.close(third, tau(v, a), 1e-11, "quadratic in v", core=1)
        case.close(tau(-v, a), tau(v, a), 1e-11, "no linear part in v", core=1)


def derivatives(case, name, direction):
    """Derivatives along a motion of all inputs: forward and reverse differentiation of the traced graph."""
    tree, graph = case.tree, Graph()
    symbols = [graph.inputs(*x) for x in (("q", (tree.nq,)), ("v", (tree.nv,)), ("u", (tree.nv,)))]
    outputs = ROBOT[name].compute(tree, *symbols)
    flat = [x for part in symbols for x in part]
    rates = graph.inputs("rates", (len(flat),))
    weights = graph.inputs("weights", (tree.nv,))
    tangents = tangent(outputs, flat, rates)
    pulled = adjoint(outputs, flat, weights)
    values = np.concatenate([case.q, case.v, case.a, *direction, case.a], axis=-1)
    values_of_inputs = dict(zip([*flat, *rates, *weights], np.moveaxis(values, -1, 0), strict=True))
    evaluated = [np.broadcast_to(x, case.q.shape[:-1]) for x in evaluate([*tangents, *pulled], values_of_inputs)]
    every = np.stack(evaluated, axis=-1) if evaluated else np.zeros((*case.q.shape[:-1], 0))
    return every[..., : tree.nv], every[..., tree.nv :]


@pytest.mark.slow(every=9)
def test_30_derivatives_of_dynamics_equal_dual_numbers_and_differences():
    """30. Derivatives of ID and FD by differentiating the graph, forward and reverse, beside dual numbers: 1e-11,
    beside central differences: 1e-7; ∂FD/∂τ = M⁻¹."""
    rng = np.random.default_rng(30)
    for case in cases():
        v_q, v_v, v_u = rng.normal(size=(3, *case.v.shape))
        q_rate = case.f("velocity_to_configuration_derivative", case.q, v_q)
        for name in ("inverse_dynamics", "forward_dynamics"):
            dual = case.f.rate(name, (case.q, q_rate), (case.v, v_v), (case.a, v_u))
            if case.tree.nv <= 9:  # tracing takes longest
                forward, reverse = derivatives(case, name, (q_rate, v_v, v_u))
                case.close(forward, dual, 1e-11, name, core=1)
                rates = np.concatenate([q_rate, v_v, v_u], axis=-1)
                case.close(dot(reverse, rates), dot(case.a, dual), 1e-11, f"{name}, reverse", core=0)

            def along(h, case=case, name=name, v_q=v_q, v_v=v_v, v_u=v_u):
                return case.f(name, case.f("integrate", case.q, h * v_q), case.v + h * v_v, case.a + h * v_u)

            case.close(dual, slope(along), 1e-7, f"{name}, differences", core=1)
        zero = 0.0 * case.q, 0.0 * case.v

        def by_torque(unit, case=case, zero=zero):
            return case.f.rate("forward_dynamics", (case.q, zero[0]), (case.v, zero[1]), (case.a, unit))

        identity = np.broadcast_to(np.eye(case.tree.nv), case.M.shape)
        case.close(per_unit(case, by_torque) @ case.M, identity, case.cond * case.eps, "by torque", core=2)


def with_drives(case: Case) -> Case:
    """The case with armature, damping, dry friction and springs in all of its joints."""
    rng = np.random.default_rng(31)
    bodies = []
    for body in case.tree.bodies:
        nv = body.joint.nv
        armature, stiffness, damping, friction = rng.uniform(0.1, 1.0, size=(4, nv)).tolist()
        drive = Drive(armature=tuple(armature), stiffness=tuple(stiffness), rest=tuple(body.joint.zero()))
        bodies.append(replace(body, drive=drive, damping=tuple(damping), friction=tuple(friction), dynamics="urdf"))
    return replace(case, tree=replace(case.tree, bodies=tuple(bodies)))


def test_31_armature_and_passive_forces_are_part_of_dynamics():
    """31. Armature adds its diagonal matrix to M exactly; ID and FD include it and passive joint forces.

    Gyroscopic forces of armature do no work; joints with q̇ = v have none.
    """
    passive = {"passive": True}
    for case in map(with_drives, cases()):
        armature = np.zeros(case.tree.nv)
        for i, body in enumerate(case.tree.bodies):
            armature[case.tree.v_slices[i]] += np.array(body.drive.armature) * body.ratio**2
        M = case.f(("mass_matrix", passive), case.q)
        expected = case.M + np.diag(armature)
        assert np.array_equal(M, expected), case.name
        exerted = case.f("passive_force", case.q, case.v)
        tau = case.f("inverse_dynamics", case.q, case.v, case.a) + armature * case.a - exerted
        torque = case.f(("inverse_dynamics", passive), case.q, case.v, case.a)
        turned = [
            range(case.tree.nv)[case.tree.v_slices[i]] for i, body in case.tree.stacked() if not is_plain(body.joint)
        ]
        gyroscopic = np.zeros_like(tau)
        for body_columns in turned:
            gyroscopic[..., body_columns] = (torque - tau)[..., body_columns]
            work = np.sum(gyroscopic[..., body_columns] * case.v[..., body_columns], axis=-1)
            case.close(work, 0.0 * work, 1e-12, "power", core=0)
        case.close(torque, tau + gyroscopic, 1e-12, "ID", core=1)
        again = case.f(("forward_dynamics", passive), case.q, case.v, torque)
        h = case.f(("bias_force", passive), case.q, case.v)
        case.close(again, case.a, case.n * solving_bound(M, (torque, h), case.a), "FD", core=1)


def test_32_dynamics_of_coupled_joints_are_projections_of_uncoupled_dynamics():
    """32. Dynamics of coupled joints: M = Gᵀ M G, τ = Gᵀ τ of the free tree: 1e-12."""
    chosen = coupled_cases()
    assert len(chosen) >= 3
    for case in chosen:
        full = Constrained(case.tree)
        free, G = Functions(full.free), full.G
        q, v, a = full.q(case.q), full.v(case.v), full.v(case.a)
        case.close(case.M, G.T @ free("mass_matrix", q) @ G, 1e-12, "M", core=2)
        tau = case.f("inverse_dynamics", case.q, case.v, case.a)
        case.close(tau, free("inverse_dynamics", q, v, a) @ G, 1e-12, "τ", core=1)
