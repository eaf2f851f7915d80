"""How the site is built: ``python -m sphinx -W docs docs/_build``."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import bregopt  # noqa: E402

FORM = os.environ.get("BREGOPT_DOCS", "full")
"""``full``; ``small``, with the gallery in its small form, as the checks have it; or ``quick``: text and links."""
if FORM == "small":
    os.environ["BREGOPT_EXAMPLES"] = "small"
EXAMPLES = HERE.parent / "examples"
HAS_GALLERY = any(EXAMPLES.glob("README.*")) or any(EXAMPLES.glob("GALLERY_HEADER.*"))

project = "bregopt"
author = "the bregopt contributors"
copyright = "the bregopt contributors, BSD-3-Clause"
version = release = bregopt.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "bregopt_site",
    *(["sphinx_gallery.gen_gallery"] if HAS_GALLERY else []),
    *([] if FORM == "quick" else ["sphinx.ext.viewcode"]),
]
exclude_patterns = ["_build", "_ext", "_examples", "README.md", "gallery/**/*.ipynb", "gallery/**/*.py"]
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_heading_slug_func = "bregopt_site.links.slug"

nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(abc|enum|numbers)\..*"),  # the standard library, whose pages cannot be reached from everywhere
    ("py:.*", r"bregopt_sklearn\.estimator\..*|bregopt\.engine\..*\.(Inner|PlannedStep)"),  # bases that are not public
]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_use_ivar = True
add_module_names = False
python_display_short_literal_types = True
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = "bregopt"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "bregopt"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "show_nav_level": 1,
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "ten-minutes": [], "choose": [], "reference/index": [], "gallery/index": []}

sphinx_gallery_conf = {
    "examples_dirs": [str(EXAMPLES)],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/.*\.py$",
    "ignore_pattern": r"__init__\.py",
    "plot_gallery": "False" if FORM == "quick" else "True",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
}
