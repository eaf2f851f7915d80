"""The site: every public name and every part has a page with an example that runs, and every link leads somewhere."""

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from bregopt_site import docstrings, examples, links, pages, pictures, recipes, tree
from test_snippets import PAGES, ROOT

import bregopt as bo

DOCS = ROOT / "docs"
PARTS = {f"{entry.kind}/{entry.name}": entry for entry in bo.catalog() if "(bregopt " in entry.provider}
NAMES = [pages.label(package, name) for package, names in examples.public_names().items() for name in names]
CHOOSE = (DOCS / "choose.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)\s]*)\)")
SVG = "{http://www.w3.org/2000/svg}"


def test_the_pages_are_those_of_the_public_names_and_of_the_registry():
    paths = pages.expected()
    assert set(bo.__all__) <= set(paths)
    assert set(PARTS) <= set(paths)
    assert set(paths) == {*NAMES, *(f"{entry.kind}/{entry.name}" for entry in bo.catalog())}
    assert len({path.lower() for path in paths.values()}) == len(paths), "two pages would be one file"


def test_every_page_that_is_expected_is_written_and_no_other_is_kept(tmp_path):
    old = tmp_path / "reference" / "method" / "gone.rst"
    old.parent.mkdir(parents=True)
    old.touch()
    pages.write(tmp_path / "reference", quick=True)
    missing = [path for path in pages.expected().values() if not (tmp_path / f"{path}.rst").is_file()]
    assert missing == []
    assert not old.exists()


def test_every_public_name_has_an_example():
    assert [name for name in NAMES if not examples.of_name(name)] == []


def test_every_part_has_an_example():
    assert [label for label, entry in PARTS.items() if not examples.of_part(entry)] == []


def test_no_example_is_of_a_name_that_is_not_there():
    assert {name for example in examples.written() for name in example.names} <= {*NAMES, *PARTS}


def test_no_two_examples_are_the_same():
    codes = [example.code for example in examples.written()]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("example", examples.written(), ids=lambda example: example.names[0])
def test_an_example_of_a_name_runs_by_itself_and_prints_something(example):
    assert example.run().strip()


@pytest.mark.parametrize("label", PARTS)
def test_the_example_of_a_part_names_it_runs_and_prints_something(label):
    name = label.partition("/")[2]
    for example in examples.of_part(PARTS[label]):
        assert name in example.code or label in example.names
        if example not in examples.written():
            assert example.run().strip()


def test_an_example_that_fails_or_warns_is_an_error():
    with pytest.raises(ZeroDivisionError):
        examples.printed("1 / 0")
    with pytest.raises(UserWarning, match="careful"):
        examples.printed("import warnings\nwarnings.warn('careful')")


def test_a_new_part_gets_a_page_by_itself(monkeypatch):
    new = bo.catalog("regularizer")[0].__class__("regularizer", "l1", "somebody", lambda eta=1.0: None)
    text = pages.part_page(new, None, quick=True)
    assert text.startswith("l1\n")
    assert 'bo.make("regularizer", "l1' in text
    assert "``eta``" in text


@pytest.mark.parametrize("kind", pages.kinds())
def test_a_kind_is_listed_with_all_its_parts(kind):
    text = pages.kind_index(kind)
    assert [entry.name for entry in bo.catalog(kind) if f"<{entry.name}>`" not in text] == []


@pytest.mark.parametrize("label", ["regularizer/l1", "regularizer/l21", "kernel/psi1", "loss/huber", "method/bpg"])
def test_a_picture_is_drawn_and_told_in_words(label, tmp_path):
    said = pictures.draw(PARTS[label], tmp_path / "it.svg")
    assert recipes.spec(PARTS[label]) in said
    assert ElementTree.parse(tmp_path / "it.svg").getroot().tag == f"{SVG}svg"


@pytest.mark.parametrize("kind", ["regularizer", "kernel", "loss", "method", "extrapolation", "step", "dataset"])
def test_the_kinds_that_can_be_drawn_have_a_painter(kind):
    assert kind in pictures.PAINTERS


# ---------------------------------------------------------------------------------------------------------------------


def test_the_decision_trees_name_registered_parts_only():
    for kind, nodes in tree.trees(CHOOSE).items():
        known = {entry.name for entry in bo.catalog(kind)}
        assert {name for node in nodes for name in node.leaves()} <= known


@pytest.mark.parametrize("kind", ["problem", "loss"])
def test_the_decision_tree_leads_to_every_part(kind):
    led = {name for node in tree.trees(CHOOSE)[kind] for name in node.leaves()}
    assert {entry.name for entry in bo.catalog(kind)} <= led


def test_every_line_of_a_tree_is_an_answer_or_leads_to_more():
    for nodes in tree.trees(CHOOSE).values():
        for node in nodes:
            assert all(it.names or it.below for it in below(node)), node.text


def below(node):
    yield node
    for it in node.below:
        yield from below(it)


def test_the_picture_of_a_tree_says_what_the_list_says_within_its_width():
    for kind, nodes in tree.trees(CHOOSE).items():
        for node in nodes:
            drawn = ElementTree.fromstring(tree.picture(kind, node))
            words = " ".join(it.text for it in drawn.iter(f"{SVG}text"))
            said = [*(it.text for it in below(node)), *node.leaves()]
            assert sorted(words.split()) == sorted(" ".join(said).split())
            right = [float(it.get("x")) + float(it.get("width")) for it in drawn.iter(f"{SVG}rect")]
            assert max(right) <= tree.WIDTH + 2, node.text


