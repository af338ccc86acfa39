"""What touches: links' shapes, ground, things that stand and other links; materials; compliant contacts; records."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.simulation import ContactMaterial, ContactPair, ContactScene

G = 9.81


def things(*shapes, mass=1.0):
    """Free bodies, "thing0", "thing1" ..."""
    parts = []
    for k, shape in enumerate(shapes):
        parts += [
            lw.Link(f"thing{k}", shape, mass=mass),
            lw.Joint.of(lw.joints.Floating(), name=f"free{k}", parent="world", child=f"thing{k}"),
        ]
    return lw.Robot.build("things", *parts)


def put(robot, *places):
    """All upright, their middles there."""
    q = robot.neutral()
    for k, place in enumerate(places):
        q[7 * k + 4 : 7 * k + 7] = place
    return q


def test_shapes_rest_on_what_stands():
    """Shapes come to rest on a floor, a box and a field of heights: how high, and by which forces."""
    field = lw.shapes.HeightField(np.full((4, 4), 0.5), 1.0)
    scene = lw.Scene().with_half_space("floor").with_box("table", (1.0, 1.0, 1.0), (10, 0, 0))
    scene = scene.with_shape("hill", field, (20, 0, 0))
    shapes = {0.15: lw.shapes.Box((0.2, 0.2, 0.3)), 0.2: lw.shapes.Cylinder(0.1, 0.4)}
    for up, shape in shapes.items():
        robot = things(shape)
        q = np.stack([put(robot, (x, 0.013, z + up + 2e-3)) for x, z in ((0, 0), (10, 0.5), (20, 0.5))])
        if isinstance(shape, lw.shapes.Cylinder):
            q, some = q[[0, 2]], scene.without("table")
        else:
            some = scene
        found = robot.simulate(q, duration=0.5, step=5e-3, contacts=ContactScene(some), every=50)
        assert np.abs(found.q[:, -1, 4:] - q[:, 4:] + [0, 0, 2e-3]).max() < 2e-4, shape
        total = found.records["contact_forces"][:, -1].sum(axis=-2)
        assert np.abs(total - [0, 0, G]).max() < 1e-4 * G, shape


def test_bad_contacts():
    """What is wrong is said."""
    robot = things(lw.shapes.Box((0.2, 0.2, 0.2)), lw.shapes.Sphere(0.1))
    floor = lw.Scene().with_half_space("floor")
    steel = ContactMaterial(friction=0.5)

    def asked(contacts, **more):
        return robot.simulate(put(robot, (0, 0, 1), (0, 0, 2)), duration=0.1, contacts=contacts, **more)

    for kind, text, wrong in (
        (ValueError, "friction: expected a finite number from 0", lambda: ContactMaterial(friction=-0.1)),
        (ValueError, "restitution: expected a number from 0 to 1", lambda: ContactMaterial(restitution=1.1)),
        (
            TypeError,
            "materials\\['floor'\\]: expected a ContactMaterial",
            lambda: ContactScene(floor, None, {"floor": 3}),
        ),
        (UnknownNameError, "did you mean 'floor'", lambda: asked(ContactScene(floor, materials={"flor": steel}))),
        (UnknownNameError, "did you mean 'thing0'", lambda: asked(ContactScene(floor, "thing"))),
        (UnknownNameError, "did you mean 'thing1'", lambda: asked(ContactPair("thing0", "thing11"))),
        (UnknownNameError, "did you mean 'compliant'", lambda: asked(ContactScene(floor), contact_model="compliance")),
        (
            ValueError,
            "compliant contacts have a stiffness",
            lambda: asked(ContactScene(floor), contact_model="compliant"),
        ),
        (ValueError, "expected two links", lambda: ContactPair("thing0", "thing0")),
        (ValueError, "at least one obstacle", lambda: ContactScene(lw.Scene())),
        (ValueError, "no contacts to tell of", lambda: asked(None, record=["contact_gap"])),
    ):
        with pytest.raises(kind, match=text):
            wrong()
