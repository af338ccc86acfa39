"""Constraints of configurations: rows and errors, closed forms and automatic differentiation."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.scalar import functions as f
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, bind_constraints, derived
from linkwork.model.random_tree import random_tree
from linkwork.model.tree_attachments import with_constraints, with_direction

TIME = 0.6
J = lw.joints
TYPES = (J.Revolute, J.Prismatic, J.Cylindrical, J.Spherical, J.Helical, J.Planar, J.Floating)


def cam(a, b):
    return f.sin(a) * b + 0.3 * b


def kinds(tree, state):
    """Constraints of every kind; those whose rows are meant where they hold are made so as to hold."""
    turns, slides = (
        [b.joint_name for b in tree.bodies if b.joint.q_units == (unit,) and b.joint.nv == 1] for unit in ("rad", "m")
    )
    several = next(b.joint_name for b in tree.bodies if isinstance(b.joint, J.Cylindrical))
    last = len(tree.bodies) - 1
    tool, frame_b = f"tool{last}", f"tool{last // 2}"
    X = state.pose(tool, frame_b)
    return [
        lw.constraints.Distance("marker0", frame_b, 0.7),
        lw.constraints.Distance("marker0", "marker1", 1.9),
        lw.constraints.PointOnPlane("marker0", "world.z", offset=0.3),
        lw.constraints.PointOnPlane("marker1", "arrow"),
        lw.constraints.PointOnLine("marker0", f"{frame_b}.x", line_point=(0.1, 0.2, -0.3)),
        lw.constraints.PointOnLine("marker1", "arrow"),
        lw.constraints.PointOnSurface("marker0", lambda r: f.sqrt(r @ r) + 0.1 * r[0] * r[1] - 1.0, frame=frame_b),
        lw.constraints.PointOnCurve("marker0", lambda r: (r[1] - np.sin(r[0]), r[2] - r[0] * r[0])),
        lw.constraints.Parallel(f"{frame_b}.y", "along"),
        lw.constraints.Angle("arrow", f"{frame_b}.z", 0.8),
        lw.constraints.Angle("world.x", "arrow", 2.8),
        lw.constraints.Weld(tool, frame_b, pose=np.reshape(X.elements(), (4, 4))),
        lw.constraints.Weld("tool0", pose=np.reshape(state.pose("tool0").elements(), (4, 4))),
        lw.constraints.Ball("marker0", frame_b, point=(0.1, 0.2, 0.3)),
        lw.constraints.Ball("marker0"),
        lw.constraints.Gear(turns[0], turns[1], -3.2, offset=0.1),
        lw.constraints.Rack(slides[0], turns[0], 0.2),
        lw.constraints.Screw(slides[0], turns[1], -0.01, offset=0.2),
        lw.constraints.Belt(turns[0], turns[1], 0.1, 0.3, crossed=True),
        lw.constraints.Coupling({turns[0]: 1.0, turns[1]: -2.0, slides[0]: 0.5}, offset=0.2),
        lw.constraints.Coupling((turns[0], slides[0]), cam),
        lw.constraints.PolynomialCoupling(slides[0], turns[1], (0.3, -1.2, 0.5, 0.1), b_reference=0.2, unit="m"),
        lw.constraints.PolynomialCoupling(turns[0], slides[0], [0.0, 2.0], a_reference=-0.3, name="linear"),
        lw.constraints.Prescribed(turns[0], lambda t: 0.2 * t + np.sin(t)),
        lw.constraints.Prescribed(several, lambda t: t * t * np.array([1.0, 2.0])),
        lw.constraints.Prescribed(
            point="marker0", motion=lambda t: (0.3 * t, f.cos(t)), axes="xz", relative_to=frame_b
        ),
        lw.constraints.CenterOfMass(x=0.1, z=0.4),
        lw.constraints.CenterOfMass(y=0.2, relative_to=frame_b, name="second"),
        lw.constraints.Holonomic("own", lambda k: k.point("marker0", frame_b)[:2] * k.q(turns[0]) - k.time),
    ]


def closed(constraint):
    """Return True if a constraint states its rates in closed form."""
    return type(constraint).rates is not lw.constraints.Constraint.rates


def case(seed):
    """A random tree that has every kind, its configuration, and a velocity."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 9, types=TYPES, shape="chain" if seed else "random")
    robot = lw.Robot(tree)
    q, v = robot.random_configuration(seed=seed).tolist(), rng.normal(size=tree.nv).tolist()
    state = KinematicState(tree, q, v, TIME)
    last = len(tree.bodies) - 1
    tree = with_direction(tree, "along", f"tool{last}", [*state.direction(f"tool{last // 2}.y", f"tool{last}")])
    state = KinematicState(tree, q, v, TIME)
    return tree, q, v, [bind_constraints(tree, c) for c in kinds(tree, state)]


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("seed", range(2))
def test_jacobians_of_geometric_constraints_are_derivatives_of_their_errors(seed):
    tree, q, v, constraints = case(seed)
    tree = with_constraints(tree, constraints)
    scale = 1e-5

    def error(constraint, step, by=0.0):
        moved = integrate(tree, q, [scale * x for x in step])
        return np.array(constraint.error(KinematicState(tree, moved, None, TIME + by)))

    for constraint in constraints:
        state = KinematicState(tree, q, v, TIME)
        by_itself = derived(tree, constraint, q, v, TIME)
        rates = constraint.rates(state) or by_itself
        rows, count = np.array(rates.rows), len(constraint.component_names)
        assert rows.shape == (count, tree.nv) and len(constraint.row_units) == count, constraint.name
        size = 1.0 + np.abs(rows).max()
        for i in range(count):  # of each row, where it has the most to say
            k = int(np.argmax(np.abs(rows[i])))
            unit = np.eye(tree.nv)[k]
            slope = (error(constraint, unit) - error(constraint, -unit)) / (2 * scale)
            np.testing.assert_allclose(rows[:, k], slope, rtol=0, atol=1e-8 * size, err_msg=constraint.name)
        np.testing.assert_allclose(rows, by_itself.rows, rtol=0, atol=1e-12 * size, err_msg=constraint.name)
        drift = (error(constraint, [0] * tree.nv, scale) - error(constraint, [0] * tree.nv, -scale)) / (2 * scale)
        np.testing.assert_allclose(rates.drift or 0.0, drift, rtol=0, atol=1e-8, err_msg=constraint.name)
        # biases, at a velocity that the rows allow where they mean something there alone
        u = np.array(v)
        if isinstance(constraint, (lw.constraints.Weld, lw.constraints.Parallel)):
            u = u - np.linalg.pinv(rows) @ (rows @ u)
            assert np.abs(error(constraint, [0] * tree.nv)).max() < 1e-12
        state, by_itself = KinematicState(tree, q, u.tolist(), TIME), derived(tree, constraint, q, u.tolist(), TIME)
        bias = (constraint.rates(state) or by_itself).bias
        size += np.abs(bias).max()
        np.testing.assert_allclose(bias, by_itself.bias, rtol=0, atol=1e-11 * size, err_msg=constraint.name)

        def rate(s, constraint=constraint, u=u):
            state_ahead = integrate(tree, q, [s * x for x in u])
            result = derived(tree, constraint, state_ahead, u.tolist(), TIME + s)
            return np.array(result.rows) @ u + result.drift

        slope = (rate(scale) - rate(-scale)) / (2 * scale)
        np.testing.assert_allclose(bias, slope, rtol=0, atol=1e-7 * size, err_msg=constraint.name)
    assert {type(c) for c in constraints} <= {*lw.constraints.ALL}
    assert sum(map(closed, constraints)) > 20


