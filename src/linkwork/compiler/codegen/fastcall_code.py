"""LLVM code of a call with one sample by CPython's fastcall protocol: see `linkwork.compiler.runtime.fastcall`."""

from __future__ import annotations

from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.codegen.llvm_ir import MAX_UNROLLED, IrFunction, IrModule
from linkwork.compiler.codegen.runtimes import ON_STACK
from linkwork.compiler.codegen.straight_line import sample_declaration
from linkwork.compiler.port import Port
from linkwork.compiler.program import Program
from linkwork.compiler.runtime.fastcall import (
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMENSIONS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_TYPE,
    CONTIGUOUS_ALIGNED,
    SLOT,
    TABLE,
    TUPLE_SIZE,
    WRITEABLE,
    items_offset,
)

__all__ = ["fast_function"]


def fast_function(text: IrModule, program: Program) -> None:
    """Add ``@fast(self, args, nargs, names)``, which CPython calls for one sample, to the module.

    ``self`` is a tuple of three: the Python callable for all other calls; the type that holds a single result, or None;
    and a callable that runs once after a set number of calls.  The number of calls left is in the data table.
    """
    f = IrFunction("define ptr @.fast(ptr %self, ptr %args, i64 %nargs, ptr %names)", end="ret ptr %answer")
    f.declare(sample_declaration(program))
    f.declare(f"@.python = global [{len(TABLE)} x ptr] zeroinitializer")
    api = {name: f.load("ptr", f.at("@.python", 8 * k)) for k, name in enumerate(TABLE)}
    calls = f.at("@.python", 8 * TABLE.index("calls"))
    left = f.let(f"sub i64 {f.load('i64', calls)}, 1")
    f.store("i64", left, calls)
    f.require(f.let(f"icmp ne i64 {left}, 0"), "counted")
    f.require(f.let(f"icmp eq i64 %nargs, {len(program.inputs)}"), "other")
    out = _out(f, len(program.inputs), api)
    data: list[str] = []
    arrays: list[tuple[str, int]] = []
    for j, port in enumerate(program.inputs):
        array = f.load("ptr", f.at("%args", 8 * j))
        f.require(f.let(f"icmp eq ptr {f.load('ptr', f.at(array, ARRAY_TYPE))}, {api['ndarray']}"), "other")
        f.require(f.all_of(_layout_checks(f, array, port, api, CONTIGUOUS_ALIGNED)), "other")
        pointer = f.load("ptr", f.at(array, ARRAY_DATA))
        if port.size > MAX_UNROLLED:
            with f.loop(port.size) as element:
                x = f.load("double", f.at(pointer, f.let(f"shl i64 {element}, 3")))
                f.refuse(f.not_finite(DOUBLE, 1, [x]), "other")
        else:
            arrays.append((pointer, port.size))
        data.append(pointer)
    if any(size for _, size in arrays):
        f.refuse(f.any_not_finite(DOUBLE, arrays), "other")
    with f.unless(f.let(f"icmp eq ptr {out}, null")):
        _write(f, program, out, data, api)
    _make(f, program, data, api)
    f.label("counted")
    counted = f.load("ptr", f.at("%self", items_offset() + 16))
    f.do(f"%compared = call ptr {api['vectorcall']}(ptr {counted}, ptr %args, i64 %nargs, ptr %names)")
    f.do("ret ptr %compared")
    f.label("other")
    otherwise = f.load("ptr", f.at("%self", items_offset()))
    f.do(f"%answer = call ptr {api['vectorcall']}(ptr {otherwise}, ptr %args, i64 %nargs, ptr %names)")
    text.add(f)


def _out(f: IrFunction, nargs: int, api: dict[str, str]) -> str:
    """Emit code that reads the argument "out", and return the output array's address or null.

    A call with another keyword is passed to the Python callable.
    """
    f.do("%out = alloca ptr, align 8")
    f.store("ptr", "null", "%out")
    with f.unless(f.let("icmp eq ptr %names, null")):
        f.require(f.let(f"icmp eq i64 {f.load('i64', f.at('%names', TUPLE_SIZE))}, 1"), "other")
        name = f.load("ptr", f.at("%names", items_offset()))
        f.require(f.let(f"icmp eq ptr {name}, {api['out']}"), "other")
        out = f.load("ptr", f.at("%args", 8 * nargs))
        with f.unless(f.let(f"icmp eq ptr {out}, {api['none']}")):
            f.store("ptr", out, "%out")
    return f.load("ptr", "%out")


def _write(f: IrFunction, program: Program, out: str, data: list[str], api: dict[str, str]) -> None:
    """Emit code that computes the only result into the array ``out`` and returns the array.

    ``out`` must not overlap the inputs.  The program's guards, if any, are evaluated before the array is written.
    """
    if len(program.outputs) != 1 or (program.guards and 8 * program.outputs[0].size > ON_STACK):
        f.do("br label %other")
    else:
        (port,) = program.outputs
        f.require(f.let(f"icmp eq ptr {f.load('ptr', f.at(out, ARRAY_TYPE))}, {api['ndarray']}"), "other")
        f.require(f.all_of(_layout_checks(f, out, port, api, CONTIGUOUS_ALIGNED | WRITEABLE)), "other")
        start = f.load("ptr", f.at(out, ARRAY_DATA))
        end, apart = f.at(start, 8 * port.size), []
        for pointer, source in zip(data, program.inputs, strict=True):
            before = f.let(f"icmp ule ptr {f.at(pointer, 8 * source.size)}, {start}")
            apart.append(f.let(f"or i1 {before}, {f.let(f'icmp ule ptr {end}, {pointer}')}"))
        f.require(f.all_of(apart), "other")
        result = f.let(f"alloca [{port.size} x double], align 64") if program.guards else start
        status = f.let(f"call i32 @.sample({', '.join(f'ptr {d}' for d in [*data, result])})")
        f.require(f.let(f"icmp eq i32 {status}, 0"), "other")
        if program.guards:
            f.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
            f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {start}, ptr {result}, i64 {8 * port.size}, i1 false)")
        f.do(f"call void {api['retain']}(ptr {out})")
        f.do(f"ret ptr {out}")
    f.label("never")


