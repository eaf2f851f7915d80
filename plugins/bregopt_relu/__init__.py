"""ReLU-NMD: the W block, the ReLU loss on a tile, the kernels and the problem."""
