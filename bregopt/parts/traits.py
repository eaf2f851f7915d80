"""What a regularizer may claim about itself; each claim has a check that can fail."""

from enum import Flag, auto


class Trait(Flag):
    """Claims that resolvers and certificates rest on."""

    NONE = 0
    CONVEX = auto()
    """H is convex."""
    SEPARABLE = auto()
    """H(X) = Σ h_ij(x_ij); ``prox`` then also accepts an array of steps that broadcasts against X."""
    HOMOGENEOUS = auto()
    """H(tX) = t·H(X) for t > 0, on a cone that holds the domain (indicators of cones included)."""
    ROW_WISE = auto()
    """H(X) = Σ h(x_i) over rows, the same h for each: the prox of some rows are these rows of the prox."""
    CONSTANT_NORM = auto()
    """H is the indicator of a set on a sphere around 0, so that prox(X) depends on the direction of X only."""
