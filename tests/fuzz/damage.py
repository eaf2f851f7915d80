"""Small right files of every type that is read, and ways to damage them."""

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable

import h5py
import numpy as np
import pyarrow.parquet
import scipy.io
import scipy.sparse

DTYPES = ("f8", "f4", ">f8", "i8", "i4", "i2", "u2", "u1", "?")
LAYOUTS = ("csr", "csc", "coo", "bsr", "dia")
LARGE_SIZES = (0, 1, 2, 255, 2**15, 2**16, 2**24, 2**28, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
WORDS = (
    b'0 1 -1 2 1e400 nan inf 1,5 1.5 x 999999999 99999999999999999999 3 30000 % # " ; , real symmetric array pattern'
)


def matrix(rng: np.random.Generator, *dtypes: str) -> np.ndarray:
    """A few rows and columns, a third of them zero."""
    shape = rng.integers(1, 7, size=2)
    M = rng.integers(0, 100, size=shape) * (rng.random(shape) < 0.7)
    return M.astype(rng.choice(dtypes or DTYPES)) if rng.random() < 0.7 else M * rng.random(shape)


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    """What a writer puts into a file."""
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def npy(rng):
    return written(lambda file: np.save(file, rng.choice([np.asfortranarray, np.asarray])(matrix(rng))))


def npz(rng):
    arrays = {"X": matrix(rng), "labels": np.arange(3)}
    return written(lambda file: rng.choice([np.savez, np.savez_compressed])(file, **arrays))


def sparse_npz(rng):
    M = scipy.sparse.coo_array(matrix(rng, "f8", "f4", "i4", "u1")).asformat(rng.choice(LAYOUTS))
    return written(lambda file: scipy.sparse.save_npz(file, M, compressed=rng.random() < 0.5))


def mtx(rng):
    M = matrix(rng, "f8", "i8")
    if rng.random() < 0.4:
        M = M[: min(M.shape), : min(M.shape)]
        M = M + M.T
    M = rng.choice([np.asarray, scipy.sparse.coo_array])(M)
    field = "pattern" if scipy.sparse.issparse(M) and rng.random() < 0.3 else None
    return written(lambda file: scipy.io.mmwrite(file, M, field=field))


def mat(rng, **options):
    M = matrix(rng)
    M = M.astype(M.dtype.newbyteorder("="))
    if rng.random() < 0.4:
        M = scipy.sparse.csc_array(M.astype(float))
    around = {"note": "text", "cell": np.array([[1, "a"]], dtype=object)} if options.get("format") != "4" else {}
    variables = rng.choice(
        np.array([{"M": M}, {"gnd": np.arange(3), "fea": M}, {"B": M, **around}, {"Problem": {"title": "t", "A": M}}])
    )
    if options.get("format") == "4":
        variables = {"M": M, "n": 3.0}
    return written(lambda file: scipy.io.savemat(file, variables, **options))


def text(delimiter):
    def write(rng):
        M, header = matrix(rng, "f8", "i8"), rng.random() < 0.3
        names = delimiter.join("abcdefg"[: M.shape[1]])
        return written(lambda file: np.savetxt(file, M, "%g", delimiter, header=names if header else "", comments=""))

    return write


def labelled(rng):
    """As pandas writes a frame."""
    M = matrix(rng, "f8", "i8")
    lines = ["".join(f",{name}" for name in "abcdefg"[: M.shape[1]])]
    lines += [
        ",".join([f"row{k}", *("" if rng.random() < 0.1 else f"{it:g}" for it in row)]) for k, row in enumerate(M)
    ]
    return "\n".join(lines).encode()


def parquet(rng):
    M = matrix(rng, "f8", "i8")
    names = {"name": [f"row{k}" for k in range(len(M))]} if rng.random() < 0.5 else {}
    table = pyarrow.table(names | dict(zip("abcdefg", M.T, strict=False)))
    return written(lambda file: pyarrow.parquet.write_table(table, file, compression=rng.choice(["snappy", "none"])))


def h5(rng):
    def write(file):
        with h5py.File(file, "w") as store:
            store.create_dataset("M", data=matrix(rng), compression="gzip" if rng.random() < 0.5 else None)

    return written(write)


SAMPLES: dict[str, Callable[[np.random.Generator], bytes]] = {
    "npy": npy,
    "npz": npz,
    "sparse.npz": sparse_npz,
    "mtx": mtx,
    "mtx.gz": lambda rng: gzip.compress(mtx(rng), mtime=0),
    "mat": mat,
    "compressed.mat": lambda rng: mat(rng, do_compression=True),
    "version4.mat": lambda rng: mat(rng, format="4"),
    "csv": lambda rng: text(rng.choice([",", ";"]))(rng),
    "tsv": text("\t"),
    "txt": text(" "),
    "labelled.csv": labelled,
    "csv.gz": lambda rng: gzip.compress(labelled(rng), mtime=0),
    "parquet": parquet,
    "h5": h5,
}
"""A right file of each type, by the end of its name."""


def damaged(name: str, rng: np.random.Generator) -> bytes:
    """A file of that type with one to three mistakes; in one that is compressed, half of them lie within."""
    whole = SAMPLES[name](rng)
    inside = rng.random() < 0.5
    if inside and name.endswith(".gz"):
        return gzip.compress(_spoilt(gzip.decompress(whole), rng), mtime=0)
    if inside and name.endswith("npz"):
        return _with_a_spoilt_member(whole, rng)
    if inside and name == "compressed.mat":
        return _with_a_spoilt_element(whole, rng)
    return _spoilt(whole, rng)


def _with_a_spoilt_member(whole: bytes, rng: np.random.Generator) -> bytes:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = rng.choice(list(members))
    members[chosen] = _spoilt(members[chosen], rng)
    if rng.random() < 0.1:
        del members[rng.choice(list(members))]

    def write(file):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    return written(write)


def _with_a_spoilt_element(whole: bytes, rng: np.random.Generator) -> bytes:
    at, elements = 128, []
    while at < len(whole):
        size = int.from_bytes(whole[at + 4 : at + 8], "little")
        elements.append(zlib.decompress(whole[at + 8 : at + 8 + size]))
        at += 8 + size
    chosen = rng.integers(len(elements))
    elements[chosen] = _spoilt(elements[chosen], rng)
    packed = [zlib.compress(element) for element in elements]
    return whole[:128] + b"".join(b"\x0f\0\0\0" + len(one).to_bytes(4, "little") + one for one in packed)


def _spoilt(content: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if data:
            rng.choice(np.array(MISTAKES, dtype=object))(data, rng)
    return bytes(data)


def _cut(data, rng):
    del data[rng.integers(len(data)) :]


def _blank_the_end(data, rng):
    place = rng.integers(len(data))
    data[place:] = bytes(len(data) - place)


def _change_bytes(data, rng):
    for place in rng.integers(len(data), size=rng.integers(1, 5)):
        data[place] = rng.integers(256)


def _flip_a_bit(data, rng):
    data[rng.integers(len(data))] ^= 1 << rng.integers(8)


def _put_a_size(data, rng):
    """A number of 2, 4 or 8 bytes that is a size where it matters, at a multiple of 4 or anywhere."""
    width = int(rng.choice([2, 4, 4, 4, 8]))
    place = int(rng.integers(len(data))) // 4 * 4 if rng.random() < 0.8 else int(rng.integers(len(data)))
    number = int(rng.choice(np.array(LARGE_SIZES, dtype=object))) % 2 ** (8 * width)
    data[place : place + width] = number.to_bytes(width, str(rng.choice(["little", "big"])))


def _put_a_word(data, rng):
    """Replace a number of a text, or of a header, by another word."""
    found = list(re.finditer(rb"[\w.+-]+", data))
    if found:
        place = found[rng.integers(len(found))]
        words = WORDS.split()
        data[place.start() : place.end()] = words[rng.integers(len(words))]


def _leave_out(data, rng):
    place = rng.integers(len(data))
    del data[place : place + rng.integers(1, 9)]


def _repeat(data, rng):
    first, last = sorted(rng.integers(len(data) + 1, size=2))
    data[first:first] = data[first:last]


def _insert(data, rng):
    place = rng.integers(len(data) + 1)
    data[place:place] = rng.bytes(rng.integers(1, 9))


MISTAKES = [
    _cut,
    _blank_the_end,
    _change_bytes,
    _flip_a_bit,
    _put_a_size,
    _put_a_size,
    _put_a_word,
    _put_a_word,
    _leave_out,
    _repeat,
    _insert,
]
