"""Interfaces to other frameworks: Dask and xarray."""
