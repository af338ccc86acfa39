"""Arguments to try elementary functions on, their true values, and errors in units in the last place."""

from __future__ import annotations

import fractions
from collections.abc import Callable, Iterable

import mpmath
import numpy as np

from benchmarks.compiler.vector_code import TWO_ARGUMENTS, real

__all__ = [
    "arguments",
    "both_signs",
    "error_in_ulp",
    "log_uniform",
    "neighbours",
    "of_every_exponent",
    "true_values",
]

ArrayTuple = tuple[np.ndarray, ...]


def neighbours(x: Iterable[float], steps: int, bits: int = 64) -> np.ndarray:
    """Each number with the numbers up to `steps` away on both sides."""
    integer = np.int64 if bits == 64 else np.int32
    near = np.array(list(x), dtype=real(bits)).view(integer)
    return (near[:, None] + np.arange(-steps, steps + 1, dtype=integer)).ravel().view(real(bits))


def both_signs(x: np.ndarray) -> np.ndarray:
    """Every other number negated."""
    return np.where(np.arange(len(x)) % 2, -x, x)


def of_every_exponent(rng: np.random.Generator, count: int, bits: int = 64) -> np.ndarray:
    """Every pattern of bits that stands for a finite number is as likely as any other."""
    if bits == 64:
        return both_signs(rng.integers(0, 0x7FF0000000000000, count).view(np.float64))
    return both_signs(rng.integers(0, 0x7F800000, count).astype(np.int32).view(np.float32))


