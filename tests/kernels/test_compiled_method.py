"""Methods generated from their signatures: they match their entries, and messages are Python's."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.compiled_method import computed, method_of
from linkwork.robot.robot_table import ROBOT

ARM = lw.load("arm7")
Q = np.full(7, 0.3)


def test_method_signature_that_contradicts_its_table_entry_is_refused():
    def pose(self, q, frame, *, out=None): ...

    def mass_matrix(self, q, *, passive=True, out=None): ...

    def bias_force(self, v, q, *, out=None): ...

    def undocumented(self, q): ...

    for stub in (pose, mass_matrix, bias_force):
        with pytest.raises(TypeError, match=f"{stub.__name__}: .*(its specification|another default)"):
            method_of(ROBOT[stub.__name__], stub)
    # Python 3.11 shows the error of a class body as a RuntimeError.
    with pytest.raises((KeyError, RuntimeError), match="nothing"):
        type("Own", (lw.Robot,), {"nothing": computed(undocumented)})


def test_generated_methods_have_the_signature_documentation_and_source_of_their_table_entry():
    assert inspect.signature(ARM.pose).parameters["relative_to"].default == "world"
    assert lw.Robot.pose.__doc__.startswith("Compute X_AB")
    assert lw.Robot.pose.__qualname__ == "Robot.pose"
    assert "computed" in inspect.getsource(lw.Robot.pose)


def test_error_messages_of_generated_methods_name_the_robots_method():
    for call, message in (
        (lambda: ARM.pose(Q), r"pose: frame: expected a value, got none; the robot's frames are .*'hand'"),
        (lambda: ARM.pose(Q, relative_to="world"), r"pose: frame: expected a value, got none"),
        (lambda: ARM.pose(frame="hand"), r"pose: q: expected a value, got none"),
        (lambda: ARM.mass_matrix(), r"mass_matrix: q: expected a value, got none"),
        (lambda: ARM.inverse_dynamics(Q, a=Q), r"inverse_dynamics: v: expected a value, got none"),
        (lambda: ARM.inverse_dynamics(Q, passive=True), r"inverse_dynamics: v, a: expected values, got none"),
        (lambda: ARM.linearize(Q), r"linearize: v, tau: expected values, got none; .*linear_model\(robot, q\) uses"),
        (
            lambda: ARM.pose(Q, "hand", "world"),
            r"pose: expected at most 2 positional arguments, got 3; options are passed by name",
        ),
        (
            lambda: ARM.pose(Q, "hand", relative="world"),
            r"pose: no option named 'relative'; did you mean",
        ),
        (lambda: ARM.mass_matrix(Q, passive=1.5), r"mass_matrix: passive: expected one of False, True, got 1\.5"),
        (lambda: ARM.inverse_dynamics(Q, Q, Q, wrenches=[1.0] * 6), r"inverse_dynamics: wrenches: expected a dict by"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            call()


def test_defaults_passed_by_keyword_or_as_none_give_the_same_result():
    plain = ARM.pose(Q, "hand")
    into = np.empty((4, 4))
    assert np.array_equal(ARM.pose(Q, "hand", relative_to="world"), plain)
    assert ARM.pose(Q, frame="hand", out=into) is into
    assert np.array_equal(into, plain)
    assert np.array_equal(ARM.bias_force(Q, Q, wrenches=None, gravity=None), ARM.bias_force(Q, v=Q))
    assert np.array_equal(ARM.bias_force(Q, Q, wrenches={}), ARM.bias_force(Q, Q))


@pytest.mark.slow(every=5)
def test_expressions_of_sympy_are_refused_with_the_alternative():
    sympy = pytest.importorskip("sympy")
    q = list(sympy.symbols(f"q:{ARM.nq}"))
    with pytest.raises(ValueError, match=r"mass_matrix: q: .*type object.*SymPy's mechanics has expressions"):
        ARM.mass_matrix(q)
