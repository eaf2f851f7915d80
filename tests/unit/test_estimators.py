"""The estimators of bregopt_sklearn: scikit-learn's own checks, and what each method promises."""

import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import scipy.sparse
from bregopt_sklearn import LowRank, ReluNMD
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import bregopt as bo
from bregopt.errors import DataError, ParameterError, UnknownNameError

RIDGE = {"U": "ridge(0.1)", "V": "ridge(0.1)"}
ALIKE = "with entrywise weights the fit takes another way, and UV fixes U and V up to a rotation only"
EXPECTED = {
    "huber(1)": {
        "check_sample_weight_equivalence_on_dense_data": ALIKE,
        "check_sample_weight_equivalence_on_sparse_data": "the zeros of a sparse X have no weight of their own",
    }
}
"""Checks that fail, by the loss, with the reason."""
CHECKED = [
    ReluNMD(),
    LowRank(),
    ReluNMD(2, **RIDGE, missing="nan"),
    LowRank(2, **RIDGE, missing="nan"),
    LowRank(2, "huber(1)"),
]


def checks():
    """Each check of scikit-learn for each estimator; none of them claims to take arrays of other libraries."""
    for number, estimator in enumerate(CHECKED):
        expected = EXPECTED.get(getattr(estimator, "loss", ""), {})
        for found, check in estimator_checks_generator(estimator):
            name = check.func.__name__
            if "array_api" not in name:
                marks = [pytest.mark.xfail(reason=expected[name], strict=True)] if name in expected else []
                yield pytest.param(found, check, marks=marks, id=f"{type(estimator).__name__}{number}-{name}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def relu_of_low_rank(m=60, n=30, r=3, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return np.maximum(0.0, rng.standard_normal((m, r)) @ rng.standard_normal((r, n)) - shift)


def known(X, share=0.7, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, X, np.nan)


# ---- transform


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
@pytest.mark.parametrize("model", [ReluNMD(3, **RIDGE), LowRank(3, **RIDGE), LowRank(3, "huber(1)", None, **RIDGE)])
def test_the_rows_of_the_fit_get_the_fitted_U_alone_and_together(model, form):
    X = relu_of_low_rank(shift=1.0)
    model = clone(model).set_params(random_state=0)
    U = model.fit_transform(form(X))
    np.testing.assert_allclose(model.transform(form(X)), U, atol=1e-9)
    np.testing.assert_allclose(model.transform(form(X[10:13])), U[10:13], atol=1e-6)


def test_new_rows_are_those_of_an_independent_minimiser():
    X = relu_of_low_rank(shift=1.0)
    model = ReluNMD(3, **RIDGE, random_state=0).fit(X[:50])
    V = model.components_

    def objective(u, row):
        x = u @ V
        s = np.where(row > 0, x - row, np.maximum(x, 0.0))
        return 0.5 * s @ s + 0.05 * u @ u, V @ s + 0.1 * u

    for u, row in zip(model.transform(X[50:]), X[50:], strict=True):
        best = scipy.optimize.minimize(objective, np.zeros(3), (row,), jac=True, options={"gtol": 1e-10})
        np.testing.assert_allclose(u, best.x, atol=1e-6)


def test_rows_without_any_data_get_what_H_says():
    model = ReluNMD(3, **RIDGE, random_state=0).fit(relu_of_low_rank())
    assert not model.transform(np.zeros((2, 30))).any()
    assert not model.transform(scipy.sparse.csr_array((2, 30))).any()
    filled = LowRank(3, missing="nan", **RIDGE, random_state=0).fit(known(relu_of_low_rank()))
    assert not filled.transform(np.full((2, 30), np.nan)).any()


def test_a_penalty_that_leaves_nothing_gives_zeros():
    model = ReluNMD(2, U="ridge(1e4)", V="ridge(1e4)", random_state=0).fit(relu_of_low_rank())
    assert np.abs(model.transform(relu_of_low_rank())).max() < 1e-6
    model.components_ = np.zeros_like(model.components_)
    assert not model.transform(relu_of_low_rank()).any()


def test_inverse_transform_is_the_prediction():
    X = relu_of_low_rank()
    relu, plain = ReluNMD(3, random_state=0).fit(X), LowRank(3, random_state=0).fit(X)
    predicted = relu.inverse_transform(relu.transform(X))
    assert np.linalg.norm(predicted - X) / np.linalg.norm(X) == pytest.approx(relu.reconstruction_err_, rel=1e-3)
    assert relu.reconstruction_err_ < 1e-3 < 0.1 < plain.reconstruction_err_
    np.testing.assert_allclose(plain.inverse_transform(plain.transform(X)), plain.transform(X) @ plain.components_)


def test_least_squares_reaches_the_truncated_svd():
    X = np.random.default_rng(0).standard_normal((40, 25))
    model = LowRank(4, random_state=0, tol=1e-12, max_iter=5000).fit(X)
    tail = np.linalg.svd(X, compute_uv=False)[4:]
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(tail) / np.linalg.norm(X), rel=1e-6)


