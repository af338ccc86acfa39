"""float32 functions by way of float64: arguments are widened, half a vector at a time, and results rounded.

A float64 result within 1 unit of its last place, rounded once more, is within 0.5001 units in the last place of
float32, and a special value stays what it is.
"""

from __future__ import annotations

from .emitter import Code, Definition, function_name, real_type

__all__ = ["single"]


def single(code: str, lanes: int, wide: tuple[Definition, ...], wide_lanes: int, arguments: str) -> Definition:
    """The float32 function that calls the last of `wide`, which has `wide_lanes` lanes."""
    narrow, part, double = (real_type(b, n) for b, n in ((32, lanes), (32, wide_lanes), (64, wide_lanes)))
    body = Code(lanes, False)
    results = []
    for first in range(0, lanes, wide_lanes):
        given = []
        for name in arguments:
            value = f"%{name}"
            if wide_lanes < lanes:
                places = ", ".join(f"i32 {first + i}" for i in range(wide_lanes))
                mask = f"<{wide_lanes} x i32> <{places}>"
                value = body.emit(f"shufflevector {narrow} {value}, {narrow} poison, {mask}")
            given.append(f"{double} {body.emit(f'fpext {part} {value} to {double}')}")
        result = body.emit(f"call {double} {wide[-1].name}({', '.join(given)})")
        results.append(body.emit(f"fptrunc {double} {result} to {part}"))
    result = results[0]
    if wide_lanes < lanes:
        places = ", ".join(f"i32 {i}" for i in range(lanes))
        mask = f"<{lanes} x i32> <{places}>"
        result = body.emit(f"shufflevector {part} {results[0]}, {part} {results[1]}, {mask}")
    name = function_name(code, 32, lanes)
    parameters = ", ".join(f"{narrow} %{a}" for a in arguments)
    head = f"define internal {narrow} {name}({parameters}) noinline nounwind {{"
    return Definition(name, "\n".join([head, *body.lines, f"  ret {narrow} {result}", "}\n"]), ())
