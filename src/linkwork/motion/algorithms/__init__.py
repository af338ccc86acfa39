"""Reference motion, over any scalar: curves of configurations, splines and profiles, a folder each."""
