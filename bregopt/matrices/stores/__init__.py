"""Stores: named arrays in HDF5 and zarr."""
