"""Plugins that are forgotten after a test."""

import pytest

from bregopt.host.compose import host


@pytest.fixture
def fresh_host():
    """Plugins loaded here are forgotten afterwards."""
    host.cache_clear()
    yield
    host.cache_clear()
