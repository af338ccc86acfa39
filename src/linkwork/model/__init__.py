"""Robot model as data: bodies, joints, frames, tree, edits and function specifications."""
