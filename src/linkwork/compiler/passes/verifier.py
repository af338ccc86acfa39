"""The verifier: what must hold of every program, checked between passes when debugging and in the tests."""

from __future__ import annotations

from typing import NoReturn

from linkwork.compiler.outlined_calls import Rows
from linkwork.compiler.program import CONSTANT, INPUT, Program
from linkwork.expr.control.branch_and_call_instructions import Choice
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar.block import InstructionList, Region, bodies_of
from linkwork.expr.scalar.interpreter import Instruction
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = ["InvalidProgramError", "verify"]

_KINDS = {"n": "number", "t": "truth", "p": "pair", "b": "bundle"}


class InvalidProgramError(AssertionError):
    """A program breaks a rule: a defect of the pass that made it."""


def verify(program: Program) -> None:
    """Raise InvalidProgramError unless values are defined before use, with the right arity and kind.

    Kinds are number, truth value and the pair that `sincos` gives.  Bodies of loops, choices and calls are looked at
    as the program is.
    """
    _verify(program, program.name, set())
    if len(program.results) != sum(port.size for port in program.outputs) + program.guards:
        raise InvalidProgramError(f"{program.name}: the results do not fill the outputs and {program.guards} guards")


def _verify(listing: InstructionList, name: str, done: set[Region]) -> None:
    gives: list[str] = []
    for k, instruction in enumerate(listing.instructions):
        operation, args, value = instruction
        bundle = value if operation.arity < 0 else None
        if len(args) != operation.arity and bundle is None:
            _refuse(name, k, instruction, f"expected {operation.arity} arguments, got {len(args)}")
        if args and not (min(args) >= 0 and max(args) < k):
            _refuse(name, k, instruction, "an argument is not defined before it")
        if operation is INPUT and not (isinstance(value, int) and 0 <= value < listing.elements_in):
            _refuse(name, k, instruction, f"no input element {value}")
        if operation is PART and not 0 <= value < listing.instructions[args[0]].value.count:
            _refuse(name, k, instruction, f"there is no part {value}")
        if operation is CONSTANT and not isinstance(value, float):
            _refuse(name, k, instruction, f"a constant must be a float, got {value!r}")
        got = "".join([gives[a] for a in args])
        wanted = operation.kinds if bundle is None else bundle.kinds(len(args))
        if got != wanted:
            expected, result = (tuple(_KINDS[kind] for kind in kinds) for kinds in (wanted, got))
            _refuse(name, k, instruction, f"expected arguments {expected}, got {result}")
        gives.append(operation.gives)
        if bundle is not None:
            _verify_bodies(bundle, len(args), _where(name, k, instruction), done)
    for k, r in enumerate(listing.results):
        kind = "t" if k < listing.first else "n"
        if not 0 <= r < len(gives) or gives[r] != kind:
            raise InvalidProgramError(f"{name}: result {r} is not a {_KINDS[kind]}")


def _refuse(name: str, k: int, instruction: Instruction, why: str) -> NoReturn:
    raise InvalidProgramError(f"{_where(name, k, instruction)}: {why}")


def _where(name: str, k: int, instruction: Instruction) -> str:
    return f"{name}: value {k} = {instruction.operation.name}{instruction.args}"


def _verify_bodies(bundle: MultiResult, arguments: int, where: str, done: set[Region]) -> None:
    """What a bundle runs takes its arguments and gives its results.  Bodies that are equal are looked at once."""
    bodies = bodies_of(bundle)
    if isinstance(bundle, Rows):
        _verify_rows(bundle, arguments, where, done)
        return
    takes, gives = arguments, bundle.count
    if isinstance(bundle, Loop):
        takes -= (bundle.max_iterations - 1) * bundle.inputs
        gives = bundle.conditional + bundle.carried + bundle.kept
        if bundle.conditional and (bundle.inputs or bundle.kept):
            raise InvalidProgramError(f"{where}: a loop with a condition has no inputs of steps, and keeps none")
    elif isinstance(bundle, Choice):
        takes -= 1
    for j, body in enumerate(bodies):
        if (body.takes, len(body.results)) != (takes, gives):
            result = f"{body.takes} -> {len(body.results)}"
            raise InvalidProgramError(f"{where}: expected a body of {takes} -> {gives} numbers, got {result}")
        _verify_once(body, f"{where}: body {j}", done)


def _verify_rows(rows: Rows, arguments: int, where: str, done: set[Region]) -> None:
    """Every row has to give its body what it takes, from places where something stands, and leave results in others."""
    filled = set(range(-arguments, 0))
    for r, (body, taken, constants, left) in enumerate(rows.rows):
        region = rows.bodies[body]
        if (region.takes, len(region.results)) != (len(taken) + len(constants), len(left)):
            result = f"{len(taken)} and {len(constants)} constants -> {len(left)}"
            raise InvalidProgramError(
                f"{where}: row {r}: expected {region.takes} -> {len(region.results)}, got {result}"
            )
        if not filled.issuperset(taken):
            raise InvalidProgramError(f"{where}: row {r}: nothing stands in the places {sorted({*taken} - filled)}")
        if {*taken} & {*left} or not all(0 <= place < rows.places for place in left):
            raise InvalidProgramError(f"{where}: row {r}: it cannot leave its results in the places {left}")
        filled.update(left)
    if not filled.issuperset(range(rows.results)):
        raise InvalidProgramError(f"{where}: some results are left by no row")
    for k, region in enumerate(rows.bodies):
        _verify_once(region, f"{where}: body {k}", done)


def _verify_once(body: Region, name: str, done: set[Region]) -> None:
    if body not in done:
        done.add(body)
        _verify(body, name, done)