def test_the_page_of_the_trees_has_each_list_below_its_pictures_with_links():
    shown = tree.with_pictures(CHOOSE)
    assert shown.count('<div class="trees">') == shown.count(":::{dropdown}") == len(tree.trees(CHOOSE))
    assert "[`nmf`](reference/problem/nmf.rst)" in shown
    assert "<!-- tree" not in shown


# ---------------------------------------------------------------------------------------------------------------------


def test_every_page_is_in_the_contents_of_another():
    inside = re.findall(r"^(?:.* <)?([\w./*-]+)>?$", "\n".join(toctrees()), re.MULTILINE)
    of_docs = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES if DOCS in page.parents}
    elsewhere = {"index", "README", "catalog", "notation"}  # the last two are in the reference
    assert [page for page in of_docs - elsewhere if not any(fnmatch(page, it) for it in inside)] == []


def toctrees():
    for page in PAGES:
        yield from re.findall(r"^:::\{toctree\}\n(?::\w+:[^\n]*\n)*\n?(.*?)^:::$", read(page), re.MULTILINE | re.DOTALL)


def read(page):
    return page.read_text(encoding="utf-8")


def anchors(page):
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    return {
        links.slug(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", it)) for it in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_to_a_heading_leads_to_one(page):
    for target, _, anchor in (link.partition("#") for link in LINK.findall(read(page))):
        if anchor and not target.startswith("http"):
            there = page.parent / target if target else page
            assert anchor in anchors(there), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_to_elsewhere_is_an_address_of_the_secure_web(page):
    for target in LINK.findall(read(page)):
        if "://" in target:
            assert re.fullmatch(r"https://[\w.-]+\.[a-z]+(/\S*)?", target), target


def test_an_anchor_keeps_letters_digits_and_hyphens_and_nothing_else():
    assert links.slug("Kernels for ½‖W − UV‖²") == "kernels-for-w--uv"
    assert links.slug("A β rule, and `more_of` it") == "a-β-rule-and-more_of-it"


def test_the_catalogue_leads_to_the_page_of_each_part():
    shown = links.to_parts((DOCS / "catalog.md").read_text(encoding="utf-8"))
    assert [label for label in PARTS if f"](reference/{label}.rst) |" not in shown] == []


# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("the size |A| of x_ and *args", r"the size \|A\| of x\_ and \*args"),
        ("as ``|A|`` says, and `w_`", "as ``|A|`` says, and ``w_``"),
    ],
)
def test_what_looks_like_markup_in_a_docstring_is_escaped_outside_of_code(line, shown):
    assert docstrings.escaped(line) == shown


def test_literal_blocks_and_sections_of_a_docstring_stay_as_they_are():
    lines = ["A step::", "", "    Y = |x|*2", "", "Parameters", "----------", "x, *y : int", "    Of |A|."]
    found = docstrings.markup(lines)
    assert found[:7] == lines[:7]
    assert found[7] == r"    Of \|A\|."


# ---------------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The links and the anchors of a page of the site."""

    def __init__(self, file):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = {name: value for name, value in attrs if value}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        self.links += [found[name] for name in ("href", "src") if name in found]
        self.links += [picture.split()[0] for picture in found.get("srcset", "").split(",") if picture]


@pytest.fixture
def docs(tmp_path):
    """The folder docs as in a clean checkout, beside the rest: what an earlier build wrote into it is left out."""
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "gallery", "reference"))
    for path in ROOT.iterdir():
        if path != DOCS:
            (tmp_path / path.name).symlink_to(path)
    return tmp_path / "docs"


@pytest.mark.docs
@pytest.mark.timeout(600)
def test_the_site_is_built_without_a_warning_and_every_link_on_it_leads_somewhere(docs):
    settings = {"BREGOPT_DOCS": "small"} | os.environ | {"PYTHONIOENCODING": "utf-8"}
    site = docs / "_build"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(docs), str(site)]
    done = subprocess.run(command, env=settings, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    examples = [
        f"gallery/{path.relative_to(ROOT / 'examples').with_suffix('')}" for path in ROOT.glob("examples/*/*.py")
    ]
    wanted = [f"{path}.html" for path in [*pages.expected().values(), *examples]]
    if settings["BREGOPT_DOCS"] != "quick":
        wanted += [f"_images/sphx_glr_{Path(path).name}_001.png" for path in examples]
    assert [path for path in wanted if not (site / path).is_file()] == []

    found = {file: Page(file) for file in site.rglob("*.html") if "_static" not in file.parts}
    led = [(str(file.relative_to(site)), link) for file, page in found.items() for link in page.links]
    assert [it for it in led if not leads(site, found, *it)] == []


def leads(site, found, file, link):
    """Whether a link leads to a file of the site, and to a place on it; those to elsewhere are not followed."""
    if re.match(r"[a-z]+:", link):
        return True
    target, _, anchor = unquote(link).partition("#")
    there = Path(os.path.normpath((site / file).parent / target.partition("?")[0])) if target else site / file
    if there not in found:
        return there.exists()
    return not anchor or anchor in found[there].ids
