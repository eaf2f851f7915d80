"""What the clusterings say: tables, figures, and sentences chosen by the figures."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt_paper.experiments.curves import listed, of
from bregopt_paper.experiments.experiment import Figure, Record, Section, Table

Found = Mapping[str, Mapping[str, Record]]
"""Records by data set, then by row of the table."""
CALLED = {
    "coil20": "COIL20",
    "pie": "PIE",
    "tdt2": "TDT2",
    "tiny-faces": "tiny faces",
    "tiny-documents": "tiny documents",
}
K_MEANS, BPG, BPGE, APB, AAPB = (
    "k-means",
    "graph-nmf/bpg",
    "graph-nmf/bpge",
    "graph-relu-nmd/apb-paper",
    "graph-relu-nmd/aapb-paper",
)
NMF, RELU, LINEAR, SPECTRAL = "graph-nmf/aapb", "graph-relu-nmd/aapb", "linear/aapb", "spectral"
PAPER = {K_MEANS: "k-means", BPG: "BPG", BPGE: "BPGE", APB: "NMD-APB", AAPB: "NMD-AAPB"}
PRINTED = {
    "coil20": dict(zip(PAPER, (73.86, 86.74, 87.62, 87.60, 89.04), strict=True)),
    "pie": dict(zip(PAPER, (54.41, 84.09, 88.78, 84.92, 88.80), strict=True)),
    "tdt2": dict(zip(PAPER, (67.43, 75.43, 81.78, 77.69, 84.24), strict=True)),
}
"""The paper's table: its accuracy in percent."""
ROWS = {
    K_MEANS: ("no graph", "k-means on the rows of M"),
    "svd": ("no graph", "truncated SVD"),
    "whitened-svd": ("no graph", "singular vectors with unit rows"),
    SPECTRAL: ("graph only", "spectral clustering"),
    BPG: ("NMF", "BPG, paper's kernel"),
    BPGE: ("NMF", "BPGE, paper's kernel"),
    "graph-nmf/gnmf": ("NMF", "GNMF, multiplicative"),
    NMF: ("NMF", "ours (aapb)"),
    APB: ("ReLU", "APB, paper's kernel"),
    AAPB: ("ReLU", "AAPB, paper's kernel"),
    RELU: ("ReLU", "ours (aapb)"),
    LINEAR: ("linear", "ours (aapb)"),
}
"""Model and method of every row."""
CLOSE = 3.0
"""Points of NMI within which a printed number counts as found."""
TIE = 1.5
"""Points of NMI within which two models count as equal."""
COLORS = {"no graph": "#b9b9b9", "graph only": "#8a8a8a", "NMF": "#d4a017", "ReLU": "#0f62a8", "linear": "#0a9396"}


@final
@frozen(eq=False)
class Scores:
    """The mean scores in percent, where they are there."""

    found: Found

    def get(self, dataset: str, key: str, score: str = "NMI", part: str = "scores") -> float | None:
        record = self.found.get(dataset, {}).get(key, {})
        return 100 * float(np.mean(record[part][score])) if part in record else None

    def pairs(self, first: str, second: str, score: str = "NMI") -> dict[str, tuple[float, float]]:
        """Two rows on the data sets that have both."""
        both = {dataset: (self.get(dataset, first, score), self.get(dataset, second, score)) for dataset in self.found}
        return {dataset: (a, b) for dataset, (a, b) in both.items() if a is not None and b is not None}

    def objectives(self, first: str, second: str) -> dict[str, tuple[float, float]]:
        """The last objectives of two rows on the data sets that have both."""
        return {
            dataset: (float(rows[first]["objective"][-1]), float(rows[second]["objective"][-1]))
            for dataset, rows in self.found.items()
            if first in rows and second in rows
        }


def clustering_section(found: Found) -> Section:
    """The section of what was found; data sets and rows may be missing."""
    scores = Scores(found)
    there = [dataset for dataset in found if found[dataset]]
    text = [_recipe(), _column(scores), _paper_settings(scores), _ours(scores)]
    if len(there) < len(found):
        absent = listed([CALLED[dataset] for dataset in found if dataset not in there])
        text.append(f"There are no results on {absent}: their cells are empty.")
    text.append(_verdict(scores))
    return Section(
        "Clustering with a graph",
        tuple(part for part in text if part),
        (_paper_table(scores), *(_table(scores, dataset) for dataset in found)),
        (
            Figure(
                "clustering-nmi",
                "NMI of every method; a cross is the number that the paper prints, and a thin line the deviation over "
                "the seeds of k-means.",
                partial(_draw_scores, scores, there),
                (9.0, 4.6),
            ),
            Figure(
                "clustering-objective",
                "The objective over the iterations: the paper's kernel dashed, bregopt's own solid. Models have "
                "objectives of their own, so only lines of one colour compare.",
                partial(_draw_objectives, found, there),
                (9.0, 3.4),
            ),
        ),
    )


