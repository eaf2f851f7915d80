"""The experiment ``compression``: its measures, its bound on V, and sentences chosen by the figures."""

import json

import numpy as np
import pytest
from bregopt_paper.experiments import compression
from bregopt_paper.experiments.compression import FULL, QUICK, Compression
from bregopt_paper.experiments.compression_section import METHODS, compression_section, mosaic, picture
from matplotlib.figure import Figure


def sparse_basis(rows=40, r=12, rank=5, seed=0):
    """Non-negative, and the ReLU of a matrix of low rank."""
    rng = np.random.default_rng(seed)
    return np.maximum(0.0, rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, r)))


def test_the_weights_are_the_best_non_negative_ones():
    from scipy.optimize import nnls

    rng = np.random.default_rng(0)
    B, M = np.abs(rng.standard_normal((15, 6))), rng.standard_normal((15, 9))
    V = compression.weights(B, M)
    assert V.min() >= 0
    slope = B.T @ (B @ V - M)
    assert slope.min() > -1e-10
    assert np.abs(slope * V).max() < 1e-10
    assert all(np.allclose(V[:, j], nnls(B, M[:, j])[0], atol=1e-8) for j in range(9))


def test_the_weights_exist_for_a_basis_with_an_empty_element():
    B = np.abs(np.random.default_rng(0).standard_normal((10, 4)))
    B[:, 2] = 0.0
    V = compression.weights(B, B @ np.ones((4, 3)))
    assert np.allclose(B @ V, B @ np.ones((4, 3)))


def test_the_clipped_svd_is_never_worse_than_the_svd_for_a_non_negative_basis():
    U = sparse_basis()
    left, s, right = np.linalg.svd(U, full_matrices=False)
    plain = (left[:, :3] * s[:3]) @ right[:3]
    found = compression.clipped_svd(U, 3)
    assert np.array_equal(found, np.maximum(plain, 0.0))
    assert np.linalg.norm(U - found) < np.linalg.norm(U - plain)


@pytest.mark.parametrize("method", compression.METHODS)
def test_every_row_of_v_has_few_non_zeros(method):
    Y = compression.compressed(sparse_basis(), 5, 10, method, 20)
    assert Y.U.shape == (40, 5)
    assert np.count_nonzero(Y.V, axis=1).max() == 10


def test_ours_finds_a_basis_of_low_rank_where_the_svd_cannot():
    U = sparse_basis()
    Y = compression.compressed(U, 5, 12, "aapb", 400)
    error = np.linalg.norm(U - np.maximum(0.0, Y.U @ Y.V))
    assert error < 0.1 * np.linalg.norm(U - compression.clipped_svd(U, 5))


def test_the_bound_on_v_is_the_papers():
    assert {faces.dataset: (faces.rank, faces.most) for faces in FULL} == {"yaleb": (81, 67), "orl": (100, 83)}
    assert all(faces.shown == 55 for faces in FULL)


@pytest.mark.parametrize("quick", [False, True])
def test_there_is_a_task_for_each_data_set_with_settings_that_can_be_kept(quick):
    tasks = Compression().tasks(quick)
    assert [task.datasets for task in tasks] == [(faces.dataset,) for faces in (QUICK if quick else FULL)]
    assert all(json.dumps(task.settings) for task in tasks)


def test_a_quick_run_measures_what_it_says_and_draws_every_figure():
    import bregopt as bo

    (task,) = Compression().tasks(quick=True)
    record = task.run()
    M, U = bo.make("dataset", "tiny-faces").M.T, record["basis"].astype(float)
    assert record["nmf_error"] < 0.2
    place = record["ranks"].index(record["shown"])
    for method in METHODS:
        run = record["runs"][method][place]
        found = run["basis"].astype(float)
        V = compression.weights(found, M)
        assert run["error"] == pytest.approx(np.linalg.norm(U - found) / np.linalg.norm(U), rel=1e-4)
        assert run["tol"] == pytest.approx(np.linalg.norm(M - found @ V) / np.linalg.norm(M), rel=1e-4)
    section = Compression().section({task.name: record}, quick=True)
    assert all(len(row) == len(section.tables[0].columns) for row in section.tables[0].rows)
    for figure in section.figures:
        figure.draw(Figure(figure.size, layout="constrained"))


