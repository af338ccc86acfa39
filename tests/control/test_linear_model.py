"""Linear models of robots, against a textbook's cart-pole, simulations, minimal coordinates and python-control."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.signal import cont2discrete

import linkwork as lw
from linkwork.control import linear_model, lqr
from linkwork.errors import UnknownNameError
from oracles.trees import TREES, robot_of

SELDOM = pytest.mark.slow(every=9)
CART, POLE, LENGTH, DRAG, GRAVITY = 1.3, 0.4, 0.7, 0.5, 9.81  # kg, kg, m, N·s/m, m/s²


def _cart_pole() -> lw.Robot:
    """Return a cart with drag and a pole, whose mass is at its end; the angle is zero upright, from z to x."""
    rail = lw.Joint.of(
        lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart", damping=DRAG, effort=50.0
    )
    hinge = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="cart", child="pole")
    pole = lw.Link("pole", mass=POLE, com=(0.0, 0.0, LENGTH), inertia=np.zeros((3, 3)))
    return lw.Robot.build("cart_pole", lw.Link("cart", mass=CART), rail, pole, hinge)


def _model(**options: Any) -> Any:
    return linear_model(_cart_pole(), [0.0, 0.0], inputs="rail", **options)


def test_linear_model_of_a_cart_pole_has_the_textbooks_matrices_poles_and_frequency_responses() -> None:
    """(M + m) ẍ + m l θ̈ + c ẋ = F and ẍ + l θ̈ = g θ."""
    model = _model(outputs=["q", "a:rail", "position:pole"])
    ml = CART * LENGTH
    A = [
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.0, -POLE * GRAVITY / CART, -DRAG / CART, 0.0],
        [0.0, (CART + POLE) * GRAVITY / ml, DRAG / ml, 0.0],
    ]
    B = [[0.0], [0.0], [1.0 / CART], [-1.0 / ml]]
    assert np.allclose(model.A, A, atol=1e-12) and np.allclose(model.B, B, atol=1e-12)
    assert model.state_names == ("q:rail", "q:hinge", "v:rail", "v:hinge") and model.input_names == ("tau:rail",)
    # s (M l s³ + c l s² − (M + m) g s − c g) is the characteristic polynomial
    poles = np.roots([ml, DRAG * LENGTH, -(CART + POLE) * GRAVITY, -DRAG * GRAVITY, 0.0])
    assert np.allclose(model.poles(), np.sort_complex(poles), atol=1e-9)
    omega = np.array([[0.1, 1.0], [30.0, -4.0]])
    s = 1j * omega
    under = s * (ml * s**3 + DRAG * LENGTH * s**2 - (CART + POLE) * GRAVITY * s - DRAG * GRAVITY)
    cart, angle = (LENGTH * s**2 - GRAVITY) / under, -(s**2) / under
    expected = np.stack([cart, angle, s**2 * cart, cart, 0.0 * s, 0.0 * s], axis=-1)[..., None]
    assert np.abs(model.frequency_response(omega) - expected).max() < 1e-9 * np.abs(expected).max()
    h = 0.02
    sampled = model.discretized(h).frequency_response(omega)
    z, zoh = np.exp(s * h)[..., None, None], model.discretized(h)
    assert np.allclose(sampled, zoh.C @ np.linalg.inv(z * np.eye(4) - zoh.A) @ zoh.B + zoh.D, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"frequency_response: omega: expected frequencies at which"):
        model.frequency_response([0.0])


@pytest.mark.slow(every=5)
def test_lqr_of_the_cart_pole_satisfies_kalmans_identity() -> None:
    """|1 + K (iω − A)⁻¹ B|² = 1 + |G(iω)|², where the outputs y = G u have the cost yᵀy and u the cost u²."""
    model = _model()
    K = lqr(model.A, model.B, np.diag([1.0, 1.0, 0.0, 0.0]), np.eye(1)).K
    s = 1j * np.array([0.3, 1.0, 5.0, 40.0])
    ml = CART * LENGTH
    under = s * (ml * s**3 + DRAG * LENGTH * s**2 - (CART + POLE) * GRAVITY * s - DRAG * GRAVITY)
    cart, angle = (LENGTH * s**2 - GRAVITY) / under, -(s**2) / under
    loop = 1.0 + (K @ np.stack([cart, angle, s * cart, s * angle])).ravel()
    assert np.allclose(np.abs(loop) ** 2, 1.0 + np.abs(cart) ** 2 + np.abs(angle) ** 2, rtol=1e-9)


@pytest.mark.slow(every=3)
def test_linear_models_can_be_converted_to_python_control_and_scipy() -> None:
    ct = pytest.importorskip("control", reason="python-control is not installed")
    model, omega = _model(outputs=["q"]), np.array([0.5, 3.0])
    for system in (model, model.discretized(0.01, input_delay=0.015)):
        converted, plain = system.to_control(), system.to_scipy()
        assert converted.state_labels == [*system.state_names] and converted.output_labels == ["q:rail", "q:hinge"]
        assert converted.input_labels == ["tau:rail"] and converted.dt == (system.dt or 0) and plain.dt == system.dt
        for matrix in "ABCD":
            assert np.array_equal(getattr(converted, matrix), getattr(system, matrix))
            assert np.array_equal(getattr(plain, matrix), getattr(system, matrix))
        response = np.moveaxis(ct.frequency_response(converted, omega, squeeze=False).complex, -1, 0)
        assert np.allclose(system.frequency_response(omega), response, rtol=1e-9, atol=1e-12)
        near = np.abs(system.poles()[:, None] - converted.poles()).min(axis=0)
        assert near.max() < 1e-4  # poles of stored inputs are multiple
    # LQG: gains of python-control are those of this library's Riccati equation, the filter by duality
    system, Q, R, W, V = model.to_control(), np.diag([10.0, 5.0, 1.0, 1.0]), np.eye(1), np.eye(1), 1e-3 * np.eye(2)
    gain, filtered = ct.lqr(system, Q, R)[0], ct.lqe(system.A, system.B, system.C, W, V)[0]
    expected = lqr(model.A, model.B, Q, R).K
    dual = lqr(model.A.T, model.C.T, model.B @ W @ model.B.T, V).K.T
    assert np.allclose(gain, expected, rtol=1e-9) and np.allclose(filtered, dual, rtol=1e-9)
    with pytest.raises(ValueError, match=r"StateSpace.to_control: expected one model, got a batch \(2,\)"):
        linear_model(_cart_pole(), [[0.0, 0.0]] * 2, inputs="rail").to_control()


def test_zero_order_hold_of_delayed_inputs_equals_the_exact_piecewise_motion() -> None:
    """The continuous motion is integrated from each change of an input to the next by the matrix exponential."""
    robot = lw.load("double_pendulum")
    model = linear_model(robot, [0.4, -0.7], [0.3, 0.5], tau=[0.0, 0.0], outputs=["q:elbow", "a"])
    h, rng = 0.05, np.random.default_rng(0)
    exact = cont2discrete((model.A, model.B, model.C, model.D), h)
    assert all(np.allclose(a, b, atol=1e-12) for a, b in zip(model.discretized(h)._matrices(""), exact, strict=False))
    n, m, steps = 4, 2, 12
    u = rng.normal(size=(steps, m))
    for delays in ([0.0, 0.0], [0.1, 0.0], [0.02, 0.05], [0.13, 0.3], [0.15, 0.15]):  # 0.15 / 0.05 < 3
        sampled = model.discretized(h, input_delay=delays)
        whole = np.array([round(d / h) if abs(d / h - round(d / h)) < 1e-9 else np.ceil(d / h) for d in delays])
        assert len(sampled.state_names) == n + whole.sum()

        def late(t: float, delays: Any = delays) -> np.ndarray:
            index = [int(np.floor((t - d) / h + 1e-9)) for d in delays]
            return np.array([u[k, j] if 0 <= k < steps else 0.0 for j, k in enumerate(index)])

        x = np.zeros(len(sampled.state_names))
        motion = np.zeros(n)
        for k in range(steps):
            y = model.C @ motion + model.D @ late(k * h)
            assert np.allclose(sampled.C @ x + sampled.D @ u[k], y, atol=1e-10)
            x = sampled.A @ x + sampled.B @ u[k]
            moments = sorted({k * h, (k + 1) * h, *(k * h + d % h for d in delays)})
            for start, end in pairwise(moments):
                block = np.zeros((n + m, n + m))
                block[:n] = np.hstack([model.A, model.B]) * (end - start)
                motion = (expm(block) @ [*motion, *late(0.5 * (start + end))])[:n]
            assert np.allclose(x[:n], motion, atol=1e-10)
    with pytest.raises(ValueError, match=r"discretized: expected a model in continuous time, got one with dt=0.05"):
        sampled.discretized(0.1)
    with pytest.raises(ValueError, match=r"discretized: dt: expected a step with a finite exp\(A dt\), got 1000.0 s"):
        linear_model(robot, [np.pi, 0.0]).discretized(1000.0)
    for delay in (-0.1, [0.1], [0.1, np.nan], 1e9):
        with pytest.raises(ValueError, match=r"discretized: input_delay: expected"):
            model.discretized(h, input_delay=delay)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["mixed_0", "mixed_chain", "floating_chain"])
def test_discrete_linear_models_are_the_derivatives_of_simulation_steps(name: str) -> None:
    """At rest, a step of the exact model is the derivative of the motion over that step, outputs included."""
    robot = robot_of(TREES[name])
    nv, h, step = robot.nv, 0.002, 1e-5
    q = robot.random_configuration(seed=5)
    tau = robot.gravity_force(q)
    frame = robot.frames[-1]
    kinds = [f"{kind}:{frame}" for kind in ("position", "pose", "twist", "acceleration")]
    outputs = ["q", "v", "a", *kinds]
    model = linear_model(robot, q, inputs=robot.v_names, outputs=outputs, passive=False)
    assert np.allclose(model.tau, tau, atol=1e-9)
    deviations = step * np.concatenate([np.eye(3 * nv), -np.eye(3 * nv)])
    starts = robot.integrate(q, deviations[:, :nv])
    forces = tau + deviations[:, 2 * nv :]
    run = robot.simulate(
        starts, deviations[:, nv : 2 * nv], controller=lambda t, q, v, f: f, constants={"f": forces}, duration=h,
        dt=1e-4, method="rk4", passive=False,
    )  # fmt: skip
    ends = np.concatenate([robot.difference(q, run.q[:, -1]), run.v[:, -1]], axis=-1)
    slopes = (ends[: 3 * nv] - ends[3 * nv :]).T / (2.0 * step)
    sampled = model.discretized(h)
    scale = max(1.0, np.abs(slopes).max())
    assert np.abs(np.hstack([sampled.A, sampled.B]) - slopes).max() < 1e-6 * scale
    # outputs at the start
    v = deviations[:, nv : 2 * nv]
    a = robot.forward_dynamics(starts, v, forces)
    X, X_start = robot.pose(starts, frame), robot.pose(q, frame)
    turned = X[:, :3, :3] @ X_start[:3, :3].T
    turns = 0.5 * np.stack([turned[:, i, j] - turned[:, j, i] for i, j in ((2, 1), (0, 2), (1, 0))], axis=-1)
    moved = X[:, :3, 3] - X_start[:3, 3]
    values = [robot.difference(q, starts), v, a, moved, turns, moved]
    values += [robot.twist(starts, v, frame), robot.acceleration(starts, v, a, frame)]
    y = np.concatenate(values, axis=-1)
    slopes = (y[: 3 * nv] - y[3 * nv :]).T / (2.0 * step)
    scale = max(1.0, np.abs(slopes).max())
    assert np.abs(np.hstack([model.C, model.D]) - slopes).max() < 1e-6 * scale


@pytest.mark.slow(every=5)
def test_linear_models_of_mechanisms_are_those_of_minimal_coordinates() -> None:
    four_bar = lw.load("fourbar")
    drive = four_bar.minimal_coordinates("crank_hinge")
    q, v = drive.expand([1.0], [10.0], near=four_bar.neutral())
    bicycle = lw.load("bicycle")
    ride = bicycle.minimal_coordinates(q=bicycle.neutral())
    y = ride.coordinates_of(bicycle.neutral())
    u = np.zeros(ride.dof)
    u[ride.speeds.index("rear_axle")] = 5.0 / 0.3
    cases = [(four_bar, drive, [1.0], [10.0], q, v)]
    cases += [(bicycle, ride, y, u, *ride.expand(y, u, near=bicycle.neutral()))]
    for robot, minimal, y, u, q, v in cases:
        tau = np.zeros(robot.nv)
        A, B = minimal.linearize(y, u, tau, near=q)
        model = linear_model(robot, q, v, tau=tau, inputs=robot.v_names, independent=minimal.independent)
        assert np.allclose(model.A, A, atol=1e-8) and np.allclose(model.B, B, atol=1e-8)
        assert model.state_names == (*(f"q:{x}" for x in minimal.independent), *(f"v:{x}" for x in minimal.speeds))
        with pytest.raises(ValueError, match=r"linear_model: tau: expected joint forces, since the robot has constrai"):
            linear_model(robot, q, v)
        with pytest.raises(ValueError, match=r"linear_model: v: expected velocities that the constraints permit"):
            linear_model(robot, q, v + 1.0, tau=tau)
    # an output is the derivative along the motions that the loop permits
    model = linear_model(
        four_bar, cases[0][4], inputs="crank_hinge", outputs="position:coupler", independent="crank_hinge"
    )
    step = 1e-4
    ends = [four_bar.pose(drive.expand([1.0 + d], near=cases[0][4]), "coupler")[:3, 3] for d in (step, -step)]
    assert np.allclose(model.C[:, 0], (ends[0] - ends[1]) / (2.0 * step), atol=1e-6) and not model.C[:, 1].any()


def test_linear_models_of_a_batch_of_operating_points_equal_single_models() -> None:
    robot = lw.load("double_pendulum")
    grid = np.stack(np.meshgrid([0.0, 0.5, 1.0], [-0.4, 0.3], indexing="ij"), axis=-1)
    models = linear_model(robot, grid, outputs=["q", "twist:tip"])
    assert models.shape == (3, 2) and models[1].shape == (2,) and models.poles().shape == (3, 2, 4)
    sampled, response = models.discretized(0.01, input_delay=[0.0, 0.013]), models.frequency_response([1.0, 2.0])
    gains = lqr(models.A, models.B, np.eye(4), np.eye(2)).K
    for index in np.ndindex(3, 2):
        alone = linear_model(robot, grid[index], outputs=["q", "twist:tip"])
        for name in ("A", "B", "C", "D", "q", "v", "tau"):
            assert np.array_equal(getattr(models[index], name), getattr(alone, name))
        assert np.allclose(sampled[index].A, alone.discretized(0.01, input_delay=[0.0, 0.013]).A, atol=1e-14)
        assert np.allclose(response[index], alone.frequency_response([1.0, 2.0]), rtol=1e-12)
        assert np.allclose(gains[index], lqr(alone.A, alone.B, np.eye(4), np.eye(2)).K, rtol=1e-9)
    assert np.array_equal(pickle.loads(pickle.dumps(models)).A, models.A)


def test_inputs_of_linear_models_are_joints_or_motors() -> None:
    robot = lw.load("double_pendulum")
    motor = lw.Actuator.motor("drive", "elbow", gear=3.0)
    servo = lw.Actuator.position("servo", "elbow", stiffness=10.0)
    moved = robot.with_actuators(motor, servo)
    both = linear_model(moved, [0.0, 0.0], inputs=["drive", "shoulder"])
    plain = linear_model(robot, [0.0, 0.0])
    assert both.input_names == ("drive", "tau:shoulder")
    assert np.allclose(both.B, plain.B @ [[0.0, 1.0], [3.0, 0.0]])
    refusals = [
        ({"inputs": "servo"}, r"inputs: expected joints and motors on joints, got the actuator 'servo'"),
        ({"inputs": []}, r"inputs: expected at least one name"),
        ({"inputs": ["elbow", "elbow"]}, r"inputs: expected different inputs, got 'tau:elbow' twice"),
        ({"outputs": []}, r"outputs: expected at least one name"),
        ({"independent": "elbow"}, r"independent: expected None, since the robot has no constraints"),
    ]
    for options, message in refusals:
        with pytest.raises(ValueError, match=message):
            linear_model(moved, [0.0, 0.0], **options)
    follower = lw.Joint.of(
        lw.joints.Revolute((0, 1, 0)), name="follower", parent="world", child="wheel", mimic=("rail", 2.0)
    )
    wheel = lw.Link("wheel", mass=1.0, inertia=np.ones(3))
    rail = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart")
    coupled = lw.Robot.build("coupled", lw.Link("cart", mass=1.0), rail, wheel, follower)
    coupled = coupled.with_actuators(lw.Actuator.motor("drive", "follower"))
    with pytest.raises(
        ValueError, match=r"inputs: expected motors on joints that follow no other, got 'drive' on 'fol"
    ):
        linear_model(coupled, [0.0], inputs="drive")
    for options, message in [
        ({"inputs": "elbw"}, r"linear_model: inputs: no joint or motor named 'elbw'; did you mean 'elbow'"),
        ({"outputs": "speed:tip"}, r"linear_model: outputs: no output named 'speed:tip'; expected q, v, a"),
        ({"outputs": "q:tip"}, r"linear_model: outputs: no joint or coordinate of v named 'tip'"),
        ({"outputs": "pose:tipp"}, r"linear_model: outputs: no frame named 'tipp'; did you mean 'tip'"),
    ]:
        with pytest.raises(UnknownNameError, match=message):
            linear_model(moved, [0.0, 0.0], **options)
    with pytest.raises(ValueError, match=r"inputs: rest needs a force .* from 'shoulder', which is not an input"):
        linear_model(robot, [0.5, 0.5], inputs="elbow")


def _deviated(robot: Any, point: Any, direction: Any, h: float) -> Any:
    """Return the state at the distance h along a direction (3 nv,) of q, v and tau."""
    (q, v, tau), n = point, robot.nv
    return robot.integrate(q, h * direction[:n]), v + h * direction[n : 2 * n], tau + h * direction[2 * n :]


def _sensed(robot: Any, state: Any, frame: str, joint: str) -> Any:
    """Return the readings of an IMU, encoders of three kinds and a force-torque sensor, from the robot's methods."""
    q, v, tau = state
    a = robot.forward_dynamics(q, v, tau, passive=True)
    k = [x.name for x in robot.joints].index(joint)
    R = robot.pose(q, frame)[:3, :3]
    force = robot.acceleration(q, v, a, frame, expressed_in=frame)[3:] - R.T @ robot.gravity
    turning = robot.twist(q, v, frame, expressed_in=frame)[:3]
    rates, forces = ([x[joint.v_slice] for joint in robot.joints if not joint.is_floating] for x in (v, tau))
    wrench = robot.joint_wrenches(q, v, a, passive=bool(robot.force_elements))[k]
    return np.concatenate([turning, force, *rates, *forces, wrench])


