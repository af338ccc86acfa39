"""Linear models as objects of other packages, costs of regulators, and regulators along a trajectory, on arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.control import StateSpace
from linkwork.control.linear_quadratic import state_space
from linkwork.control.linear_quadratic.lqr_gains import _check_costs, _reason, finite_horizon_lqr
from linkwork.control.linear_quadratic.tracking_regulators import TVLQRController

A, B = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.array([[0.0], [0.7]])
C, D = np.array([[1.0, 0.5]]), np.array([[0.25]])
ZERO = np.zeros(1)


def model(dt=None, batch=()):
    arrays = [np.broadcast_to(x, (*batch, *x.shape)) for x in (A, B, C, D)]
    return StateSpace._make(*arrays, dt, ("q", "v"), ("tau",), ("tip",), ZERO, ZERO, ZERO, "slide")


def test_linear_models_pass_their_matrices_steps_and_names_to_other_packages(monkeypatch):
    packages = SimpleNamespace(StateSpace=lambda *x, **options: (x, options), ss=lambda *x, **options: (x, options))
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(state_space, "optional_module", lambda name, *_: packages)
    for dt, text in ((None, "continuous time"), (0.05, "dt=0.05 s")):
        original = model(dt)
        assert repr(original) == f"<StateSpace of 'slide': x (2), u (1), y (1), {text}>"
        matrices, options = original.to_scipy()
        assert all(x is y for x, y in zip(matrices, (original.A, original.B, original.C, original.D), strict=True))
        assert options == ({} if dt is None else {"dt": 0.05})
        matrices, options = original.to_control()
        assert [*map(id, matrices[:4])] == [*map(id, (original.A, original.B, original.C, original.D))]
        assert matrices[4:] == (dt or 0,)
        assert options == {"name": "slide", "states": ["q", "v"], "inputs": ["tau"], "outputs": ["tip"]}
    several = model(0.05, (3, 2))
    assert repr(several) == "<StateSpace of 'slide': x (2), u (1), y (1), dt=0.05 s, batch (3, 2)>"
    for method in ("to_scipy", "to_control"):
        with pytest.raises(ValueError, match=rf"StateSpace.{method}: expected one model, got a batch \(3, 2\); use"):
            getattr(several, method)()


def test_printed_linear_models_have_named_rows_and_columns_of_their_matrices():
    original = model(0.05)
    text = str(original)
    for title, names, matrix in (("A", ["q", "v"], original.A), ("B", ["tau"], original.B), ("D", ["tau"], original.D)):
        rows = text.split(f"\n{title} ")[1].split("\n\n")[0].splitlines()
        assert rows[0].split() == names
        assert np.allclose([[float(x) for x in row.split()[1:]] for row in rows[2:]], matrix, rtol=1e-4)
    assert str(model(0.05, (3, 2))) == repr(model(0.05, (3, 2)))


@pytest.mark.slow(every=5)
def test_linear_models_have_the_same_response_in_other_packages():
    control = pytest.importorskip("control")
    for dt in (None, 0.05):
        original = model(dt)
        scipy, in_control = original.to_scipy(), original.to_control()
        assert isinstance(in_control, control.StateSpace) and in_control.state_labels == ["q", "v"] and scipy.dt == dt
        for omega in (0.4, 1.7):
            s = 1j * omega if dt is None else np.exp(1j * omega * dt)
            expected = (C @ np.linalg.solve(s * np.eye(2) - A, B) + D)[0, 0]
            assert original.frequency_response(omega)[0, 0] == pytest.approx(expected) == pytest.approx(in_control(s))
            assert np.polyval(scipy.to_tf().num, s) / np.polyval(scipy.to_tf().den, s) == pytest.approx(expected)


def test_costs_of_regulators_are_refused_below_semidefinite_ones():
    Q, N = np.diag([1.0, 0.25]), np.array([[0.1], [0.4]])

    def costs(**change):
        return {"A": A, "B": B, "Q": Q, "R": np.array([[1.0]]), "N": 0.0 * N, "end": Q, **change}

    _check_costs("lqr", costs(), True)
    _check_costs("lqr", costs(R=np.array([[0.0]])), True)  # of inputs without cost in discrete time
    _check_costs("lqr", costs(N=N, R=np.array([[0.66]])), False)  # Q R > N N' : 0.01 + 0.64 < 0.66
    for change, discrete, words in (
        ({"R": np.array([[-1e-3]])}, True, "R: expected a positive semidefinite matrix, got one with the eigenvalue"),
        ({"R": np.array([[0.0]])}, False, "R: expected a positive definite matrix, got one with the eigenvalue 0"),
        ({"N": N, "R": np.array([[0.64]])}, False, r"Q: expected a positive semidefinite cost, but Q - N inv\(R\) N'"),
        ({"N": N, "R": np.array([[0.0]])}, True, r"Q: expected .* but \[Q N; N' R\] has the eigenvalue -"),
        ({"Q": np.diag([1.0, -1e-6])}, True, "Q: expected a positive semidefinite cost"),
        ({"end": np.diag([1.0, -1e-6])}, True, "end: expected a positive semidefinite matrix, got one with the eigen"),
    ):
        with pytest.raises(ValueError, match=f"lqr: {words}"):
            _check_costs("lqr", costs(**change), discrete)
    singular = costs(R=np.array([[0.0]]))
    assert _reason(singular, True) == "R is singular, and R + B'XB is singular: expected inputs with a cost"
    assert _reason(costs(), True).startswith("it cannot be") == (abs(np.linalg.eigvals(A)).max() < 0.0)
    fine = costs(A=0.5 * np.eye(2) + 0.1 * A)
    assert _reason(fine, True).startswith("A, B, Q and R: the Riccati equation was not solved")
    unstable = costs(A=np.diag([1.1, 0.5]), B=np.array([[0.0], [1.0]]))
    assert "the mode of the eigenvalue 1.1 of A does not decay" in _reason(unstable, True)
    free = costs(A=np.diag([1.0, 0.5]), B=np.array([[1.0], [1.0]]), Q=np.diag([0.0, 1.0]))
    assert _reason(free, True) == "Q: the mode of the eigenvalue 1 does not decay and has no cost in Q"


def test_horizon_regulators_of_symbols_satisfy_the_riccati_recursion():
    step, Q, R = 0.3 * np.eye(2) + 0.2 * A, np.diag([1.0, 0.3]), np.array([[0.4]])
    traced = lw.compile(lambda a: tuple(finite_horizon_lqr(a, B, Q, R, num_steps=3)), a=(2, 2))(step)
    K, X = (np.asarray(x) for x in traced)
    assert K.shape == (3, 1, 2) and X.shape == (4, 2, 2) and (X[-1] == Q).all()
    for k in (2, 1, 0):
        gain = np.linalg.solve(R + B.T @ X[k + 1] @ B, B.T @ X[k + 1] @ step)
        assert np.abs(K[k] - gain).max() < 1e-12
        assert np.abs(X[k] - (Q + step.T @ X[k + 1] @ (step - B @ gain))).max() < 1e-12


def test_regulators_along_a_trajectory_interpolate_gains_and_can_be_stored(tmp_path):
    robot, rng = lw.load("double_pendulum"), np.random.default_rng(0)
    q = rng.normal(size=(3, 2))
    trajectory = robot.spline([0.0, 0.5, 1.0], q, "hermite")
    times, K, X = np.linspace(0.0, 1.0, 5), rng.normal(size=(4, 1, 4)), rng.normal(size=(5, 4, 4))
    acting, limits = np.array([1]), np.array([np.inf, 50.0])
    law = TVLQRController._make(trajectory, times, K, X, acting, limits, passive=False)
    assert repr(law) == "<TVLQRController of 'double_pendulum': K (4, 1, 4), 0 s to 1 s>"
    for t, gain in ((-1.0, K[0]), (0.0, K[0]), (0.3, 0.8 * K[1] + 0.2 * K[2]), (0.75, K[3]), (9.0, K[3])):
        assert law.gains(t) == pytest.approx(gain)
    both = law.gains([0.0, 0.3])
    assert both.shape == (2, 1, 4) and both[1] == pytest.approx(law.gains(0.3))
    state = trajectory(0.3)
    moved, v = state.q + np.array([0.1, -0.2]), state.v + np.array([0.3, 0.4])
    x = law.deviation(0.3, moved, v)
    assert x == pytest.approx([0.1, -0.2, 0.3, 0.4])
    forward = robot.inverse_dynamics(state.q, state.v, state.a, passive=False)
    assert law.feedforward(0.3) == pytest.approx([0.0, forward[1]])
    assert law.missing_forces(0.3) == pytest.approx([forward[0], 0.0])
    tau = law(0.3, moved, v)
    assert tau == pytest.approx([0.0, np.clip(forward[1] - (law.gains(0.3) @ x)[0], -50.0, 50.0)])
    law.save(tmp_path / "law.npz")
    again = TVLQRController.load(tmp_path / "law.npz", robot=robot)
    assert all((getattr(again, name) == getattr(law, name)).all() for name in ("times", "K", "X", "acting"))
    assert again.passive is False and again.trajectory == trajectory and (again(0.3, moved, v) == tau).all()
    with pytest.raises(ValueError, match="robot"):
        TVLQRController.load(tmp_path / "law.npz", robot=robot.with_inertia(robot.links[-1].name, mass=9.0))
    short = TVLQRController._make(trajectory, times[:4], K, X[:4], acting, limits, passive=False)
    short.save(tmp_path / "short.npz")
    with pytest.raises(ValueError, match="expected one more time than steps, got 4 times and 4 steps"):
        TVLQRController.load(tmp_path / "short.npz", robot=robot)
