"""Kinematics over any scalar: configurations, poses, velocities, accelerations, points and Jacobians."""

__all__ = ["MODULES"]

# the modules with specifications of functions, `ROWS`
MODULES = "configuration_manifold forward_kinematics point_kinematics jacobians"
