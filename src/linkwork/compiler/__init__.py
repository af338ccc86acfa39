"""The compiler: expressions to machine code.  Knows nothing of robots."""