def _recipe() -> str:
    return (
        "The paper clusters the rows of U from `½‖W − UV‖² + (μ₀/2)Tr(UᵀLU) + (η/2)(‖U‖² + ‖V‖²)` with max(0, W) = M, "
        "and from the same with U, V ≥ 0 and W = M (graph NMF). It takes μ₀ = 100, η = 0.1, 100 iterations, and as "
        "many columns of U as there are classes. It does not say how the data are scaled, how the graph is made, or "
        "where to start. Here rows have unit length, the graph joins each row with its 5 nearest by the cosine, with "
        "weights 0 and 1, and L = D − S. The start is the truncated SVD, and NNDSVDa for NMF. k-means takes the best "
        "of some restarts; all scores are means over its seeds."
    )


def _column(scores: Scores) -> str:
    """How the paper's column is read, and why."""
    known = [
        (CALLED[dataset], acc, nmi, PRINTED[dataset][K_MEANS])
        for dataset in scores.found
        if dataset in PRINTED
        and (acc := scores.get(dataset, K_MEANS, "ACC")) is not None
        and (nmi := scores.get(dataset, K_MEANS)) is not None
    ]
    if not known:
        return ""
    told = listed([f"ACC {acc:.1f} and NMI {nmi:.1f} on {name} ({printed})" for name, acc, nmi, printed in known])
    near = sum(abs(nmi - printed) < abs(acc - printed) for _, acc, nmi, printed in known)
    text = (
        f"**Which score the paper prints.** k-means on the rows of M has {told}; in brackets is the paper's accuracy. "
    )
    if near < len(known):
        return text + (
            f"The printed number is nearer to NMI on {of(near, len(known), 'sets')}, so what was measured remains "
            "open. It is put beside NMI here."
        )
    return text + (
        f"On {of(near, len(known), 'sets')} the printed number is nearer to NMI, the mutual information over the "
        "larger entropy, than to ACC, the share of samples in the class that their cluster is matched with. The "
        "published COIL20 demo of the authors of graph NMF gives the very number 0.7386 for k-means there. So the "
        "column is read as NMI. This is an inference; ACC, NMI and ARI are all printed here."
    )


def _paper_settings(scores: Scores) -> str:
    """What comes out with the paper's kernel."""
    rows = {dataset: records[AAPB] for dataset, records in scores.found.items() if AAPB in records}
    if not rows:
        return ""
    sizes = listed([f"{it['on_graph']:.0f} on {CALLED[name]} (‖M‖ = {it['on_data']:.1f})" for name, it in rows.items()])
    text = (
        "**With the paper's kernel and steps**, that is `3ψ₁ + (‖W‖ + μ₀‖L‖)ψ₂` in Frobenius norms, λ = 1 and β = 0.6, "
        f"the term μ₀‖L‖ is {sizes}. "
    )
    least = min(record["on_graph"] / record["on_data"] for record in rows.values())
    if least > 10:
        text += f"It is at least {least:.0f} times ‖M‖, and makes the steps short. "
    ratios = {dataset: theirs / ours for dataset, (theirs, ours) in scores.objectives(AAPB, RELU).items()}
    if ratios:
        told = listed([f"{ratio:.1f} times on {CALLED[dataset]}" for dataset, ratio in ratios.items()])
        text += f"After its 100 iterations the objective of AAPB is {told} what `aapb` reaches in as many. "
    gaps = _gaps(scores)
    if gaps:
        close = sum(abs(gap) <= CLOSE for gap in gaps)
        text += (
            f"Of the numbers that the paper prints for its four methods, {of(close, len(gaps), 'cells')} come out "
            f"within {CLOSE:g} points of NMI; the differences go from {min(gaps):+.1f} to {max(gaps):+.1f} points. "
        )
    return text.strip()


def _gaps(scores: Scores) -> list[float]:
    """What comes out less what the paper prints, for its own methods."""
    return [
        found - printed
        for dataset, row in PRINTED.items()
        for key, printed in row.items()
        if key != K_MEANS and (found := scores.get(dataset, key)) is not None
    ]


