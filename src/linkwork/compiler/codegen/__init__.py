"""LLVM code of straight-line programs, SIMD values and entry points."""
