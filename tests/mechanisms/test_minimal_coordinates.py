"""Minimal coordinates: expansion, reduced dynamics and linearisation, compared with equations with multipliers."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import fourbars, parallel, pendulum_acceleration
from helpers.linkages import five_bar, linkage
from helpers.overconstrained import bennett, bennett_angles, bricard
from invariants.cases import Functions
from linkwork.mechanisms.algorithms.dependent_coordinates import _Problem

RADIUS = 0.4


def slope(function, x, step=1e-5):
    """A derivative by central differences of fourth order."""
    near, far = (function(x + k * step) - function(x - k * step) for k in (1, 2))
    return (8 * near - far) / (12 * step)


def coin():
    """A thin disc that rolls, carried by joints for where it is, its heading, lean and spin."""
    moves = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    steps = [(name, lw.joints.Prismatic(axis)) for name, axis in moves.items()]
    turns = {"yaw": (0, 0, 1), "lean": (1, 0, 0), "spin": (0, 1, 0)}
    steps += [(name, lw.joints.Revolute(axis)) for name, axis in turns.items()]
    parts, parent = [], "world"
    for name, joint in steps:
        last = name == "spin"
        link = (
            lw.Link("disc", mass=1.0, inertia=RADIUS**2 / 4 * np.diag([1, 2, 1.0])) if last else lw.Link(f"at_{name}")
        )
        parts += [link, lw.Joint.of(joint, name=name, parent=parent, child=link.name)]
        parent = link.name
    return lw.Robot.build("coin", *parts).with_constraints(lw.constraints.Rolling("disc", radius=RADIUS))


def floating_coin():
    """The same on a floating joint, whose coordinates are independent in part."""
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="disc")
    link = lw.Link("disc", mass=1.0, inertia=RADIUS**2 / 4 * np.diag([1, 2, 1.0]))
    return lw.Robot.build("disc", link, free).with_constraints(lw.constraints.Rolling("disc", radius=RADIUS))


@pytest.mark.slow(every=9)
def test_dynamics_in_minimal_coordinates_equal_the_equations_with_multipliers():
    """INVARIANTS 56: u̇ and derived quantities, to 1e-10 times the condition number; batches too."""
    rng = np.random.default_rng(0)
    cases = [
        (five_bar(), five_bar().mobility().q, None),
        (bennett(), bennett_angles(1.1), ["theta1"]),
        (bricard(), bricard().mobility([1.5, -1.5, 1.5, -1.5, 1.5]).q, ["theta1"]),
        (coin(), np.array([0.3, -0.2, RADIUS, 0.4, 0.0, 0.2]), None),
    ]
    for robot, q, names in cases:
        minimal = robot.minimal_coordinates(names, q=q)
        y = minimal.coordinates_of(minimal.at) + 0.05 * rng.normal(size=(5, len(minimal.independent)))
        u, u_dot = rng.normal(size=(2, 5, minimal.dof))
        tau = rng.normal(size=(5, robot.nv))
        q, v, a = minimal.expand(y, u, u_dot)
        assert np.abs(robot.constraint_error(q)).max() < 1e-12
        np.testing.assert_allclose(minimal.coordinates_of(q), y, atol=1e-13)
        G = robot.constraint_jacobian(q)
        assert np.abs(np.einsum("nij,nj->ni", G, v)).max() < 1e-11
        assert np.abs(np.einsum("nij,nj->ni", G, a) + robot.constraint_bias(q, v)).max() < 1e-10
        expected, M = robot.forward_dynamics(q, v, tau), robot.mass_matrix(q)
        bound = 1e-10 * max(np.linalg.cond(M).max(), 1.0)
        dynamics_result = minimal.forward_dynamics(y, u, tau)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(
            minimal.expand(y, u, dynamics_result)[2], expected, atol=bound * scale, err_msg=robot.name
        )
        if robot.name != "five-bar":
            continue
        K = minimal.jacobian(y)
        np.testing.assert_allclose(np.einsum("nij,nj->ni", K, u), v, atol=1e-11)
        H = minimal.mass_matrix(y)
        np.testing.assert_allclose(H, np.einsum("nji,njk,nkl->nil", K, M, K), atol=1e-11)
        forces = minimal.forces(y, tau)
        np.testing.assert_allclose(forces, np.einsum("nij,ni->nj", K, tau), atol=1e-12)
        np.testing.assert_allclose(minimal.inverse_dynamics(y, u, dynamics_result), forces, atol=1e-10 * scale)
        needed = np.einsum("nij,nj->ni", H, dynamics_result) + minimal.bias_force(y, u)
        np.testing.assert_allclose(needed, forces, atol=1e-10 * scale)


@pytest.mark.slow(every=3)
def test_minimal_coordinates_determine_all_velocities_by_the_explicit_map():
    for robot, q, names in (
        (linkage(), linkage().mobility([0.4, 1.0, -1.0]).q, ["crank"]),
        (bennett(), bennett_angles(1.1), ["theta2"]),
        (floating_coin(), [1, 0, 0, 0, 0, 0, RADIUS], None),
    ):
        minimal = robot.minimal_coordinates(names, q=q)
        y, u = minimal.coordinates_of(minimal.at), np.linspace(0.5, 1.0, minimal.dof)
        q, v = minimal.expand(y, u)

        def K(t, robot=robot, q=q, v=v, names=minimal.speeds):
            return robot.explicit_jacobian(robot.integrate(q, t * v), names)

        rate = slope(K, 0.0)
        np.testing.assert_allclose(minimal.jacobian_derivative(y, u), rate, atol=1e-8)
        a = minimal.expand(y, u, np.zeros(minimal.dof))[2]
        np.testing.assert_allclose(minimal.jacobian_derivative(y, u) @ u, a, atol=1e-11)


def test_minimal_coordinates_follow_a_driver_through_a_full_turn():
    robot = linkage()
    minimal = robot.minimal_coordinates("crank", q=robot.mobility([0.4, 1.0, -1.0]).q)
    y = np.linspace(-np.pi, np.pi, 41)[:, None]
    q = minimal.expand(y)
    assert np.abs(robot.constraint_error(q)).max() < 1e-12
    assert np.abs(np.diff(q, axis=0)).max() < 0.5  # one branch
    near = minimal.expand(y + 0.01, near=q)
    assert np.abs(near - q).max() < 0.1
    with pytest.raises(ValueError, match=r"no configuration with coordinates rocker 2\.5.*'pin: "):
        robot.minimal_coordinates("rocker", q=minimal.at).expand([2.5])
    with pytest.raises(ValueError, match=r"y: expected an array of shape \(\.\.\., 1\), of crank; got shape \(2,\)"):
        minimal.expand([0.0, 0.0])
    with pytest.raises(ValueError, match="expected finite values"):
        minimal.expand([np.nan])


def test_minimal_coordinates_may_be_components_of_a_floating_joint():
    robot = floating_coin()
    minimal = robot.minimal_coordinates(q=[1, 0, 0, 0, 0, 0, RADIUS])
    assert minimal.dof == 3 and len(minimal.independent) == 5 and set(minimal.speeds) < set(minimal.independent)
    y = minimal.coordinates_of(minimal.at) + np.linspace(0.1, 0.5, 5)
    q = minimal.expand(y)
    np.testing.assert_allclose(minimal.coordinates_of(q), y, atol=1e-13)
    assert np.abs(robot.constraint_error(q)).max() < 1e-13


@pytest.mark.slow(every=3)
def test_linearisations_in_minimal_coordinates_equal_finite_differences():
    robot = linkage()
    minimal = robot.minimal_coordinates("crank", q=robot.mobility([0.4, 1.0, -1.0]).q)
    tau = np.array([0.3, -0.2, 0.5])
    y, u = minimal.coordinates_of(minimal.at), np.array([0.7])
    A, B = minimal.linearize(y, u, tau)
    by_y = slope(lambda t: minimal.forward_dynamics(y + t, u, tau), 0.0)
    by_u = slope(lambda t: minimal.forward_dynamics(y, u + t, tau), 0.0)
    np.testing.assert_allclose(A, [[0.0, 1.0], [by_y[0], by_u[0]]], rtol=1e-8, atol=1e-9)
    by_tau = [slope(lambda t, e=e: minimal.forward_dynamics(y, u, tau + t * e), 0.0)[0] for e in np.eye(3)]
    np.testing.assert_allclose(B, [np.zeros(3), by_tau], atol=1e-9)

    many = fourbars(3)
    q, _ = parallel(many, 0.7)
    A, _ = many.minimal_coordinates("A0", q=q).linearize([-0.7], [0.0])
    expected = slope(lambda t: pendulum_acceleration(3, t), 0.7)
    np.testing.assert_allclose(A, [[0, 1], [expected, 0]], atol=1e-9)

    disc = floating_coin()  # in the tangent space, where velocities are no rates of coordinates
    free = disc.minimal_coordinates(q=[1, 0, 0, 0, 0, 0, RADIUS])
    y = free.coordinates_of(free.at) + np.linspace(0.1, 0.5, 5)
    u = np.array([0.5, 2.0, -0.4])
    q, v = free.expand(y, u)
    A, _ = free.linearize(y, u)
    indices = disc.v_index(free.independent)
    K = disc.without_constraints("disc rolls").explicit_jacobian(q, free.independent)

    def moved(k, t):
        moved_q = disc.integrate(q, t * K[:, k])
        moved_q = disc.closed_configuration(moved_q, moved_q, np.zeros(6), free.independent).q
        w = disc.explicit_velocity(moved_q, free._spread("u", u), free.speeds)
        return moved_q, w, disc.reduced_forward_dynamics(moved_q, w, np.zeros(6), free.speeds)

    for k in range(5):
        np.testing.assert_allclose(A[5:, k], slope(lambda t, k=k: moved(k, t)[2], 0.0), atol=1e-7)
        drift = slope(lambda t, k=k: _apart(disc, moved(k, t), q, v), 0.0)
        np.testing.assert_allclose(A[:5, k], drift[indices], atol=1e-6)


def _apart(robot, moved, q, v, time=1e-4):
    """Return the rate at which a motion from a changed configuration leaves the one from q."""
    moved_q, w, _ = moved
    gone = [robot.difference(robot.integrate(q, s * v), robot.integrate(moved_q, s * w)) for s in (time, -time)]
    return (gone[0] - gone[1]) / (2 * time)


def test_rolling_coin_in_minimal_coordinates_is_stable_above_the_known_speed():
    """A λ² (A + m r²) = A m g r − C (C + m r²) Ω²: stable where v² > g r/3."""
    robot = coin()
    minimal = robot.minimal_coordinates(
        ["x", "y", "yaw", "lean", "spin"], q=[0, 0, RADIUS, 0, 0, 0], speeds=["yaw", "lean", "spin"]
    )
    assert minimal.dof == 3 and minimal.dependent == ("z",)
    across, along = RADIUS**2 / 4, RADIUS**2 / 2
    for spin in (1.0, np.sqrt(9.81 / 3 / RADIUS) * 1.001, 8.0):
        A, _ = minimal.linearize(np.zeros(5), [0.0, 0.0, spin])
        largest = max(np.linalg.eigvals(A), key=abs)
        expected = across * 9.81 * RADIUS - along * (along + RADIUS**2) * spin**2
        assert largest**2 == pytest.approx(expected / (across * (across + RADIUS**2)), rel=1e-7 if spin < 4 else 1e-12)
        assert (largest.real > 1e-3) == ((spin * RADIUS) ** 2 < 9.81 * RADIUS / 3)


def test_minimal_coordinates_follow_time_dependent_constraints():
    swung = linkage().with_constraints(
        lw.constraints.Holonomic("drive", lambda k: k.q("crank") - 0.3 * k.time**2 - 0.4)
    )
    at = swung.mobility([0.4, 1.0, -1.0]).q
    minimal = swung.minimal_coordinates([], q=at)
    assert minimal.dof == 0
    y, empty = np.zeros(0), np.zeros(0)
    q, v, a = minimal.expand(y, empty, empty, time=1.2)
    assert q[0] == pytest.approx(0.4 + 0.3 * 1.44) and v[0] == pytest.approx(0.72) and a[0] == pytest.approx(0.6)
    later = slope(lambda t: minimal.expand(y, near=q, time=1.2 + t), 0.0)
    np.testing.assert_allclose(v, later, atol=1e-9)
    np.testing.assert_allclose(a, slope(lambda t: minimal.expand(y, empty, near=q, time=1.2 + t)[1], 0.0), atol=1e-8)


def test_accuracy_of_minimal_coordinates_near_dead_centres_falls_with_the_condition_number_only():
    """K of a crank against its closed form, as the coupler comes to lie on the rocker's line."""
    robot = fourbars(1)
    worst = []
    for angle in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        q, _ = parallel(robot, angle)
        K = robot.explicit_jacobian(q, ["A0"])
        worst.append(np.abs(K[:, 0] - [1.0, -1.0, 1.0]).max() * angle)
    assert max(worst) < 1e-14, worst  # the condition is 1/angle


