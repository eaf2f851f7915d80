"""The experiment ``clustering``: scores, graphs, the paper's kernel, and sentences chosen by the figures."""

import itertools
import json
import math

import numpy as np
import pytest
from bregopt_paper import graphs, scores
from bregopt_paper.experiments import clustering
from bregopt_paper.experiments.clustering import FITS, FULL, QUICK, Clustering, Fit, Samples
from bregopt_paper.experiments.clustering_section import (
    AAPB,
    APB,
    BPG,
    BPGE,
    K_MEANS,
    LINEAR,
    NMF,
    PAPER,
    PRINTED,
    RELU,
    ROWS,
    SPECTRAL,
    clustering_section,
)
from scipy.sparse import csr_array

import bregopt as bo
from bregopt.errors import DataError, ParameterError

# ---- scores


def labels(seed, classes=4, clusters=5, size=60):
    rng = np.random.default_rng(seed)
    return rng.integers(classes, size=size), rng.integers(clusters, size=size)


@pytest.mark.parametrize(("classes", "clusters"), [(4, 4), (3, 5), (5, 3), (4, 1)])
def test_accuracy_is_the_best_of_all_matchings(classes, clusters):
    a, b = labels(0, classes, clusters)
    most = max(classes, clusters)
    by_hand = max(np.mean(np.array(names)[b] == a) for names in itertools.permutations(range(most), most))
    assert scores.accuracy(a, b) == pytest.approx(by_hand, abs=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_nmi_and_ari_are_those_of_scikit_learn(seed):
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    a, b = labels(seed)
    mixed = np.where(np.arange(a.size) < 40, a, b)
    for found in (b, mixed):
        assert scores.mutual_information(a, found) == pytest.approx(
            normalized_mutual_info_score(a, found, average_method="max"), abs=1e-12
        )
        assert scores.adjusted_rand(a, found) == pytest.approx(adjusted_rand_score(a, found), abs=1e-12)


@pytest.mark.parametrize("score", scores.SCORES.values())
def test_a_score_is_one_for_the_classes_themselves_under_any_names(score):
    a, b = labels(1)
    assert score(a, np.array([7, 3, 9, 1])[a]) == pytest.approx(1.0, abs=1e-15)
    assert score(a, np.array([4, 2, 0, 1, 3])[b]) == pytest.approx(score(a, b), abs=1e-15)
    assert score(a, b) < 0.7


@pytest.mark.parametrize("score", scores.SCORES.values())
def test_one_class_in_one_cluster_is_found(score):
    assert score(np.zeros(5, int), np.ones(5, int)) == 1.0


@pytest.mark.parametrize(("a", "b"), [(np.zeros(3, int), np.zeros(4, int)), (np.zeros(0, int),) * 2])
def test_scores_refuse_lists_that_do_not_fit(a, b):
    with pytest.raises(DataError, match="one for each sample"):
        scores.accuracy(a, b)


# ---- graphs


def rows_by_hand(M, k):
    """S by loops."""
    unit = M / np.linalg.norm(M, axis=1, keepdims=True)
    S = np.zeros((len(M), len(M)))
    for i in range(len(M)):
        near = sorted((j for j in range(len(M)) if j != i), key=lambda j: -float(unit[i] @ unit[j]))
        for j in near[:k]:
            S[i, j] = S[j, i] = 1.0
    return S


def test_the_graph_joins_each_row_with_its_nearest_by_the_cosine():
    M = np.abs(np.random.default_rng(0).standard_normal((30, 8))) * np.geomspace(0.1, 10, 30)[:, None]
    for given in (M, csr_array(M)):
        S = graphs.affinities(given, 4).toarray()
        assert np.array_equal(S, rows_by_hand(M, 4))
        assert np.array_equal(S, S.T)
        assert not S.diagonal().any()


def test_a_row_is_no_neighbour_of_itself_even_beside_its_copies():
    M = np.repeat(np.eye(2, 5) + 0.1, 4, axis=0)
    S = graphs.affinities(M, 3).toarray()
    assert not S.diagonal().any()
    assert np.array_equal(S + np.eye(8), np.kron(np.eye(2), np.ones((4, 4))))


def test_the_laplacian_measures_differences_along_the_graph():
    rng = np.random.default_rng(0)
    S = graphs.affinities(rng.random((20, 5)), 3)
    L, U = graphs.laplacian(S), rng.standard_normal((20, 2))
    by_hand = sum(0.5 * S[i, j] * float(np.sum((U[i] - U[j]) ** 2)) for i, j in itertools.product(range(20), repeat=2))
    assert np.trace(U.T @ (L @ U)) == pytest.approx(by_hand)
    assert not (L @ np.ones(20)).any()


def test_unit_rows_have_length_one_and_rows_of_zeros_stay():
    M = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])
    wanted = np.array([[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]])
    assert np.allclose(graphs.unit_rows(M), wanted)
    assert np.allclose(graphs.unit_rows(csr_array(M)).toarray(), wanted)