# ---- missing entries, weights, sparse data


@pytest.mark.parametrize("model", [ReluNMD(3, "ridge(0.01)", "ridge(0.01)"), LowRank(3, "relu", **RIDGE)])
def test_nan_is_missing_where_that_was_asked_for(model):
    X = relu_of_low_rank(80, 50)
    model = clone(model).set_params(random_state=0)
    with pytest.raises(ValueError, match="NaN") as caught:
        model.fit(known(X))
    assert f"{type(model).__name__}(missing='nan')" in caught.value.__notes__[0]
    model.set_params(missing="nan", tol=1e-6, max_iter=2000)
    filled = model.inverse_transform(model.fit_transform(known(X)))
    assert np.linalg.norm(np.maximum(filled, 0) - X) < 0.1 * np.linalg.norm(X)


def test_zeros_are_missing_where_that_was_asked_for():
    X = np.random.default_rng(0).standard_normal((60, 3)) @ np.random.default_rng(1).standard_normal((3, 40))
    seen = scipy.sparse.csr_array(np.nan_to_num(known(X, 0.5)))
    model = LowRank(3, missing="zeros", U="ridge(0.01)", V="ridge(0.01)", random_state=0, tol=1e-8, max_iter=2000)
    filled = model.inverse_transform(model.fit_transform(seen))
    assert np.linalg.norm(filled - X) < 0.05 * np.linalg.norm(X)


@pytest.mark.parametrize(
    "spec", ["none", "ridge(0.5)", "l1(0.3)", "nonneg", "l21(0.2)", "elastic-net(0.1, 0.2)", "mcp(0.3, 3)", "l0(0.1)"]
)
def test_a_row_that_counts_s_times_has_the_penalty_s_times(spec):
    from bregopt_sklearn.row_weights import RowWeighted, row_weighted

    rng, H = np.random.default_rng(0), bo.make("regularizer", spec)
    s, X = np.array([0.5, 1.0, 2.0, 2.0, 7.0]), np.abs(rng.standard_normal((5, 3)))
    for a in (np.sqrt(s), np.ones(5)):
        if bo.Trait.SEPARABLE not in H.traits and a[0] == 1:
            continue
        weighted = row_weighted(H, s, a)
        rows = [float(s[i]) * H.value(X[i : i + 1] / a[i]) for i in range(5)]
        assert weighted.value(X) == pytest.approx(sum(rows))
        assert RowWeighted(H, s, a).value(X) == pytest.approx(sum(rows))
        for made in (weighted, RowWeighted(H, s, a)):
            Z = made.prox(X, 0.3)
            best = made.value(Z) + np.square(Z - X).sum() / 0.6
            for size in np.geomspace(1e-3, 1.0, 200):  # one entry moved, or one row shrunk
                other, i = Z.copy(), rng.integers(5)
                other[i, rng.integers(3)] += size * rng.standard_normal()
                other[i] *= 1.0 - size * rng.integers(2)
                other = np.maximum(other, 0.0)
                assert made.value(other) + np.square(other - X).sum() / 0.6 >= best - 1e-9


