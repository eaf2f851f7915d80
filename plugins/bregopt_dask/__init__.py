"""Low-rank problems on a dask cluster: M lies on the workers by blocks of rows, and a pass is one task a block."""
