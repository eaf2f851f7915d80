"""Lets the tests share helpers: ``from prox_rivals import …``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
