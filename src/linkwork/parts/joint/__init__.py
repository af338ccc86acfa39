"""The joint that people hold: its functions, its place and its bounds."""
