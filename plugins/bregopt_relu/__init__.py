"""ReLU-NMD: a non-negative M as max(0, UV), with a lazy W and one pass over row tiles an iteration."""
