"""A handful of small runs, written down: iterates, products and certificates.

    python tests/regression/recorded_runs.py            compare with the record, to the last digit
    python tests/regression/recorded_runs.py --write    write the record anew

The last digits depend on the BLAS at hand, so the test compares numbers up to rounding; this script compares the
iterates themselves, by a digest of their bytes, which holds on the machine that wrote the record.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse

import bregopt as bo

RECORD = Path(__file__).with_name("recorded_runs.json")
ITERATIONS, RANK = 12, 4
MODELS = {
    "none": {},
    "l1": {"U": "l1(0.05)", "V": "l1(0.1)"},
    "mcp": {"U": "mcp(0.1)", "V": "mcp(0.2)"},
}
VARIANTS = [
    "aapb",
    "aapb(0.6, 1)",
    "aapb(0.5)",
    "aapb(beta=nesterov, step=1, w=Y)",
    "aapb(beta=assumption2, step=monotone, guard=false)",
    "aapb(w=Y)",
    "aapb(step=backtrack)",
    "aapb(beta=exact-gap, w=Y, guard=false)",
    "aapb(beta=growing, guard=false)",
    "aapb(kernel=paper)",
]
"""Of the engine; the methods of the catalogue that were there when the record was written stand in the record."""


def matrices():
    rng = np.random.default_rng(1)
    M = np.maximum(0, rng.standard_normal((24, 5)) @ rng.standard_normal((5, 18)) - 1)
    return {"dense": M, "sparse": scipy.sparse.csr_array(M * (rng.random(M.shape) < 0.4))}


def run(form, model, method):
    """One run, as JSON values; a method that refuses the model has none."""
    problem, digest = bo.compose("relu-nmd", matrices()[form], rank=RANK, **MODELS[model]), hashlib.sha256()
    try:
        result = bo.solve(
            problem,
            method=method,
            seed=3,
            max_iterations=ITERATIONS,
            observers=[lambda state: digest.update(state.Y.flat.tobytes())],
        )
    except bo.errors.IncompatibleError:
        return None
    certificate = result.certificate
    return {
        "iterates": digest.hexdigest()[:16],
        "objective": result.history["objective"].tolist(),
        "products": result.history["products"].tolist(),
        "proxes": result.counts.proxes,
        "norm": result.Y.norm(),
        "rises": list(certificate.rises),
        "failed": {name: list(it.failed_at) for name, it in certificate.assumptions.items()},
        "subgradient": certificate.subgradient,
    }


def runs(methods):
    for form in ("dense", "sparse"):
        for model in MODELS:
            for method in methods:
                yield f"{form} | {model} | {method}", (form, model, method)


def main():
    if "--write" in sys.argv:
        methods = sorted({entry.name for entry in bo.catalog("method")} | set(VARIANTS))
        record = {key: run(*given) for key, given in runs(methods)}
        lines = [f"{json.dumps(key)}: {json.dumps(it)}" for key, it in record.items() if it]
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(f"{len(lines)} runs written to {RECORD}")
        return
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    apart = [key for key, it in record.items() if run(*key.split(" | "))["iterates"] != it["iterates"]]
    print(f"{len(record) - len(apart)} of {len(record)} runs have the recorded iterates to the last digit.")
    print(*apart, sep="\n")


if __name__ == "__main__":
    main()
