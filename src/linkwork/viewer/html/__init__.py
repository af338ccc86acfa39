"""The self-contained HTML page: a document as data, a renderer in WebGL, and kinematics that run in the page."""
