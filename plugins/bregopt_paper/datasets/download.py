"""The download of a data set's file, only ever on request, with its checksum.

The addresses are those of the publishers, and of a mirror. They were not tried: the tests serve files of their own.
"""

from pathlib import Path
from typing import Any

from bregopt.errors import FileError
from bregopt_paper.datasets.files import DataFile, cache, verified

SECONDS = 30
"""To wait for an address that does not answer."""


def download(file: DataFile) -> Path:
    """Fetch the file into the user's cache from the first address that gives it; one that is there is kept."""
    pooch = _pooch()
    target = cache() / file.path
    refused = []
    for address in file.addresses:
        try:
            pooch.retrieve(
                address,
                known_hash=f"sha256:{file.packed_sha256 or file.sha256}",
                fname=target.name,
                path=target.parent,
                downloader=pooch.HTTPDownloader(timeout=SECONDS),
            )
        except (OSError, ValueError) as error:  # it does not answer or cannot be written; or the checksum differs
            refused.append(f"{address}: {_short(error)}")
        else:
            verified(target, file)
            return target
    raise FileError(
        f"The file {file.path} could not be downloaded ({'; '.join(refused)}). Get it in another way, and save it as "
        f"{target}."
    )


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise FileError("A download needs pooch, which is not installed. Install it, or 'bregopt[paper]'.") from None
    pooch.get_logger().setLevel("WARNING")
    return pooch


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else f"{text[:200]}…"
