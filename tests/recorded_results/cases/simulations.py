"""Simulations: integrators, contacts, limits, friction, servos, events, sensors, constraints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.simulation import (
    IMU,
    ContactGround,
    ContactMaterial,
    ContactPair,
    ContactPoint,
    ContactScene,
    ContactSensor,
    ControlOutput,
    Encoder,
    Event,
    ForceTorqueSensor,
    JointStops,
    RangeSensor,
    ServoActuators,
    Simulation,
    TouchSensor,
)
from recorded_results.case import case
from recorded_results.robots import arm, crane, hopper

_METHODS = (
    "semi_implicit_euler",
    "rk4",
    "dormand_prince",
    "implicit_midpoint",
    "implicit_euler",
    "mujoco_euler",
    "mujoco_implicitfast",
    "variational",
    "scipy:DOP853",
)
_Q, _V = np.array([0.4, -0.7]), np.array([0.9, -1.3])


def _end(run: Simulation) -> Any:
    status = np.atleast_1d(run.status).astype(str).tolist()
    return {"t": run.t, "q": run.q, "v": run.v, "status": status, "records": dict(run.records)}


def _servo(t: Any, q: Any, v: Any) -> Any:
    return ServoActuators([0.5, -0.2], [0.1, 0.2], [70.0, 20.0], [3.0, 0.6], force=0.4, limit=[19.0, 6.0])


@case(1e-7)
def integrators_of_every_kind(_: Any) -> Any:
    robot, result = crane().with_joint_dynamics(stiffness=[0.0, 3.0], rest=[0.0, 0.2]), {}
    for method in _METHODS:
        law = {"controller": _servo} if method == "mujoco_implicitfast" else {}
        run = robot.simulate(
            _Q, _V, duration=0.16, dt=0.02, method=method, record_every=4, joint_limit_mode="ignored", **law
        )
        result[method] = _end(run)
    energies = robot.simulate(
        _Q,
        _V,
        duration=0.1,
        dt=0.01,
        record_every=5,
        joint_limit_mode=JointStops(0.03, 0.7),
        friction="stribeck",
        record=["kinetic_energy", "potential_energy", ("pose", "hook"), "forward_dynamics", "tau"],
        wrenches={"hook": [0.1, -0.2, 0.3, 1.1, 0.7, -0.4]},
        expressed_in="hook",
        parameters={"gravity": [0.3, 0.5, -9.1]},
    )
    return {**result, "recorded": {"end": _end(energies), "text": str(energies)}}


@case(1e-7)
def controllers_sensors_and_events(folder: Path) -> Any:
    robot = crane()
    scene = lw.Scene().with_half_space("floor", lw.pose((0.1, 0.2, -0.6), rpy=(0.2, -0.1, 0.0)))
    sensors = {
        "coder": Encoder(resolution=0.013, noise=0.02, bias=0.01, delay=0.02),
        "speed": Encoder(["hinge"], of="velocity"),
        "imu": IMU("hook", noise=0.03, bias=0.1),
        "rate": IMU("hook", of="angular_velocity"),
        "wrench": ForceTorqueSensor("hinge", noise=0.1),
        "ray": RangeSensor("hook", (0.1, -0.2, -0.9), scene, max_range=2.3),
    }

    class Law:
        start = np.array([0.1])
        effort_limits = np.array([9.0, 3.0])

        def __call__(self, t: Any, q: Any, v: Any, z: Any, target: Any, coder: Any, wave: Any, **readings: Any) -> Any:
            error = target - coder
            tau = 11.0 * error - 2.0 * v + 3.0 * z * t + wave
            return ControlOutput(
                tau, wrenches={"hook": [0.0, 0.1, 0.0, 0.3, 0.0, 0.2]}, expressed_in="hook"
            ), z + 0.01 * error[:1]

    jump = Event("gate", lambda t, q, v: q[0] - 0.42, jump=lambda t, q, v: (q, -0.6 * v), direction=1)
    events = [
        jump,
        Event("swing", lambda t, q, v: q[1] + 0.72 + 0.1 * t),
        Event("end", lambda t, q, v: t - 0.27, stop=True),
    ]
    run = robot.simulate(
        [_Q, 0.9 * _Q, 0.8 * _Q],
        _V,
        controller=Law(),
        duration=0.3,
        dt=0.01,
        control_every=2,
        constants={"target": [0.3, 0.2]},
        time_inputs={"wave": lambda t: [0.4 * np.sin(9.0 * t), 0.2]},
        sensors=sensors,
        seed=4,
        events=events,
        record_every=5,
        record=["tau"],
    )
    run.save(folder / "run.npz")
    again = Simulation.load(folder / "run.npz", robot=robot)
    run.to_csv(folder / "run.csv")
    curve = run.trajectory(0)
    figure = np.ravel(robot.simulate(_Q, _V, duration=0.06, dt=0.02, record=["kinetic_energy"]).plot())
    return {
        **_end(run),
        "state": run.controller_state,
        "saturation": run.saturation,
        "message": run.message,
        "events": [[e.environment, e.name, e.time, e.q, e.v, e.next_v] for e in run.events],
        "stopped": run.stopped_at,
        "readings": {name: run.records[name] for name in sensors},
        "again": [again.q, again.v, str(again)],
        "csv": (folder / "run.csv").read_text(),
        "curve": list(curve(np.array([0.03, 0.11, 0.19]))),
        "figure": [[line.get_ydata() for line in axis.get_lines()] for axis in figure],
        "labels": [axis.get_ylabel() for axis in figure],
    }


@case(1e-6)
def contacts_of_a_hopping_robot(_: Any) -> Any:
    robot = hopper()
    q = robot.neutral()
    q[4:7], q[7] = (0.1, -0.2, 0.44), 0.03
    v = np.array([0.3, -0.4, 0.2, 0.7, 0.5, -1.1, 0.4])
    ground = ContactGround(
        [
            ContactPoint("foot", (0.01, -0.02, 0.0), 0.04, friction=0.5),
            ContactPoint("trunk", (0.1, 0.08, -0.05), 0.02, restitution=0.3),
        ],
        friction=0.7,
        normal=(0.05, 0.1, 0.99),
        height=0.02,
        restitution=0.2,
    )
    sensors = {"touch": TouchSensor(["foot", "trunk"]), "points": ContactSensor(ground), "imu": IMU("trunk")}
    rigid = robot.simulate(
        q,
        v,
        duration=0.12,
        dt=0.004,
        contacts=ground,
        record_every=10,
        joint_limit_mode="held",
        sensors=sensors,
        record=["contact_gap", "contact_slip", "joint_wrenches"],
        parameters={"contact_friction": 0.33},
    )
    soft = ContactGround(["foot"], friction=0.6, stiffness=3e4, dissipation=0.4, normal=(0.05, 0.1, 0.99), height=0.07)
    compliant = robot.simulate(
        q,
        v,
        duration=0.12,
        dt=0.004,
        contacts=soft,
        contact_model="compliant",
        joint_limit_mode="soft",
        record_every=10,
    )
    return {"rigid": _end(rigid), "names": list(rigid.contact_names), "text": str(rigid), "compliant": _end(compliant)}


@case(1e-6)
def shapes_that_touch_scenes_and_links(_: Any) -> Any:
    robot = arm()
    scene = (
        lw.Scene()
        .with_half_space("floor", lw.pose((0.1, 0.2, 0.12), rpy=(0.2, -0.1, 0.0)))
        .with_box("step", (0.3, 0.2, 0.5), (0.5, 0.1, -0.17))
    )
    touching = [
        ContactScene(
            scene,
            links=["upper", "fore"],
            materials={"floor": ContactMaterial(0.6, 0.1), "fore": ContactMaterial(0.4, stiffness=4e4)},
        ),
        ContactPair("column", "fore", materials={"fore": ContactMaterial(0.3)}),
    ]
    q, v = np.array([0.2, 0.7, 0.5]), np.array([0.4, 1.3, 0.9])
    run = robot.simulate(
        q,
        v,
        duration=0.15,
        dt=0.005,
        contacts=touching,
        friction="coulomb",
        record=["contact_gap"],
        record_every=6,
        controller=lambda t, q, v: ServoActuators(
            [0.4, 0.9, 0.3], [0.1, 0.2, 0.1], 60.0, 7.0, force=1.3, limit=[9.0, 7.0, 5.0]
        ),
    )
    return {**_end(run), "names": list(run.contact_names), "saturation": run.saturation, "text": run.explain()}


@case(1e-7)
def simulations_of_mechanisms(_: Any) -> Any:
    bar = lw.load("fourbar")
    q = bar.neutral()
    v = bar.explicit_velocity(q, {"crank_hinge": 2.3}, ["crank_hinge"])
    result = {}
    for method in ("semi_implicit_euler", "variational", "rk4"):
        run = bar.simulate(
            q,
            v,
            duration=0.1,
            dt=0.01,
            method=method,
            record_every=5,
            joint_limit_mode="ignored",
            record=["constraint_forces", "kinetic_energy"] if method == "semi_implicit_euler" else [],
            wrenches={"coupler": [0.1, 0.2, 0.3, 0.4, -0.2, 1.1]} if "coupler" in bar.frames else None,
        )
        result[method] = _end(run)
    return result


@case(1e-8)
def a_simulator_in_a_loop(_: Any) -> Any:
    simulator = lw.Simulator(crane(), batch=3, dt=0.01, parameters={"gravity": [0.3, -0.2, -9.5]})
    states = [simulator.reset([_Q, 1.1 * _Q, 0.7 * _Q], _V)]
    states.append(simulator.step([1.3, -0.4], count=4))
    states.append(simulator.reset(0.5 * _Q, where=[False, True, False], parameters={"gravity": [0.1, 0.2, -3.0]}))
    states.append(simulator.step([0.3, 0.1], count=3))
    return {
        "states": [[x.q, x.v, x.steps, np.asarray(x.status).astype(str).tolist()] for x in states],
        "time": simulator.time,
        "gravity": simulator.parameters["gravity"],
        "text": repr(simulator),
    }