def _make(f: IrFunction, program: Program, data: list[str], api: dict[str, str]) -> None:
    """Emit the creation of arrays for the results, and return them."""
    arrays: list[str] = []
    pointers = list(data)
    for j, port in enumerate(program.outputs):
        sizes = f"[{max(len(port.shape), 1)} x i64] [{', '.join(f'i64 {n}' for n in port.shape or (0,))}]"
        f.declare(f"@.shape{j} = internal constant {sizes}")
        array = f.let(
            f"call ptr {api['new_array']}(ptr {api['ndarray']}, i32 {len(port.shape)}, ptr @.shape{j}, "
            f"i32 {DOUBLE.number}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )
        f.require(f.let(f"icmp ne ptr {array}, null"), f"failed{j}")
        pointers.append(f.load("ptr", f.at(array, ARRAY_DATA)))
        arrays.append(array)
    status = f.let(f"call i32 @.sample({', '.join(f'ptr {d}' for d in pointers)})")
    f.require(f.let(f"icmp eq i32 {status}, 0"), "unused")
    results = [  # 0-dimensional results are scalars, as in NumPy
        array if port.shape else f.let(f"call ptr {api['as_scalar']}(ptr {array})")
        for array, port in zip(arrays, program.outputs, strict=True)
    ]
    if len(results) == 1:
        _return_only_result(f, results[0], api)
    else:
        f.require(f.all_of([f.let(f"icmp ne ptr {r}, null") for r in results]), "failed0")
        items = ", ".join(f"ptr {r}" for r in results)
        packed = f.let(f"call ptr (i64, ...) {api['pack_tuple']}(i64 {len(results)}, {items})")
        _release(f, api, results)
        f.require(f.let(f"icmp ne ptr {packed}, null"), "failed0")
        arguments = f.let(f"call ptr (i64, ...) {api['pack_tuple']}(i64 1, ptr {packed})")
        _release(f, api, [packed])
        f.require(f.let(f"icmp ne ptr {arguments}, null"), "failed0")
        named = f.let(f"call ptr {api['new_tuple']}(ptr {api['result']}, ptr {arguments}, ptr null)")
        _release(f, api, [arguments])
        f.do(f"ret ptr {named}")
    for j in range(len(arrays)):
        f.label(f"failed{j}")
        _release(f, api, arrays[:j])
        f.do("ret ptr null")
    f.label("unused")  # out of memory, or a guard is greater than zero: the Python callable reports it
    _release(f, api, arrays)
    f.do("br label %other")


def _return_only_result(f: IrFunction, result: str, api: dict[str, str]) -> None:
    """Emit the return of the only result: an array, or an object that holds the array if such a type was given."""
    holder = f.load("ptr", f.at("%self", items_offset() + 8))
    f.require(f.let(f"icmp ne ptr {holder}, {api['none']}"), "bare")
    f.require(f.let(f"icmp ne ptr {result}, null"), "bare")
    filled_holder = f.let(f"call ptr {api['new_object']}(ptr {holder}, i64 0)")
    f.require(f.let(f"icmp ne ptr {filled_holder}, null"), "lost")
    f.store("ptr", result, f.at(filled_holder, SLOT))
    f.do(f"ret ptr {filled_holder}")
    f.label("lost")
    _release(f, api, [result])
    f.do("ret ptr null")
    f.label("bare")
    f.do(f"ret ptr {result}")


def _layout_checks(f: IrFunction, array: str, port: Port, api: dict[str, str], required: int) -> list[str]:
    """Emit checks that an array is of float64, has the required flags, and has the port's shape."""
    kind = f.let(f"icmp eq ptr {f.load('ptr', f.at(array, ARRAY_DESCR))}, {api['float64']}")
    flags = f.let(f"and i32 {f.load('i32', f.at(array, ARRAY_FLAGS), 4)}, {required}")
    checks = [kind, f.let(f"icmp eq i32 {flags}, {required}")]
    rank = f.let(f"icmp eq i32 {f.load('i32', f.at(array, ARRAY_NDIM), 4)}, {len(port.shape)}")
    f.require(rank, "other")
    sizes = f.load("ptr", f.at(array, ARRAY_DIMENSIONS)) if port.shape else ""
    return checks + [f.let(f"icmp eq i64 {f.load('i64', f.at(sizes, 8 * d))}, {n}") for d, n in enumerate(port.shape)]


def _release(f: IrFunction, api: dict[str, str], objects: list[str]) -> None:
    for object_ in objects:
        f.do(f"call void {api['release']}(ptr {object_})")
