"""A small spatial mechanism compared with Lagrange's equations with multipliers, written by SymPy."""

import numpy as np
import pytest

import linkwork as lw

CRANK, ROD, OFFSET = 0.4, 1.1, 0.3
SLOPE = np.array([0.6, 0.0, 0.8])


def spatial_slider_crank():
    """A crank about y, and a block on an inclined rail beside it, a massless rod with balls between."""
    rail = lw.pose((0, OFFSET, 0))
    robot = lw.Robot.build(
        "spatial slider-crank",
        lw.Link("crank", mass=2.0, com=(0.2, 0.0, 0.0), inertia=np.diag([0.01, 0.05, 0.05])),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="crank", parent="world", child="crank"),
        lw.Link("block", mass=1.5, inertia=np.eye(3)),
        lw.Joint.of(lw.joints.Prismatic(SLOPE), name="slide", parent="world", child="block", placement=rail),
    )
    robot = robot.with_frame("pin", "crank", lw.pose((CRANK, 0, 0)))
    return robot.with_constraints(lw.constraints.Distance("pin", "block", ROD, name="rod"))


def lagrange():
    """Accelerations and the rod's force by (θ, s, θ̇, ṡ, τ_θ, τ_s): d/dt ∂L/∂q̇ − ∂L/∂q = τ + λ ∂φ/∂q, φ = |p| − l."""
    sympy = pytest.importorskip("sympy")  # here: its import takes seconds, and most days do without it
    t = sympy.Symbol("t")
    theta, s = (sympy.Function(name)(t) for name in ("theta", "s"))
    tau, force = sympy.symbols("tau0:2"), sympy.Symbol("force")
    slope = sympy.Matrix([sympy.Rational(3, 5), 0, sympy.Rational(4, 5)])
    along = sympy.Matrix([sympy.cos(theta), 0, -sympy.sin(theta)])
    block = sympy.Matrix([0, sympy.Rational(3, 10), 0]) + s * slope
    centre = along / 5
    speed = centre.diff(t).dot(centre.diff(t))
    kinetic = 2 * speed / 2 + theta.diff(t) ** 2 / 40 + sympy.Rational(3, 4) * s.diff(t) ** 2
    weight = sympy.Rational(981, 100) * (2 * centre[2] + sympy.Rational(3, 2) * block[2])
    rod = sympy.sqrt((along * sympy.Rational(2, 5) - block).dot(along * sympy.Rational(2, 5) - block))
    energy = kinetic - weight
    equations = [
        energy.diff(x.diff(t)).diff(t) - energy.diff(x) - torque - force * rod.diff(x)
        for x, torque in zip((theta, s), tau, strict=True)
    ]
    unknown = [theta.diff(t, 2), s.diff(t, 2), force]
    matrix, right = sympy.linear_eq_to_matrix([*equations, rod.diff(t, 2)], unknown)
    known = [theta, s, theta.diff(t), s.diff(t), *tau]
    plain = sympy.symbols("x0:6")
    names = dict(zip(reversed(known[:4]), reversed(plain[:4]), strict=True)) | dict(zip(tau, plain[4:], strict=True))
    return sympy.lambdify(plain, [matrix.subs(names), right.subs(names)], "numpy")


@pytest.mark.slow(every=9)
def test_accelerations_and_multipliers_equal_sympys_lagrange_equations():
    robot, system, rng = spatial_slider_crank(), lagrange(), np.random.default_rng(0)
    minimal = robot.minimal_coordinates("crank", q=robot.mobility([0.5, 1.0]).q)
    assert robot.mobility(minimal.at).dof == 1
    for angle in (0.5, 1.4, 2.6, -1.9):
        q, v = minimal.expand([angle], rng.normal(size=1))
        tau = rng.normal(size=2)
        matrix, right = system(*q, *v, *tau)
        *a, force = np.linalg.solve(np.array(matrix, dtype=float), np.array(right, dtype=float)).ravel()
        dynamics_result, forces = robot.constrained_forward_dynamics(q, v, tau)
        np.testing.assert_allclose(dynamics_result, a, rtol=0, atol=1e-10)
        np.testing.assert_allclose(forces, [force], rtol=0, atol=1e-10)
        reduced = minimal.forward_dynamics([angle], v[:1], tau, near=q)
        np.testing.assert_allclose(minimal.expand([angle], v[:1], reduced, near=q)[2], a, rtol=0, atol=1e-10)
