"""Functions of a robot with labelled arrays of xarray."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import linkwork as lw
from linkwork.interop.labelled_functions import LabelledFunction
from linkwork.model.function_spec import QUANTITIES
from linkwork.robot.robot_table import ROBOT
from oracles.scalars import listed, names_for

TIMES = np.linspace(0.0, 1.0, 6)


@pytest.fixture(scope="module")
def arm() -> lw.Robot:
    return lw.load("arm7")


def states(robot: lw.Robot) -> tuple[list[np.ndarray], list[Any]]:
    """Return q, v and a as arrays, and with the labels of times and joints."""
    rng = np.random.default_rng(0)
    arrays = [robot.random_configuration(rng, size=6), *rng.normal(size=(2, 6, robot.nv))]
    dims = [("coordinate", robot.q_names), ("dof", robot.v_names), ("dof", robot.v_names)]
    labelled = [
        xr.DataArray(x, dims=("time", dim), coords={"time": TIMES, dim: list(names)})
        for x, (dim, names) in zip(arrays, dims, strict=True)
    ]
    return arrays, labelled


@pytest.mark.parametrize("name", ROBOT)
def test_labelled_functions_of_xarray_return_the_methods_values(arm: lw.Robot, name: str) -> None:
    row, rng = ROBOT[name], np.random.default_rng(0)
    arrays = [
        arm.random_configuration(rng, size=4) if QUANTITIES[key].configuration else rng.normal(size=(4, arm.nv))
        for key in row.inputs
    ]
    names = names_for(arm.tree, row)
    result, expected = getattr(arm.xarray, name)(*arrays, *names), listed(getattr(arm, name)(*arrays, *names))
    parts = [result] if isinstance(result, xr.DataArray) else [*result.data_vars.values()]
    assert len(parts) == len(expected)
    for part, array, output in zip(parts, expected, row.outputs, strict=True):
        assert part.dims[0] == "sample" and np.array_equal(part.values, array)
        assert part.attrs["units"] and part.attrs["units"] in output.units
        for dim in part.dims[1:]:
            assert dim in part.coords or part.sizes[dim] == 0 or dim in ("loop", "force_element"), dim


def test_labelled_results_of_xarray_have_labels_units_and_frames(arm: lw.Robot) -> None:
    (q, v, a), (Q, V, A) = states(arm)
    torque = arm.xarray.inverse_dynamics(Q, V, A)
    assert torque.dims == ("time", "dof") and torque.name == "inverse_dynamics"
    assert torque.dof.values.tolist() == [*arm.v_names] and np.array_equal(torque.time, TIMES)
    assert torque.attrs["units"] == "N·m"
    elbow = arm.inverse_dynamics(q, v, a)[2, arm.v_names.index("elbow")]
    assert torque.sel(dof="elbow", time=TIMES[2]).item() == elbow
    pose = arm.xarray.pose(Q, "hand", relative_to="tool")
    assert (pose.attrs["frame"], pose.attrs["relative_to"]) == ("hand", "tool")
    expected = arm.pose(q, "hand", relative_to="tool")
    assert np.array_equal(pose.sel(column="position", row=["x", "y", "z"]), expected[:, :3, 3])
    assert arm.xarray.mass_matrix(Q).dims == ("time", "dof", "dof_2")
    assert arm.xarray.jacobian(Q, "hand").sel(component="angular.z", dof="elbow").dims == ("time",)
    assert arm.xarray.point_position(Q, ["hand", "tool"]).point.values.tolist() == ["hand", "tool"]
    assert [*arm.xarray.power(Q, V, A).data_vars] == ["joints", "wrenches", "dissipated"]
    gantry = lw.load("quadruped", floating_base=True)
    assert gantry.xarray.gravity_force(gantry.neutral()).attrs["units"] == "N·m, N"


def test_labelled_arguments_of_xarray_are_matched_by_label(arm: lw.Robot) -> None:
    (q, v, a), (Q, V, A) = states(arm)
    expected = arm.inverse_dynamics(q, v, a)
    rng = np.random.default_rng(1)
    mixed = V.isel(dof=rng.permutation(7)).transpose("dof", "time")
    assert np.array_equal(arm.xarray.inverse_dynamics(Q, mixed, A.drop_vars("dof")), expected)
    assert np.array_equal(arm.xarray.inverse_dynamics(Q[2], v[2], A[2]), expected[2])
    table = arm.xarray.integrate(Q.rename(time="start"), V)  # batches of other names: every pair
    assert table.dims == ("start", "time", "coordinate")
    assert np.array_equal(table, arm.integrate(q[:, None], v))
    assert np.array_equal(arm.xarray.pose({"elbow": 0.3}, "hand"), arm.pose({"elbow": 0.3}, "hand"))
    wrench = xr.DataArray(np.arange(6.0), dims="component")
    result = arm.xarray.inverse_dynamics(Q, V, A, wrenches={"hand": wrench}, gravity=[0.0, 0.0, -1.6])
    plain = arm.inverse_dynamics(q, v, a, wrenches={"hand": wrench.values}, gravity=[0.0, 0.0, -1.6])
    assert np.array_equal(result, plain)


def test_lazy_labelled_arrays_of_xarray_give_lazy_results(arm: lw.Robot) -> None:
    (q, v, a), (Q, V, A) = states(arm)
    result = arm.xarray.inverse_dynamics(Q.chunk(time=4), V, A)
    assert result.chunks == ((4, 2), (7,)) and result.dof.values.tolist() == [*arm.v_names]
    assert np.array_equal(result.compute(), arm.inverse_dynamics(q, v, a))
    several = arm.xarray.power(Q.chunk(time=4), V, A)
    assert several.chunks and np.array_equal(several.joints.compute(), arm.power(q, v, a).joints)
    with pytest.raises(ValueError, match=r"pose: q: expected one chunk along the last dimension, .*rechunk"):
        arm.xarray.pose(Q.chunk(coordinate=4), "hand")


def test_wrong_labelled_arguments_of_xarray_are_refused(arm: lw.Robot) -> None:
    (q, v, _), (Q, V, _) = states(arm)
    pose, integrate, of_q = arm.xarray.pose, arm.xarray.integrate, "pose: q: expected "
    renamed = ["elbo" if x == "elbow" else x for x in arm.q_names]
    twice = [*arm.q_names[:6], arm.q_names[0]]
    later, degrees = V.assign_coords(time=TIMES + 1.0), Q.assign_attrs(units="deg")
    unknown = "pose: q: no label of dimension 'coordinate' named 'elbo'; did you mean 'elbow'"
    refused: list[tuple[type[Exception], str, Any]] = [
        (AttributeError, "'poses'; did you mean 'pose'", lambda: arm.xarray.poses),
        (ValueError, f"{of_q}the dimension 'coordinate', .*rename", lambda: pose(Q.rename(coordinate="q"), "hand")),
        (KeyError, unknown, lambda: pose(Q.assign_coords(coordinate=renamed), "hand")),
        (ValueError, f"{of_q}each label .* once", lambda: pose(Q.assign_coords(coordinate=twice), "hand")),
        (ValueError, "pose: q: .*expected the label 'wrist_roll'", lambda: pose(Q[:, :6], "hand")),
        (ValueError, r"pose: q: .*got shape \(6, 6\)", lambda: pose(Q.drop_vars("coordinate")[:, :6], "hand")),
        (ValueError, "integrate: expected arrays with the same labels", lambda: integrate(Q, later)),
        (ValueError, "integrate: v: expected a DataArray, since q has a batch", lambda: integrate(Q, v)),
        (ValueError, f"{of_q}values in rad, got the attribute units='deg'", lambda: pose(degrees, "hand")),
        (ValueError, f"{of_q}no dimension 'row'", lambda: pose(Q.rename(time="row"), "hand")),
        (KeyError, "no frame named 'hnd'; did you mean 'hand'", lambda: pose(Q, "hnd")),
        (TypeError, "pose: out: .*remove out=", lambda: pose(Q, "hand", out=q)),
        (TypeError, "'relativ_to'; did you mean 'relative_to'", lambda: pose(Q, "hand", relativ_to="tool")),
        (TypeError, "pose: .*missing a required argument: 'frame'", lambda: pose(Q)),
        (TypeError, "integrate: no argument named 'vv'; did you mean 'v'", lambda: integrate(Q, vv=V)),
        (TypeError, f"{of_q}a DataArray or an array, got a Dataset", lambda: pose(Q.to_dataset(name="q"), "hand")),
        (TypeError, f"{of_q}a dict of numbers or NumPy arrays", lambda: pose({"elbow": Q[:, 0]}, "hand")),
        (ValueError, r"pose: q\[\d, \d\] is NaN", lambda: pose(Q.where(Q < 1.0), "hand")),
    ]
    for kind, message, call in refused:
        with pytest.raises(kind, match=message):
            call()


def test_labelled_functions_of_xarray_are_listed_with_signatures(arm: lw.Robot) -> None:
    assert {*ROBOT} == {*dir(arm.xarray)}
    assert str(arm.xarray.pose.__signature__).startswith("(q: 'Array', frame: 'str', *, relative_to")
    assert "X_AB" in (arm.xarray.pose.__doc__ or "")


def test_loads_are_dicts_and_parameters_have_their_names_as_labels() -> None:
    request_of: Any = LabelledFunction._request
    labels_of: Any = LabelledFunction._labels
    spec = SimpleNamespace(name="inverse_dynamics", wrench_argument="wrenches")
    with pytest.raises(TypeError, match=r"inverse_dynamics: wrenches: expected a dict by frame, as in"):
        request_of(SimpleNamespace(_spec=spec), {}, [np.zeros(6)], "world", [])
    robot = SimpleNamespace(parameter_names=lambda passive: ["mass", "armature"][: 1 + passive], tree=None)
    for passive, names in ((False, ("mass",)), (True, ("mass", "armature"))):
        request = SimpleNamespace(options=(("passive", passive),))
        assert labels_of(SimpleNamespace(_robot=robot), "parameter", request) == names
