"""The two kinds of numbers that kernels compute with: float64 and float32."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

__all__ = ["DOUBLE", "LARGE", "SINGLE", "Real", "splat", "vector"]


LARGE = {64: 1e100, 32: 1e15}  # by bits: inputs beyond it are looked at as those that are not finite are


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point type, as LLVM and NumPy name it."""

    bits: int
    name: str  # in LLVM IR
    dtype: Any
    number: int  # NumPy's own number of the type, in its C API

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def shift(self) -> int:
        """log₂ of the bytes."""
        return self.bytes.bit_length() - 1

    def vector(self, lanes: int) -> str:
        """The type of so many lanes."""
        return vector(self.name, lanes)

    def integers(self, lanes: int) -> str:
        """The type of integers of the same size."""
        return vector(f"i{self.bits}", lanes)

    def suffix(self, lanes: int) -> str:
        """How intrinsics over so many lanes are called."""
        return f"f{self.bits}" if lanes == 1 else f"v{lanes}f{self.bits}"

    def literal(self, value: float, lanes: int = 1) -> str:
        """A constant, rounded to this type, or a vector of it."""
        with np.errstate(all="ignore"):
            rounded = float(self.dtype(value))
        (bits,) = struct.unpack("<Q", struct.pack("<d", rounded))  # LLVM writes a float, too, as the double it equals
        return splat(self.name, f"0x{bits:016X}", lanes)

    def listed(self, values: np.ndarray) -> str:
        """The entries of an array of constants, each as `literal` writes it."""
        with np.errstate(all="ignore"):
            bits = values.astype(self.dtype).astype("<f8").view("<u8").tolist()
        return ", ".join([f"{self.name} 0x{x:016X}" for x in bits])


def vector(scalar: str, lanes: int) -> str:
    """The type of so many lanes of an LLVM type."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def splat(scalar: str, literal: str, lanes: int) -> str:
    """A constant of an LLVM type in so many lanes."""
    if lanes == 1:
        return literal
    if _has_splat():
        return f"splat ({scalar} {literal})"
    return "<" + ", ".join([f"{scalar} {literal}"] * lanes) + ">"


@cache
def _has_splat() -> bool:
    return bool(llvm.llvm_version_info[0] >= 19)


DOUBLE = Real(64, "double", np.float64, 12)
SINGLE = Real(32, "float", np.float32, 11)
