"""The command line in this process, and plugins that are forgotten afterwards."""

import pytest

from bregopt.cli.main import main
from bregopt.host.compose import host


@pytest.fixture
def call(capsys, monkeypatch):
    """Run the command line in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args):
        with pytest.raises(SystemExit) as end:
            main([str(arg) for arg in args])
        return (end.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def fresh_host():
    """Plugins loaded here are forgotten afterwards."""
    host.cache_clear()
    yield
    host.cache_clear()
