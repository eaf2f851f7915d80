"""Iterates, products and certificates of small runs are those that were written down."""

import json

import numpy as np
import pytest
from recorded_runs import RECORD, VARIANTS, run

WRITTEN = json.loads(RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("key", WRITTEN)
def test_a_run_is_the_one_that_was_recorded(key):
    written, now = WRITTEN[key], run(*key.split(" | "))
    np.testing.assert_allclose(now["objective"], written["objective"], rtol=1e-7)
    np.testing.assert_allclose(now["norm"], written["norm"], rtol=1e-6)
    np.testing.assert_allclose(now["products"], written["products"], rtol=1e-12)
    assert (now["proxes"], now["rises"], now["failed"]) == (written["proxes"], written["rises"], written["failed"])
    if written["subgradient"] is None:
        assert now["subgradient"] is None
    else:
        assert now["subgradient"] == pytest.approx(written["subgradient"], rel=1e-4)


def test_the_record_has_every_form_model_and_variant():
    parts = [key.split(" | ") for key in WRITTEN]
    assert {form for form, _, _ in parts} == {"dense", "sparse"}
    assert {model for _, model, _ in parts} == {"none", "l1", "mcp"}
    assert set(VARIANTS) <= {method for _, _, method in parts}
