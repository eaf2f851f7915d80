"""ReLU-NMD as an estimator."""

from typing import Any, final

import numpy as np
from bregopt_lowrank import EntrywiseLoss

from bregopt import Array, Regularizer, make
from bregopt.errors import parameter
from bregopt_sklearn.estimator import Factorization


@final
class ReluNMD(Factorization):
    """``X ≈ max(0, UV)``: a sparse X ≥ 0 as the ReLU of a matrix of low rank.

    Parameters
    ----------
    n_components : int, optional
        Columns of U and rows of V. By default 5, or less where X has fewer rows or columns.
    U, V : str or Regularizer
        H₁ and H₂, such as ``"ridge(0.1)"``, ``"l1(0.01)"`` or ``"nonneg"``; ``bregopt plugins`` lists them.
    method : str or Method
        How to solve it, such as ``"bella"``; ``auto`` picks a method for the data.
    missing : {None, "nan"}
        With ``"nan"`` the entries of X that are nan are unknown; by default they are refused.
    max_iter : int
        Iterations of the fit at the most.
    tol : float
        The fit ends when the objective fell by less than ``tol`` of itself in ten iterations, or when the relative
        error is at most ``tol``.
    held_out : float
        The share of the columns that ``score`` holds out at a time; 0 for none.
    random_state : int, RandomState or None
        For the V that the fit starts from.
    warm_start : bool
        Whether a second ``fit`` begins with the V of the first.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        V.
    n_components_ : int
        The number of components.
    n_iter_ : int
        The iterations of the fit.
    reconstruction_err_ : float
        ``‖X − max(0, UV)‖/‖X‖`` over the known entries.
    notes_ : tuple of str
        Which method was used and why, and what was found in the data.
    n_features_in_, feature_names_in_
        The columns of X, and their names where X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from bregopt_sklearn import ReluNMD
    >>> rng = np.random.default_rng(0)
    >>> X = np.maximum(0, rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40)))
    >>> model = ReluNMD(n_components=3, random_state=0).fit(X)
    >>> bool(model.reconstruction_err_ < 0.01)
    True
    >>> model.transform(X[:5]).shape
    (5, 3)
    """

    def __init__(
        self,
        n_components: int | None = None,
        U: Regularizer | str = "none",
        V: Regularizer | str = "none",
        *,
        method: Any = "auto",
        missing: str | None = None,
        max_iter: int = 500,
        tol: float = 1e-4,
        held_out: float = 0.2,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.U = U
        self.V = V
        self.method = method
        self.missing = missing
        self.max_iter = max_iter
        self.tol = tol
        self.held_out = held_out
        self.random_state = random_state
        self.warm_start = warm_start

    def inverse_transform(self, X: Any) -> Array:
        """``max(0, UV)`` for rows of U.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Rows of U, as ``transform`` returns them.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        predicted = self._coefficients(X) @ self.components_
        return np.asarray(np.maximum(predicted, 0.0, out=predicted))

    def _loss(self) -> EntrywiseLoss:
        if self.missing not in (None, "nan"):
            raise parameter("missing", "ReluNMD", "None or 'nan'", self.missing)
        loss: EntrywiseLoss = make("loss", "relu")
        return loss

    def _checked(self, X: Any, *, reset: bool) -> Any:
        from sklearn.utils.validation import check_non_negative

        given = super()._checked(X, reset=reset)
        check_non_negative(given, "ReluNMD")
        return given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
