"""The files of data sets: where they are looked for, and whether they are what they should be."""

import gzip
import hashlib
import os
import sys
import zlib
from pathlib import Path
from typing import final

from attrs import frozen

from bregopt.errors import FileError
from bregopt_paper.datasets.dataset import MissingDataError

FOLDER, DOWNLOAD = "BREGOPT_DATA", "BREGOPT_DATA_DOWNLOAD"
"""The variables of the environment: a folder of data, and whether missing files may be downloaded."""
MOST_UNPACKED = 10**8
"""Bytes of an unpacked file; none is as long as that."""


@final
@frozen
class DataFile:
    """A file of a data set."""

    path: str
    """below a folder of data, as in ``COIL20/COIL20.mat``"""
    sha256: str
    """of its bytes; of the unpacked ones where it ends in .gz, since the same bytes can be packed in many ways"""
    addresses: tuple[str, ...] = ()
    """from where it can be downloaded: the official address, then mirrors"""
    packed_sha256: str = ""
    """of what is at these addresses, where it is packed"""


def places() -> list[Path]:
    """The folders in which files are looked for: $BREGOPT_DATA, then the user's cache."""
    given = os.environ.get(FOLDER)
    return [*([Path(given).expanduser().absolute()] if given else []), cache()]


def cache() -> Path:
    """The folder of this user for data of bregopt, which may not exist yet; downloads go there."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        base = given
    elif sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = "~/.cache"
    return Path(os.path.expanduser(base)).absolute() / "bregopt" / "data"


def find(file: DataFile) -> Path | None:
    """Where the file lies, if it is in any of the places."""
    return next((folder / file.path for folder in places() if os.path.isfile(folder / file.path)), None)


def locate(file: DataFile, dataset: str, source: str) -> Path:
    """Where the file lies; without it MissingDataError, or a download if $BREGOPT_DATA_DOWNLOAD is 1."""
    found = find(file)
    if found is not None:
        return found
    if file.addresses and os.environ.get(DOWNLOAD) == "1":
        from bregopt_paper.datasets.download import download

        return download(file)
    looked = places()
    unset = "" if len(looked) > 1 else f", and {FOLDER} is not set"
    fetched = f"; 'bregopt data fetch {dataset}' downloads it" if file.addresses else ""
    raise MissingDataError(
        f"The data set '{dataset}' needs the file {file.path}, which is missing. "
        f"Looked in {' and in '.join(map(str, looked))}{unset}. "
        f"Get it from {source} and save it as {looked[-1] / file.path}, or set {FOLDER} to the folder that holds "
        f"{file.path}{fetched}."
    )


def verified(path: Path, file: DataFile) -> bytes:
    """The bytes of the file, unpacked; FileError if they are not those that the data set is known by."""
    data = _bytes(path)
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise FileError(
            f"The file {str(path)!r} is damaged, or another than the one that is known: its SHA-256 "
            f"{'(unpacked) ' * (path.suffix == '.gz')}begins with {found[:12]} and should begin with "
            f"{file.sha256[:12]}. Put a fresh copy there."
        )
    return data


def _bytes(path: Path) -> bytes:
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as packed:
            return packed.read(MOST_UNPACKED)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"The file {str(path)!r} is damaged: {error}. Put a fresh copy there.") from None
    except OSError as error:
        raise FileError(f"The file {str(path)!r} cannot be read: {error.strerror or error}.") from None
