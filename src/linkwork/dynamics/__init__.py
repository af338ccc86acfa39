"""Dynamics: inverse and forward dynamics, inertia, momentum, energy, regressors and their derivatives."""
