"""Digest of a program: it covers everything, so any change gives another digest."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from linkwork.compiler.cache.program_digest import content
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, Instruction, Port, Program
from linkwork.compiler.trace.trace import trace
from linkwork.expr import fori_loop
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.operations import BY_NAME, Lowering, Operation

PROGRAM = trace(
    lambda x, y: ([f.sin(x[0]) * y + 2.5 * x[1], f.cos(x[0])], f.where(x[0] < y, x[1], -0.0)), "one", {"x": 2, "y": ()}
)
LOOP = trace(
    lambda x: fori_loop(0, 3, lambda k, y: f.sin(y) * x + fori_loop(0, 2, lambda i, z: z * (2.0 + k) + i, y), x),
    "loop",
    {"x": ()},
)
NAMES = {(Program, "name"), (Port, "name")}


def altered(value: Any) -> list[Any]:
    """Return values of the same kind that differ from this one.  A new kind needs a line here."""
    if value is None:
        return [0, 1.0, (), "x", PROGRAM]  # what an instruction without a value may come to have
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float) and math.isinf(value):
        return [0.0, -value]
    if isinstance(value, float):
        return [value + 1.0, -value, value * (1 + 2**-52) if value else 5e-324]
    if isinstance(value, str):
        return [value + "x"]
    if isinstance(value, Operation):
        return [operation for operation in BY_NAME.values() if operation is not value][:40] + variants(value)
    if isinstance(value, Instruction):
        return [
            value._replace(**{name: changed})
            for name in Instruction._fields
            for changed in altered(getattr(value, name))
        ]
    if isinstance(value, tuple):
        if not value:
            return [(0,)]
        inside = [(*value[:k], changed, *value[k + 1 :]) for k in range(len(value)) for changed in altered(value[k])]
        return [*inside, (*value, value[-1]), value[:-1], *([value[::-1]] if value != value[::-1] else [])]
    if isinstance(value, (Program, Port, Lowering, Region, Loop)):
        return variants(value)
    raise AssertionError(f"{value!r} is of a kind that the name may not cover")


def variants(value: Any) -> list[Any]:
    """Return the variants of a dataclass with one field altered, except for names that code does not depend on."""
    copies = []
    for field in fields(value):
        old = getattr(value, field.name)
        if (type(value), field.name) in NAMES or callable(old):
            continue
        if isinstance(value, Operation):  # which fills in some fields that are left empty
            changed = [replace(value, **{field.name: new}) for new in altered(old) if old is not None]
            copies += [copy for copy in changed if getattr(copy, field.name) != old]
        else:
            copies += [replace(value, **{field.name: new}) for new in altered(old)]
    return copies


@pytest.mark.parametrize("program", [PROGRAM, optimize(PROGRAM), LOOP], ids=["traced", "optimised", "loops in loops"])
def test_changing_any_field_of_a_program_changes_its_digest(program: Program) -> None:
    changed = variants(program)
    names = [content(program_variant) for program_variant in (program, *changed)]
    assert names.count(names[0]) == 1 and len(changed) > 500
    by_name: dict[str, Program] = {}
    for name, program_variant in zip(names, (program, *changed), strict=True):
        assert program_variant == by_name.setdefault(name, program_variant)  # two that share a name are the same change


def test_names_of_a_program_and_its_ports_do_not_change_its_digest() -> None:
    ports = tuple(replace(port, name=f"other_{port.name}") for port in PROGRAM.inputs)
    assert content(replace(PROGRAM, name="two", inputs=ports)) == content(PROGRAM)


def test_programs_with_signed_zeros_integers_and_booleans_have_different_digests() -> None:
    def of(value: Any) -> str:
        return content(Program("x", (), (Port("y", ()),), (Instruction(CONSTANT, (), value),), (0,)))

    assert len({of(value) for value in (0.0, -0.0, 0, False, None, "0", (0,))}) == 7


def test_fields_added_to_programs_or_instructions_become_part_of_the_digest() -> None:
    """Fields that are added to a program or an instruction need no line in the digest."""

    @dataclass(frozen=True)
    class Further(Program):
        regions: tuple[Program, ...] = ()

    plain = [getattr(PROGRAM, field.name) for field in fields(Program)]
    assert len({content(Further(*plain, regions=regions)) for regions in ((), (PROGRAM,), (PROGRAM, PROGRAM))}) == 3
    longer = [((*PROGRAM.instructions[0], bound), *PROGRAM.instructions[1:]) for bound in (None, 1, 2)]
    assert len({content(replace(PROGRAM, instructions=instructions)) for instructions in longer}) == 3  # type: ignore[arg-type]


def test_digest_of_a_program_with_unknown_kinds_of_values_raises_an_error() -> None:
    with pytest.raises(TypeError, match=r"a program's content: expected numbers"):
        content(replace(PROGRAM, guards={1}))  # type: ignore[arg-type]
