"""Inverse kinematics as people hold it: problems, answers and what they say of themselves."""
