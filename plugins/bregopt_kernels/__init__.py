"""The kernels ψ1 and ψ2, their conic sums, and the Bregman proximal map of that family."""