_LARGER = ("reversed_chain", "spherical_random", "mixed_0", "mixed_star", "mixed_1")


@pytest.mark.costly
@pytest.mark.parametrize("name", ["universal_random", *(pytest.param(x, marks=SELDOM) for x in _LARGER)])
def test_sensor_outputs_of_linear_models_equal_central_differences_of_the_readings(name: str) -> None:
    """Central differences of readings that the robot's methods compute, along random deviations of q, v and tau."""
    robot: Any = robot_of(TREES[name])
    robot = robot.with_parameters({"friction": np.zeros(robot.nv)})
    rng = np.random.default_rng(3)
    v, tau = rng.normal(size=(2, robot.nv))
    q = robot.random_configuration(seed=1)
    frame, joint = robot.links[-1].name, next(x.name for x in robot.joints[::-1] if not x.is_floating)
    sensors: Any = {
        "imu": lw.simulation.IMU(frame, noise=0.1, bias=0.3, delay=0.1),
        "rate": lw.simulation.Encoder(of="velocity", resolution=0.5),
        "force": lw.simulation.Encoder(of="force"),
        "wrist": lw.simulation.ForceTorqueSensor(joint),
    }
    model = linear_model(robot, q, v, tau=tau, inputs=robot.v_names, sensors=sensors)
    assert len(model.output_names) == len(model.C) and model.output_names[:2] == ("imu[0]", "imu[1]")
    n, h = robot.nv, 1e-5
    for direction in rng.normal(size=(6, 3 * n)):
        ends = [_sensed(robot, _deviated(robot, (q, v, tau), direction, s), frame, joint) for s in (h, -h)]
        slope = (ends[0] - ends[1]) / (2.0 * h)
        expected = model.C @ direction[: 2 * n] + model.D @ direction[2 * n :]
        np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    chosen = linear_model(robot, q, v, tau=tau, sensors=sensors, outputs=["rate", "v", "imu"])
    for k, output in enumerate(chosen.output_names):
        if output in model.output_names:
            row = model.output_names.index(output)
            assert np.array_equal(chosen.C[k], model.C[row]) and output.partition("[")[0] in ("imu", "rate")
    assert chosen.output_names[-6:] == model.output_names[:6]