@pytest.mark.parametrize("loss", ["least-squares", "relu", "huber(0.5)"])
@pytest.mark.parametrize("H", ["ridge(0.1)", "l1(0.1)"])
def test_weights_give_a_fit_that_repeated_rows_do_not_improve(loss, H):
    X, s = relu_of_low_rank(20, 12), np.random.default_rng(0).integers(0, 4, 20)
    settings = {"U": H, "V": "ridge(0.1)", "random_state": 0, "tol": 1e-7, "max_iter": 3000}
    repeated = X.repeat(s, axis=0)

    def objective(model):
        problem = bo.compose("low-rank", repeated, rank=3, loss=loss, U=H, V="ridge(0.1)")
        start = bo.Blocks(U=model.transform(repeated), V=model.components_)
        return bo.solve(problem, start=start, method="bella", max_iterations=0).objective

    weighted = objective(LowRank(3, loss, **settings).fit(X, sample_weight=s))
    plain = objective(LowRank(3, loss, **settings).fit(repeated))
    assert weighted == pytest.approx(plain, rel=1e-2)


def test_weights_that_cannot_be_kept_are_refused():
    X, s = relu_of_low_rank(20, 12), np.arange(20.0)
    with pytest.raises(DataError, match="sum over rows"):
        ReluNMD(3, U="nuclear(0.1)").fit(X, sample_weight=s)
    with pytest.raises(DataError, match="sparse X needs the loss relu or least-squares"):
        LowRank(3, "huber(1)").fit(scipy.sparse.csr_array(X), sample_weight=s)
    with pytest.raises(DataError, match="sum over entries"):
        LowRank(3, "huber(1)", U="l21(0.1)").fit(X, sample_weight=s)
    with pytest.raises(ParameterError, match="sample_weight"):
        LowRank(3).fit(X, sample_weight=-s)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [ReluNMD(3, **RIDGE), LowRank(3, **RIDGE), LowRank(3, missing="zeros", **RIDGE)])
def test_a_sparse_matrix_is_never_made_dense(model):
    X = scipy.sparse.random_array((2500, 2000), density=0.002, random_state=0, format="csr")
    model = clone(model).set_params(n_components=2, max_iter=2, held_out=0.5, random_state=0)
    model.fit(X[:100]).score(X[:100])  # what compiling takes
    tracemalloc.start()
    model.fit(X, sample_weight=np.linspace(0, 2, 2500))
    model.transform(X)
    model.score(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * 2500 * 2000


# ---- score


@pytest.mark.parametrize("model", [ReluNMD(**RIDGE), LowRank(**RIDGE)])
def test_a_grid_search_over_the_rank_finds_it(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4)) @ rng.standard_normal((4, 60)) + 0.5 * rng.standard_normal((80, 60))
    X = np.maximum(X, 0) if isinstance(model, ReluNMD) else X
    search = GridSearchCV(clone(model).set_params(random_state=0), {"n_components": [2, 3, 4, 5, 8]}, cv=2)
    assert search.fit(X).best_params_ == {"n_components": 4}


def test_the_score_is_the_share_of_the_squares_that_is_explained():
    X = relu_of_low_rank()
    model = ReluNMD(3, **RIDGE, random_state=0, held_out=0).fit(X)
    residual = X - model.inverse_transform(model.transform(X))
    assert model.score(X) == pytest.approx(1 - np.square(residual).sum() / np.square(X).sum(), rel=1e-9)
    model.set_params(held_out=0.25)
    error = 0.0
    fold = np.random.default_rng(0).permutation(30) % 4
    for k in range(4):
        part = ReluNMD(3, **RIDGE, max_iter=1)
        part.components_, part.n_features_in_ = model.components_[:, fold != k], int((fold != k).sum())
        U = part.transform(X[:, fold != k])
        error += np.square(X[:, fold == k] - np.maximum(U @ model.components_[:, fold == k], 0)).sum()
    assert model.score(X) == pytest.approx(1 - error / np.square(X).sum(), rel=1e-6)
    assert model.score(scipy.sparse.csr_array(X)) == pytest.approx(model.score(X), rel=1e-9)