def _ours(scores: Scores) -> str:
    """What comes out with bregopt's own method."""
    told = []
    for dataset in scores.found:
        acc, nmi = scores.get(dataset, RELU, "ACC"), scores.get(dataset, RELU)
        if acc is None or nmi is None:
            continue
        part = f"{acc:.1f}/{nmi:.1f} on {CALLED[dataset]}"
        acc, nmi = (scores.get(dataset, RELU, score, "singular") for score in ("ACC", "NMI"))
        told.append(part if acc is None or nmi is None else f"{part} ({acc:.1f}/{nmi:.1f})")
    if not told:
        return ""
    text = (
        "**With `aapb`**, its own kernel with a share for each row, and as many iterations, the ReLU model has ACC/NMI "
        f"{listed(told)}. In brackets are the left singular vectors of the same U with unit rows in place of U. "
    )
    better = [
        dataset
        for dataset in scores.found
        if (plain := scores.get(dataset, RELU)) is not None
        and (turned := scores.get(dataset, RELU, "NMI", "singular")) is not None
        and turned > plain + TIE
    ]
    if better:
        text += f"They are the better vectors on {listed([CALLED[it] for it in better])}, by more than {TIE:g} points. "
    return text.strip()


def _verdict(scores: Scores) -> str:
    """What was and what was not reproduced."""
    parts = [_reached(scores), _acceleration(scores), _relu(scores), _sparser(scores), _spectral(scores)]
    told = [part for part in parts if part]
    if not told:
        return "**Nothing was run**, so nothing can be said of the paper's table."
    told.append(
        "The scaling, the graph and the start were chosen with the labels in view, as the paper gives none of them."
    )
    return " ".join(["**What was reproduced.**", *told])


def _reached(scores: Scores) -> str:
    gaps = _gaps(scores)
    if not gaps:
        return ""
    close = sum(abs(gap) <= CLOSE for gap in gaps)
    if close == len(gaps):
        return f"The paper's table comes out with its kernel and steps, within {CLOSE:g} points of NMI."
    if close == 0:
        return (
            f"The paper's table does not come out with its kernel and steps: no cell is within {CLOSE:g} points of NMI."
        )
    return (
        f"With its kernel and steps, and with the scaling, graph and start of ours, {of(close, len(gaps), 'cells')} of "
        f"the paper's table come out within {CLOSE:g} points of NMI."
    )


def _acceleration(scores: Scores) -> str:
    objectives, pairs = scores.objectives(AAPB, APB), scores.pairs(AAPB, APB)
    if not pairs:
        return ""
    lower, higher = sum(a < b for a, b in objectives.values()), sum(a > b for a, b in pairs.values())
    return (
        f"Its AAPB has a lower objective than its APB on {of(lower, len(objectives), 'data sets')}, and a higher NMI "
        f"on {of(higher, len(pairs), 'data sets')}."
    )


def _relu(scores: Scores) -> str:
    gains = {dataset: a - b for dataset, (a, b) in scores.pairs(RELU, NMF).items()}
    if not gains:
        return ""
    told = listed([f"{gain:+.1f} on {CALLED[dataset]}" for dataset, gain in gains.items()])
    more = sum(gain > 0 for gain in gains.values())
    text = f"The ReLU model has a higher NMI than NMF on {of(more, len(gains), 'data sets')} (points: {told})."
    linear = {dataset: a - b for dataset, (a, b) in scores.pairs(LINEAR, RELU).items()}
    if not linear:
        return text
    as_well = sum(gap > -TIE for gap in linear.values())
    gaps = listed([f"{gap:+.1f} on {CALLED[dataset]}" for dataset, gap in linear.items()])
    text += (
        f" A linear model without ReLU and without signs does as well, within {TIE:g} points or better, on "
        f"{of(as_well, len(linear), 'data sets')} (beside the ReLU model: {gaps})."
    )
    if as_well == len(linear) and more == len(gains):
        text += (
            " So the gain is not the ReLU's. It goes with free signs, and with the SVD start, which NMF cannot take."
        )
    return text


def _sparser(scores: Scores) -> str:
    """The paper: the sparser the data, the larger the gain."""
    gains = {dataset: a - b for dataset, (a, b) in scores.pairs(RELU, NMF).items()}
    if len(gains) < 2:
        return ""
    sparser = sorted(gains, key=lambda dataset: -float(scores.found[dataset][RELU]["density"]))
    grows = all(gains[a] < gains[b] for a, b in pairwise(sparser))
    return f"That sparser data gain more from the ReLU {'is seen here too' if grows else 'is not seen here'}."


def _spectral(scores: Scores) -> str:
    pairs = scores.pairs(SPECTRAL, RELU)
    if not pairs:
        return ""
    best = sum(a >= b for a, b in pairs.values())
    return (
        f"Spectral clustering on the same graph has at least the NMI of `aapb` on {of(best, len(pairs), 'data sets')}."
    )