def test_sensor_outputs_of_linear_models_of_closed_loops_and_batches_equal_differences() -> None:
    """The angle of a loop's joint and the angular velocity of a coupler, against differences along the motion."""
    robot: Any = lw.load("fourbar")
    angles = np.array([0.3, 0.9])
    q = robot.assemble(hold={"crank_hinge": angles}, q_init=robot.neutral()).q
    frame = robot.links[-1].name
    sensors: Any = {"gyro": lw.simulation.IMU(frame, of="angular_velocity"), "angle": lw.simulation.Encoder()}
    model = linear_model(robot, q, inputs="crank_hinge", independent="crank_hinge", sensors=sensors)
    assert model.shape == (2,) and len(model.output_names) == 3 + robot.nv
    h = 1e-5
    for k, angle in enumerate(angles):
        ends = [robot.assemble(hold={"crank_hinge": angle + s}, q_init=q[k]).q for s in (h, -h)]
        slope = robot.difference(ends[1], ends[0]) / (2.0 * h)
        np.testing.assert_allclose(model.C[k, 3:, 0], slope, rtol=0, atol=1e-8)
        np.testing.assert_allclose(model.C[k, 3:, 1], 0.0, rtol=0, atol=1e-12)
        v = robot.explicit_velocity(q[k], {"crank_hinge": 1.0}, ["crank_hinge"])
        turning = robot.twist(q[k], v, frame, expressed_in=frame)[:3]
        np.testing.assert_allclose(model.C[k, :3, 1], turning, rtol=0, atol=1e-10)
        assert np.abs(turning).max() > 0.01


