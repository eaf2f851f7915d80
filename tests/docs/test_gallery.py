"""Every example of the gallery runs without a warning, draws a picture, and what it claims is what it prints.

An example prints each of its numbers in a line "name: number, number, …". ``CLAIMS`` has for each example what has to
be true of these numbers. It runs in the small form, and with the marker ``long`` in full.
"""

import re
import runpy
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

EXAMPLES = {path.stem: path for path in sorted((Path(__file__).parents[2] / "examples").glob("*/*.py"))}
HEAVY = [name for name, path in EXAMPLES.items() if "BREGOPT_EXAMPLES" in path.read_text(encoding="utf-8")]
NUMBER = re.compile(r"(?<![\w@.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")

pytestmark = [pytest.mark.usefixtures("fresh_host"), pytest.mark.timeout(60)]


@pytest.fixture
def assert_holds(tmp_path, monkeypatch, capsys):
    """Run an example in one of its forms and look at what it claims; a warning is an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    matplotlib.use("Agg")

    def run(name, form):
        monkeypatch.setenv("BREGOPT_EXAMPLES", form)
        plt.close("all")
        with matplotlib.rc_context():
            runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
        (figure,) = map(plt.figure, plt.get_fignums())
        figure.savefig("drawn.png", dpi=50)
        printed = capsys.readouterr().out
        assert CLAIMS[name](numbers(printed)), printed

    yield run
    plt.close("all")


def numbers(printed):
    """The numbers of each line, by the words before its colon; True and False are 1 and 0."""
    lines = dict(line.split(": ", 1) for line in printed.strip().splitlines())
    words = {name: rest.replace("True", "1").replace("False", "0") for name, rest in lines.items()}
    return {name: [float(number) for number in NUMBER.findall(rest)] for name, rest in words.items()}


def activations(seen):
    (relu, kept, *_), (tsvd, also, *_), (accuracy, *_) = seen["max(0, UV)"], seen["truncated SVD"], seen["network"]
    return relu < tsvd / 10 and abs(kept - accuracy) < 0.005 and abs(also - accuracy) < 0.005


def choosing_the_rank(seen):
    return all(rank == 5 for rank, *_ in seen.values()) and seen["noise 1.5"][1] > 10


def communities(seen):
    ours, theirs = seen["A ≈ UUᵀ"], seen["spectral clustering"]
    return min(ours) > 0.9 and theirs[0] > 0.95 and theirs[1] == 0


def faces(seen):
    errors = {name: figures[0] for name, figures in seen.items()}
    found = {name: figures[1] for name, figures in seen.items()}
    return (
        found == {"TSVD": 0, "NMF": 12, "sparse NMF": 12, "ReLU": 0}
        and errors["TSVD"] <= errors["NMF"] <= errors["sparse NMF"] < 1.1 * errors["TSVD"]
        and 0.98 * errors["TSVD"] < errors["ReLU"] <= errors["TSVD"]
        and seen["sparse NMF"][-1] > 2 * seen["NMF"][-1]
    )


def inpainting(seen):
    (low, smooth), (low_hills, smooth_hills) = seen["façade"], seen["hills"]
    return low < smooth / 5 and smooth_hills < low_hills


def mixed_table(seen):
    return all(own < squares < median for own, squares, median in zip(*seen.values(), strict=True))


def recommendation(seen):
    ndcg = {name: figures[1] for name, figures in seen.items()}
    least = ndcg.pop("most clicked")
    return (
        min(ndcg.values()) > least + 0.1
        and max(abs(ndcg[name] - ndcg["ALS"]) for name in ("completion", "max(0, UV)")) < 0.015
        and all(ndcg["ALS"] - 0.06 < ndcg[name] < ndcg["ALS"] for name in ("TSVD", "NMF"))
    )


def topics(seen):
    return seen["ReLU, rank 2"] == seen["SVD, rank 3"] == [1.0] and seen["SVD, rank 2"][0] < 0.8


def video_background(seen):
    robust, median, pca = seen["background"]
    return robust < min(median, pca) / 3


def word_vectors(seen):
    ours, svd, pca = (seen[name][::2] for name in ("max(0, UV)", "SVD, inner product", "PCA, cosine"))
    return all(a > b + 0.03 and a > c + 0.03 for a, b, c in zip(ours, svd, pca, strict=True))


def own_kernel(seen):
    return all(guaranteed for _, guaranteed in seen.values()) and seen["kernel of the problem"] < seen["own kernel"]


def own_loss(seen):
    own, squares, margin = seen["cost of an order"]
    return own < margin < squares and own < 0.8 * squares


def own_method(seen):
    products = {name: figures[0] for name, figures in seen.items()}
    never_rose = all(figures[-1] for figures in seen.values())
    return never_rose and products["auto"] < products["own method"] < 1.5 * products["aapb"]


def own_problem(seen):
    (ours, certain), (theirs, _) = seen["own problem"], seen["completion"]
    return abs(ours - theirs) < 0.001 and ours < 0.05 and certain


def own_regularizer(seen):
    group, l1 = seen["group lasso over rows"], seen["l1"]
    return group[0] == 3 < l1[0] and group[2] < 0.05


def methods(seen):
    objective = {name: figures[0] for name, figures in seen.items()}
    return max(objective["auto"], objective["aapb"], objective["ippalm"]) < objective["aapb-paper"] / 5


def phase_retrieval(seen):
    found = {name: figures[0] for name, figures in seen.items()}
    there = max(found["bregopt"], found["projections, same start"])
    return there < 1e-6 and found["projections, random start"] > 0.5


def tensor(seen):
    return seen["tensor (cp)"][0] < 2 and seen["matrix (NMF)"][0] > 3


def dask_cluster(seen):
    return seen["largest relative difference"][0] < 1e-9


def resume(seen):
    return seen["resumed"] == [0, 1] and seen["started again"][1] == 0


CLAIMS = {
    claim.__name__: claim
    for claim in (
        *(activations, choosing_the_rank, communities, faces, inpainting, mixed_table, recommendation, topics),
        *(video_background, word_vectors, own_kernel, own_loss, own_method, own_problem, own_regularizer),
        *(methods, phase_retrieval, tensor, dask_cluster, resume),
    )
}


def test_every_example_has_a_claim_that_is_tested():
    assert set(CLAIMS) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_shows_what_it_claims(name, assert_holds):
    assert_holds(name, "small")


@pytest.mark.long
@pytest.mark.parametrize("name", HEAVY)
def test_an_example_in_its_full_form_shows_what_it_claims(name, assert_holds):
    assert_holds(name, "full")
