"""The verifier: what must hold of every program, checked between passes when debugging and in the tests."""

from __future__ import annotations

from ..expr.bundle import PART
from .program import CONSTANT, INPUT, Program

__all__ = ["InvalidProgramError", "verify"]

_KINDS = {"n": "number", "t": "truth", "p": "pair", "b": "bundle"}


class InvalidProgramError(AssertionError):
    """A program breaks a rule: a defect of the pass that made it."""


def verify(program: Program) -> None:
    """Raise InvalidProgramError unless values are defined before use, with the right arity and kind.

    Kinds are number, truth value and the pair that `sincos` gives.
    """
    elements_in = sum(port.size for port in program.inputs)
    gives: list[str] = []
    for k, (operation, args, value) in enumerate(program.instructions):
        where = f"{program.name}: value {k} = {operation.name}{args}"
        bundle = value if operation.arity < 0 else None
        if len(args) != operation.arity and bundle is None:
            raise InvalidProgramError(f"{where}: expected {operation.arity} arguments, got {len(args)}")
        if any(not 0 <= a < k for a in args):
            raise InvalidProgramError(f"{where}: an argument is not defined before it")
        if operation is INPUT and not (isinstance(value, int) and 0 <= value < elements_in):
            raise InvalidProgramError(f"{where}: no input element {value}")
        if operation is PART and not 0 <= value < program.instructions[args[0]].value.count:
            raise InvalidProgramError(f"{where}: there is no part {value}")
        if operation is CONSTANT and not isinstance(value, float):
            raise InvalidProgramError(f"{where}: a constant must be a float, got {value!r}")
        got = "".join([gives[a] for a in args])
        wanted = operation.kinds if bundle is None else bundle.kinds(len(args))
        if got != wanted:
            expected, found = (tuple(_KINDS[kind] for kind in kinds) for kinds in (wanted, got))
            raise InvalidProgramError(f"{where}: expected arguments {expected}, got {found}")
        gives.append(operation.gives)
    if len(program.results) != sum(port.size for port in program.outputs) + program.guards:
        raise InvalidProgramError(f"{program.name}: the results do not fill the outputs and {program.guards} guards")
    for r in program.results:
        if not 0 <= r < len(gives) or gives[r] != "n":
            raise InvalidProgramError(f"{program.name}: result {r} is not a number")