def test_the_spectral_embedding_spans_the_leading_eigenvectors_and_tells_pieces_apart():
    rng = np.random.default_rng(0)
    M = np.zeros((40, 6))
    M[:20, :3], M[20:, 3:] = rng.random((20, 3)), rng.random((20, 3))
    S = graphs.affinities(M, 4)
    degrees = np.asarray(S.sum(axis=1))
    Q = np.linalg.eigh(S.toarray() / np.sqrt(np.outer(degrees, degrees)))[1][:, -3:]
    found = graphs.spectral_embedding(S, 3) * np.sqrt(degrees)[:, None]
    found /= np.linalg.norm(found, axis=0)
    assert np.allclose(np.linalg.svd(Q.T @ found)[1], 1.0, atol=1e-6)


def test_too_many_neighbours_are_refused():
    with pytest.raises(ParameterError, match="from 1 to 3, as M has 4 rows"):
        graphs.affinities(np.eye(4) + 1, 4)


# ---- the fits


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(3)
    classes = np.repeat(np.arange(3), 10)
    M = graphs.unit_rows(np.maximum(0.0, rng.random((3, 12))[classes] + 0.2 * rng.standard_normal((30, 12))))
    S = graphs.affinities(M)
    return Samples(M, classes, S, graphs.laplacian(S))


def objective(samples, model, U, V):
    """The paper's function by its definition."""
    X, L = U @ V, samples.L.toarray()
    W = np.where(samples.M > 0, samples.M, np.minimum(X, 0.0)) if model == "graph-relu-nmd" else samples.M
    squares = np.sum(U**2) + np.sum(V**2)
    return 0.5 * np.sum((W - X) ** 2) + 50.0 * np.trace(U.T @ L @ U) + 0.05 * squares


KNOWN = [fit for fit in FITS if bo.parse_spec(fit.method).name in {entry.name for entry in bo.catalog("method")}]


@pytest.mark.parametrize("fit", KNOWN, ids=lambda fit: fit.key)
def test_every_fit_lowers_the_papers_function(samples, fit):
    found = bo.solve(clustering.problem(samples, fit), method=fit.method, start=fit.start, max_iterations=5)
    assert found.objective == pytest.approx(objective(samples, fit.model, found.Y.U, found.Y.V))
    assert found.history["objective"][-1] < found.history["objective"][0]
    assert fit.model != "graph-nmf" or min(found.Y.U.min(), found.Y.V.min()) >= 0


