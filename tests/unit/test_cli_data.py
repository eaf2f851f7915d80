"""``bregopt data``: what is listed, where files are found, what is compared, and the exit codes."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve
from bregopt_paper.datasets.dataset import Dataset
from bregopt_paper.datasets.facts import FACTS
from terminals import shown_on_a_terminal

import bregopt as bo


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No file of a data set is to be found."""
    monkeypatch.delenv("BREGOPT_DATA", raising=False)
    monkeypatch.delenv("BREGOPT_DATA_DOWNLOAD", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "bregopt" / "data"


def put(folder, name, data=b"not it"):
    """Files of a data set that hold something else."""
    for file in FACTS[name].files:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_bytes(data)


def test_the_list_has_a_line_for_each_data_set_when_it_is_piped(call, nowhere):
    put(nowhere, "coil20")
    code, out, err = call("data", "list")
    assert (code, err) == (0, "")
    heading, *lines = out.splitlines()
    assert heading.split() == ["name", "shape", "non-zero", "%", "classes", "files", "what", "it", "is"]
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert list(rows) == list(FACTS)
    assert rows["coil20"][:4] == ["1440×1024", "65.61", "20", "there"]
    assert rows["netz4504-dual"][:4] == ["615×615", "0.6192", "–", "missing"]
    assert rows["tiny-faces"][3] == "generated"
    assert " ".join(rows["coil20"][4:]) == FACTS["coil20"].provenance
    assert "\x1b" not in out


def test_a_data_set_with_one_of_two_files_is_missing(call, nowhere):
    put(nowhere, "mnist")
    (nowhere / FACTS["mnist"].files[1].path).unlink()
    rows = {row["name"]: row for row in json.loads(call("data", "list", "--json")[1])["datasets"]}
    assert rows["mnist"]["status"] == "missing"
    assert [bool(file["at"]) for file in rows["mnist"]["files"]] == [True, False]


def test_json_tells_everything_that_is_known(call, nowhere, monkeypatch, tmp_path):
    monkeypatch.setenv("BREGOPT_DATA", str(tmp_path / "given"))
    put(tmp_path / "given", "pie")
    found = json.loads(call("data", "list", "--json")[1])
    assert found["places"] == [str(tmp_path / "given"), str(nowhere)]
    rows = {row["name"]: row for row in found["datasets"]}
    assert rows["pie"] == {
        "name": "pie",
        "shape": [2856, 1024],
        "nonzero_percent": 91.4671,
        "classes": 68,
        "status": "there",
        "files": [{"path": "PIE/PIE_pose27.mat", "at": str(tmp_path / "given" / "PIE" / "PIE_pose27.mat")}],
        "provenance": FACTS["pie"].provenance,
        "source": FACTS["pie"].source,
    }
    assert rows["synthetic"]["files"] == []


@pytest.mark.parametrize("columns", [80, 130])
def test_on_a_terminal_the_list_is_a_table_that_fits(nowhere, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    command = [sys.executable, "-m", "bregopt", "data", "list"]
    process, shown = shown_on_a_terminal(lambda **streams: subprocess.Popen(command, **streams))
    assert process.wait() == 0
    assert "\x1b[33mmissing" in shown
    assert "─" in shown
    assert (FACTS["yaleb"].provenance in shown) == (columns == 130)
    assert f"Files are looked for in {nowhere}." in shown
    assert "'bregopt data path NAME' says where to get a file that is missing." in shown


def test_the_path_of_a_data_set_is_printed_for_each_file(call, nowhere):
    put(nowhere, "mnist")
    found = "".join(f"{nowhere / file.path}\n" for file in FACTS["mnist"].files)
    assert call("data", "path", "mnist") == (0, found, "")


def test_the_path_of_a_missing_file_is_an_error_with_a_code_of_its_own(call, nowhere):
    code, out, err = call("data", "path", "coil20")
    assert (code, out) == (3, "")
    assert err.startswith("bregopt: error: The data set 'coil20' needs the file COIL20/COIL20.mat, which is missing.")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["path", "fetch"])
def test_a_generated_data_set_has_no_file(call, command):
    code, out, err = call("data", command, "mycielskian")
    assert (code, out, err) == (2, "", "bregopt: error: The data set 'mycielskian' is generated: it has no file.\n")


@pytest.mark.parametrize("command", ["path", "check", "fetch"])
def test_an_unknown_name_is_refused_with_those_that_there_are(call, command):
    code, out, err = call("data", command, "nothing")
    assert (code, out) == (2, "")
    assert err.startswith("bregopt: error: There is no data set named 'nothing'. There are coil20, pie,")


def test_the_check_of_generated_data_sets_prints_a_line_each(call, nowhere):
    code, out, err = call("data", "check", "blocks", "synthetic")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "blocks     ok       100×100, 25 % non-zero, 4 classes",
        "synthetic  ok       1500×500, 32.43 % non-zero",
    ]


