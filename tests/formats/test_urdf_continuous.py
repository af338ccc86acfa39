"""Continuous joints of a URDF as one angle, or as its sine and cosine."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.errors import ModelError
from linkwork.joints import Revolute
from oracles.comparison import assert_close
from urdf_texts import LIMIT, joint, link, robot

AXIS = '<axis xyz="0 0.6 0.8"/>'
SPEED = '<limit effort="3" velocity="4"/>'


def text(inner=""):
    return robot(
        *map(link, "abcd"),
        joint("spin", "a", "b", "continuous", AXIS + SPEED),
        joint("bend", "b", "c", "revolute", LIMIT),
        joint("turn", "c", "d", "continuous", '<axis xyz="1 0 0"/>' + inner),
    )


def test_continuous_urdf_joint_has_one_angle_as_coordinate_by_default():
    loaded_robot = lw.Robot.from_urdf_string(text())
    assert loaded_robot == lw.Robot.from_urdf_string(text(), continuous="angle")
    assert loaded_robot.nq == loaded_robot.nv == 3
    assert isinstance(loaded_robot.joint("spin").type, Revolute)
    for wrong in ("sin", None, True):
        with pytest.raises(ValueError, match="continuous: expected 'angle' or 'sincos'"):
            lw.load("arm7", continuous=wrong)


def test_continuous_urdf_joint_has_sine_and_cosine_as_coordinates_on_request():
    angle, sincos = (lw.Robot.from_urdf_string(text(), continuous=how) for how in ("angle", "sincos"))
    assert (sincos.nq, sincos.nv) == (5, 3)
    spin = sincos.joint("spin")
    assert type(spin.type) is joints.UnboundedRevolute and spin.type.axis == angle.joint("spin").type.axis
    assert isinstance(sincos.joint("bend").type, Revolute)
    assert spin.lower.tolist() == [-np.inf] * 2 and (spin.velocity.tolist(), spin.effort.tolist()) == ([4.0], [3.0])
    assert sincos.neutral().tolist() == [0.0, 1.0, 0.0, 0.0, 1.0]
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 4, 3))
    s, c = np.sin(q), np.cos(q)
    joint_angles = np.stack([s[:, 0], c[:, 0], q[:, 1], s[:, 2], c[:, 2]], axis=-1)
    assert_close(sincos.inverse_dynamics(joint_angles, v, a), angle.inverse_dynamics(q, v, a), 1e-13, core=1)
    assert_close(sincos.pose(joint_angles, "d"), angle.pose(q, "d"), 1e-14, core=2)
    assert sincos != angle


def test_mimic_of_a_continuous_joint_with_sine_and_cosine_is_refused():
    document = text('<mimic joint="spin"/>')
    assert lw.Robot.from_urdf_string(document, mimic="coupled").nq == 2
    for mimic in ("free", "coupled"):
        with pytest.raises(ModelError, match="MIMIC_TYPE") as caught:
            lw.Robot.from_urdf_string(document, continuous="sincos", mimic=mimic)
        assert (
            caught.value.hint
            == 'joints whose coordinate is an angle can: load with continuous="angle", or build with Revolute'
        )
