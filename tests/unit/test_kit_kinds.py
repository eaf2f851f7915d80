"""A kind of part that a plugin declares, with checks of its own: known everywhere like a kind of the core."""

import contextlib
import io
import json
import textwrap

import pytest

import bregopt as bo
from bregopt.cli.plugins import catalog_page
from bregopt.errors import IncompatibleError, ParameterError, PluginError, UnknownNameError

LINKS = '''
from abc import ABC, abstractmethod

import attrs
import numpy as np

import bregopt as bo


class Link(ABC):
    """A function of one number, with its slope."""

    bounded = False

    @abstractmethod
    def value(self, x): ...

    @abstractmethod
    def slope(self, x): ...


@attrs.frozen
class Square(Link):
    """``w·x²/2``."""

    weight: float = 1.0

    def value(self, x):
        return self.weight * x**2 / 2

    def slope(self, x):
        return self.weight * x


@attrs.frozen
class Steep(Square):
    """``w·x²/2``, with a slope that is a hundredth too large."""

    def slope(self, x):
        return 1.01 * self.weight * x


def slope(link, draw):
    for x in draw.gauss((20,)):
        wanted = (link.value(x + 1e-6) - link.value(x - 1e-6)) / 2e-6
        if abs(link.slope(x) - wanted) > 1e-3 * abs(wanted):
            show = "print(part.slope(x), (part.value(x + 1e-6) - part.value(x - 1e-6)) / 2e-6)"
            bo.testing.fail(f"The slope at {x} is {link.slope(x):.4g}, not {wanted:.4g}", bo.testing.snippet(show, x=x))


def bound(link, draw):
    if not link.bounded:
        bo.testing.not_applicable("It claims no bound.")


CHECKS = {"link/slope": slope, "link/bound": bound}


@bo.hookimpl
def bregopt_register(registry):
    registry.kind("link", Link, checks=CHECKS)
    registry.add(Link, "square-link", Square)


@bo.hookimpl
def bregopt_examples(kind):
    return [("square-link(3)", Square(3.0))] if kind == "link" else None
'''
WITH_A_BAD_ONE = LINKS.replace(
    '"square-link", Square)\n', '"square-link", Square)\n    registry.add(Link, "steep-link", Steep)\n'
)
WITHOUT_CHECKS = LINKS.replace(", checks=CHECKS", "")

pytestmark = pytest.mark.usefixtures("fresh_host")


