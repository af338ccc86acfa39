"""A program as a `casadi.Function`: it runs on CasADi's numbers as on any others.

The rows of the table of operations say what CasADi calls them; what has no counterpart there is refused by name.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from .passes.drop_rules import drop_rules
from .program import Instruction, Program

__all__ = ["import_casadi", "to_casadi"]


def to_casadi(program: Program) -> Any:
    """The program as a `casadi.Function` of SX: to differentiate, to optimise with, to put into other functions.

    Inputs and outputs keep their names; () becomes (1, 1), (n,) a column (n, 1), and of more than two dimensions all
    but the last become one: poses of shape (nb, 4, 4) become (4 nb, 4), one below the other.  An output of an input's
    name gets ``_out`` at its end.

    Raises ImportError where CasADi is not installed, and ValueError for an operation without a counterpart there.
    """
    casadi = import_casadi()
    program = drop_rules(program.unguarded)
    arguments, elements = [], []
    for port in program.inputs:
        argument = casadi.SX.sym(port.name, *_matrix(port.shape))
        arguments.append(argument)
        elements += argument.T.elements()  # CasADi's order is by columns

    def apply(instruction: Instruction, arguments: list[Any]) -> Any:
        operation = instruction.operation
        called = operation.casadi
        if operation.composition is None and isinstance(called, str) and not hasattr(casadi, called):
            raise ValueError(f"{program.name}: CasADi has no operation for linkwork's {operation.name!r}")
        return operation(*arguments)

    values = program.run(elements, apply, casadi.SX)
    names_in = [port.name for port in program.inputs]
    names_out: list[str] = []
    results, start = [], 0
    for port in program.outputs:
        rows, columns = _matrix(port.shape)
        parts = values[start : start + port.size]
        start += port.size
        column = casadi.vertcat(*parts) if parts else casadi.SX(0, 1)
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
