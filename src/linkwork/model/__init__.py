"""The robot as data: bodies, frames and the tree, edits and checks, and specifications of functions."""
