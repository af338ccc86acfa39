"""Gains, limits, costs and options of controllers, on both sides of what is accepted."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import controller_base, controller_contract
from linkwork.control.algorithms import sparse_qp
from linkwork.control.algorithms.sparse_qp import RangedRows
from linkwork.control.controller_base import inertia_matrix, read_nonnegative
from linkwork.control.linear_quadratic import arguments, constrained_states, lqr_gains, tracking_regulators
from linkwork.control.linear_quadratic.lqr_controllers import LQRController
from linkwork.control.linear_quadratic.state_space import StateSpace
from linkwork.motion import Trajectory

TWO = lw.load("double_pendulum")
FOUR_BAR = lw.load("fourbar")
ABOVE_ONE, BELOW_ZERO = np.nextafter(1.0, 2.0), -5e-324


def refused(words, function, *arguments, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*arguments, **options)


def test_invalid_gains_and_limits_are_refused_and_small_ones_are_not():
    PD, PID = lw.control.PD, lw.control.PID
    law = PD(TWO, {"elbow": 0.5, "shoulder": 0.25}, [0.0, 0.125], effort_limits=0.75)
    assert (
        law.kp.tolist() == [0.25, 0.5] and law.kd.tolist() == [0.0, 0.125] and law.effort_limits.tolist() == [0.75] * 2
    )
    first = PD(TWO, 0.5, 0.0, actuators="shoulder", effort_limits={"shoulder": 0.25})
    assert first.kp.tolist() == [0.5, 0.0] and first.effort_limits.tolist() == [0.25, 50.0]
    for words, gains in (
        ("PD: kp: expected a number >= 0.*got -4.94066e-324 for 'elbow'", [1.0, BELOW_ZERO]),
        ("PD: kp: .*got inf for 'shoulder'", np.inf),
        ("PD: kp: .*got nan for 'shoulder'", np.nan),
        (r"PD: kp: .*got shape \(3,\)", [1.0, 2.0, 3.0]),
        ("PD: kp: .*got no value for 'elbow'", {"shoulder": 1.0}),
    ):
        refused(words, PD, TWO, gains, 1.0)
    words = "PD: kp: 'elbow' is not an actuator, or is listed twice"
    refused(words, PD, TWO, {"shoulder": 1.0, "elbow": 1.0}, 1.0, actuators="shoulder")
    words = "PD: effort_limits: 'elbow' is not an actuator"
    refused(words, PD, TWO, 1.0, 1.0, actuators="shoulder", effort_limits={"elbow": 1.0})
    for limits in (0.0, [1.0, 0.0], [1.0], np.nan):
        refused("PD: effort_limits: expected a positive number", PD, TWO, 1.0, 1.0, effort_limits=limits)
    law = PID(TWO, [6.0, 3.0], [0.5, 0.0], 1.0, dt=1e-3)
    assert law.tracking_time.tolist() == [12.0, 1.0]  # kp / ki, and 1 s without an integral
    assert PID(TWO, 6.0, 0.5, 1.0, dt=1e-3, tracking_time=0.5).tracking_time.tolist() == [0.5, 0.5]


def test_wrong_shapes_of_symbols_of_controllers_are_refused():
    law = lw.control.PD(TWO, 1.0, 1.0)

    def control(q, v):
        return law(0.0, q, v, target_q=[0.0, 0.0])

    with pytest.raises(ValueError, match=r"PD: q: expected shape \(2,\), got \(3,\)"):
        lw.compile(control, q=(3,), v=(2,))
    with pytest.raises(ValueError, match=r"PD: v: expected shape \(2,\), got \(1,\)"):
        lw.compile(control, q=(2,), v=(1,))


def test_invalid_values_and_inertias_of_controllers_are_refused():
    assert read_nonnegative("f", "x", [0.0, 0.5], [(2,), ()], "1").tolist() == [0.0, 0.5]
    for value in ([0.0, BELOW_ZERO], [0.0, np.inf], [0.0, 1.0, 2.0]):
        refused(
            r"f: x: expected numbers >= 0 \[1\] of shape \(2,\) or \(\)",
            read_nonnegative,
            "f",
            "x",
            value,
            [(2,), ()],
            "1",
        )
    M = np.array([[0.5, 0.1], [0.1, 0.25]])
    assert (inertia_matrix("f", M, 2, "kg") == M).all()
    for value, words in (
        (np.zeros((2, 2)), "got a matrix with the eigenvalue 0"),
        (np.diag([1.0, -0.5]), "got a matrix with the eigenvalue -0.5"),
        (M + np.array([[0.0, 1e-3], [0.0, 0.0]]), "got an asymmetry of 0.001"),
        (M * np.nan, "got values that are not finite"),
        (M[:1], r"got shape \(1, 2\)"),
    ):
        refused(
            f"f: inertia: expected a symmetric, positive definite matrix.*{words}", inertia_matrix, "f", value, 2, "kg"
        )
    law = lw.control.JointImpedance(TWO, 1.0, 1.0, inertia=[0.5, 0.25])
    assert law.inertia.tolist() == [0.5, 0.25]
    words = "JointImpedance: inertia: expected positive numbers"
    refused(words, lw.control.JointImpedance, TWO, 1.0, 1.0, inertia=[0.5, 0.0])


def test_gains_of_six_axes_are_single_values_pairs_or_six_and_others_are_refused():
    def law(stiffness, inertia=None, frame="tip"):
        return lw.control.Impedance(TWO, frame, stiffness=stiffness, damping=1.0, inertia=inertia, max_condition=1e3)

    six = (0.5, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert law(0.5).stiffness.tolist() == [0.5] * 6
    assert law((0.5, 0.25)).stiffness.tolist() == [0.5] * 3 + [0.25] * 3
    assert law(six).stiffness.tolist() == law([*six]).stiffness.tolist() == [*six]
    assert law(1.0, inertia=six).inertia.tolist() == [*six]
    for value in ([0.5, 0.25], six[:3], (1.0, -1.0)):
        refused("Impedance: stiffness: expected numbers >= 0", law, value)
    refused("Impedance: inertia: expected positive numbers", law, 1.0, (0.0, *six[1:]))
    refused("Impedance: frame: no joint moves 'base'", law, 1.0, frame="base")


def test_laws_that_admittances_cannot_follow_are_refused():
    def admittance(inertia=0.5, **options):
        law = lw.control.Impedance(TWO, "tip", stiffness=1.0, damping=1.0, max_condition=1e3, **options)
        return lw.control.Admittance(law, inertia=inertia, damping=0.0, stiffness=0.25, dt=1e-3)

    result = admittance()
    assert result.inertia.tolist() == [0.5] * 6 and result.stiffness.tolist() == [0.25] * 6
    words = "Admittance: law: expected an Impedance with axes='world' and without inertia"
    refused(words, admittance, axes="tip")
    refused("Admittance: inertia: expected positive numbers, got 0.0", admittance, 0.0)
    law = lw.control.Impedance(TWO, "tip", stiffness=1.0, damping=1.0, inertia=1.0, max_condition=1e3)
    refused(words, lw.control.Admittance, law, inertia=1.0, damping=0.0, stiffness=0.0, dt=1e-3)


def test_computed_torque_without_passive_forces_leaves_friction_to_the_joints():
    robot = TWO.with_joint(TWO.joint("elbow").with_damping(0.7))
    q, v, target = np.array([0.3, -0.4]), np.array([0.6, 0.9]), np.array([0.1, 0.2])
    law = lw.control.ComputedTorque(robot, [25.0, 16.0], effort_limits=np.inf, passive=False)
    a = [25.0, 16.0] * (target - q) - [10.0, 8.0] * v
    tau, state = law.forces(0.0, q, v, None, {"target_q": target})
    assert np.allclose([*map(float, tau)], robot.inverse_dynamics(q, v, a, passive=False)) and state is None


def test_rates_of_task_controllers_follow_from_their_gains():
    task = lw.ik.PostureTask(name="posture")
    default = lw.control.OperationalSpace(TWO, task)
    assert default.stiffness == {"posture": 100.0} and default.damping == {"posture": 20.0} and default._rate == 20.0
    assert lw.control.OperationalSpace(TWO, task, 9.0, 0.0)._rate == 6.0
    assert lw.control.WholeBody(TWO, task, 9.0, 0.0)._rate == 6.0
    assert lw.control.WholeBody(TWO, task, 0.0, 0.0, horizon=0.5)._rate == 40.0
    law = lw.control.WholeBody(TWO, task, 9.0, 5.0, dt=0.25)
    assert law._rate == 5.0
    assert law._with_step(0.1, 1) is law and law._with_step(0.1, 2) is not law
    assert law._with_step(0.1, 2) is law._with_step(0.7, 2) and law._with_step(0.1, 2).inner == 2
    ranged = lw.ik.Within(lw.ik.JointTask("elbow"), -0.1, 0.2)
    for kind in (lw.control.OperationalSpace, lw.control.WholeBody):
        refused(f"{kind.__name__}: task .*: expected a task without ranges of its errors", kind, TWO, [task, ranged])


def test_invalid_costs_limits_and_times_of_regulators_are_refused():
    cost = arguments.state_cost("f", "Q", np.array([0.5, 3.0]), 2)
    assert np.diag(cost).tolist() == [0.5, 0.5, 3.0, 3.0] and not (cost - np.diag(np.diag(cost))).any()
    rows = arguments.state_cost("f", "Q", np.array([[2.0, 1.0], [1.0, 2.0]]), 1)
    assert rows.tolist() == [[2.0, 1.0], [1.0, 2.0]]  # a matrix, not two weights
    read = arguments.read_semidefinite
    assert read("f", "Q", np.diag([0.0, 0.5])).tolist() == [[0.0, 0.0], [0.0, 0.5]]
    assert read("f", "Q", np.diag([0.25, 0.5]), positive=True)[0, 0] == 0.25
    assert read("f", "Q", np.diag([-5e-13, 1.0]))[0, 0] < 0.0  # rounding
    for matrix, options in (
        (np.diag([-2e-12, 1.0]), {}),
        (np.diag([0.0, 0.5]), {"positive": True}),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), {}),
        (np.diag([np.nan, 1.0]), {}),
    ):
        refused("f: Q: expected one symmetric, positive (semi)?definite matrix", read, "f", "Q", matrix, **options)
    assert arguments.read_effort_limits("f", TWO, [0.0, 0.5]).tolist() == [0.0, 0.5]
    for value in ([0.0, BELOW_ZERO], [1.0, 2.0, 3.0], np.nan, "much"):
        refused("f: effort_limits: expected numbers >= 0, 2", arguments.read_effort_limits, "f", TWO, value)
    assert arguments.read_seconds("f", "dt", 0.5) == 0.5 and arguments.read_seconds("f", "dt", 0.0, zero=True) == 0.0
    for value, options, words in (
        (0.0, {}, "> 0"),
        (np.inf, {}, "> 0"),
        ("x", {}, "> 0"),
        (BELOW_ZERO, {"zero": True}, ">= 0"),
    ):
        refused(rf"f: dt: expected a time {words} \[s\]", arguments.read_seconds, "f", "dt", value, **options)


def test_indefinite_costs_of_gains_are_refused_beyond_rounding():
    def check(discrete=False, **change):
        arrays = {"Q": np.diag([0.5, 0.25]), "R": np.array([[0.5]]), "N": np.zeros((2, 1)), **change}
        lqr_gains._check_costs("f", arrays, discrete)

    check(), check(True), check(end=np.zeros((2, 2))), check(end=np.diag([0.5, 0.0]))
    check(Q=np.diag([-5e-10, 1.0])), check(end=np.diag([-5e-10, 1.0])), check(True, R=np.zeros((1, 1)))
    check(N=np.array([[0.49], [0.0]])), check(True, R=np.diag([-5e-10, 1.0]), N=np.zeros((2, 2)))
    for words, discrete, change in (
        ("f: R: expected a positive definite matrix, got one with the eigenvalue 0", False, {"R": np.zeros((1, 1))}),
        ("f: R: expected a positive semidefinite matrix", True, {"R": np.diag([-2e-9, 1.0]), "N": np.zeros((2, 2))}),
        (r"Q: .* but Q - N inv\(R\) N' has the eigenvalue", False, {"N": np.array([[0.51], [0.0]])}),
        (r"Q: .* but Q - N inv\(R\) N' has the eigenvalue", True, {"N": np.array([[0.51], [0.0]])}),
        (r"Q: .* but \[Q N; N' R\] has the eigenvalue", True, {"R": np.zeros((1, 1)), "N": np.array([[0.1], [0.0]])}),
        ("Q: .* has the eigenvalue", False, {"Q": np.diag([-2e-9, 1.0])}),
        ("end: expected a positive semidefinite matrix, got", False, {"end": np.diag([-2e-9, 1.0])}),
    ):
        refused(words, check, discrete, **change)


def test_reasons_of_missing_gains_name_the_mode():
    def reason(A, B, Q, discrete):
        n, m = np.shape(B)
        arrays = {"A": A, "B": B, "Q": Q, "R": np.eye(m), "N": np.zeros((n, m))}
        return lqr_gains._reason({name: np.asarray(x, dtype=float) for name, x in arrays.items()}, discrete)

    I, lost, free, unsolved = np.eye(2), "cannot be stabilised", "does not decay and has no cost", "was not solved"
    B = [[0.0], [1.0]]
    for root, discrete, words in (  # a mode that B does not control
        (1.0 - 5e-9, True, unsolved),
        (1.0 - 5e-10, True, lost),
        (-5e-9, False, unsolved),
        (-5e-10, False, lost),
    ):
        assert words in reason(np.diag([root, -0.5]), B, I, discrete)
    for share, words in ((3.0, unsolved), (0.3, lost)):  # the smallest singular value is b/√2, of a scale of 2
        assert words in reason(np.diag([2.0, 1.0]), [[share * 2e-9 * np.sqrt(2.0)], [1.0]], I, False)
    for root, discrete, words in (  # a mode without cost
        (1.0 + 3e-6, True, unsolved),
        (1.0 + 3e-7, True, free),
        (1.4, True, unsolved),
        (3e-6, False, unsolved),
        (3e-7, False, free),
    ):
        assert words in reason(np.diag([root, -0.5]), I, np.diag([0.0, 1.0]), discrete)
    for share, words in ((3.0, unsolved), (0.3, free)):
        assert words in reason(np.diag([1.0, -0.5]), I, np.diag([share * 1e-9, 1.0]), True)
    assert lqr_gains._shown(complex(2.0, 5e-12)) == "2+5e-12j" and lqr_gains._shown(complex(2.0, 5e-13)) == "2"


def state_space(n, m, dt=None):
    rng = np.random.default_rng(4)
    A, B, C, D = rng.normal(size=(n, n)), rng.normal(size=(n, m)), rng.normal(size=(1, n)), np.zeros((1, m))
    names = [tuple(f"{x}{k}" for k in range(size)) for x, size in (("x", n), ("u", m), ("y", 1))]
    return StateSpace._make(A, B, C, D, dt, *names, np.zeros(1), np.zeros(1), np.zeros(m), "system")


def test_delays_within_rounding_of_whole_steps_are_whole():
    system = state_space(2, 1)
    for delay, stored in ((0.0, 0), (0.3, 1), (1.0, 1), (1.0 + 5e-10, 1), (1.0 - 5e-10, 1), (1.0 + 5e-9, 2), (1.7, 2)):
        assert len(system.discretized(0.1, input_delay=0.1 * delay).state_names) == 2 + stored
    words = "StateSpace.discretized: input_delay: expected one delay >= 0"
    refused(words, system.discretized, 0.1, input_delay=-1e-9)
    refused(words, system.discretized, 0.1, input_delay=[0.1, 0.2])
    for delay in (0.1 * 9_998, 0.1 * 10_000):
        words = "StateSpace.discretized: input_delay: expected delays that add fewer than 10000 states"
        refused(words, system.discretized, 0.1, input_delay=delay)
    refused("expected a model in continuous time, got one with dt=0.1 s", state_space(2, 1, 0.1).discretized, 0.1)


def test_states_with_other_degrees_of_freedom_are_refused():
    G = np.array([[[1.0, 0.2, 0.3], [0.4, 0.5, 0.6]], [[1.0, 0.2, 0.3], [2.0, 0.4, 0.6]]])
    words = "f: q: expected states with the same number of degrees of freedom, got constraints of rank 1 and 2"
    refused(words, constrained_states._null_space, "f", G)
    for matrix, rank in ((G[0], 2), (G[1], 1), (np.diag([1.0, 5e-8, 5e-9]), 2)):
        free = constrained_states._null_space("f", matrix)
        assert free.shape == (3, 3 - rank) and np.allclose(matrix @ free, 0.0, atol=1e-8)
    q = np.array([[0.3, -0.4]])
    assert constrained_states.assembled("f", TWO, q) is q


def test_states_and_trajectories_that_regulators_cannot_follow_are_refused(monkeypatch):
    words = "lqr_about_state: v: expected a state at rest, since the robot has constraints"
    refused(words, lw.control.lqr_about_state, FOUR_BAR, [0.3, 0.1, 0.2], [1.0, 0.0, 0.0], Q=1.0, R=1.0)
    motion = TWO.spline([0.0, 2.0], [[0.1, 0.2], [0.3, -0.4]])
    path = Trajectory(motion.sections, TWO, is_timed=False)
    about = lw.control.lqr_about_trajectory
    refused("lqr_about_trajectory: trajectory: ", about, TWO, path, Q=1.0, R=1.0, dt=0.5)
    for dt in (0.0, -0.5, np.nan, np.inf):
        refused("lqr_about_trajectory: dt: expected a positive time|dt: ", about, TWO, motion, Q=1.0, R=1.0, dt=dt)
    monkeypatch.setattr(tracking_regulators, "_MAX_NUMBERS", 3 * 16)
    monkeypatch.setattr(lw._util.own_code, "_replaced", {})
    words = "dt: expected at most 3 time steps of a motion of 2 s, got 0.5 s"
    refused(words, about, TWO, motion, Q=1.0, R=1.0, dt=0.5)


# -- requirements of the contract, on parts of a trial


def trial_of(outputs, start=None, limits=(0.5, 0.0), nv=2, **more):
    robot = SimpleNamespace(nv=nv, **more)
    law = SimpleNamespace(
        robot=robot,
        start=start,
        required_inputs=(),
        effort_limits=np.array(limits),
        acting=np.array([0]),
        input_shapes={},
    )
    state = {"q": np.zeros(2), "v": np.ones(2)}
    return SimpleNamespace(law=law, states=[state], call=lambda state: outputs)


def test_broken_outputs_of_controllers_fail_the_contract():
    trial = SimpleNamespace(law=SimpleNamespace(start=np.zeros(1)))
    outputs = controller_contract._Trial.outputs
    assert [x.tolist() for x in outputs(trial, ([1.0, 2.0], [3.0]))] == [[1.0, 2.0], [3.0]]
    for result in ([[1.0, 2.0], [3.0]], ([1.0], [2.0], [3.0]), np.zeros((2, 1))):
        refused(r"expected \(τ, z\) of a controller with start, got", outputs, trial, result)
    shapes = controller_contract._shapes
    assert shapes(trial_of([np.ones(2)])) == [0.0]
    refused("not finite at a finite state: .*nan", shapes, trial_of([np.array([1.0, np.nan])]))
    refused(r"expected τ and z .*got \(2,\)", shapes, trial_of([np.ones(2), np.ones(2)], start=np.zeros(1)))
    efforts = controller_contract._efforts
    assert efforts(trial_of([np.array([0.5, 0.0])])) == [0.0] * 4
    assert 1.0 in efforts(trial_of([np.array([-0.6, 0.0])]))
    assert 1.0 in efforts(trial_of([np.array([0.1, 1e-9])], limits=(0.5, 0.5)))  # a joint without an actuator
    failed = SimpleNamespace(success=False, status="diverged", message="at 0.1 s")
    trial = trial_of([np.ones(2)], simulate=lambda *args, **options: failed)
    refused("the simulation ended with diverged: at 0.1 s", controller_contract._simulations, trial)


def test_errors_that_do_not_name_the_input_fail_the_contract():
    batch = {"gain": np.ones((2, 1))}

    def trial(words):
        def call(state):
            if np.isnan(state["gain"]).any():
                raise ValueError(words)

        return SimpleNamespace(
            kernel=lambda **state: state["gain"], batch=batch, of_kernel=lambda result: [result], call=call
        )

    assert controller_contract._nans(trial("gain: expected finite numbers")) == [0.0]
    words = "NaN in gain: expected an error that names it, got: not finite"
    refused(words, controller_contract._nans, trial("not finite"))


def test_sizes_of_inputs_in_the_contract_are_positive():
    def declarations(shape, name="gain"):
        law = SimpleNamespace(input_shapes={name: shape}, required_inputs=(), pose_inputs=(), start=None)
        return controller_contract._declarations(SimpleNamespace(law=law))

    assert declarations((1,)) == declarations((2, 1)) == declarations(()) == [0.0]
    for shape in ((0,), (-1,), [1], (1.0,)):
        refused("input_shapes: 'gain': expected a tuple of positive integers", declarations, shape)
    refused("input_shapes: 'q': expected names other than", declarations, (1,), "q")
    assert controller_base.ControlLaw.start is None


def test_regulators_of_several_states_are_no_controllers():
    batch = SimpleNamespace(q=np.zeros((3, 2)))
    words = r"LQRController: q, v: expected one reference state for symbols, got a batch \(3,\)"
    refused(words, LQRController._on_symbols, batch, [0.1, 0.2], [0.3, 0.4])


def test_forces_of_joints_without_actuators_are_rounding_or_refused():
    read = arguments.actuated_forces
    tau = np.array([[3.0, 0.0], [2.0, 1e-15]])
    assert (read("f", TWO, tau, np.array([0, 1]), "the state") == tau).all()
    assert read("f", TWO, tau, np.array([0]), "the state").tolist() == [[3.0, 0.0], [2.0, 0.0]]
    words = "f: the state of state 1 needs a force of 0.5 from 'elbow', which is not an actuator: .*'shoulder'"
    refused(words, read, "f", TWO, tau + np.array([[0.0], [0.5]]) * [0.0, 1.0], np.array([0]), "the state")


def test_bounds_of_ranges_are_those_of_their_sides():
    ranged = RangedRows([], [-np.inf, -np.inf, 1.0, 1.0, 1.0], [np.inf, 2.0, np.inf, 2.0, 2.0])
    program = SimpleNamespace(b=[0.5], ranged=ranged)
    result = sparse_qp._Program.bounds_at(program, [0.0, 1.0, -1.0, 1.0, -1.0])
    assert [float(x) for x in result] == [0.5, 0.0, 2.0, 1.0, 2.0, 1.0]
