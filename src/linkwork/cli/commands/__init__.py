"""Commands of the command line: one file each, named as the command with "_" for "-".

A file has the functions ``add_arguments(parser)`` and ``run(arguments, terminal)``, and is imported when its command
runs.
"""

__all__ = ["COMMANDS", "OTHER_NAMES"]

COMMANDS: dict[str, str] = {
    "demo": "pose a robot, check its dynamics and time it over a million states",
    "info": "show a robot's tree, joints and links, and problems of its file",
    "view": "show a robot in the browser with sliders of its joints, or write a page, a model or a picture of it",
    "check": (
        "check robots: what is physically odd about their masses, inertias, shapes and limits; degrees of freedom, "
        "redundant or inconsistent constraints; the exit code of several files is the largest"
    ),
    "check-scene": "check a file of obstacles: its keys, sizes and overlaps, and collisions with a robot",
    "compare": "compare two robots by the names of their links and joints, and print what differs",
    "convert": "read a robot in one format and write it in another",
    "robots": "list the built-in robots",
    "pose": "print the pose of a frame at one configuration, or at those of a table",
    "ik": "find a configuration in which a frame has a pose or a position",
    "jacobian": "print the Jacobian of a frame at one configuration, or at those of a table",
    "dynamics": "print terms of the equation of motion, forces and accelerations at one state, or at those of a table",
    "explain": "show where the operations of a robot's function come from, body by body",
    "bench-ik": "measure the success rate and time of inverse kinematics of a frame",
    "distances": "print distances of collision shapes as a robot moves, at one configuration or at those of a table",
    "plan": "plan a collision-free path of a robot, and write it as a trajectory",
    "map": "map what a robot's frame reaches, on all processors or on a Dask cluster",
    "simulate": "simulate a robot, free or under a controller, and print, draw and write its motion",
    "bench": "time a robot's functions",
    "precompile": "compile a robot's functions ahead of their first use",
    "selfcheck": "check that linkwork computes right numbers at the usual speed on this machine",
    "completion": "print the script that completes commands and options in bash, zsh or fish",
    "cache": "show or clear the disk cache of machine code",
}
"""Commands with their descriptions, in the order of the help."""

OTHER_NAMES: dict[str, str] = {
    **dict.fromkeys(("fk", "forward-kinematics", "kinematics", "forward"), "pose"),
    **dict.fromkeys(("inverse-kinematics", "inverse", "solve"), "ik"),
    **dict.fromkeys(("jac", "jacobians"), "jacobian"),
    **dict.fromkeys(("mass", "masses", "weight"), "info"),
    **dict.fromkeys(("inertia", "mass-matrix", "id", "fd", "rnea", "crba", "aba", "torque"), "dynamics"),
    **dict.fromkeys(("sim", "run", "rollout"), "simulate"),
    **dict.fromkeys(("show", "draw", "visualize", "display", "viewer", "gui", "picture", "render"), "view"),
    **dict.fromkeys(("plot",), "view; plan and simulate have --plot"),
    **dict.fromkeys(("export", "save", "write", "to-mjcf", "to-urdf", "to-sdf", "to-srdf", "translate"), "convert"),
    **dict.fromkeys(("collisions", "collision", "distance", "clearance"), "distances"),
    **dict.fromkeys(("validate", "lint", "verify", "doctor"), "check, and selfcheck for this machine"),
    **dict.fromkeys(("test",), "selfcheck, and check for a robot"),
    **dict.fromkeys(("tree", "print", "summary", "joints", "links", "graph"), "info"),
    **dict.fromkeys(("list", "ls", "models"), "robots"),
    **dict.fromkeys(("path", "motion", "planner"), "plan"),
    **dict.fromkeys(("workspace", "reach", "reachability"), "map"),
    **dict.fromkeys(("diff",), "compare"),
    **dict.fromkeys(("benchmark", "time", "speed"), "bench"),
    **dict.fromkeys(("compile", "warm"), "precompile"),
}
"""Commands by other words that users try for them."""
