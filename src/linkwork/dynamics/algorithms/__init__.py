"""Dynamics over any scalar: forces, accelerations, inertia, momentum, energy, regressors and derivatives."""

__all__ = ["MODULES"]

# the modules with specifications of functions, `ROWS`
MODULES = """
inverse_dynamics forward_dynamics hybrid_dynamics mass_matrix_inverse mass_matrix passive_joint_forces
joint_wrenches momentum.center_of_mass momentum.energy_and_power momentum.momentum regressors
derivatives.body_motion_derivatives derivatives.momentum_and_energy_derivatives derivatives.inverse_dynamics_derivatives
derivatives.forward_dynamics_derivatives derivatives.linearize derivatives.tangent_autodiff
"""
