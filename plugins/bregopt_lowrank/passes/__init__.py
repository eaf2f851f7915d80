"""One pass over M: X = UV tile by tile, the residual S = X − W(X), and products with it."""
