"""The map of the paper, docs/paper.md: it leaves nothing of the paper out, and what a row points to is there."""

import ast
import math
import re
from functools import cache
from pathlib import Path

import click
import numpy as np
import pytest
from bregopt_kernels.radial_prox import cubic
from bregopt_paper.datasets.facts import FACTS

import bregopt as bo
from bregopt.cli.main import commands

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
ERRATA = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")

ITEMS = """
    (1) (2) (3) (4) (5) (6) (7) (8) (9) Table 1
    Definition 1 Definition 2 Definition 3 Definition 4 Definition 5 Definition 6 Definition 7
    Definition 8 (10) Definition 9 (11)
    (12) (13) Algorithm 1 Algorithm 2 (14) Remark 1
    Assumption 1 Assumption 2 Remark 2 Theorem 1 (15) (16) (17) Assumption 3 Theorem 2 (18)
    Proposition 1 (19) Table 2 Proposition 2 Remark 3
    (20) Table 3 (21) Table 4 Figure 1 Figure 2 Figure 3 (22) (23) (24) Figure 4 Table 5 Table 6 Figure 5
    Algorithm 3
"""
"""Every numbered environment of the preprint, in its order; it has no lemma and no corollary."""
CASES = ("i", "ii", "iii", "iv", "v", "vi")
"""Of Proposition 2."""
ALGORITHMS = ("PALM", "iPALM", "GiPALM", "NiPALM", "BPG", "iBPG", "BPDCA(e)", "DCAe", "BMME", "This paper")
"""Of Table 1."""
EXPERIMENTS = ("synthetic", "l1", "clustering", "compression")
DATA_SETS = {
    "pie": (2856, 1024, 91.47),
    "coil20": (1440, 1024, 65.61),
    "tdt2": (9394, 36771, 0.35),
    "netz4504-dual": (615, 615, 0.62),
    "mycielskian": (1535, 1535, 5.72),
    "mnist-1000": (10000, 784, 19.31),  # the paper has 19.27
}
"""Of Tables 3 and 5: m, n, and the percentage that is not zero."""
ITEM = re.compile(r"(?:Definition|Assumption|Theorem|Proposition|Remark|Algorithm|Table|Figure) \d+|\(\d+\)")
CODE = re.compile(r"`([^`]+)`(:?)")


def section(heading, level="##"):
    """What stands under a heading, up to the next one of its level or above."""
    found = re.search(
        rf"^{level} {re.escape(heading)}\n(.*?)(?=^#{{2,{len(level)}}} |\Z)", PAGE, re.MULTILINE | re.DOTALL
    )
    assert found, heading
    return found[1]


def rows(text):
    """The cells of every row of the tables in a text, without their headings."""
    lines = text.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        heading = before == "" or re.fullmatch(r"\|[-|]+\|", line)
        if line.startswith("|") and not heading:
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


MAP = list(rows(section("The map")))
TABLE_1 = list(rows(section("Table 1: the algorithms, and their names here")))


def references(cell):
    """(file, None) and (file, name) for what a cell says of files, and (None, word) for its other words of code."""
    file, end = None, 0
    for found in CODE.finditer(cell):
        word, opens = found[1], found[2] == ":"
        if file is not None and cell[end : found.start()].strip() not in ("", ","):
            file = None
        if re.fullmatch(r"[\w/.]+\.py", word):
            file = word if opens else None
            yield word, None
        else:
            yield file, word
        end = found.end()


ALL = [(row[0], *it) for row in MAP for cell in row[2:] for it in references(cell)]


@cache
def defined(file):
    """The names that a file defines: its own, and as Class.member those of its classes."""
    names = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        names |= set(_names(node))
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{name}" for member in node.body for name in _names(member)}
    return names