@pytest.fixture
def written(tmp_path):
    """Write a plugin file: its path."""

    def write(text, name="links.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def by_name(report):
    return {outcome.name: outcome.status for outcome in report.outcomes}


def failures(out):
    """(label, name, setup and counterexample) of every failure in the JSON of ``bregopt check``."""
    return [
        (part["label"], outcome["name"], f"import bregopt as bo\n{part['setup']}\n{outcome['counterexample']}")
        for part in json.loads(out)["parts"]
        for outcome in part["outcomes"]
        if outcome["status"] == "failed"
    ]


def test_a_right_part_of_the_kind_passes_its_checks(written):
    bo.load_plugin(written(LINKS))
    report = bo.testing.check(bo.make("link", "square-link(2)"))
    assert report.ok
    assert report.part == "Square(weight=2)"
    assert by_name(report) == {"link/slope": "passed", "link/bound": "not-applicable"}


def test_a_wrong_part_of_the_kind_is_caught_with_a_counterexample_that_shows_it(written, call):
    code, out, err = call("check", written(WITH_A_BAD_ONE), "--json")
    assert (code, err) == (1, "")
    [(label, name, shown)] = failures(out)
    assert (label, name) == ("steep-link", "link/slope")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(shown, {})
    found, wanted = map(float, printed.getvalue().split())
    assert found == pytest.approx(1.01 * wanted, rel=1e-6)


def test_the_same_seed_gives_the_same_points_and_each_check_has_its_own(written):
    bo.load_plugin(written(WITH_A_BAD_ONE))
    steep = bo.make("link", "steep-link")
    one, two, three = (bo.testing.check(steep, seed=seed).failures[0].counterexample for seed in (1, 1, 2))
    assert one == two != three
    draws = [bo.testing.RandomPoints.of(1, name).gauss((3,)).tolist() for name in ("link/slope", "link/bound")]
    assert draws[0] != draws[1]


def test_bregopt_check_takes_the_file_the_name_and_the_kind(written, call):
    file = written(LINKS)
    for target in (file, "square-link", "link:square-link"):
        code, out, err = call("check", target)
        assert (code, err) == (0, "")
        assert "link/slope" in out
        assert "2 parts, 4 checks, 0 failed." in out


def test_bregopt_check_all_goes_over_the_examples_of_the_kind(written, call, monkeypatch):
    monkeypatch.setenv("BREGOPT_LOAD_PLUGINS", "")
    bo.load_plugin(written(LINKS))
    code, out, _ = call("check", "--all", "--json")
    assert code == 0
    assert [(part["kind"], part["label"]) for part in json.loads(out)["parts"]] == [("link", "square-link(3)")]


def test_a_suite_has_a_case_for_each_check_of_the_kind(written):
    bo.load_plugin(written(LINKS))
    test = bo.testing.suite([bo.make("link", "square-link"), bo.make("link", "square-link(2)")])
    cases = test.pytestmark[0].args[1]
    assert [case.id for case in cases] == [
        f"{number}: Square(weight={weight}) {name}"
        for number, weight in enumerate(("1.0", "2"))
        for name in ("link/slope", "link/bound")
    ]
    test(*cases[0].values)
    with pytest.raises(ParameterError, match="link/slope, link/bound"):
        bo.testing.suite(bo.make("link", "square-link"), {"link/slop": "a typing error"})


def test_the_kind_is_in_the_catalogue_and_in_the_list_of_plugins(written, call):
    file = written(LINKS)
    code, out, _ = call("plugins", "--plugin", file, "--json")
    assert code == 0
    found = json.loads(out)
    assert {(part["kind"], part["name"], part["plugin"]) for part in found["parts"] if part["kind"] == "link"} == {
        ("link", "square-link", "links")
    }
    assert next(plugin["parts"] for plugin in found["plugins"] if plugin["name"] == "links") == 1
    assert [entry.summary for entry in bo.catalog("link")] == ["``w·x²/2``."]
    assert bo.make("link", "square-link(weight=4)").value(1.0) == 2.0
    section = catalog_page().partition("\n## link\n")[2]
    assert "| `square-link` | `w·x²/2`. | `weight=1.0` |" in section


def test_an_unknown_kind_is_answered_with_the_declared_one(written, call):
    bo.load_plugin(written(LINKS))
    with pytest.raises(UnknownNameError, match="Did you mean 'link'"):
        bo.make("linkk", "square-link")
    with pytest.raises(UnknownNameError, match=r"There is no link named 'square'\. Did you mean 'square-link'"):
        bo.make("link", "square")
    code, _, err = call("check", "colour:square-link")
    assert code == 2
    assert "There is no kind of part named 'colour'" in err
    assert "'bregopt plugins' lists the" in err
    code, _, err = call("check", "link:square")
    assert code == 2
    assert "There is no link named 'square'" in err


def test_what_has_no_checks_is_told_of_the_declared_kind_too(written):
    bo.load_plugin(written(LINKS))
    with pytest.raises(IncompatibleError, match=r"There are checks for a Regularizer, .* Link, .* Got 3 instead\.$"):
        bo.testing.check(3)


def test_a_kind_without_checks_is_told_so(written, call):
    file = written(WITHOUT_CHECKS)
    code, out, err = call("check", file)
    assert (code, out) == (2, "")
    assert err.startswith(f"bregopt: error: There are no checks for the parts of {file} (link): ")
    told = rf"the kind 'link' is declared by plugin 'links' \({file}\) without checks"
    for use in (bo.testing.check, bo.testing.suite):
        with pytest.raises(IncompatibleError, match=told):
            use(bo.make("link", "square-link"))
    code, _, err = call("check", "square-link")
    assert code == 2
    assert "registry.kind('link', Link, checks={...})" in err
    assert "link" in [kind.name for kind in bo.host.compose.kinds()]


def test_a_file_that_registers_no_part_is_told_so(written, call):
    file = written(
        """
        import bregopt as bo

        @bo.hookimpl
        def bregopt_register(registry):
            registry.kind("colour", int)
        """
    )
    code, _, err = call("check", file)
    assert code == 2
    assert f"The plugin file '{file}' has no parts to check: it registers none." in err


def test_a_second_plugin_that_declares_the_kind_is_refused_and_both_are_named(written):
    first, second = written(LINKS), written(LINKS.replace("square-link", "other-link"), "rivals.py")
    bo.load_plugin(first)
    with pytest.raises(PluginError) as refused:
        bo.load_plugin(second)
    assert str(second) in str(refused.value)
    assert f"the kind 'link' is declared by plugin 'links' ({first}) already" in str(refused.value)
    assert [entry.name for entry in bo.catalog("link")] == ["square-link"]
    assert [plugin.name for plugin in bo.plugins() if plugin.name in ("links", "rivals")] == ["links"]
    assert bo.testing.check(bo.make("link", "square-link")).ok


def test_a_plugin_that_is_loaded_again_brings_its_new_checks_and_no_second_kind(written):
    bo.load_plugin(written(LINKS))
    old = bo.make("link", "square-link")
    bo.load_plugin(written(LINKS.replace('"link/bound": bound', '"link/limit": bound')))
    assert [kind.name for kind in bo.host.compose.kinds()].count("link") == 1
    assert list(by_name(bo.testing.check(bo.make("link", "square-link")))) == ["link/slope", "link/limit"]
    with pytest.raises(IncompatibleError, match=r"its plugin was loaded again since, so make it again\.$"):
        bo.testing.check(old)


def test_a_part_of_a_kind_that_derives_from_one_of_the_core_has_the_checks_of_both(written):
    bo.load_plugin(
        written(
            """
            import bregopt as bo

            class Counted(bo.Regularizer):
                '''A regularizer that knows how many numbers it has.'''

            class Flat(Counted):
                '''``0``.'''

                def value(self, X):
                    return 0.0

                def prox(self, X, step):
                    return X.copy()

            def no_number(part, draw):
                bo.testing.fail("it has no number")

            @bo.hookimpl
            def bregopt_register(registry):
                registry.kind("counted", Counted, checks={"counted/number": no_number})
                registry.add(Counted, "flat", Flat)
            """
        )
    )
    report = bo.testing.check(bo.make("counted", "flat"))
    assert by_name(report)["prox/variational"] == "passed"
    assert [failure.name for failure in report.failures] == ["counted/number"]
    assert "counted/number" not in by_name(bo.testing.check(bo.Zero()))


def test_a_check_that_breaks_down_is_a_failure_that_says_where(written):
    bo.load_plugin(written(LINKS.replace('"link/bound": bound', '"link/bound": lambda link: None, "link/no": 3')))
    messages = {failure.name: failure.message for failure in bo.testing.check(bo.make("link", "square-link")).failures}
    assert set(messages) == {"link/bound", "link/no"}
    assert "it raised TypeError" in messages["link/bound"]
    assert "not callable" in messages["link/no"]


def test_what_authors_of_checks_need_is_public():
    public = set(bo.testing.__all__)
    assert {"check", "suite", "fail", "not_applicable", "snippet", "RandomPoints"} <= public
    assert {"CheckFailedError", "NotApplicableError", "Outcome", "Report", "Status"} <= public
    assert all(getattr(bo.testing, name).__doc__ for name in public)
