"""Writer of MJCF: the text of a MuJoCo model of a robot, and a report of what the format cannot represent."""
