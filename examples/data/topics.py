"""
Topics of documents
===================

Three topics in two dimensions: the ReLU of a matrix of rank two can have three blocks, and the truncated SVD of rank two
lays two topics over each other. As parts of a pipeline of scikit-learn, both with k-means.
"""

import matplotlib.pyplot as plt
import numpy as np
from bregopt_sklearn import ReluNMD
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

# %%
# A document has words of its topic, and words that are everywhere.
rng = np.random.default_rng(0)
words = ["goal match team league player coach", "star planet orbit moon galaxy comet", "oven flour sugar butter cake egg"]
common = "one time people day way year".split()
topic = np.arange(120) % 3
texts = [" ".join([*rng.choice(words[k].split(), 7), *rng.choice(common, 5)]) for k in topic]

for r in (2,3):
  for name, model in {
    "max(0, UV)": ReluNMD(r, U="ridge(0.1)", V="ridge(0.1)", random_state=0),
    "truncated SVD": TruncatedSVD(r, random_state=0),
  }.items():
    pipeline = make_pipeline(TfidfVectorizer(), model, KMeans(3, n_init=5, random_state=0))
    found = pipeline.fit_predict(texts)
    print(r, f"{name}: adjusted Rand index {adjusted_rand_score(topic, found):.2f}")
