"""The compiler: traced programs become machine code. It imports no robot code."""