def _names(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_every_numbered_item_of_the_paper_has_its_row_in_its_order():
    found = dict.fromkeys(item for row in MAP for item in ITEM.findall(row[0]))
    assert list(found) == ITEM.findall(ITEMS)
    cases = [found[1] for row in MAP if (found := re.fullmatch(r"Proposition 2 \((\w+)\)", row[0]))]
    assert tuple(cases) == CASES


def test_no_cell_of_the_map_is_empty_and_every_row_points_somewhere():
    for row in MAP:
        assert len(row) == 4, row
        assert all(re.search(r"\w", cell) for cell in row), row
        assert "`" in row[2] or "](" in row[2] or row[2].startswith("no code"), row
        assert "`" in row[3] or "](" in row[3] or row[3].startswith("no test"), row


def test_every_file_that_the_map_names_is_there():
    files = {file for _, file, _ in ALL if file}
    assert len(files) > 50
    assert sorted(file for file in files if not (ROOT / file).is_file()) == []


def test_every_name_that_follows_a_file_is_defined_in_it():
    named = [(where, file, name) for where, file, name in ALL if file and name and (ROOT / file).is_file()]
    assert len(named) > 100
    assert [it for it in named if it[2] not in defined(it[1])] == []


def test_every_test_that_the_map_names_is_a_test_and_no_other_column_names_one():
    for where, *cells in MAP:
        for _, name in (it for cell in cells[:2] for it in references(cell)):
            assert name is None or not name.startswith("test_"), where
        for file, name in references(cells[2]):
            assert file is not None, (where, name)
            assert file.startswith("tests/"), (where, file)
            assert name is None or name.startswith("test_"), (where, name)


def registered(spec):
    """Whether some kind has a part of this name, and makes it with these parameters."""
    kinds = [entry.kind for entry in bo.catalog() if entry.name == spec.partition("(")[0]]
    if "(" not in spec:
        return bool(kinds)
    for kind in kinds:
        try:
            bo.make(kind, spec)
        except bo.errors.BregoptError:
            continue
        return True
    return False


def known(word):
    if word.startswith("bregopt "):
        return commands.get_command(click.Context(commands), word.split()[1]) is not None
    if word.startswith("result."):
        return word.removeprefix("result.").partition("[")[0] in {it.name for it in bo.Result.__attrs_attrs__}
    return registered(word)


def test_every_other_word_in_backticks_is_a_registered_part_a_command_or_a_figure_of_the_result():
    words = {name for _, file, name in ALL if file is None}
    assert len(words) > 40
    assert sorted(word for word in words if not known(word)) == []


def test_every_erratum_that_the_map_names_exists_and_none_is_left_out():
    there = set(re.findall(r"^\*\*(E\d+)\.", ERRATA, re.MULTILINE))
    assert set(re.findall(r"\bE\d+\b", section("The map"))) == there
    assert set(re.findall(r"\bE\d+\b", PAGE)) == there


def test_table_1_has_the_algorithms_of_the_paper_in_its_order():
    first = [row[0].partition(" (")[0] for row in TABLE_1 if len(row) == 7]
    assert tuple(first) == ALGORITHMS


def test_every_method_named_beside_an_algorithm_of_the_paper_is_registered():
    methods = {entry.name for entry in bo.catalog("method")}
    assert all("`" in row[-1] for row in TABLE_1)
    named = [name for row in TABLE_1 for name, _ in CODE.findall(row[-1])]
    assert len(named) == len(set(named)) > 20
    assert sorted(set(named) - methods) == []


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_data_sets_have_the_figures_of_tables_3_and_5(name):
    assert name in {entry.name for entry in bo.catalog("dataset")}
    facts = FACTS[name]
    assert (*facts.shape, round(facts.percent, 2)) == DATA_SETS[name]


def test_the_share_of_non_zeros_of_mnist_is_told_as_it_is():
    assert f"{DATA_SETS['mnist-1000'][2]} %" in section("l1", "###")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_its_command_and_a_place_for_what_was_measured(name):
    text = section(name, "###")
    assert text.count(f"```text\nbregopt reproduce {name}\n```") == 1
    assert text.count(f"<!-- measured: {name} -->") == 1


def test_the_page_has_the_experiments_and_no_other():
    assert tuple(re.findall(r"^### (.*)$", section("The experiments"), re.MULTILINE)) == EXPERIMENTS


def test_every_link_into_a_page_leads_to_a_heading():
    for page, anchor in re.findall(r"\]\(([\w.-]*)#([^)]+)\)", PAGE):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8") if page else PAGE
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert anchor in slugs, (page, anchor)


def test_the_formula_of_remark_3_is_right_and_loses_digits():
    def printed(a, c):
        root = math.sqrt(81 * a * a + 12 * a * c**3)
        first, second = (3 * a * (-9 * a + sign * root) / 2 for sign in (1, -1))
        return (-np.cbrt(first) - np.cbrt(second)) / (3 * a)

    assert printed(1.0, 1.0) == pytest.approx(cubic(1.0, 1.0), rel=1e-15)
    assert printed(3.0, 0.1) == pytest.approx(cubic(3.0, 0.1), rel=1e-15)
    wrong = [abs(printed(1.0, c) / cubic(1.0, c) - 1) for c in (1e2, 1e4, 1e6)]
    assert wrong[0] > 1e-15
    assert wrong[1] > 1e-12
    assert wrong[2] > 1e-9