def test_unsuitable_sensors_of_linear_models_are_refused() -> None:
    imu, touch = lw.simulation.IMU("pole"), lw.simulation.TouchSensor(("pole",))
    for sensors, outputs, error, words in (
        ({"imu": imu}, "im", UnknownNameError, "outputs: no output named 'im'"),
        ({"a b": imu}, None, ValueError, "sensors: expected identifiers as names, got 'a b'"),
        ({"imu": 1.0}, None, TypeError, r"sensors\['imu'\]: expected a sensor"),
        ([imu], None, TypeError, "sensors: expected a dict"),
        ({"touch": touch}, None, ValueError, "expected a sensor without contacts.*TouchSensor"),
        ({"imu": lw.simulation.IMU("pol")}, None, UnknownNameError, "did you mean 'pole'"),
    ):
        with pytest.raises(error, match=words):
            _model(sensors=sensors, outputs=outputs)


def test_operating_points_that_inputs_cannot_hold_name_the_remedies() -> None:
    """Both remedies of the message are accepted; a locked joint leaves the columns of the other joint."""
    robot: Any = lw.load("double_pendulum")
    first, second = robot.v_names
    q = np.array([0.5, 0.2])
    refused = rf"linear_model: inputs: rest needs a force of .* from '{first}', which is not an input: the inputs are"
    with pytest.raises(
        ValueError, match=rf"{refused} \['{second}'\]; .*tau=robot.gravity_force\(q\).*with_locked_joints"
    ):
        linear_model(robot, q, inputs=second)
    model = linear_model(robot, q, inputs=second, tau=robot.gravity_force(q))
    M = robot.mass_matrix(q, passive=True)
    np.testing.assert_allclose(model.B[2:, 0], np.linalg.inv(M)[:, 1], rtol=1e-10)
    locked = linear_model(robot.with_locked_joints({first: q[0]}), q[1:], inputs=second)
    np.testing.assert_allclose(locked.B[1, 0], 1.0 / M[1, 1], rtol=1e-10)
