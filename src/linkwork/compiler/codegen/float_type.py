"""The floating-point types of kernels: float64 and float32."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.scalar.float_limits import FLOAT32, FLOAT64, FloatLimits, in_float32

__all__ = ["DOUBLE", "SINGLE", "FloatType", "splat", "vector"]


@dataclass(frozen=True, slots=True)
class FloatType:
    """A floating-point type with its names in LLVM and NumPy."""

    bits: int
    name: str  # in LLVM IR
    dtype: Any
    number: int  # the type's number in NumPy's C API
    limits: FloatLimits

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def shift(self) -> int:
        """log₂ of the size in bytes."""
        return self.bytes.bit_length() - 1

    def vector(self, lanes: int) -> str:
        """Return the LLVM type of a vector of ``lanes`` elements."""
        return vector(self.name, lanes)

    def integers(self, lanes: int) -> str:
        """Return the LLVM type of integers of the same size."""
        return vector(f"i{self.bits}", lanes)

    def suffix(self, lanes: int) -> str:
        """Return the suffix of LLVM intrinsics on ``lanes`` elements."""
        return f"f{self.bits}" if lanes == 1 else f"v{lanes}f{self.bits}"

    def rounded(self, value: float) -> Any:
        """Return a constant as a NumPy scalar of this type; limits such as the largest number become this type's."""
        if self.bits == 64:
            return np.float64(value)
        with np.errstate(all="ignore"):
            return np.float32(in_float32(value))

    def literal(self, value: float, lanes: int = 1) -> str:
        """Return a constant, rounded to this type, as LLVM IR: a scalar or a vector with equal lanes."""
        rounded = float(self.rounded(value))
        (bits,) = struct.unpack("<Q", struct.pack("<d", rounded))  # LLVM writes a float as the equal double
        return splat(self.name, f"0x{bits:016X}", lanes)

    def listed(self, values: np.ndarray) -> str:
        """Return the elements of an array of constants, as `literal` writes them."""
        with np.errstate(all="ignore"):
            bits = values.astype(self.dtype).astype("<f8").view("<u8").tolist()
        return ", ".join([f"{self.name} 0x{x:016X}" for x in bits])


def vector(scalar: str, lanes: int) -> str:
    """Return the LLVM type of a vector of ``lanes`` scalars."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def splat(scalar: str, literal: str, lanes: int) -> str:
    """Return an LLVM constant with the same value in all lanes."""
    if lanes == 1:
        return literal
    return f"splat ({scalar} {literal})"


DOUBLE = FloatType(64, "double", np.float64, 12, FLOAT64)
SINGLE = FloatType(32, "float", np.float32, 11, FLOAT32)
