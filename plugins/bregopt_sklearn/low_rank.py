"""Any entrywise loss of a product UV as an estimator."""

from typing import Any, final

import numpy as np
from bregopt_lowrank import EntrywiseLoss

from bregopt import Array, Regularizer, make
from bregopt.errors import parameter
from bregopt_sklearn.estimator import Factorization


@final
class LowRank(Factorization):
    """``min Σ e((UV)_ij; x_ij) + H₁(U) + H₂(V)`` over the known entries of X: completion, robust PCA, labels, NMF.

    Parameters
    ----------
    n_components : int, optional
        Columns of U and rows of V. By default 5, or less where X has fewer rows or columns.
    loss : str or EntrywiseLoss
        e for every entry, such as ``"least-squares"``, ``"huber(0.5)"`` or ``"logistic"``; ``bregopt plugins`` lists
        them.
    missing : {None, "nan", "zeros"}
        With ``"nan"`` the entries of X that are nan are unknown, with ``"zeros"`` those that are zero; a zero that a
        sparse X stores is known then. By default nan is refused, and zeros are what the loss says.
    U, V : str or Regularizer
        H₁ and H₂, such as ``"ridge(0.1)"``, ``"l1(0.01)"`` or ``"nonneg"``; ``bregopt plugins`` lists them.
    method : str or Method
        How to solve it, such as ``"bella"``; ``auto`` picks a method for the data.
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
        ``‖X − UV‖/‖X‖`` over the known entries, as the loss measures it; for labels the share of mistakes.
    notes_ : tuple of str
        Which method was used and why, and what was found in the data.
    n_features_in_, feature_names_in_
        The columns of X, and their names where X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from bregopt_sklearn import LowRank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = LowRank(3, missing="nan", U="ridge(0.01)", V="ridge(0.01)", random_state=0)
    >>> filled = model.inverse_transform(model.fit_transform(X))
    >>> bool(np.isfinite(filled).all() and model.reconstruction_err_ < 0.01)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        loss: EntrywiseLoss | str = "least-squares",
        missing: str | None = None,
        U: Regularizer | str = "none",
        V: Regularizer | str = "none",
        *,
        method: Any = "auto",
        max_iter: int = 500,
        tol: float = 1e-4,
        held_out: float = 0.2,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.missing = missing
        self.U = U
        self.V = V
        self.method = method
        self.max_iter = max_iter
        self.tol = tol
        self.held_out = held_out
        self.random_state = random_state
        self.warm_start = warm_start

    def inverse_transform(self, X: Any) -> Array:
        """``UV`` for rows of U; where entries are labels, its signs tell them.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Rows of U, as ``transform`` returns them.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        return np.asarray(self._coefficients(X) @ self.components_)

    def _loss(self) -> EntrywiseLoss:
        if self.missing not in (None, "nan", "zeros"):
            raise parameter("missing", "LowRank", "None, 'nan' or 'zeros'", self.missing)
        if not isinstance(self.loss, str | EntrywiseLoss):
            raise parameter("loss", "LowRank", "one loss for every entry, by its name or an EntrywiseLoss", self.loss)
        loss: EntrywiseLoss = make("loss", self.loss)
        if loss.bounds:
            raise parameter("loss", "LowRank", "a loss that takes one number an entry", self.loss)
        return loss
