"""The verifier: what must hold of every program, checked between passes when debugging and in the tests."""

from __future__ import annotations

from ..expr.bundle import PART, Bundle
from ..expr.control.choice import Choice
from ..expr.control.loop import Loop
from ..expr.region import Listing, bodies_of
from .program import CONSTANT, INPUT, Program
from .rows import Rows

__all__ = ["InvalidProgramError", "verify"]

_KINDS = {"n": "number", "t": "truth", "p": "pair", "b": "bundle"}


class InvalidProgramError(AssertionError):
    """A program breaks a rule: a defect of the pass that made it."""


def verify(program: Program) -> None:
    """Raise InvalidProgramError unless values are defined before use, with the right arity and kind.

    Kinds are number, truth value and the pair that `sincos` gives.  Bodies of loops, choices and calls are looked at
    as the program is.
    """
    _verify(program, program.name)
    if len(program.results) != sum(port.size for port in program.outputs) + program.guards:
        raise InvalidProgramError(f"{program.name}: the results do not fill the outputs and {program.guards} guards")


def _verify(listing: Listing, name: str) -> None:
    gives: list[str] = []
    for k, (operation, args, value) in enumerate(listing.instructions):
        where = f"{name}: value {k} = {operation.name}{args}"
        bundle = value if operation.arity < 0 else None
        if len(args) != operation.arity and bundle is None:
            raise InvalidProgramError(f"{where}: expected {operation.arity} arguments, got {len(args)}")
        if any(not 0 <= a < k for a in args):
            raise InvalidProgramError(f"{where}: an argument is not defined before it")
        if operation is INPUT and not (isinstance(value, int) and 0 <= value < listing.elements_in):
            raise InvalidProgramError(f"{where}: no input element {value}")
        if operation is PART and not 0 <= value < listing.instructions[args[0]].value.count:
            raise InvalidProgramError(f"{where}: there is no part {value}")
        if operation is CONSTANT and not isinstance(value, float):
            raise InvalidProgramError(f"{where}: a constant must be a float, got {value!r}")
        got = "".join([gives[a] for a in args])
        wanted = operation.kinds if bundle is None else bundle.kinds(len(args))
        if got != wanted:
            expected, found = (tuple(_KINDS[kind] for kind in kinds) for kinds in (wanted, got))
            raise InvalidProgramError(f"{where}: expected arguments {expected}, got {found}")
        gives.append(operation.gives)
        if bundle is not None:
            _verify_bodies(bundle, len(args), where)
    for k, r in enumerate(listing.results):
        kind = "t" if k < listing.first else "n"
        if not 0 <= r < len(gives) or gives[r] != kind:
            raise InvalidProgramError(f"{name}: result {r} is not a {_KINDS[kind]}")


def _verify_bodies(bundle: Bundle, arguments: int, where: str) -> None:
    """What a bundle runs has to take its arguments and to give its results."""
    bodies = bodies_of(bundle)
    if isinstance(bundle, Rows):
        _verify_rows(bundle, arguments, where)
        return
    takes, gives = arguments, bundle.count
    if isinstance(bundle, Loop):
        takes -= (bundle.at_most - 1) * bundle.inputs
        gives = bundle.conditional + bundle.carried + bundle.kept
        if bundle.conditional and (bundle.inputs or bundle.kept):
            raise InvalidProgramError(f"{where}: a loop with a condition has no inputs of steps, and keeps none")
    elif isinstance(bundle, Choice):
        takes -= 1
    for j, body in enumerate(bodies):
        if (body.takes, len(body.results)) != (takes, gives):
            found = f"{body.takes} -> {len(body.results)}"
            raise InvalidProgramError(f"{where}: expected a body of {takes} -> {gives} numbers, got {found}")
        _verify(body, f"{where}: body {j}")


def _verify_rows(rows: Rows, arguments: int, where: str) -> None:
    """Every row has to give its body what it takes, from places where something stands, and leave results in others."""
    filled = set(range(-arguments, 0))
    for r, (body, taken, constants, left) in enumerate(rows.rows):
        region = rows.bodies[body]
        if (region.takes, len(region.results)) != (len(taken) + len(constants), len(left)):
            found = f"{len(taken)} and {len(constants)} constants -> {len(left)}"
            raise InvalidProgramError(
                f"{where}: row {r}: expected {region.takes} -> {len(region.results)}, got {found}"
            )
        if not filled.issuperset(taken):
            raise InvalidProgramError(f"{where}: row {r}: nothing stands in the places {sorted({*taken} - filled)}")
        if {*taken} & {*left} or not all(0 <= place < rows.places for place in left):
            raise InvalidProgramError(f"{where}: row {r}: it cannot leave its results in the places {left}")
        filled.update(left)
    if not filled.issuperset(range(rows.results)):
        raise InvalidProgramError(f"{where}: some results are left by no row")
    for k, region in enumerate(rows.bodies):
        _verify(region, f"{where}: body {k}")