def log_uniform(rng: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    """Sizes whose logarithms are uniform, with both signs."""
    return both_signs(np.exp(rng.uniform(np.log(low), np.log(high), count)))


def arguments(code: str, bits: int, count: int, seed: int = 20240229) -> dict[str, ArrayTuple]:
    """Ranges by name: tuples of an array for each argument, `count` numbers each or about as many."""
    rng = np.random.default_rng(seed)
    generated = (_pairs if code in TWO_ARGUMENTS else _singles)(rng, bits, count)[code]()
    dtype = real(bits)
    return {
        name: tuple(a.astype(dtype) for a in (values if isinstance(values, tuple) else (values,)))
        for name, values in generated.items()
    }


def _singles(rng: np.random.Generator, bits: int, count: int) -> dict[str, Callable[[], dict[str, np.ndarray]]]:
    def uniform(low: float, high: float) -> np.ndarray:
        return rng.uniform(low, high, count)

    def logs(low: float, high: float) -> np.ndarray:
        return log_uniform(rng, low, high, count)

    def every() -> np.ndarray:
        return of_every_exponent(rng, count, bits)

    def subnormal() -> np.ndarray:
        return logs(1e-323, 2e-308) if bits == 64 else logs(2e-45, 1.1e-38)

    tiny = 1e-300 if bits == 64 else 1e-36
    least = 2.0**-52 if bits == 64 else 2.0**-23
    over, under, large = (709.78, -745.2, 710.47) if bits == 64 else (88.73, -104.0, 89.41)
    normal = -708.0 if bits == 64 else -87.3

    def circular() -> dict[str, np.ndarray]:
        with mpmath.workprec(300):
            turns = [*range(1, 60), *(int(k) for k in np.abs(log_uniform(rng, 60, 1e6, 60)))]
            multiples = [float(k * mpmath.pi / 2) for k in turns]
            odd_multiples = [float((2 * k + 1) * mpmath.pi / 4) for k in turns]
        return {
            "within pi/4": uniform(-np.pi / 4, np.pi / 4),
            "within 2 pi": uniform(-2 * np.pi, 2 * np.pi),
            "within 1000": uniform(-1000, 1000),
            "1000 to 1e6": logs(1000, 1e6),
            "next to multiples of pi/2": both_signs(neighbours(multiples, 1, bits)),
            "next to odd multiples of pi/4": both_signs(neighbours(odd_multiples, 1, bits)),
            "subnormal": subnormal(),
            "every exponent": every(),
        }

    def inverse() -> dict[str, np.ndarray]:
        return {
            "within 1": uniform(-1, 1),
            "around 1/2": both_signs(uniform(0.45, 0.55)),
            "next to 1": both_signs(1 - np.abs(logs(least, 0.1))),
            "tiny to 1": logs(tiny, 1),
            "subnormal": subnormal(),
        }

    def hyperbolic() -> dict[str, np.ndarray]:
        return {
            "within 2": uniform(-2, 2),
            "around 1": both_signs(uniform(0.9, 1.3)),
            "to overflow": uniform(-large, large),
            "next to overflow": both_signs(uniform(over - 1, large)),
            "1e-8 to 20": logs(1e-8, 20),
            "subnormal": subnormal(),
        }

    def logarithm() -> dict[str, np.ndarray]:
        return {
            "1/2 to 2": uniform(0.5, 2),
            "next to 1": 1 + logs(least, 0.1),
            "around sqrt(1/2)": uniform(0.70, 0.72),
            "around sqrt(2)": uniform(1.40, 1.43),
            "to 100": uniform(0, 100),
            "subnormal": np.abs(subnormal()),
            "every exponent": np.abs(every()),
        }

    return {
        "sincos": circular,
        "tan": circular,
        "asin": inverse,
        "acos": inverse,
        "atan": lambda: {
            "within 3": uniform(-3, 3),
            "around tan(pi/8)": both_signs(uniform(0.4, 0.43)),
            "around 1/tan(pi/8)": both_signs(uniform(2.3, 2.5)),
            "1e-10 to 1e10": logs(1e-10, 1e10),
            "subnormal": subnormal(),
            "every exponent": every(),
        },
        "exp": lambda: {
            "within 1": uniform(-1, 1),
            "normal results": uniform(normal, over),
            "subnormal results": uniform(under, normal),
            "next to overflow": uniform(over - 0.1, over),
            "tiny to 1": logs(tiny, 1),
        },
        "exp2": lambda: {
            "within 1": uniform(-1, 1),
            "normal results": uniform(normal / 0.6932, over / 0.6931),
            "subnormal results": uniform(under / 0.6931, normal / 0.6931),
            "tiny to 1": logs(tiny, 1),
        },
        "expm1": lambda: {
            "within 1": uniform(-1, 1),
            "around 1/4": both_signs(uniform(0.2, 0.4)),
            "-40 to overflow": uniform(-40, over),
            "next to overflow": uniform(over - 0.1, over),
            "tiny to 1": logs(tiny, 1),
            "subnormal": subnormal(),
        },
        "log": logarithm,
        "log2": logarithm,
        "log10": logarithm,
        "log1p": lambda: {
            "within 1/2": uniform(-0.5, 0.5),
            "next to -1": np.abs(logs(least, 0.5)) - 1,
            "1e-20 to 1": logs(1e-20, 0.9),
            "1e-20 to 1e20": np.abs(logs(1e-20, 1e20)),
            "subnormal": subnormal(),
            "every exponent": np.abs(every()),
        },
        "cbrt": lambda: {
            "within 10": uniform(-10, 10),
            "subnormal": subnormal(),
            "every exponent": every(),
        },
        "asinh": lambda: {
            "within 3": uniform(-3, 3),
            "1e-8 to 1e10": logs(1e-8, 1e10),
            "subnormal": subnormal(),
            "every exponent": every(),
        },
        "acosh": lambda: {
            "1 to 3": uniform(1, 3),
            "next to 1": 1 + np.abs(logs(least, 1)),
            "to 1e10": 1 + np.abs(logs(1e-3, 1e10)),
            "every exponent": 1 + np.abs(every()),
        },
        "atanh": lambda: {
            "within 1": uniform(-1, 1),
            "next to 1": both_signs(1 - np.abs(logs(least, 0.5))),
            "tiny to 1": logs(tiny, 0.9),
            "subnormal": subnormal(),
        },
        "sinc": lambda: {
            "within 1": uniform(-1, 1),
            "within 1000": uniform(-1000, 1000),
            "next to integers": both_signs(neighbours(range(1, 1 + count // 3), 1, bits)),
            "1e-8 to 1e15": logs(1e-8, 1e15 if bits == 64 else 1e6),
            "tiny to 1": logs(tiny, 1),
        },
        "nan_to_num": lambda: {"every exponent": every()},
        "sinh": hyperbolic,
        "cosh": hyperbolic,
        "tanh": lambda: {
            "within 2": uniform(-2, 2),
            "0.1 to 0.4": both_signs(uniform(0.1, 0.4)),
            "to 25": uniform(-25, 25),
            "1e-8 to 20": logs(1e-8, 20),
            "subnormal": subnormal(),
            "every exponent": every(),
        },
    }


def _pairs(rng: np.random.Generator, bits: int, count: int) -> dict[str, Callable[[], dict[str, ArrayTuple]]]:
    def uniform(low: float, high: float) -> np.ndarray:
        return rng.uniform(low, high, count)

    def logs(low: float, high: float) -> np.ndarray:
        return log_uniform(rng, low, high, count)[rng.permutation(count)]

    def every() -> np.ndarray:
        return of_every_exponent(rng, count, bits)[rng.permutation(count)]

    small, least, huge = (1e-300, 1e-323, 1e308) if bits == 64 else (1e-36, 2e-45, 2e38)
    normal = 2e-308 if bits == 64 else 1e-38
    low, high, fading = (-708.0, 709.7, -745.2) if bits == 64 else (-87.3, 88.7, -104.0)
    step = 2.0**-52 if bits == 64 else 2.0**-23

    def plane() -> dict[str, ArrayTuple]:
        return {
            "unit square": (uniform(-1, 1), uniform(-1, 1)),
            "0.001 to 1": (logs(1e-3, 1), logs(1e-3, 1)),
            "small": (logs(normal, small), logs(normal, small)),
            "subnormal": (logs(least, normal), logs(least, normal)),
            "huge": (logs(huge * 1e-8, huge / 2), logs(huge * 1e-8, huge / 2)),
            "subnormal and about 1": (logs(least, small), logs(1e-3, 1e3)),
            "every exponent": (every(), every()),
        }

    def powers() -> dict[str, ArrayTuple]:
        def bases() -> dict[str, np.ndarray]:
            return {
                "every exponent": np.abs(every()),
                "next to 1": 1 + logs(step, 0.4),
                "0 to 10": np.abs(uniform(0, 10)),
                "subnormal": np.abs(logs(least, normal)),
            }

        def exponents(x: np.ndarray, from_: float, to: float) -> ArrayTuple:
            x = np.where(x == 1, 2, x).astype(real(bits))
            return x, uniform(from_, to) / np.log(x.astype(np.float64))

        pairs: dict[str, ArrayTuple] = {}
        for name, x in bases().items():
            pairs[f"{name}, normal results"] = exponents(x, low, high)
        for name, x in bases().items():
            pairs[f"{name}, subnormal results"] = exponents(x, fading, low)
        pairs["0 to 10, within 5"] = np.abs(uniform(0, 10)), uniform(-5, 5)
        pairs["sqrt(1/2) to sqrt(2)"] = uniform(0.7, 1.42), uniform(-200, 200)
        pairs["negative, integers"] = -np.abs(logs(0.01, 100)), np.floor(uniform(-18, 18))
        return pairs

    def quotients() -> dict[str, ArrayTuple]:
        y, times = logs(normal * 1e20, huge * 1e-20), np.floor(log_uniform(rng, 1, 1e7, count))
        return {
            "within 100": (uniform(-100, 100), logs(0.1, 100)),
            "near multiples": (both_signs(times * y), y),
            "subnormal": (logs(least, normal), logs(least, normal)),
            "huge and subnormal": (logs(1, huge), logs(least, normal)),
            "every exponent": (every(), every()),
        }

    return {"atan2": plane, "hypot": plane, "pow": powers, "fmod": quotients, "mod": quotients}


def true_values(code: str, values: ArrayTuple) -> list[tuple[mpmath.mpf, ...]]:
    """The true results, two for sincos and one for others."""
    precision = 2300 if code in ("log1p", "mod", "expm1", "asinh", "acosh") else 260
    precision = 1300 if code in ("sincos", "tan") and np.abs(values[0]).max() > 1e6 else precision
    functions: dict[str, Callable[..., mpmath.mpf]] = {
        "pow": mpmath.power,
        "hypot": lambda x, y: mpmath.sqrt(x * x + y * y),
        "sinh": lambda x: mpmath.sinh(x) if abs(x) < 800 else x * mpmath.inf,
        "cosh": lambda x: mpmath.cosh(x) if abs(x) < 800 else mpmath.inf,
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "log2": lambda x: mpmath.log(x, 2),
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        "sinc": lambda x: mpmath.sinpi(x) / (mpmath.pi * x) if x else mpmath.mpf(1),
        "fmod": lambda x, y: _signed_fmod(x, y),
        "mod": lambda x, y: _signed_fmod(x, y) + (y if _signed_fmod(x, y) * y < 0 else 0),
        "nan_to_num": lambda x: x,
    }
    function = functions.get(code) or getattr(mpmath, code, None)
    results = []
    with mpmath.workprec(precision):
        for row in zip(*(a.tolist() for a in values), strict=True):
            x = [mpmath.mpf(v) for v in row]
            if code == "sincos":
                results.append((mpmath.sin(x[0]), mpmath.cos(x[0])))
            else:
                assert function is not None
                results.append((function(*x),))
    return results


def _signed_fmod(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    """Return C's fmod of floats; integers of any length divide exactly."""
    a, b = (fractions.Fraction(float(v)) for v in (x, y))
    remainder = abs(a) % abs(b) * (-1 if a < 0 else 1)
    return mpmath.mpf(remainder.numerator) / remainder.denominator


def error_in_ulp(value: float, true: mpmath.mpf, bits: int = 64) -> float:
    """Return the error of a result in units in the last place of the true value in float64 or float32.

    An overflow has no error if rounding to nearest gives infinity, too.
    """
    digits, lowest, highest = (53, -1074, 1024) if bits == 64 else (24, -149, 128)
    value = float(value)
    with mpmath.workprec(260):
        if true == 0 or mpmath.isinf(true):
            return 0.0 if value == true else float("inf")
        if np.isinf(value):
            rounds_there = abs(true) >= mpmath.ldexp(1, highest) - mpmath.ldexp(1, highest - digits - 1)
            return 0.0 if rounds_there and (value > 0) == (true > 0) else float("inf")
        position = mpmath.ldexp(1, max(mpmath.frexp(true)[1] - digits, lowest))
        return float(abs(mpmath.mpf(value) - true) / position)
