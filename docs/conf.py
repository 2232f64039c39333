"""Sphinx settings: MyST Markdown, the furo theme, and the API pages from the docstrings."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Triptych"
author = "The Triptych authors"
copyright = "2026, The Triptych authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Triptych"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
nitpicky = False
