"""Pictures of robots, motions and results: a live page, self-contained HTML, glTF, PNG and MP4."""
