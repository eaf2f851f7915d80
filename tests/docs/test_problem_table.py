"""The page of the problems has every problem, and its table is what the methods say now."""

import re

import attrs
import numpy as np
import problem_table
import pytest

import bregopt as bo
from bregopt.errors import IncompatibleError

METHOD, PROBLEM = "aapb", {"name": "low-rank", "M": np.arange(12.0).reshape(4, 3), "rank": 1}


@attrs.frozen
class Refusing(bo.Method[None]):
    """Takes nothing."""

    because: str
    kind: type[Exception] = IncompatibleError

    def check(self, problem):
        raise self.kind(self.because)

    def start(self, problem, Y): ...

    def advance(self, problem, state): ...


class Climbing(bo.Method[None]):
    """Twice as far out at each iteration, and no state is better than the last."""

    minimises_phi = False

    def start(self, problem, Y):
        return bo.State.at(problem.oracle.evaluate(Y), 0.0)

    def advance(self, problem, state):
        return bo.State.at(problem.oracle.evaluate(9.0 * state.Y), 0.0, iteration=state.iteration + 1)


@pytest.fixture(scope="module")
def made():
    return problem_table.table()


def problem():
    return bo.compose(**PROBLEM)


def test_the_table_is_not_stale(made):
    assert problem_table.written() == made, "run: python tests/docs/problem_table.py"


def test_the_table_has_every_problem_and_every_method(made):
    header, _, *rows = (line for line in made.splitlines() if line.startswith("|"))
    names = [name for line in rows for name in re.findall(r"`([\w-]+)`", line.split("|")[1])]
    assert sorted(re.findall(r"`([\w-]+)`", header)) == sorted(problem_table.own("problem"))
    assert sorted(names) == sorted(problem_table.own("method"))
    assert len({line.count("|") for line in (header, *rows)}) == 1


def test_every_letter_of_the_table_is_explained_and_no_other(made):
    cells = {mark.strip() for line in made.splitlines()[2:] if line.startswith("|") for mark in line.split("|")[2:-1]}
    assert cells == set(re.findall(r"^- (\S+): ", made, re.MULTILINE))


def test_every_problem_has_a_section():
    headings = re.findall(r"^### (.*)$", problem_table.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(headings))) == sorted(problem_table.own("problem"))


def test_the_first_list_of_the_page_leads_to_every_problem():
    part = problem_table.PAGE.read_text(encoding="utf-8").split("## Which problem is mine?")[1].split("\n## ")[0]
    assert set(problem_table.own("problem")) <= set(re.findall(r"`([\w-]+)`", part))


def test_a_method_that_takes_a_problem_is_marked_and_one_that_climbs_too():
    assert problem_table.cell(problem(), METHOD) == problem_table.TAKEN
    assert problem_table.cell(problem(), Climbing()) == problem_table.RISES
    assert any("rose" in line for line in problem_table.legend({problem_table.RISES, *"adf"}))


def test_every_reason_is_known_by_what_its_refusals_say():
    for mark, reason in problem_table.LETTERS.items():
        for fragment in reason.says:
            assert problem_table.cell(problem(), Refusing(f"The method mine {fragment}, and so on.")) == mark


def test_a_refusal_for_a_new_reason_is_an_error_that_repeats_it():
    with pytest.raises(LookupError, match="does not know: It is Monday"):
        problem_table.cell(problem(), Refusing("It is Monday."))


def test_any_other_error_of_a_method_is_not_a_refusal():
    with pytest.raises(Exception, match="broken") as caught:
        problem_table.cell(problem(), Refusing("broken", ZeroDivisionError))
    assert not isinstance(caught.value, IncompatibleError)


@pytest.mark.parametrize("method", ["els", "ecd", "aals", "em-nmd"])
def test_a_refusal_names_the_method_that_was_asked(method):
    for name, it in problem_table.problems().items():
        if problem_table.cell(it, method) != problem_table.TAKEN:
            with pytest.raises(IncompatibleError, match=f"^The method {method} ") as caught:
                bo.solve(it, method=method, max_iterations=1)
            assert "the method naive-nmd" not in str(caught.value).lower(), name