def test_the_check_of_everything_finds_what_is_missing(call, nowhere):
    code, out, err = call("data", "check")
    assert (code, err) == (3, "")
    verdicts = {line.split()[0]: line.split()[1] for line in out.splitlines()}
    assert verdicts == {name: "missing" if facts.files else "ok" for name, facts in FACTS.items()}
    assert "'bregopt data path coil20' says what is needed" in out


def test_a_damaged_file_is_wrong_and_counts_more_than_a_missing_one(call, nowhere):
    put(nowhere, "orl")
    code, out, _ = call("data", "check", "orl", "pie", "identity")
    assert code == 1
    assert out.splitlines()[0].startswith("orl       wrong    The file")
    assert "is damaged, or another than the one that is known: its SHA-256" in out
    assert [line.split()[1] for line in out.splitlines()] == ["wrong", "missing", "ok"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"shape": (100, 101)}, "shape: (100, 100) instead of (100, 101)"),
        ({"nonzeros": 2501}, "non-zeros: 2500 instead of 2501"),
        ({"classes": 5}, "classes: 4 instead of 5"),
        ({"classes": None}, "classes: 4 instead of None"),
    ],
)
def test_a_figure_that_differs_is_wrong(call, monkeypatch, change, told):
    monkeypatch.setitem(FACTS, "blocks", evolve(FACTS["blocks"], **change))
    assert call("data", "check", "blocks") == (1, f"blocks  wrong    {told}.\n", "")


def test_every_data_set_of_the_paper_is_as_it_should_be(call, paper_data):
    code, out, err = call("data", "check")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == len(FACTS)
    assert "coil20          ok       1440×1024, 65.61 % non-zero, 20 classes, SHA-256 as known" in out


@pytest.mark.usefixtures("fresh_host")
def test_data_sets_of_other_plugins_are_listed_and_checked(call, nowhere):
    def mine(sign=1.0):
        """Mine: ``two by two``."""
        return Dataset("mine", sign * np.eye(2), None, "made here")

    def register(bregopt_register):
        bo.load_plugin(SimpleNamespace(__name__="others", bregopt_register=bo.hookimpl(bregopt_register)))

    def bregopt_register(registry):
        registry.add(Dataset, "mine", mine)
        registry.add(Dataset, "bad", lambda: mine(-1.0))

    register(bregopt_register)
    assert call("data", "list")[1].splitlines()[-1].split() == [
        "mine",
        *"–––",
        "generated",
        *["Mine:", "two", "by", "two."],
    ]
    assert call("data", "check", "mine") == (0, "mine  ok       2×2, 50 % non-zero\n", "")
    code, out, _ = call("data", "check", "bad")
    assert code == 1
    assert "M holds the negative entry -1" in out


def test_what_has_no_address_is_not_fetched(call, nowhere):
    code, out, err = call("data", "fetch", "tdt2")
    assert (code, out) == (2, "")
    assert "TDT2/TDT2.mat has no address to download it from. Get it from http://www.cad.zju.edu.cn" in err
    assert str(nowhere / "TDT2" / "TDT2.mat") in err


def test_fetch_downloads_what_is_missing_and_says_where_it_lies(call, nowhere, monkeypatch):
    from bregopt_paper.datasets import download

    first, second = FACTS["mnist"].files
    (nowhere / first.path).parent.mkdir(parents=True)
    (nowhere / first.path).write_bytes(b"")
    monkeypatch.setattr(download, "download", lambda file: nowhere / file.path)
    code, out, err = call("data", "fetch", "mnist")
    assert (code, out) == (0, f"{nowhere / first.path}\n{nowhere / second.path}\n")
    assert err == f"Downloading {second.path} …\n"


def test_the_help_says_that_the_real_addresses_were_not_tried(call):
    assert "not with the real addresses" in " ".join(call("data", "fetch", "--help")[1].split())
    for args in ([], ["--help"]):
        code, out, _ = call("data", *args)
        assert code == 0
        assert all(name in out for name in ("list", "path", "check", "fetch", "BREGOPT_DATA"))
