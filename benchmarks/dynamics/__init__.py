"""Kinematics and dynamics of robots, their derivatives and parameters, compared with Pinocchio."""
