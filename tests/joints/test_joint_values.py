"""Joints are immutable values: units, names, equality, pickling, and refused axes."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.joints import EVERY, EXAMPLES
from helpers.scalars import EPS
from linkwork.joints import ALL, Fixed, Floating, JointType, Prismatic, Revolute
from linkwork.joints.axis import random_axis, unit_axis
from linkwork.spatial import Vec3

every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())
every_own_joint = pytest.mark.parametrize("joint", EXAMPLES.values(), ids=EXAMPLES.keys())
on_an_axis = pytest.mark.parametrize("kind", [Revolute, Prismatic])


@every_joint
def test_joint_types_have_units_and_names_for_all_coordinates(joint: JointType) -> None:
    assert len(joint.q_units) == joint.nq
    assert len(joint.v_units) == joint.nv
    assert len(joint.q_names) == (joint.nq if joint.nq > 1 else 0)
    assert len(joint.v_names) == (joint.nv if joint.nv > 1 else 0)
    assert set(joint.q_units) <= {"rad", "m", "1"}
    assert set(joint.v_units) <= {"rad/s", "m/s"}


@every_joint
def test_degrees_of_freedom_and_constraints_of_a_joint_sum_to_six(joint: JointType) -> None:
    assert 0 <= joint.nv <= 6 and joint.nv <= joint.nq
    assert joint.num_constraints == 6 - joint.nv
    assert joint.is_floating == (joint.nv == 6)
    zero = joint.zero()
    assert len(zero) == joint.nq and all(type(x) is float for x in zero)
    assert len(joint.S(zero)) == joint.nv


@every_joint
def test_joint_types_cannot_be_modified(joint: JointType) -> None:
    for name in [field.name for field in dataclasses.fields(joint)] + ["anything"]:
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(joint, name, 1.0)


@every_joint
def test_copies_and_pickles_of_a_joint_type_equal_it(joint: JointType) -> None:
    for copied in (
        copy.copy(joint),
        copy.deepcopy(joint),
        dataclasses.replace(joint),
        *(pickle.loads(pickle.dumps(joint, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)),
    ):
        assert type(copied) is type(joint)
        assert copied == joint and hash(copied) == hash(joint)
        assert repr(copied) == repr(joint)
        assert len({joint, copied}) == 1


def test_different_joint_types_are_unequal() -> None:
    for first, second in itertools.combinations(EXAMPLES.values(), 2):
        assert type(first) is type(second) or first != second
        assert (first == second) == (repr(first) == repr(second))
    axis = Vec3(0.0, 0.0, 1.0)
    assert Revolute(axis) != Prismatic(axis)
    assert Revolute(axis) != Revolute(-axis)
    assert Fixed() == Fixed() and Floating() == Floating() and Fixed() != Floating()


def test_list_of_all_joint_types_contains_each_once() -> None:
    assert len(set(ALL)) == len(ALL)
    names = [kind.type_name() for kind in ALL]
    assert len(set(names)) == len(names)
    assert {"fixed", "revolute", "prismatic", "floating"} <= set(names)
    for kind in ALL:
        assert issubclass(kind, JointType) and kind.__doc__


@pytest.mark.parametrize("kind", ALL)
def test_examples_of_joint_types_depend_only_on_the_random_generator(kind: type[JointType]) -> None:
    first, again = (kind.example(np.random.default_rng(3)) for _ in range(2))
    assert first == again and isinstance(first, kind)
    drawn = {kind.example(np.random.default_rng(seed)) for seed in range(20)}
    assert len(drawn) > 1 if dataclasses.fields(first) else len(drawn) == 1


# -- axes

NOT_AXES: list[Any] = [
    (0.0, 0.0, 0.0),
    (0, -0.0, 0),
    (math.nan, 0.0, 1.0),
    (1.0, 0.0, math.nan),
    (math.inf, 0.0, 0.0),
    (1.0, -math.inf, 0.0),
    (1.0, 0.0),
    (1.0, 0.0, 0.0, 0.0),
    (),
    "abc",
    ("a", "b", "c"),
    None,
    1.0,
    np.eye(3),
    (None, 0.0, 1.0),
    (1j, 0.0, 0.0),
]


@pytest.mark.light
@on_an_axis
@pytest.mark.parametrize("axis", NOT_AXES, ids=repr)
def test_invalid_joint_axes_are_refused(kind: Any, axis: Any) -> None:
    with pytest.raises(ValueError, match="axis: expected three"):
        kind(axis)


@on_an_axis
def test_error_messages_show_the_refused_joint_axis(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"axis: expected three finite numbers, not all zero, got \(0\.0, 0\.0"):
        kind((0, 0, 0))
    with pytest.raises(ValueError, match=r"axis: expected three numbers, got \(1\.0, 0\.0\)"):
        kind((1.0, 0.0))


@on_an_axis
@pytest.mark.parametrize("axis", [(0, 0, 2), [0.0, 0.0, 3.0], np.array([0.0, 0.0, 1e-3]), Vec3(0.0, 0.0, 1.0)])
def test_joint_axes_may_be_any_sequence_of_three_values(kind: Any, axis: Any) -> None:
    assert kind(axis).axis == Vec3(0.0, 0.0, 1.0)
    assert all(type(a) is float for a in kind(axis).axis)
    assert kind(axis) == kind((0.0, 0.0, 1.0))


coordinates = st.floats(allow_nan=False, allow_infinity=False)


@given(st.tuples(coordinates, coordinates, coordinates).filter(any))
def test_joint_axes_of_any_length_become_unit_vectors(axis: tuple[float, float, float]) -> None:
    """The smallest and the largest floats are included."""
    unit = list(unit_axis(axis))
    assert abs(math.hypot(*unit) - 1.0) <= 2.0 * EPS
    largest = max(map(abs, axis))
    scaled = [a / largest for a in axis]
    length = math.hypot(*scaled)
    for a, b in zip(unit, scaled, strict=True):
        assert abs(a - b / length) <= 4.0 * EPS
        assert a == 0.0 or math.copysign(1.0, a) == math.copysign(1.0, b)


@given(st.tuples(coordinates, coordinates, coordinates).filter(any))
def test_unit_joint_axis_is_stored_bit_for_bit(axis: tuple[float, float, float]) -> None:
    """A joint built from its own axis is then the same joint."""
    once = unit_axis(axis)
    assert unit_axis(once) == once
    assert Revolute(Revolute(axis).axis) == Revolute(axis)


def test_joint_axes_along_coordinate_axes_are_exact() -> None:
    for k, length in itertools.product(range(3), (1.0, -1.0, 7.0, 1e-200, 5e-324, 1e308)):
        axis = [0.0] * 3
        axis[k] = length
        assert list(unit_axis(axis)) == [math.copysign(1.0, length) if i == k else 0.0 for i in range(3)]


def test_random_joint_axes_are_uniformly_distributed() -> None:
    rng = np.random.default_rng(0)
    axes = np.array([list(random_axis(rng)) for _ in range(4000)])
    assert np.max(np.abs(np.linalg.norm(axes, axis=1) - 1.0)) <= 4.0 * EPS
    # each has mean 0 and variance 1/3, and second moments are uncorrelated: within five standard errors
    assert np.max(np.abs(axes.mean(axis=0))) <= 5.0 * math.sqrt(1.0 / 3.0 / 4000)
    assert np.max(np.abs(axes.T @ axes / 4000 - np.eye(3) / 3.0)) <= 5.0 * math.sqrt(4.0 / 45.0 / 4000)
