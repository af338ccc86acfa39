"""A program as a `casadi.Function`: it runs on CasADi's numbers as on any others.

The rows of the table of operations say what CasADi calls them; what has no counterpart there is refused by name.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from linkwork.compiler.casadi.to_casadi_casadi_control import ControlWriter
from linkwork.compiler.passes import ALL, optimize
from linkwork.compiler.program import Program

__all__ = ["import_casadi", "to_casadi"]

_OTHERS = [one_pass.__name__ for one_pass in ALL if one_pass.__name__ != "drop_rules"]


def to_casadi(program: Program) -> Any:
    """The program as a `casadi.Function`: to differentiate, to optimise with, to put into other functions.

    Inputs and outputs keep their names; () becomes (1, 1), (n,) a column (n, 1), and of more than two dimensions all
    but the last become one: poses of shape (nb, 4, 4) become (4 nb, 4), one below the other.  An output of an input's
    name gets ``_out`` at its end.

    It is a function of SX, with loops written out and both branches of choices computed.  Where that would be very
    long, it is one of MX, with loops that are `mapaccum` and branches of which one is computed.

    Raises ImportError where CasADi is not installed, and ValueError for what has no counterpart there: an operation, or
    a loop with a condition.
    """
    casadi = import_casadi()
    program = optimize(program.unguarded, without=_OTHERS)
    writer = ControlWriter(casadi, program.name)
    symbols, elements_of = writer.world(program)
    arguments, elements = [], []
    for port in program.inputs:
        argument = symbols.sym(port.name, *_matrix(port.shape))
        arguments.append(argument)
        elements += elements_of(argument.T)  # CasADi's order is by columns
    values = writer.run(program, elements, symbols)
    names_in = [port.name for port in program.inputs]
    names_out: list[str] = []
    results, start = [], 0
    for port in program.outputs:
        rows, columns = _matrix(port.shape)
        parts = values[start : start + port.size]
        start += port.size
        column = casadi.vertcat(*parts) if parts else symbols(0, 1)
        results.append(casadi.reshape(column, columns, rows).T)
        out = port.name
        while out in names_in or out in names_out:
            out += "_out"
        names_out.append(out)
    called = program.name
    if not casadi.Function.check_name(called):
        called = casadi.Function.fix_name(called)
    return casadi.Function(called, arguments, results, names_in, names_out)


def import_casadi() -> Any:
    """CasADi.  Raises ImportError where it is not installed."""
    try:
        return importlib.import_module("casadi")
    except ImportError as error:
        raise ImportError('this takes CasADi, which is not installed: pip install "linkwork[casadi]"') from error


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """CasADi's shape for an array's: its elements by rows are the array's in row-major order."""
    if len(shape) < 2:
        return math.prod(shape), 1
    return math.prod(shape[:-1]), shape[-1]
