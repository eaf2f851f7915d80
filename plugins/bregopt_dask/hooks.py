"""A dask array is read where it lies; dask is imported only where somebody has imported it already."""

import sys
from typing import Any

from bregopt import hookimpl
from bregopt.errors import DataError


@hookimpl
def bregopt_resolve_data(data: Any) -> Any:
    arrays = sys.modules.get("dask.array")
    if arrays is None or not isinstance(data, arrays.Array):
        return None
    try:
        import distributed  # noqa: F401  (dask alone comes without it)
    except ImportError:
        raise DataError("A dask array needs dask.distributed. Install it: pip install 'bregopt[dask]'.") from None
    from bregopt_dask.load import load

    return load(data)
