"""The whole of ``bregopt reproduce all --quick``, as a newcomer without any data runs it."""

import csv
import os
import subprocess
import sys


def test_all_experiments_run_quickly_without_any_file_and_leave_a_report(tmp_path):
    env = {name: value for name, value in os.environ.items() if name not in ("BREGOPT_DATA", "BREGOPT_DATA_DOWNLOAD")}
    call = [sys.executable, "-m", "bregopt", "reproduce", "all", "--quick", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        call, capture_output=True, text=True, env=env | {"XDG_CACHE_HOME": str(tmp_path)}, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for name in ("clustering", "compression", "synthetic", "l1"):
        assert f'<h2 id="{name}">' in page
    assert "What is missing here" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    tables = sorted((tmp_path / "out" / "tables").glob("*.csv"))
    assert len(tables) >= 4
    for table in tables:
        with table.open(encoding="utf-8", newline="") as lines:
            assert len(list(csv.reader(lines))) > 1, table.name
    assert len(list((tmp_path / "out" / "figures").glob("*.png"))) >= 4
