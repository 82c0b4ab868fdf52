# SPDX-License-Identifier: Apache-2.0
"""Checks the finished site: internal links and anchors lead somewhere, and nothing is fetched from
another host when a page is opened."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

# Attributes that make a browser fetch something by itself.
FETCHED = (("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"))
# rustdoc checks the links of its pages itself (-D warnings).
OWN = "rust"


def read(path):
    return BeautifulSoup(path.read_bytes(), "html.parser")


def problems(site):
    """Complaints on the pages of a folder."""
    anchors, links = {}, []
    for path in sorted(site.rglob("*.html")):
        if path.relative_to(site).parts[0] == OWN:
            continue
        page = read(path)
        anchors[path] = {tag["id"] for tag in page.find_all(id=True)}
        anchors[path] |= {tag["name"] for tag in page.find_all("a", attrs={"name": True})}
        links += [(path, tag["href"]) for tag in page.find_all("a", href=True)]
        for name, attribute in FETCHED:
            for tag in page.find_all(name, attrs={attribute: True}):
                if urlsplit(tag[attribute]).netloc:
                    yield f"{path.relative_to(site)}: fetches {tag[attribute]}"
                elif not tag[attribute].startswith("data:"):
                    links.append((path, tag[attribute]))
    if len(anchors) < 100:
        yield f"only {len(anchors)} pages"
    for path, link in sorted(set(links)):
        yield from _broken(site, anchors, path, link)


def _broken(site, anchors, path, link):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    name = path.relative_to(site)
    if not target.is_relative_to(Path(site).resolve()) or not target.exists():
        yield f"{name}: nothing is at {link}"
    elif parts.fragment and target in anchors and unquote(parts.fragment) not in anchors[target]:
        yield f"{name}: no anchor {link}"
