"""Evaluation of a program on a table of segments, at many positions; the SIMD lanes are columns of the table.

``@along``, followed by the number of columns, finds the segment of each position by bisection, and runs the program on
the segment's columns, one vector of columns at a time. Nothing is gathered or transposed, since segments are stored in
the table as vectors are loaded, and results are stored as they are computed. The operations and their order are the
same as for the program on samples.

The last vector of a position writes past the position's columns; the next position then overwrites these elements. For
the last positions, only lanes that are columns are written.
"""

from __future__ import annotations

from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.runtimes import restore_flags, save_flags
from linkwork.compiler.codegen.straight_line import Layout, block_on_registers

__all__ = ["along_function"]

_BLOCK = 512  # positions whose segments are found before their results
_AHEAD = 8  # positions that are searched together, as each waits for memory
_LINE = 64  # [bytes] cache line
_T, _S, _BREAKS, _STARTS, _TABLE, _COMMON, _OUT = range(7)  # arrays, in their order


def along_function(layout: Layout, name: str, columns: int) -> Instructions:
    """Return the LLVM function that evaluates a program at many positions on a table of segments.

    ``@along7``, for example, is for seven columns. It is called with ``arrays`` and ``sizes``. ``arrays`` are
    addresses: the values t that the program takes, the values s by which the segments are searched, the breaks between
    segments, the starts of segments, the table, the inputs that all positions share, and the outputs. ``sizes`` are
    the number of positions, and the number of bisections of a search.
    """
    real, lanes, program = layout.real, layout.lanes, layout.program
    f = Instructions(f"define void @.{name}(ptr %arrays, ptr %sizes)", layout.target, real, lanes, unchanging=False)
    flags = save_flags(f, layout.target)
    arrays = [f.load("ptr", f.at("%arrays", 8 * k)) for k in range(_OUT + len(program.outputs))]
    n, levels = f.load("i64", "%sizes"), f.load("i64", f.at("%sizes", 8))
    common, column = program.inputs[2].size, program.inputs[3].size
    shared = [f.splat(f.load(real.name, f.at(arrays[_COMMON], 8 * k))) for k in range(common)]
    width = -(-columns // lanes) * lanes
    careful = f.let(
        f"sub i64 {n}, {-(-(width - columns) // columns)}"
    )  # positions from which on vectors would exceed the array
    segments, last = f.stack_memory(8 * _BLOCK, _LINE), f.stack_memory(8, 8)
    f.store("i64", "0", last)

    def results(first: str, k: str, whole: bool) -> None:
        """Emit the evaluation at position ``k`` of a block, and the write of its outputs.

        If ``whole``, whole vectors are written, which may go beyond the columns of this position; otherwise only the
        columns are written.
        """
        segment = f.load("i64", f.at(segments, f.let(f"shl i64 {k}, 3")))
        sample = f.let(f"add i64 {first}, {k}")
        t = f.splat(f.load(real.name, f.at(arrays[_T], f.let(f"shl i64 {sample}, 3"))))
        start = f.splat(f.load(real.name, f.at(arrays[_STARTS], f.let(f"shl i64 {segment}, 3"))))
        row = f.at(arrays[_TABLE], f.let(f"mul i64 {segment}, {8 * width * column}"))
        begun = f.let(f"mul i64 {sample}, {8 * columns}")
        goals = [f.at(out, begun) for out in arrays[_OUT:]]
        for number in range(0, width, lanes):
            own_columns = [f.load(f.type, f.at(row, 8 * (width * m + number)), f.align) for m in range(column)]
            for x, goal in zip(block_on_registers(f, layout, [t, start, *shared, *own_columns]), goals, strict=True):
                to = f.at(goal, 8 * number)
                if whole or number + lanes <= columns:
                    f.store(f.type, x, to, real.bytes)
                    continue
                for lane in range(columns - number):
                    f.store(
                        real.name, f.let(f"extractelement {f.type} {x}, i32 {lane}"), f.at(to, 8 * lane), real.bytes
                    )

    with f.loop(n, step=_BLOCK) as first:
        left = f.let(f"sub i64 {n}, {first}")
        less = f.let(f"icmp slt i64 {left}, {_BLOCK}")
        many = f.let(f"select i1 {less}, i64 {left}, i64 {_BLOCK}")
        positions = f.at(arrays[_S], f.let(f"shl i64 {first}, 3"))
        ahead = f.let(f"and i64 {many}, {-_AHEAD}")
        with f.loop(ahead, step=_AHEAD) as k:
            _find(f, positions, arrays[_BREAKS], levels, segments, last, k, _AHEAD)
        with f.loop(many, start=ahead) as k:
            _find(f, positions, arrays[_BREAKS], levels, segments, last, k, 1)
        free = f.let(f"sub i64 {careful}, {first}")
        is_shorter = f.let(f"icmp slt i64 {free}, {many}")
        free = f.let(f"select i1 {is_shorter}, i64 {free}, i64 {many}")
        free = f.let(f"select i1 {f.let(f'icmp slt i64 {free}, 0')}, i64 0, i64 {free}")
        with f.loop(free) as k:
            results(first, k, True)
        with f.loop(many, start=free) as k:
            results(first, k, False)
    restore_flags(f, layout.target, flags)
    return f


def _find(f: Instructions, s: str, breaks: str, levels: str, segments: str, last: str, first: str, many: int) -> None:
    """Emit the search for the table segments that contain ``many`` positions, from position ``first`` on.

    If all these positions are in the segment of the position before, that segment is the result; otherwise each
    position's segment is found by bisection.
    """
    offset = f.let(f"shl i64 {first}, 3")
    coordinates = [f.load("double", f.at(s, f.let(f"add i64 {offset}, {8 * k}"))) for k in range(many)]
    before = f.load("i64", last)
    low = f.at(breaks, f.let(f"shl i64 {before}, 3"))
    ends = f.load("double", low), f.load("double", f.at(low, 8))
    tests = zip(("oge", "olt"), ends, strict=True)
    flags = [f.let(f"fcmp {test} double {x}, {end}") for test, end in tests for x in coordinates]
    to = f.at(segments, offset)
    same = f.all_of(flags)
    with f.when(same):
        for k in range(many):
            f.store("i64", before, f.at(to, 8 * k))
    with f.unless(same):
        result = ["0"] * many
        with f.loop(levels, kind="i64", carried=result) as level:
            shift = f.let(f"sub i64 {f.let(f'sub i64 {levels}, 1')}, {level}")
            half = f.let(f"shl i64 1, {shift}")
            for k, x in enumerate(coordinates):
                middle = f.let(f"add i64 {result[k]}, {half}")
                begin = f.load("double", f.at(breaks, f.let(f"shl i64 {middle}, 3")))
                later = f.let(f"zext i1 {f.let(f'fcmp ole double {begin}, {x}')} to i64")
                result[k] = f.let(f"add i64 {result[k]}, {f.let(f'shl i64 {later}, {shift}')}")
        for k, segment in enumerate(result):
            f.store("i64", segment, f.at(to, 8 * k))
        f.store("i64", result[-1], last)
