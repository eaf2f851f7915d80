"""The command line in this process."""

import pytest

from bregopt.cli.main import main


@pytest.fixture
def call(capsys, monkeypatch):
    """Run the command line in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args):
        with pytest.raises(SystemExit) as end:
            main([str(arg) for arg in args])
        return (end.value.code, *capsys.readouterr())

    return run
