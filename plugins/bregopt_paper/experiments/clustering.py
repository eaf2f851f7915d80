"""The paper's clustering: ``min ½‖W − UV‖² + (μ₀/2)Tr(UᵀLU) + (η/2)(‖U‖² + ‖V‖²)``, then k-means on the rows of U."""

import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np
from attrs import evolve, frozen

import bregopt
from bregopt import Array, Kernel, KernelPolicy, Norms, Problem
from bregopt_paper.experiments.clustering_section import clustering_section
from bregopt_paper.experiments.experiment import Experiment, Record, Section, Task
from bregopt_paper.graphs import NEIGHBOURS, affinities, laplacian, spectral_embedding, unit_rows
from bregopt_paper.scores import SCORES, Labels

MU, ETA, ITERATIONS = 100.0, 0.1, 100
TSVD, NNDSVD = "tsvd", "nndsvd(fill=mean)"


@final
@frozen
class Fit:
    """A model and how it is fitted."""

    model: str
    """``graph-nmf``, ``graph-relu-nmd``, or ``linear``: neither the ReLU nor a sign constraint"""
    name: str
    """of the method, in the names of tasks"""
    method: str
    start: str = TSVD
    paper: bool = False
    """whether the kernel is the paper's; otherwise the problem's own"""

    @property
    def key(self) -> str:
        return f"{self.model}/{self.name}"


FITS = (
    Fit("graph-nmf", "bpg", "bpg(step=1)", NNDSVD, paper=True),
    Fit("graph-nmf", "bpge", "bpge(step=1)", NNDSVD, paper=True),
    Fit("graph-nmf", "gnmf", "gnmf", NNDSVD),
    Fit("graph-nmf", "aapb", "aapb", NNDSVD),
    Fit("graph-relu-nmd", "apb-paper", "apb(step=1)", paper=True),
    Fit("graph-relu-nmd", "aapb-paper", "aapb(beta=0.6, step=1)", paper=True),
    Fit("graph-relu-nmd", "aapb", "aapb"),
    Fit("linear", "aapb", "aapb"),
)
BASELINES = ("svd", "whitened-svd", "spectral")


@final
@frozen
class Setting:
    """Which data sets, and how often k-means is begun."""

    datasets: tuple[str, ...]
    seeds: int
    restarts: int


FULL = Setting(("coil20", "pie", "tdt2"), seeds=10, restarts=20)
QUICK = Setting(("tiny-faces", "tiny-documents"), seeds=2, restarts=5)
SECONDS = {"coil20": (4.0, 4.0, 1.0), "pie": (15.0, 15.0, 7.0), "tdt2": (20.0, 130.0, 15.0)}
"""On two cores: of a fit without the ReLU, of one with it, and of k-means in the original space with one seed."""


@final
@frozen
class Clustering(Experiment):
    """COIL20, PIE and TDT2: the paper's methods with its constants, ours, and what needs no factorisation."""

    name = "clustering"

    def tasks(self, quick: bool) -> Sequence[Task]:
        setting = QUICK if quick else FULL
        known = {entry.name for entry in bregopt.catalog("method")}
        fits = [fit for fit in FITS if bregopt.parse_spec(fit.method).name in known]
        return [task for dataset in setting.datasets for task in _tasks(dataset, setting, fits)]

    def section(self, records: Mapping[str, Record], quick: bool) -> Section:
        setting = QUICK if quick else FULL
        found = {
            dataset: {
                key: _merged([records[name] for name in names if name in records])
                for key, names in _names(dataset, setting).items()
                if any(name in records for name in names)
            }
            for dataset in setting.datasets
        }
        return clustering_section(found)


def _names(dataset: str, setting: Setting) -> dict[str, list[str]]:
    """The tasks of every row of the table."""
    single = {key: [f"clustering/{dataset}/{key}"] for key in (*BASELINES, *(fit.key for fit in FITS))}
    return {"k-means": [f"clustering/{dataset}/k-means/{seed}" for seed in range(setting.seeds)], **single}


def _merged(records: Sequence[Record]) -> Record:
    """The first record, with the scores of all."""
    scores = {score: np.concatenate([record["scores"][score] for record in records]) for score in SCORES}
    return {**records[0], "scores": scores}


def _tasks(dataset: str, setting: Setting, fits: Iterable[Fit]) -> list[Task]:
    linear, relu, original = SECONDS.get(dataset, (1.0, 1.0, 0.2))
    common: dict[str, Any] = {"dataset": dataset, "neighbours": NEIGHBOURS, "restarts": setting.restarts}
    seeds = range(setting.seeds)

    def task(name: str, run: Any, seconds: float, **settings: Any) -> Task:
        return Task(f"clustering/{dataset}/{name}", run, (dataset,), seconds, {**common, **settings})

    tasks = [
        task(f"k-means/{seed}", partial(_original, dataset, seed, setting.restarts), original, seeds=[seed])
        for seed in seeds
    ]
    tasks += [
        task(name, partial(_baseline, dataset, name, setting), 0.5 * linear, seeds=list(seeds)) for name in BASELINES
    ]
    tasks += [
        task(
            fit.key,
            partial(_fit, dataset, fit, setting),
            relu if fit.model == "graph-relu-nmd" else linear,
            seeds=list(seeds),
            method=fit.method,
            start=fit.start,
            kernel="the paper's" if fit.paper else "the problem's",
            mu=MU,
            eta=ETA,
            iterations=ITERATIONS,
        )
        for fit in fits
    ]
    return tasks


