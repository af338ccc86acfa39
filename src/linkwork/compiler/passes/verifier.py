"""The verifier of programs, which runs between passes when debugging and in the tests."""

from __future__ import annotations

from linkwork.compiler.instruction_rules import InvalidProgramError, verify_instructions
from linkwork.compiler.program import Program

__all__ = ["InvalidProgramError", "verify"]


def verify(program: Program) -> None:
    """Raise InvalidProgramError unless every value is defined before use, with the right arity and kind.

    Kinds are number, truth value and the pair that `sincos` gives. Bodies of loops, choices and calls are verified too.
    """
    verify_instructions(program, program.name, set())
    if len(program.results) != sum(port.size for port in program.outputs) + program.guards:
        raise InvalidProgramError(f"{program.name}: the results do not fill the outputs and {program.guards} guards")