@pytest.mark.parametrize("key", [APB, BPG])
def test_a_step_with_the_papers_kernel_is_the_papers_formula(samples, key):
    fit = next(fit for fit in FITS if fit.key == key)
    found = bo.solve(clustering.problem(samples, fit), method=fit.method, start=fit.start, max_iterations=1)
    problem = bo.compose(fit.model, samples.M, rank=3, graph=samples.L, U="ridge(0.1)", V="ridge(0.1)")
    Y = problem.first_point(bo.make("start", fit.start), np.random.default_rng(0))
    U, V = Y.U, Y.V
    X, L = U @ V, samples.L.toarray()
    W = np.where(samples.M > 0, samples.M, np.minimum(X, 0.0)) if key == APB else samples.M
    b = np.linalg.norm(W) + 100.0 * np.linalg.norm(L)
    rho = 3.0 * (np.sum(U**2) + np.sum(V**2)) + b
    P, Q = rho * U - (X - W) @ V.T - 100.0 * L @ U, rho * V - U.T @ (X - W)
    if key == BPG:
        P, Q = np.maximum(P, 0.0), np.maximum(Q, 0.0)
    n = np.sum(P**2) + np.sum(Q**2)
    roots = np.roots([3.0 * n, 0.0, b + 0.1, -1.0])  # 3‖(P, Q)‖²t³ + (b + η)t = 1
    t = float(roots[np.abs(roots.imag) < 1e-12].real[0])
    assert np.allclose(found.Y.U, t * P, rtol=1e-9, atol=1e-12)
    assert np.allclose(found.Y.V, t * Q, rtol=1e-9, atol=1e-12)


def test_the_papers_own_methods_forget_the_graph_in_their_kernel(samples):
    """So the fits take the paper's kernel from the problem: by their own the step would be too long."""
    problem = clustering.problem(samples, next(fit for fit in FITS if fit.key == APB))
    kept = bo.solve(problem, method="apb(step=1)", start="tsvd", max_iterations=3)
    assert kept.certificate.assumptions["step"].failed_at == ()
    by_own = bo.solve(problem, method="apb-paper", start="tsvd", max_iterations=3)
    assert by_own.certificate.assumptions["step"].failed_at != ()


def test_the_leading_singular_vectors_come_largest_first(samples):
    U, s, Vt = clustering.leading(samples.M, 3)
    assert np.allclose(s, np.linalg.svd(samples.M)[1][:3])
    assert np.allclose(samples.M @ Vt.T, U * s)


def test_k_means_is_run_once_for_each_seed(samples):
    found = clustering.clustered(np.eye(3)[samples.labels], samples.labels, range(4), 2)
    assert all(np.array_equal(found[score], np.ones(4)) for score in ("ACC", "NMI", "ARI"))


def test_points_that_coincide_are_clustered_without_a_warning():
    found = clustering.clustered(np.zeros((6, 2)), np.repeat([0, 1], 3), [0], 2)
    assert found["ACC"][0] == 0.5


# ---- the tasks


@pytest.mark.parametrize("quick", [False, True])
def test_tasks_have_names_of_their_own_and_settings_that_can_be_kept(quick):
    tasks = Clustering().tasks(quick)
    names = [task.name for task in tasks]
    assert len(set(names)) == len(names)
    assert all(name.startswith("clustering/") for name in names)
    assert all(json.dumps(task.settings) for task in tasks)
    assert {task.datasets for task in tasks} == {(name,) for name in (QUICK if quick else FULL).datasets}


def test_a_method_that_is_not_registered_is_left_out(monkeypatch):
    monkeypatch.setattr(clustering, "FITS", (*FITS, Fit("linear", "none", "no-such-method")))
    assert not any("none" in task.name for task in Clustering().tasks(quick=True))


def test_a_quick_run_fills_every_cell_and_draws_every_figure():
    from matplotlib.figure import Figure

    records = {task.name: task.run() for task in Clustering().tasks(quick=True) if "documents" in task.name}
    section = Clustering().section(records, quick=True)
    table = next(table for table in section.tables if table.name == "clustering-tiny-documents")
    fitted = {f"{fit.model}/{fit.name}" for fit in KNOWN}
    for key, row in zip(ROWS, table.rows, strict=False):
        if "/" not in key or key in fitted:
            assert all("±" in cell for cell in row[2:5])
            assert all(isinstance(cell, float) for cell in row[6:]) == ("/" in key)
    assert any("tiny faces: their cells are empty" in text for text in section.text)
    for figure in section.figures:
        figure.draw(Figure(figure.size, layout="constrained"))


# ---- the sentences


