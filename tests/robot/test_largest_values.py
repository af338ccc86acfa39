"""The largest number that each quantity accepts is 1e20, itself included."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model.tree_builder import read_gravity
from linkwork.shapes import Box, Capsule, Sphere

ARM = lw.load("double_pendulum")
LARGEST = 1e20
BEYOND = math.nextafter(1e20, math.inf)
STATE = '<group_state name="s" group="g"><joint name="shoulder" value="{}"/></group_state>'
ROTOR = '<rotor_params><joint name="shoulder" mass="{}" gear_ratio="{}"/></rotor_params>'


def with_srdf(text: str) -> lw.Robot:
    return ARM.with_srdf_document(f'<robot name="double_pendulum"><group name="g"/>{text}</robot>')


CALLS = {
    "gravity": lambda x: read_gravity((0.1, -x, 0.2)),
    "frame": lambda x: ARM.with_frame("far", "tip", (0.1, 0.2, -x)),
    "point": lambda x: ARM.with_point("far", "tip", (0.1, -x, 0.2)),
    "sphere": lambda x: Sphere(x),
    "box": lambda x: Box((0.1, x, 0.3)),
    "capsule": lambda x: Capsule(0.1, x),
    "named configuration": lambda x: ARM.with_named_configuration("far", {"shoulder": x}),
    "state of SRDF": lambda x: with_srdf(STATE.format(repr(x))),
    "rotor of SRDF": lambda x: with_srdf(ROTOR.format(repr(x), 1)),
    "bushing": lambda x: lw.force_elements.Bushing("tip", "world", stiffness=(0.1, x, 0.2, 0.3, 0.4, 0.5)),
    "damping": lambda x: ARM.with_joint_dynamics(damping=x),
}


@pytest.mark.light
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
@pytest.mark.parametrize("name", CALLS)
def test_largest_value_is_accepted_and_the_next_one_refused(name: str) -> None:
    CALLS[name](LARGEST)
    with pytest.raises((ValueError, ModelError), match=r"1e\+20"):
        CALLS[name](BEYOND)


def test_products_of_a_rotors_mass_and_the_square_of_its_gear_ratio_have_the_same_limit() -> None:
    robot = with_srdf(ROTOR.format(2.5e5, 2e7))
    assert robot.joint("shoulder").armature[0] == pytest.approx(2.5e5 * 4e14)
    with pytest.raises(ModelError, match=r"mass · gear_ratio²: expected at most 1e\+20"):
        with_srdf(ROTOR.format(2.5e5, 2.1e7))
    assert np.isfinite(robot.tree.mass)
