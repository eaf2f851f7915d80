"""
Topics of documents
===================

Documents of three topics, clustered in a pipeline of scikit-learn. Two numbers a document are enough for the ReLU
model, as the ReLU of a matrix of rank two can have three blocks. The truncated SVD needs three.
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
words = [
    "goal match team league player coach",
    "star planet orbit moon galaxy comet",
    "oven flour sugar butter cake egg",
]
common = ["one", "time", "people", "day", "way", "year"]
topic = np.arange(120) % 3
texts = [" ".join([*rng.choice(words[k].split(), 7), *rng.choice(common, 5)]) for k in topic]


# %%
# The index is 1 for the topics exactly, and about 0 for a guess.
models = {
    "ReLU, rank 2": ReluNMD(2, U="ridge(0.1)", V="ridge(0.1)", random_state=0),
    "SVD, rank 2": TruncatedSVD(2, random_state=0),
    "SVD, rank 3": TruncatedSVD(3, random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for axis, (name, model) in zip(axes, models.items()):
    pipeline = make_pipeline(TfidfVectorizer(), model, KMeans(3, n_init=5, random_state=0))
    index = adjusted_rand_score(topic, pipeline.fit_predict(texts))
    print(f"{name}: adjusted Rand index {index:.2f}")
    axis.scatter(*pipeline[:2].transform(texts).T[-2:], c=topic, cmap="brg", s=15)
    axis.set(title=f"{name}: index {index:.2f}", xticks=[], yticks=[])
plt.show()