def test_rates_of_geometric_constraints_are_differences_of_their_errors():
    """Rates in closed form, along one motion of a chain."""
    tree, q, v, constraints = case(1)
    tree, h = with_constraints(tree, constraints), 1e-5
    state = KinematicState(tree, q, v, TIME)
    ahead, behind = (
        KinematicState(tree, integrate(tree, q, [step * x for x in v]), None, TIME + step) for step in (h, -h)
    )
    for constraint in filter(closed, constraints):
        rates = constraint.rates(state)
        if rates is None:
            continue
        change = (np.array(constraint.error(ahead)) - constraint.error(behind)) / (2.0 * h)
        rate, count = np.array(rates.rows) @ v + (rates.drift or 0.0), len(constraint.component_names)
        np.testing.assert_allclose(rate, change, rtol=1e-7, atol=1e-7, err_msg=constraint.name)
        assert len(constraint.row_units) == count == len(rate) and np.abs(rate).max() > 1e-3, constraint.name


@pytest.mark.slow(every=5)
def test_rates_of_geometric_constraints_are_equal_for_batches_and_compiled_code():
    """Batches, and machine code of the robot and of the lighter robot on which dynamics is traced."""
    tree, q, v, constraints = case(0)
    rng = np.random.default_rng(5)
    q2 = np.stack([q, lw.Robot(tree).random_configuration(seed=9)])
    v2 = np.stack([v, rng.normal(size=tree.nv)])
    batch = KinematicState(tree, [*q2.T], [*v2.T], TIME)
    for constraint in constraints:
        result = constraint.rates(batch) or derived(tree, constraint, [*q2.T], [*v2.T], TIME)
        for i in range(2):
            rate = constraint.rates(KinematicState(tree, q2[i].tolist(), v2[i].tolist(), TIME))
            rate = rate or derived(tree, constraint, q2[i].tolist(), v2[i].tolist(), TIME)
            pairs = zip(*([*(x for row in r.rows for x in row), *r.bias] for r in (result, rate)), strict=True)
            for several, single in pairs:
                assert abs((several[i] if np.ndim(several) else several) - single) < 1e-12 * (1 + abs(single))

    subset = [constraints[i] for i in (0, 1, 3, 6, 9, 15, 16)]
    robot = lw.Robot(with_constraints(tree, subset))
    q, v, tau = robot.normalize(q2), v2, rng.normal(size=(2, tree.nv))
    a, forces = robot.constrained_forward_dynamics(q, v, tau)
    G, M = robot.constraint_jacobian(q), robot.mass_matrix(q)
    for i in range(2):
        state = KinematicState(tree, q[i].tolist(), v[i].tolist(), 0.0)
        rates = [c.rates(state) or derived(tree, c, q[i].tolist(), v[i].tolist(), 0.0) for c in subset]
        rows = np.vstack([result.rows for result in rates])
        np.testing.assert_allclose(G[i], rows, rtol=0, atol=1e-12)
        residual = M[i] @ a[i] + robot.bias_force(q[i], v[i]) - tau[i] - G[i].T @ forces[i]
        assert np.abs(residual).max() < 1e-9 * (1 + np.abs(tau[i]).max() + np.abs(forces[i]).max())
        left = G[i] @ a[i] + robot.constraint_bias(q[i], v[i])
        assert np.abs(left).max() < 1e-8 * (1 + np.abs(a[i]).max())
