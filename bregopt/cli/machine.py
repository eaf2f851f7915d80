"""What a benchmark ran on: processors, BLAS, versions, and settings that change the figures."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

SETTINGS = ("BREGOPT_THREADS", "BREGOPT_COMPILE")
BUSY = 0.5
"""Processors in use by others from which on the figures mean little."""


def machine() -> dict[str, Any]:
    """The facts as JSON values, to be asked for before the benchmark adds to the load."""
    import numpy as np
    from threadpoolctl import threadpool_info

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "cores": cores(),
        "processor": platform.machine(),
        "blas": f"{blas['name']} {blas['version']}",
        "blas_threads": max(pools, default=None),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {"python": platform.python_version(), **_versions("bregopt", "numpy", "numba")},
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
    }


def headline(facts: dict[str, Any]) -> str:
    """The facts in a line."""
    threads = f" on {_count(facts['blas_threads'], 'thread')}" if facts["blas_threads"] else ""
    parts = [f"{_count(facts['cores'], 'core')} {facts['processor']}", facts["blas"] + threads]
    parts += [f"{name} {number}" for name, number in facts["versions"].items()]
    parts += [f"{name}={value}" for name, value in facts["settings"].items()]
    parts += [f"BUSY: load {facts['load']:.1f}"] if (facts["load"] or 0) > BUSY else []
    return ", ".join(parts)


def cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
