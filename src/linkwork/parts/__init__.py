"""The robot that people hold: its functions, its parts, and how it is changed and shown."""