def test_margin_of_minimal_coordinates_does_not_depend_on_rounding():
    """The minimum sine of a column of G to the span of the others."""
    robot = lw.load("delta")
    names = ("shoulder_1", "shoulder_2", "shoulder_3")
    q, zeros = np.asarray(robot.assemble(robot.neutral()).q), np.zeros(robot.nv)
    f, request = Functions(robot.tree), ("closed_configuration", names)
    phi = zeros + 0.2 * np.arange(robot.nv) / robot.nv
    moved, _, margin = f(request, q, q, phi)
    batch = f(request, *(np.stack([x, x]) for x in (q, q, phi)))[2]
    compiled = robot.closed_configuration(q, q, phi, names).margin
    rows = _Problem.of(robot.tree, list(moved), list(moved), list(zeros), names, 0.0).at(list(moved))[1]
    A = np.array([[float(x) for x in row] for row in rows])
    gram = A.T @ A
    expected = np.sqrt(1.0 / (np.diag(gram) * np.diag(np.linalg.inv(gram))).max())
    np.testing.assert_allclose([margin, *batch, compiled], expected, rtol=1e-9)


def test_unsuitable_minimal_coordinates_are_refused_with_reasons():
    robot = fourbars(1)
    q, _ = parallel(robot, 0.7)
    rolling = coin()
    on = [0, 0, RADIUS, 0, 0, 0]
    for request, message in (
        (lambda: robot.minimal_coordinates(["A0", "A1"], q=q), r"'A1' is 1 A0 \(the mechanism has 1 degree of freedom"),
        (lambda: robot.minimal_coordinates([], q=q), r"none: they leave 1 motion undetermined: A0 1, B1 -1, A1 1"),
        (lambda: robot.minimal_coordinates("A0", q=0 * q), r"they leave 1 motion undetermined: B1 1, A1 1"),
        (
            lambda: rolling.minimal_coordinates(["x", "y", "z", "lean", "spin"], q=on),
            "'z' cannot move; they leave 1 motion undet",
        ),
        (lambda: rolling.minimal_coordinates(q=on, speeds=["x", "y", "lean"]), "'lean' is -2.5 y"),
        (
            lambda: robot.minimal_coordinates("A0", q=q + np.eye(3)[0] / 10),
            "q: not assembled: error .* of 'C1: ",
        ),
        (lambda: robot.minimal_coordinates("A0", q=parallel(robot, 1e-6)[0]), "margin .* is below 1e-06"),
        (lambda: robot.minimal_coordinates("A0", q=[0.0]), r"one configuration \(3,\)"),
        (lambda: robot.minimal_coordinates("A0", q=q, min_margin=0.0), "min_margin: expected a number between 0 and 1"),
        (lambda: robot.explicit_jacobian(np.zeros(3), "A9"), "no joint or coordinate of v named 'A9'"),
        (lambda: floating_coin().explicit_jacobian([1, 0, 0, 0, 0, 0, 0.4], "free"), "has 6 velocities: name one of"),
    ):
        with pytest.raises((ValueError, lw.errors.UnknownNameError), match=message):
            request()
    with pytest.raises(lw.errors.UnknownNameError, match="did you mean"):
        robot.minimal_coordinates(["A00"], q=q)
    text = repr(robot.minimal_coordinates("A0", q=q))
    assert text.startswith("<MinimalCoordinates A0 of '1 four-bars': margin 0.48")


@pytest.mark.parametrize("name", ["expand", "jacobian", "jacobian_derivative", "mass_matrix", "bias_force", "forces"])
def test_minimal_coordinates_use_their_own_time_unless_a_call_has_one(name):
    """A joint moves as a function of time; all else is at the time of the coordinates or of the call."""
    moved = lw.constraints.Prescribed("shoulder", lambda t: 0.4 * t + 0.7 * t**3, name="drive")
    robot = lw.load("double_pendulum").with_constraints(moved)
    minimal, later = (robot.minimal_coordinates(["elbow"], q=robot.assemble(time=t).q, time=t) for t in (0.3, 0.8))
    y, u, tau = [0.6], [-1.1], [0.3, -0.2]
    arguments = {"expand": (y, u), "jacobian": (y,), "mass_matrix": (y,), "forces": (y, tau)}.get(name, (y, u))
    function = getattr(minimal, name)
    at_start, at_end = function(*arguments), function(*arguments, time=0.8)
    assert np.array_equal(at_start, function(*arguments, time=0.3))
    np.testing.assert_allclose(at_end, getattr(later, name)(*arguments), rtol=0, atol=1e-12)
    if name in ("expand", "bias_force"):
        assert not np.allclose(at_start, at_end)
