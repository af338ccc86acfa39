"""Machine code on disk: digests of programs, and the directory that holds compiled code."""
