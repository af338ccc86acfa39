"""Machine code of straight-line blocks without LLVM, for first calls: instructions of x86-64, and object files."""
