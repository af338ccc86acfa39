"""Curves of configurations, splines, profiles and path timing, over any scalar."""
