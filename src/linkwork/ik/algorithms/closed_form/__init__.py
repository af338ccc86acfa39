"""Closed forms of inverse kinematics: arms that are recognised, and all their branches."""