def test_the_score_of_labels_is_the_share_that_is_right():
    rng = np.random.default_rng(0)
    X = np.sign(rng.standard_normal((50, 2)) @ rng.standard_normal((2, 40)))
    model = LowRank(2, "logistic", **RIDGE, random_state=0, held_out=0).fit(X)
    right = np.mean(np.sign(model.inverse_transform(model.transform(X))) == X)
    assert model.score(X) == pytest.approx(right)
    assert model.score(X) == pytest.approx(1 - model.reconstruction_err_)


# ---- in scikit-learn


def documents():
    rng = np.random.default_rng(0)
    themes = [
        "goal match team league player win",
        "star planet orbit moon galaxy light",
        "oven flour sugar butter cake",
    ]
    return [" ".join(rng.choice(themes[i % 3].split(), 12)) for i in range(60)], np.arange(60) % 3


def test_documents_are_clustered_by_their_topics():
    texts, theme = documents()
    pipeline = make_pipeline(
        TfidfVectorizer(),
        ReluNMD(2, **RIDGE, random_state=0),
        KMeans(3, n_init=5, random_state=0),
    )
    assert adjusted_rand_score(theme, pipeline.fit_predict(texts)) > 0.95
    search = GridSearchCV(pipeline[:2], {"relunmd__n_components": [1, 2, 3]}, cv=3)
    assert search.fit(texts).best_params_ == {"relunmd__n_components": 2}  # max(0, UV) of rank two has three blocks
    assert pipeline[:2].get_feature_names_out().tolist() == ["relunmd0", "relunmd1"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_back_with_names(library):
    module = pytest.importorskip(library)
    X = module.DataFrame({f"gene{j}": column for j, column in enumerate(relu_of_low_rank(40, 6).T)})
    model = ReluNMD(2, **RIDGE, random_state=0).set_output(transform=library).fit(X)
    assert isinstance(model.transform(X), module.DataFrame)
    assert list(model.transform(X).columns) == ["relunmd0", "relunmd1"]
    assert model.feature_names_in_.tolist() == list(X.columns)
    columns = ColumnTransformer([("low", clone(model), [f"gene{j}" for j in range(4)])], remainder="passthrough")
    assert list(columns.set_output(transform=library).fit_transform(X).columns) == [
        *("low__relunmd0", "low__relunmd1"),
        *("remainder__gene4", "remainder__gene5"),
    ]


def test_a_fitted_estimator_is_pickled_without_the_data():
    X = relu_of_low_rank(400, 30)
    model = LowRank(3, "huber(1)", U=bo.make("regularizer", "l1(0.1)"), random_state=0).fit(X)
    saved = pickle.dumps(model)
    assert len(saved) < 5000 < X.nbytes
    np.testing.assert_array_equal(pickle.loads(saved).transform(X), model.transform(X))


def test_a_clone_keeps_the_regularizers_that_were_given_as_objects():
    model = ReluNMD(3, U=bo.make("regularizer", "l1(0.1)"))
    assert clone(model).get_params()["U"].eta == 0.1
    assert not hasattr(clone(model.set_params(tol=0.01).fit(relu_of_low_rank())), "components_")


def test_a_warm_start_begins_where_the_last_fit_ended():
    X = relu_of_low_rank(shift=0.5)
    model = ReluNMD(3, **RIDGE, random_state=0, warm_start=True).fit(X)
    last = model.reconstruction_err_
    with pytest.warns(ConvergenceWarning):
        cold = ReluNMD(3, **RIDGE, random_state=0, max_iter=1).fit(X).reconstruction_err_
    with pytest.warns(ConvergenceWarning):
        warm = model.set_params(max_iter=1).fit(X).reconstruction_err_
    assert warm < 1.1 * last < 0.5 * cold
    model.set_params(max_iter=500)
    assert model.set_params(n_components=4).fit(X).components_.shape == (4, 30)
    assert model.fit(X[:, :20]).components_.shape == (4, 20)


def test_random_state_decides_the_start():
    X = relu_of_low_rank()

    def V(state):
        return ReluNMD(3, **RIDGE, random_state=state).fit(X).components_

    np.testing.assert_array_equal(V(3), V(3))
    np.testing.assert_array_equal(V(3), V(np.random.RandomState(3)))
    assert not np.allclose(V(3), V(4))
    assert not np.allclose(V(None), V(None))


def test_float32_stays_float32():
    X = relu_of_low_rank().astype(np.float32)
    model = ReluNMD(3, **RIDGE, random_state=0).fit(X)
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    exact = ReluNMD(3, **RIDGE, random_state=0).fit(X.astype(float))
    np.testing.assert_allclose(model.components_, exact.components_, atol=0.05 * np.abs(exact.components_).max())


# ---- what is refused


@pytest.mark.parametrize(
    ("model", "error", "told"),
    [
        (ReluNMD(0), ParameterError, "'n_components' parameter of ReluNMD must be a whole number >= 1 or None. Got 0"),
        (ReluNMD(31), ParameterError, "'n_components' parameter of ReluNMD must be at most 30, as X is 60×30. Got 31"),
        (ReluNMD(3, max_iter=0), ParameterError, "'max_iter' parameter of ReluNMD must be a whole number >= 1. Got 0"),
        (LowRank(3, tol=-1), ParameterError, "'tol' parameter of LowRank must be a finite number >= 0. Got -1"),
        (LowRank(3, held_out=1), ParameterError, "'held_out' parameter of LowRank must be 0 or a number from above"),
        (LowRank(3, missing="none"), ParameterError, "'missing' parameter of LowRank must be None, 'nan' or 'zeros'"),
        (
            ReluNMD(3, missing="zeros"),
            ParameterError,
            "'missing' parameter of ReluNMD must be None or 'nan'. Got 'zeros",
        ),
        (
            LowRank(3, loss={"0:": "relu"}),
            ParameterError,
            "'loss' parameter of LowRank must be one loss for every entry",
        ),
        (LowRank(3, loss="interval"), ParameterError, "must be a loss that takes one number an entry. Got 'interval'"),
        (LowRank(3, loss="hubber"), UnknownNameError, "There is no loss named 'hubber'"),
        (ReluNMD(3, U="l3"), UnknownNameError, "There is no regularizer named 'l3'"),
        (LowRank(3, loss="logistic"), DataError, "M must be"),
    ],
    ids=lambda it: it if isinstance(it, str) else None,
)
def test_a_mistake_is_named_when_fit_is_called(model, error, told):
    with pytest.raises(error) as found:
        model.fit(relu_of_low_rank())
    assert told in str(found.value)
    if error is DataError:
        assert found.value.__notes__ == ["M is the X that LowRank was given."]


def test_other_mistakes_are_named():
    X = relu_of_low_rank()
    with pytest.raises(ValueError, match="Negative values in data passed to ReluNMD"):
        ReluNMD(3).fit(X - 1)
    with pytest.raises(DataError, match="zero everywhere"):
        ReluNMD(3).fit(np.zeros((5, 4)))
    with pytest.raises(NotFittedError):
        ReluNMD(3).inverse_transform(X)
    with pytest.raises(DataError, match=r"X must have 3 columns, one for each component\. Got 30"):
        ReluNMD(3, random_state=0).fit(X).inverse_transform(X)
    with pytest.warns(ConvergenceWarning, match="limit of 2 iterations was reached. Raise max_iter or tol"):
        ReluNMD(3, max_iter=2, tol=0).fit(X)


def test_without_scikit_learn_the_extra_is_named():
    code = "import sys; sys.modules['sklearn'] = None; import bregopt_sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        'ImportError: bregopt_sklearn needs scikit-learn 1.6 or newer. Install it: pip install "bregopt[sklearn]".'
    )


@pytest.mark.parametrize("estimator", [ReluNMD, LowRank])
def test_the_examples_of_the_docstrings_are_right(estimator):
    import doctest

    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for test in finder.find(estimator):
        assert runner.run(test).failed == 0
    assert runner.tries > 3


def test_a_column_of_a_frame_may_hold_the_weights():
    X = pd.DataFrame(relu_of_low_rank(40, 6))
    weights = pd.Series(np.ones(40))
    a, b = (LowRank(2, **RIDGE, random_state=0).fit(X, sample_weight=s) for s in (weights, None))
    np.testing.assert_array_equal(a.components_, b.components_)