def planted(nmi, acc=0.5, end=1.0, density=0.5):
    """A record with these scores, whose objective falls to its end."""
    both = {"ACC": np.full(2, acc), "NMI": np.full(2, nmi), "ARI": np.full(2, 0.1)}
    more = {"density": density, "on_graph": 100.0, "on_data": 1.0, "singular": both}
    return {"scores": both, "objective": np.linspace(2 * end, end, 101), **more}


def as_printed(shift=0.0):
    """Records as the paper prints them, and ours beside."""
    found = {name: {key: planted(value / 100 + shift) for key, value in PRINTED[name].items()} for name in PRINTED}
    for name, density in (("pie", 0.9), ("coil20", 0.6), ("tdt2", 0.01)):
        found[name][K_MEANS] = planted(PRINTED[name][K_MEANS] / 100, acc=0.2)
        found[name] |= {NMF: planted(0.80), RELU: planted(0.85, density=density), LINEAR: planted(0.85)}
        found[name] |= {SPECTRAL: planted(0.70)}
    return found


def told(found):
    return " ".join(clustering_section(found).text)


def test_the_verdict_comes_last_and_follows_the_figures():
    assert "The paper's table comes out with its kernel and steps" in clustering_section(as_printed()).text[-1]
    assert "does not come out with its kernel and steps" in clustering_section(as_printed(-0.1)).text[-1]
    mixed = as_printed(-0.1)
    mixed["pie"] = as_printed()["pie"]
    assert "4 of the 12 cells of the paper's table" in clustering_section(mixed).text[-1]


def test_the_column_is_read_as_nmi_only_where_k_means_says_so():
    assert "So the column is read as NMI" in told(as_printed())
    found = as_printed()
    found["pie"][K_MEANS] = planted(0.2, acc=0.55)
    assert "what was measured remains open" in told(found)


def test_the_claims_of_the_paper_are_judged_by_the_figures():
    found = as_printed()
    text = told(found)
    assert "So the gain is not the ReLU's" in text
    assert "is not seen here" in text  # equal gains do not grow
    assert "lower objective than its APB on none of the 3 data sets" in text
    assert "higher NMI on all 3 data sets" in text
    assert "at least the NMI of `aapb` on none of the 3" in text
    for name, gain in (("pie", 0.81), ("coil20", 0.85), ("tdt2", 0.95)):
        found[name][RELU] = planted(gain, density=found[name][RELU]["density"])
        found[name][AAPB] = planted(0.5, end=0.5)
        found[name] |= {LINEAR: planted(0.3), SPECTRAL: planted(0.99)}
    text = told(found)
    assert "So the gain is not" not in text
    assert "is seen here too" in text
    assert "lower objective than its APB on all 3 data sets" in text
    assert "at least the NMI of `aapb` on all 3" in text


def test_without_records_nothing_is_claimed():
    section = Clustering().section({}, quick=False)
    assert "Nothing was run" in section.text[-1]
    assert "There are no results on COIL20, PIE and TDT2" in section.text[-2]
    assert all(cell is None for table in section.tables[1:] for row in table.rows for cell in row[2:5])
    assert [row[1] for row in section.tables[0].rows] == [73.86, 54.41, 67.43]


def test_every_number_of_the_papers_table_is_there():
    assert list(PAPER) == [K_MEANS, BPG, BPGE, APB, AAPB]
    assert PRINTED["pie"] == {K_MEANS: 54.41, BPG: 84.09, BPGE: 88.78, APB: 84.92, AAPB: 88.80}
    assert PRINTED["coil20"] == {K_MEANS: 73.86, BPG: 86.74, BPGE: 87.62, APB: 87.60, AAPB: 89.04}
    assert PRINTED["tdt2"] == {K_MEANS: 67.43, BPG: 75.43, BPGE: 81.78, APB: 77.69, AAPB: 84.24}


def test_the_mean_over_seeds_is_taken_from_all_tasks():
    records = {f"clustering/coil20/k-means/{seed}": planted(nmi) for seed, nmi in enumerate((0.6, 0.8))}
    table = Clustering().section(records, quick=False).tables[0]
    assert math.isclose(table.rows[0][2], 70.0)
