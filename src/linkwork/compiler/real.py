"""The two kinds of numbers that kernels compute with: float64 and float32."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

__all__ = ["DOUBLE", "SINGLE", "Real"]


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
        return self.name if lanes == 1 else f"<{lanes} x {self.name}>"

    def suffix(self, lanes: int) -> str:
        """How intrinsics over so many lanes are called."""
        return f"f{self.bits}" if lanes == 1 else f"v{lanes}f{self.bits}"

    def literal(self, value: float, lanes: int = 1) -> str:
        """A constant, rounded to this type, or a vector of it."""
        with np.errstate(all="ignore"):
            rounded = float(self.dtype(value))
        (bits,) = struct.unpack("<Q", struct.pack("<d", rounded))  # LLVM writes a float, too, as the double it equals
        text = f"0x{bits:016X}"
        if lanes == 1:
            return text
        if _has_splat():
            return f"splat ({self.name} {text})"
        return "<" + ", ".join([f"{self.name} {text}"] * lanes) + ">"


@cache
def _has_splat() -> bool:
    return bool(llvm.llvm_version_info[0] >= 19)


DOUBLE = Real(64, "double", np.float64, 12)
SINGLE = Real(32, "float", np.float32, 11)
