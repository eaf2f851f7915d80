"""A dask array is read where it lies, and ``bregopt solve`` has the option ``--dask``.

dask is imported only where somebody has imported it already, or asks for a cluster.
"""

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from bregopt import hookimpl
from bregopt.errors import DataError

if TYPE_CHECKING:
    import click


@hookimpl
def bregopt_resolve_data(data: Any) -> Any:
    arrays = sys.modules.get("dask.array")
    if arrays is None or not isinstance(data, arrays.Array):
        return None
    try:
        import distributed  # noqa: F401  (dask alone comes without it)
    except ImportError:
        raise DataError("A dask array needs dask.distributed. Install it: pip install 'bregopt[dask]'.") from None
    from bregopt_dask.load import DaskArray

    return DaskArray(data)


@hookimpl
def bregopt_commands(cli: "click.Group") -> None:
    import click

    text = "Run on a dask cluster: tcp://host:port, or 'local' to start one here."
    solve: Any = cli.commands["solve"]
    solve.add_place(click.Option(["--dask"], metavar="ADDRESS", help=text), _cluster)


def _cluster(address: str, dashboard: bool) -> AbstractContextManager[Any]:
    from bregopt_dask.cluster import cluster

    return cluster(address, dashboard)