def _paper_table(scores: Scores) -> Table:
    def row(dataset: str) -> tuple[Any, ...]:
        cells: list[Any] = [CALLED[dataset]]
        for key in PAPER:
            cells += [PRINTED.get(dataset, {}).get(key), _rounded(scores.get(dataset, key))]
        return (*cells, _rounded(scores.get(dataset, RELU)))

    columns = ["data", *(title for name in PAPER.values() for title in (f"{name}: paper", "here"))]
    return Table(
        "clustering-paper",
        "The paper's table, its accuracy read as NMI (%), beside the NMI that comes out with its kernel and steps; the "
        "last column is the ReLU model by bregopt's aapb.",
        (*columns, "aapb"),
        tuple(row(dataset) for dataset in scores.found),
    )


def _table(scores: Scores, dataset: str) -> Table:
    records = scores.found[dataset]

    def row(key: str, part: str = "scores") -> tuple[Any, ...]:
        model, method = ROWS[key]
        record = records.get(key, {})
        cells = [_spread(record.get(part, {}).get(score)) for score in ("ACC", "NMI", "ARI")]
        objective = (
            [float(record["objective"][min(k, len(record["objective"]) - 1)]) for k in (10, 30, 100)]
            if ("objective" in record and part == "scores")
            else [None] * 3
        )
        printed = PRINTED.get(dataset, {}).get(key) if part == "scores" else None
        method = method if part == "scores" else f"{method}, singular vectors of U with unit rows"
        return (model, method, *cells, printed, *objective)

    rows = [row(key) for key in ROWS]
    rows += [row(key, "singular") for key in (NMF, RELU, LINEAR) if "singular" in records.get(key, {})]
    return Table(
        f"clustering-{dataset}",
        f"{CALLED[dataset]}: scores in percent, mean ± deviation over the seeds of k-means; the number that the paper "
        "prints, read as NMI; and the objective after 10, 30 and 100 iterations.",
        ("model", "method", "ACC", "NMI", "ARI", "paper", "Φ@10", "Φ@30", "Φ@100"),
        tuple(rows),
    )


def _spread(values: Any) -> str | None:
    return None if values is None else f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _draw_scores(scores: Scores, datasets: Sequence[str], figure: Any) -> None:
    panels = _panels(figure, datasets, sharey=True)
    for dataset, panel in panels:
        records = scores.found[dataset]
        for place, (key, (model, _)) in enumerate(ROWS.items()):
            if key in records:
                values = 100 * np.asarray(records[key]["scores"]["NMI"])
                panel.barh(place, values.mean(), xerr=values.std(), color=COLORS[model], height=0.7)
            if key in PRINTED.get(dataset, {}):
                panel.plot(PRINTED[dataset][key], place, "x", color="#111111", ms=6)
        panel.set_title(CALLED[dataset])
        panel.set_xlabel("NMI (%)")
        panel.set_xlim(0, 100)
        panel.grid(True, axis="x", color="#ececec")
    if panels:
        first = panels[0][1]
        first.set_yticks(range(len(ROWS)), [f"{model}: {method}" for model, method in ROWS.values()], fontsize=8)
        first.invert_yaxis()


def _draw_objectives(found: Found, datasets: Sequence[str], figure: Any) -> None:
    panels = _panels(figure, datasets)
    for dataset, panel in panels:
        for key, (model, method) in ROWS.items():
            objective = found[dataset].get(key, {}).get("objective")
            if objective is not None:
                dash = "-" if key in (NMF, RELU, LINEAR) else "--" if key in PAPER else ":"
                shade = 0.55 if key in (BPG, APB) else 1.0
                panel.plot(objective, dash, color=COLORS[model], alpha=shade, label=f"{model}: {method}")
        panel.set_title(CALLED[dataset])
        panel.set_yscale("log")
        panel.set_xlabel("iterations")
        panel.grid(True, color="#ececec")
    if panels:
        panels[0][1].set_ylabel("Φ")
        shown = dict(pair for _, panel in panels for pair in _labelled(panel))
        figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=4, frameon=False)


def _labelled(panel: Any) -> Iterable[tuple[str, Any]]:
    handles, names = panel.get_legend_handles_labels()
    return zip(names, handles, strict=True)


def _panels(figure: Any, datasets: Sequence[str], sharey: bool = False) -> list[tuple[str, Any]]:
    """A panel for each data set."""
    if not datasets:
        return []
    panels = figure.subplots(1, len(datasets), sharey=sharey, squeeze=False)[0]
    return list(zip(datasets, panels, strict=True))
