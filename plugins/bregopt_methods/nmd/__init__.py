"""Methods made for nonlinear matrix decomposition without H."""
