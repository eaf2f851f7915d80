"""Readers with a mistake each, to see that it is found: ``python planted.py FOLDER``; prints what was seen of each."""

import json
import os
import sys
from pathlib import Path

import numpy as np
from files import fuzz

from bregopt.errors import FileError
from bregopt.matrices import read_matrix


def crashes(path):
    os.abort()


def takes_memory(path):
    return np.ones(2**26).sum()


def hides_that_memory_ran_out(path):
    try:
        return np.ones(2**26).sum()
    except MemoryError as error:
        raise FileError(f"{path.name} is too large.") from error


def hangs(path):
    while True:
        pass


def raises_anything(path):
    raise KeyError("format")


def names_nothing(path):
    raise FileError("It is damaged.")


def is_wrong(path):
    return read_matrix(path) + 1


PLANTED = (crashes, takes_memory, hides_that_memory_ran_out, hangs, raises_anything, names_nothing, is_wrong)

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    files = {it: ("csv", 20 if it is is_wrong else 1) for it in PLANTED}
    print(json.dumps({it.__name__: fuzz([name], count, 0, folder, it)["seen"] for it, (name, count) in files.items()}))
