"""Derivatives of kernels: programs replayed on symbols, differentiated, and made into recipes of kernels again."""