# ---- the sentences


def planted(nmf_error=0.15, ranks=(35, 45, 55, 65), **tols):
    """A record with these Tol_NMF at every rank; errors on the basis go with them."""
    faces = np.ones((4, 1), np.float32)

    def runs(tol):
        return [{"error": tol, "tol": tol, "basis": np.ones((4, 4), np.float32), "faces": faces} for _ in ranks]

    names = {"tsvd": 0.19, "apb_paper": 0.17, "aapb_paper": 0.16, "aapb": 0.15} | tols
    return {
        "shape": [4, 9], "rank": 81, "ranks": list(ranks), "most": 67, "shown": 55, "iterations": 300,
        "nmf_error": nmf_error, "nmf_seconds": 1.0, "zeros": 0.6, "basis": np.ones((4, 4), np.float32),
        "faces": faces, "nmf_faces": faces,
        "runs": {name.replace("_", "-"): runs(tol) for name, tol in names.items()},
    }  # fmt: skip


def verdict(record):
    return compression_section({"yaleb": record, "orl": None}).text[-1]


def test_what_the_paper_prints_is_compared_digit_by_digit():
    assert "all 3 numbers come out with its settings" in verdict(planted())
    assert "2 of the 3 numbers come out with its settings" in verdict(planted(apb_paper=0.176))
    assert "none of the 3 numbers" in verdict(planted(tsvd=0.3, apb_paper=0.25, aapb_paper=0.2))


def test_the_order_of_the_methods_is_told_as_it_is():
    assert "is to be seen in Tol_NMF in all 4 cells" in verdict(planted())
    assert "is to be seen in Tol_NMF in none of the 4 cells" in verdict(planted(tsvd=0.1))
    assert "smaller error on the basis than TSVD in none of the 4 cells" in verdict(planted(tsvd=0.1))
    assert "Ours is below its AAPB in both measures in none of the 4" in verdict(planted(aapb=0.2))
    assert "AAPB's error on the basis is 1.07 to 1 times ours" in verdict(planted())


def test_a_rank_is_called_lossless_only_from_where_it_stays_so():
    record = planted()
    assert "From r' = 35 on" in " ".join(compression_section({"yaleb": record}).text)
    record["runs"]["aapb"][1] = record["runs"]["aapb"][1] | {"tol": 0.2}
    assert "From r' = 55 on" in " ".join(compression_section({"yaleb": record}).text)
    record["runs"]["aapb"][3] = record["runs"]["aapb"][3] | {"tol": 0.2}
    assert "loses less than" not in " ".join(compression_section({"yaleb": record}).text)


def test_what_is_missing_is_said():
    section = compression_section({"yaleb": planted(), "orl": None})
    assert any("There are no results on ORL" in text for text in section.text)
    empty = Compression().section({}, quick=False)
    assert "Nothing was run" in empty.text[-1]
    for figure in empty.figures:
        figure.draw(Figure(figure.size, layout="constrained"))


def test_pictures_go_down_first_and_fill_a_square():
    assert np.array_equal(picture(np.arange(4)), [[0, 2], [1, 3]])
    wall = mosaic(np.arange(20.0).reshape(4, 5))
    assert wall.shape == (7, 7)
    assert np.array_equal(wall[1:3, 1:3], [[0, 10], [5, 15]])
    assert np.array_equal(wall[1:3, 4:6], [[1, 11], [6, 16]])
    assert np.array_equal(wall[4:6, 1:3], [[2, 12], [7, 17]])