@final
@frozen(eq=False)
class Samples:
    """A data set with unit rows, and its graph."""

    M: Any
    labels: Labels
    S: Any
    """affinities"""
    L: Any

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1


@functools.lru_cache(maxsize=1)
def _samples(dataset: str) -> Samples:
    """The last one is kept, as many tasks in a row read the same."""
    data = bregopt.make("dataset", dataset)
    M = unit_rows(data.M)
    S = affinities(M)
    return Samples(M, data.labels, S, laplacian(S))


def _original(dataset: str, seed: int, restarts: int) -> Record:
    """k-means on the rows of M."""
    samples = _samples(dataset)
    return {"scores": clustered(samples.M, samples.labels, [seed], restarts)}


def _baseline(dataset: str, name: str, setting: Setting) -> Record:
    """k-means on vectors that no factorisation with a graph has made."""
    samples = _samples(dataset)
    if name == "spectral":
        X = spectral_embedding(samples.S, samples.classes)
    else:
        left, s, _ = leading(samples.M, samples.classes)
        X = left * s if name == "svd" else unit_rows(left)
    return {"scores": _clustered(X, samples, setting)}


def _fit(dataset: str, fit: Fit, setting: Setting) -> Record:
    """The factors after 100 iterations, and k-means on the rows of U; for ours, on its left singular vectors too."""
    samples = _samples(dataset)
    stop = f"max-iterations({ITERATIONS})"
    found = bregopt.solve(problem(samples, fit), method=fit.method, start=fit.start, stop=stop, on_interrupt="raise")
    U = np.asarray(found.Y.U)
    record = {
        "scores": _clustered(U, samples, setting),
        "objective": np.asarray(found.history["objective"], float),
        "seconds": float(found.seconds),
        "reason": found.reason,
        "density": float((samples.M != 0).sum()) / float(np.prod(samples.M.shape)),
        "on_graph": MU * frobenius(samples.L),
        "on_data": frobenius(samples.M),
    }
    if fit.paper or fit.name == "gnmf":
        return record
    left = np.linalg.svd(U, full_matrices=False)[0]
    return {**record, "singular": _clustered(unit_rows(left), samples, setting)}


def problem(samples: Samples, fit: Fit) -> Problem:
    """The problem of a fit, with the kernel that goes with it."""
    ridge = f"ridge({ETA})"
    options: dict[str, Any] = {"rank": samples.classes, "U": ridge, "V": ridge}
    if fit.model == "linear":
        smooth = {"U": bregopt.make("regularizer", "graph", samples.L, mu=MU)}
        found: Problem = bregopt.make("problem", "low-rank", samples.M, smooth=smooth, **options)
    else:
        found = bregopt.make("problem", fit.model, samples.M, graph=samples.L, mu=MU, **options)
    return evolve(found, kernel=PaperKernel(MU * frobenius(samples.L))) if fit.paper else found


@final
@frozen
class PaperKernel(KernelPolicy):
    """``3ψ1 + (‖W‖_F + μ₀‖L‖_F)ψ2``, as the paper has it for a graph."""

    on_graph: float
    """μ₀‖L‖_F"""

    def at(self, norms: Norms) -> Kernel:
        psi1, psi2 = bregopt.make("kernel", "psi1"), bregopt.make("kernel", "psi2")
        kernel: Kernel = 3.0 * psi1 + (norms["frobenius"] + self.on_graph) * psi2
        return kernel

    def sample(self) -> Kernel:
        return self.at({"frobenius": 1.0})


def frobenius(A: Any) -> float:
    """``‖A‖_F``, dense or sparse."""
    return float(np.linalg.norm(A if isinstance(A, np.ndarray) else A.data))


def leading(M: Any, rank: int) -> tuple[Array, Array, Array]:
    """The leading singular vectors and values, largest first."""
    from scipy.sparse.linalg import svds

    U, s, Vt = svds(M, k=rank, v0=np.random.default_rng(0).standard_normal(min(M.shape)))
    return U[:, ::-1], s[::-1], Vt[::-1]


def _clustered(X: Array, samples: Samples, setting: Setting) -> dict[str, Array]:
    return clustered(X, samples.labels, range(setting.seeds), setting.restarts)


def clustered(X: Any, labels: Labels, seeds: Iterable[int], restarts: int) -> dict[str, Array]:
    """k-means on the rows of X, the best of some restarts, once for each seed: ACC, NMI and ARI.

    It goes by one thread: where another process works as well, threads that wait for each other are far slower.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    found = []
    for seed in seeds:
        means = KMeans(int(labels.max()) + 1, n_init=restarts, random_state=seed, algorithm="elkan")
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer clusters than asked for: the scores show it
            found.append(means.fit_predict(X))
    return {name: np.array([score(labels, clusters) for clusters in found]) for name, score in SCORES.items()}
