"""Kinematics: poses, velocities and accelerations of bodies, frames and points; Jacobians."""
