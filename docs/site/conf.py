# SPDX-License-Identifier: Apache-2.0
"""Sphinx reads the tree that docs/site/stage.py writes."""

import os
import re
from pathlib import Path

ROOT = Path(os.environ["DLBRIDGE_ROOT"])
HEADER = (ROOT / "include/dlbridge/dlbridge.h").read_text()

project = "dlbridge"
author = "The dlbridge authors"
copyright = "The dlbridge authors, Apache-2.0"
release = re.search(r'DLBRIDGE_VERSION_STRING "(.*)"', HEADER)[1]
version = release

extensions = [
    "breathe",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
]
# The pages that stage.py has copied are complete: a name without a page is an error.
nitpicky = False
exclude_patterns = ["_doxygen"]
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
suppress_warnings = [
    # A fence may have a language that Pygments does not know, or JSON with an ellipsis.
    "misc.highlighting_failure",
]

breathe_projects = {name: os.environ[f"DLBRIDGE_DOXYGEN_{name.upper()}"] for name in ("c", "cpp")}
breathe_default_project = "c"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_default_members = ("members", "undoc-members")
breathe_show_include = False
# Macros that stand before a declaration, for Sphinx's own parsers.
c_id_attributes = ["DLBRIDGE_API"]

add_module_names = False
python_maximum_signature_line_length = 80
c_maximum_signature_line_length = 80
cpp_maximum_signature_line_length = 80

html_theme = "furo"
html_title = f"dlbridge {release}"
html_static_path = ["_static"]
html_css_files = ["dlbridge.css"]
html_favicon = "_static/logo.svg"
html_extra_path = ["_extra"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_logo": "logo.svg",
    "dark_logo": "logo-dark.svg",
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#0b5d8a",
        "color-brand-content": "#0b5d8a",
        "color-brand-visited": "#5b4a91",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
        "font-stack--monospace": "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4ee",
        "color-brand-content": "#7cc4ee",
        "color-brand-visited": "#b9a8ee",
    },
}
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
