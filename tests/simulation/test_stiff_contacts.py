"""Warnings of stiff contacts on both sides of the longest stable step, in closed form."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import SimulationWarning
from linkwork.model.limited_coordinates import limited_coordinates
from linkwork.simulation import ContactGround, ContactPoint
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.joint_limits import _inertias
from linkwork.simulation.rollout.step_stability import warn_of_stiff_contacts

G = 9.81
RAIL = lw.joints.Prismatic((0, 0, 1))


def falling(**how: Any) -> lw.Robot:
    """Return a mass of 0.5 kg that slides up and down."""
    return lw.Robot.build(
        "falling",
        lw.Link("mass", **(how or {"mass": 0.5, "frames": {"left": (-0.1, 0.2, 0.0), "right": (0.1, 0.0, 0.3)}})),
        lw.Joint.of(RAIL, name="rail", parent="world", child="mass", lower=-1.0, upper=1.0),
    )


def stiffness(K: float, height: float, speed: float, m: float = 0.5) -> float:
    """Return the stiffness / mass [1/s²] at the depth of an impact after a fall, F = K d^1.5, or at rest if deeper."""
    square = speed**2 + 2.0 * G * height
    depth = max((G * m / K) ** (2.0 / 3.0), (1.25 * square * m / K) ** 0.4)
    return 1.5 * K * math.sqrt(depth) / m


def warned(robot: lw.Robot, contacts: ContactSet, h: float, q: float, v: float, method: str) -> str:
    setup: Any = SimpleNamespace(
        touched=lambda parameters: contacts,
        robot=robot,
        own=lambda parameters: {},
        passive=False,
        is_fed_back=False,
        method=method,
    )
    with warnings.catch_warnings(record=True) as texts:
        warnings.simplefilter("always")
        warn_of_stiff_contacts(setup, h, np.array([q]), np.array([v]), {}, 10.0)
    assert all(issubclass(text.category, SimulationWarning) for text in texts) and len(texts) <= 1
    return str(texts[0].message) if texts else ""


def test_steps_are_reported_as_too_long_for_stiff_contacts_above_their_limit() -> None:
    robot, K = falling(), 3e4
    ground = ContactGround(("left", "right"), stiffness=K, height=-0.4)
    contacts = ContactSet((ground,), "compliant")
    for q, v in ((0.2, -0.5), (0.2, 3.0)):
        stiff = stiffness(K, q + 0.7, min(v, 0.0))  # of the higher point, which falls farther
        for method, limit in (("semi_implicit_euler", 4.0), ("rk4", 8.0)):
            longest = math.sqrt(limit / stiff)
            assert warned(robot, contacts, 0.999 * longest, q, v, method) == ""
            assert warned(robot, contacts, 1.0005 * longest, q, v, method) != ""  # rk4: an eigenvalue of 1.004
            text = warned(robot, contacts, 1.02 * longest, q, v, method)
            assert (
                "is too long to be stable: where 'right' and the ground" in text
                and f"use {0.51 * longest:.2g} s" in text
            ), (q, method)
    far = ContactSet((ContactGround(("left",), stiffness=K, height=-1e6),), "compliant")
    assert warned(robot, far, 1.0, 0.0, 0.0, "semi_implicit_euler") == ""
    across = ContactSet((ContactGround(("left",), stiffness=K, height=-0.4, normal=(1.0, 0.0, 0.0)),), "compliant")
    assert warned(robot, across, 1.0, 0.0, 0.0, "semi_implicit_euler") == ""
    points = ContactPoint("right"), ContactPoint("left")
    both = ContactSet((ContactGround(points, stiffness=K, height=-0.4),), "compliant")
    assert "where 'right' and" in warned(robot, both, 0.1, 0.0, 0.0, "rk4")


def test_stops_of_joints_need_inertia() -> None:
    for robot, expected in ((falling(), 0.5), (falling(mass=3.0), 3.0)):
        coordinates = limited_coordinates(robot.tree)
        assert np.abs(np.array(_inertias(robot, False, coordinates)) - expected).max() < 1e-12
    bare = falling(frames={"left": (0.0, 0.0, 0.1)})
    with pytest.raises((ValueError, lw.errors.SingularInertiaError), match="rail"):
        _inertias(bare, False, limited_coordinates(bare.tree))
