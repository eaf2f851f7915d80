"""What the estimators share: X ≈ UV by ``bregopt.solve``, new rows with V as it is, and scores on held-out columns."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Self, final

import numpy as np
from bregopt_lowrank import EntrywiseLoss, Given, LocalMatrix, local_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from bregopt import Array, Blocks, Fixed, Regularizer, ResolvedProblem, Trait, compose, make, solve
from bregopt.errors import DataError, parameter
from bregopt_sklearn.new_rows import least_squares, solve_rows
from bregopt_sklearn.row_weights import row_weighted

DEFAULT_RANK = 5
"""The number of components where none is given, or less where X is smaller."""
SCALABLE = ("relu", "least-squares")
"""Losses with e(tx; tm) = t²e(x; m): a row that counts s times is the row times √s."""


class Factorization(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """``min Σ e((UV)_ij; x_ij) + H₁(U) + H₂(V)``, as an estimator whose transform of X is U."""

    n_components: int | None
    U: Regularizer | str
    V: Regularizer | str
    method: Any
    missing: str | None
    max_iter: int
    tol: float
    held_out: float
    random_state: Any
    warm_start: bool

    @abstractmethod
    def _loss(self) -> EntrywiseLoss:
        """e."""

    @abstractmethod
    def inverse_transform(self, X: Any) -> Array:
        """What the rows of U predict for X."""

    @final
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find U and V for X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data. A sparse X is never made dense.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How many times each row counts. It multiplies the loss of the row and H₁ of its row of U.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight)
        return self

    @final
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Find U and V for X, and return U; the parameters are those of ``fit``."""
        return self._fit(X, sample_weight)

    @final
    def transform(self, X: Any) -> Array:
        """U for the rows of X, with V as it was fitted.

        Each row x is solved until its gradient is 1e-10 of ‖xVᵀ‖, or 1e-5 for an X of float32. Where H₁ is strongly
        convex, such as ``ridge(0.1)``, the rows that were fitted get the U of the fit.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        given = self._checked(X, reset=False)
        return self._rows(given, self.components_).astype(given.dtype)

    @final
    def score(self, X: Any, y: Any = None) -> float:
        """How well held-out columns of X are predicted; larger is better, and 1 is perfect.

        For each fold of the columns, U is found from the other columns, and the fold is predicted by it. The score is
        1 − Σ(x − x̂)²/Σx² over the known entries; for a loss of labels it is the share that is right. With
        ``held_out=0`` all columns are used for both, so that more components always look better.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows, new ones or those of the fit.
        y : None
            Ignored.
        """
        check_is_fitted(self)
        given, error, size = self._checked(X, reset=False), 0.0, 0.0
        for seen, asked in self._folds(given.shape[1]):
            U = self._rows(given[:, seen], self.components_[:, seen])
            one, whole = self._error(given[:, asked], U, self.components_[:, asked])
            error, size = error + one, size + whole
        return 1.0 - error / size if size else float(error == 0)

    def _folds(self, columns: int) -> Iterator[tuple[Any, Any]]:
        """Columns to find U by, and columns to predict: the same folds for every rank."""
        folds = min(round(1.0 / self.held_out), columns) if self.held_out else 1
        if folds < 2:
            yield slice(None), slice(None)
            return
        fold = np.random.default_rng(0).permutation(columns) % folds
        for k in range(folds):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def _fit(self, X: Any, sample_weight: Any) -> Array:
        given = self._checked(X, reset=True)
        self._check_parameters()
        weighted, weights, H = self._weighted(given, sample_weight)
        rank = self._rank(weighted.shape)
        matrix = self._matrix(weighted, weights)
        start = self._start(weighted, weights, H, matrix, rank)
        result = solve(
            self._problem(matrix, rank=rank, U=H, V=self.V),
            method=self.method,
            start=start,
            stop=make("stop", "plateau", self.tol),
            tolerance=self.tol,
            max_iterations=self.max_iter,
            on_interrupt="raise",
        )
        if not result.converged:
            told = f"{type(self).__name__}: {result.reason} Raise max_iter or tol, or scale the data."
            warnings.warn(told, ConvergenceWarning, stacklevel=3)
        self.components_ = result.Y.V.astype(given.dtype)
        self.n_components_, self.notes_ = rank, result.notes
        self.n_iter_ = max(result.iterations, 1)  # the exact U that follows is one
        U = self._rows(given, self.components_)
        self.reconstruction_err_ = self._metric(self._matrix(given), U, self.components_)
        return U.astype(given.dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """X as a dense array or CSR, of float64 or float32."""
        finite = "allow-nan" if self.missing == "nan" else True
        kinds = [np.float64, np.float32]
        try:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=kinds, ensure_all_finite=finite)
        except ValueError as error:
            if self.missing != "nan" and "NaN" in str(error):
                error.add_note(f"{type(self).__name__}(missing='nan') takes nan for unknown entries.")
            raise

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        rank, share = self.n_components, self.held_out
        if rank is not None and (isinstance(rank, bool) or not isinstance(rank, Integral) or rank < 1):
            raise parameter("n_components", owner, "a whole number >= 1 or None", rank)
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise parameter("max_iter", owner, "a whole number >= 1", self.max_iter)
        if not isinstance(self.tol, Real) or not 0 <= self.tol < math.inf:
            raise parameter("tol", owner, "a finite number >= 0", self.tol)
        if not isinstance(share, Real) or not (share == 0 or 0 < share <= 0.5):
            raise parameter("held_out", owner, "0 or a number from above 0 to 0.5", share)

    def _rank(self, shape: tuple[int, int]) -> int:
        if self.n_components is None:
            return min(DEFAULT_RANK, *shape)
        if self.n_components > min(shape):
            rule = f"at most {min(shape)}, as X is {shape[0]}×{shape[1]}"
            raise parameter("n_components", type(self).__name__, rule, self.n_components)
        return int(self.n_components)

    def _weighted(self, X: Any, sample_weight: Any) -> tuple[Any, Any, Regularizer]:
        """X, weights for its entries, and H₁, such that every row counts as often as it should."""
        H: Regularizer = make("regularizer", self.U)
        if sample_weight is None:
            return X, None, H
        owner, s = type(self).__name__, _check_sample_weight(sample_weight, X, dtype=np.float64)
        if s.min() < 0:
            raise parameter("sample_weight", owner, "numbers >= 0", float(s.min()))
        if not s.any():
            raise DataError("Every sample_weight is zero: there is nothing to fit.")
        X, s = X[s > 0], s[s > 0]
        if np.all(s == 1):
            return X, None, H
        if Trait.ROW_WISE not in H.traits:
            raise DataError(f"A sample_weight needs an H₁ that is a sum over rows, such as l1 or ridge. U is {H!r}.")
        if self._loss() in [make("loss", name) for name in SCALABLE]:
            root = np.sqrt(s)
            scaled = X.multiply(root[:, None]).tocsr() if hasattr(X, "tocsr") else root[:, None] * X
            return scaled.astype(X.dtype), None, row_weighted(H, s, root)
        if Trait.SEPARABLE not in H.traits:
            raise DataError(f"With this loss, a sample_weight needs an H₁ that is a sum over entries. U is {H!r}.")
        return X, self._entry_weights(X, s), row_weighted(H, s, np.ones_like(s))

    def _entry_weights(self, X: Any, s: Array) -> Any:
        """The weights of the rows, for each entry of a dense X, or each stored one of an X whose zeros are unknown."""
        if not hasattr(X, "tocsr"):
            return np.broadcast_to(s[:, None], X.shape)
        if self._absent != "zeros":
            raise DataError(
                f"A sample_weight with a sparse X needs the loss {' or '.join(SCALABLE)}, or missing='zeros', as the "
                "zeros of X have no weight of their own. Leave the weights out, or pass X as a dense array."
            )
        weights = X.copy()
        weights.data = np.repeat(s, np.diff(X.indptr))
        return weights

    @property
    def _absent(self) -> str | None:
        """Which entries are unknown."""
        return self.missing or ("zeros" if self._loss().zero == "missing" else None)

    def _matrix(self, X: Any, weights: Any = None, *, part: bool = False) -> LocalMatrix:
        """X as the library reads it; a part of the data may be zero everywhere."""
        try:
            return local_matrix(Given(X, weights=weights, missing=self._absent, part=part))
        except DataError as error:
            error.add_note(f"M is the X that {type(self).__name__} was given.")
            raise

    def _problem(self, matrix: LocalMatrix, **blocks: Any) -> ResolvedProblem:
        try:
            problem: ResolvedProblem = compose("low-rank", matrix, loss=self._loss(), **blocks)
        except DataError as error:
            error.add_note(f"M is the X that {type(self).__name__} was given.")
            raise
        return problem

    def _start(self, X: Any, weights: Any, H: Regularizer, matrix: LocalMatrix, rank: int) -> Blocks:
        """The last V and the best U for it, with a warm start; else a random V, which no number of rows changes."""
        shape = rank, matrix.shape[1]
        if self.warm_start and hasattr(self, "components_") and self.components_.shape == shape:
            return Blocks(U=self._rows(X, self.components_, H, weights), V=self.components_)
        V = check_random_state(self.random_state).standard_normal(shape)
        V *= math.sqrt(matrix.frobenius) / np.linalg.norm(V)
        return Blocks(U=least_squares(matrix.filled() @ V.T, V, 0.0), V=V)

    def _rows(self, X: Any, V: Array, H: Regularizer | None = None, weights: Any = None) -> Array:
        """U for these rows and this V."""

        def problem(rows: Any) -> ResolvedProblem:
            some = None if weights is None else weights[rows]
            return self._frozen(self._matrix(X[rows], some, part=True), self.U if H is None else H, V)

        found = solve_rows(problem, np.asarray(V, dtype=np.float64))
        if not found.exact:
            warnings.warn(f"{type(self).__name__}: some rows of U are not exact.", ConvergenceWarning, stacklevel=4)
        return found.U

    def _frozen(self, matrix: LocalMatrix, U: Any, V: Array) -> ResolvedProblem:
        """The problem in U alone; the kernel ``tight`` is not used for it, and takes no SVD of X."""
        return self._problem(matrix, U=U, V=Fixed(V), kernel="tight")

    def _metric(self, matrix: LocalMatrix, U: Array, V: Array) -> float:
        """The relative error of UV, or the share of mistakes."""
        metrics = self._frozen(matrix, "none", V).oracle.evaluate(Blocks(U=U)).metrics
        return float(metrics[self._loss().metric])

    def _error(self, X: Any, U: Array, V: Array) -> tuple[float, float]:
        """Σ(x − x̂)² and Σx² over the known entries; of labels, the mistakes and all."""
        matrix = self._matrix(X, part=True)
        metric, square = self._metric(matrix, U, V), matrix.frobenius**2
        if self._loss().metric == "mistakes":
            return metric * matrix.known, float(matrix.known)
        return metric**2 * (square or matrix.known), square

    def _coefficients(self, X: Any) -> Array:
        """Rows of U as they were given."""
        check_is_fitted(self)
        U = check_array(X, dtype=[np.float64, np.float32])
        rank = self._n_features_out
        if U.shape[1] != rank:
            raise DataError(f"X must have {rank} columns, one for each component. Got {U.shape[1]} instead.")
        return np.asarray(U)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "nan"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
