"""The compiler: traced programs become machine code.  It imports nothing of robots."""
