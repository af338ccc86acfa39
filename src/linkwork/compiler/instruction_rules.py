"""The rules of instructions: values are defined before use, with the right arity and kind."""

from __future__ import annotations

from typing import NoReturn

from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.expr.control.branch_and_call_instructions import Choice
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar.block import InstructionList, Region, bodies_of
from linkwork.expr.scalar.interpreter import CONSTANT, INPUT, Instruction
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = ["InvalidProgramError", "verify_instructions"]

_NAMED = 3  # largest number of arguments that a message names
_KINDS = {"n": "number", "t": "truth", "p": "pair", "b": "bundle"}


class InvalidProgramError(AssertionError):
    """A program breaks a rule of programs, through a defect of the pass that produced it."""


def verify_instructions(listing: InstructionList, name: str, done: set[Region]) -> None:
    """Raise InvalidProgramError unless every value is defined before use, with the right arity and kind.

    Kinds are number, truth value and the pair that `sincos` gives.  Bodies of loops, choices and calls are verified
    too, except for those in ``done``, which is extended.
    """
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
            _refuse(name, k, instruction, f"result {value} does not exist")
        if operation is CONSTANT and not isinstance(value, float):
            _refuse(name, k, instruction, f"a constant must be a float, got {value!r}")
        got = "".join([gives[a] for a in args])
        required = operation.kinds if bundle is None else bundle.kinds(len(args))
        if got != required:
            expected, result = (tuple(_KINDS[kind] for kind in kinds) for kinds in (required, got))
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
    args = (
        map(str, instruction.args) if len(instruction.args) <= _NAMED else [*map(str, instruction.args[:_NAMED]), "..."]
    )
    return f"{name}: value {k} = {instruction.operation.name}({', '.join(args)})"


def _verify_bodies(bundle: MultiResult, arguments: int, where: str, done: set[Region]) -> None:
    """Verify that bodies accept the bundle's arguments and return its results; equal bodies are verified once."""
    bodies = bodies_of(bundle)
    if isinstance(bundle, OutlinedCalls):
        _verify_calls(bundle, arguments, where, done)
        return
    takes, gives = arguments, bundle.count
    if isinstance(bundle, Loop):
        takes += bundle.inputs - len(bundle.reads) - bundle.max_iterations * bundle.own_inputs
        gives = bundle.conditional + bundle.carried + bundle.outputs
        if bundle.conditional and (bundle.inputs or bundle.outputs):
            raise InvalidProgramError(
                f"{where}: a loop with a condition has neither inputs nor outputs of each iteration"
            )
    elif isinstance(bundle, Choice):
        takes -= 1
    for j, body in enumerate(bodies):
        if (body.takes, len(body.results)) != (takes, gives):
            result = f"{body.takes} -> {len(body.results)}"
            raise InvalidProgramError(f"{where}: expected a body of {takes} -> {gives} values, got {result}")
        _verify_once(body, f"{where}: body {j}", done)


def _verify_calls(outlined: OutlinedCalls, arguments: int, where: str, done: set[Region]) -> None:
    """Verify that every call reads slots that have a value and writes its results to other slots."""
    filled = set(range(-arguments, 0))
    for k, (body, inputs, constants, outputs) in enumerate(outlined.calls):
        region = outlined.bodies[body]
        if (region.takes, len(region.results)) != (len(inputs) + len(constants), len(outputs)):
            result = f"{len(inputs)} and {len(constants)} constants -> {len(outputs)}"
            raise InvalidProgramError(
                f"{where}: call {k}: expected {region.takes} -> {len(region.results)}, got {result}"
            )
        if not filled.issuperset(inputs):
            raise InvalidProgramError(f"{where}: call {k}: the slots {sorted({*inputs} - filled)} have no value")
        if {*inputs} & {*outputs} or not all(0 <= slot < outlined.slots for slot in outputs):
            raise InvalidProgramError(f"{where}: call {k}: it cannot write its results to the slots {outputs}")
        filled.update(outputs)
    if not filled.issuperset(range(outlined.results)):
        raise InvalidProgramError(f"{where}: no call writes some of the results")
    for k, region in enumerate(outlined.bodies):
        _verify_once(region, f"{where}: body {k}", done)


def _verify_once(body: Region, name: str, done: set[Region]) -> None:
    if body not in done:
        done.add(body)
        verify_instructions(body, name, done)
