"""scikit-learn: documents by TF-IDF, ReLU-NMD and k-means, and a grid search over the rank."""

import numpy as np
from bregopt_sklearn import ReluNMD
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

rng = np.random.default_rng(0)
topics = ["goal match team league player", "star planet orbit moon galaxy", "oven flour sugar butter cake"]
texts = [" ".join(rng.choice(topics[i % 3].split(), 10)) for i in range(90)]

# two components are enough for three topics: the ReLU of a matrix of rank two can have three blocks
model = ReluNMD(n_components=2, U="ridge(0.1)", V="ridge(0.1)", random_state=0)
pipeline = make_pipeline(TfidfVectorizer(), model, KMeans(3, n_init=5, random_state=0))
labels = pipeline.fit_predict(texts)
for k in range(3):
    print(f"cluster {k}: {np.sum(labels == k)} documents, such as: {texts[int(np.argmax(labels == k))]}")

search = GridSearchCV(pipeline[:2], {"relunmd__n_components": [1, 2, 3]}, cv=3).fit(texts)
print("score by rank:", dict(zip([1, 2, 3], search.cv_results_["mean_test_score"].round(2).tolist(), strict=True)))
