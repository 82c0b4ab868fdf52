# SPDX-License-Identifier: Apache-2.0
"""Holds the texts of the repository to each other. Prints what disagrees; exit status 1 then."""

import fnmatch
import json
import pathlib
import re
import sys

import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "abi"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/site"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import api
import checkout
import links
import mutants
import python_pages
import stage
import versions

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = ROOT / "include/dlbridge"
INSTALL = "docs/start/install.md"
# Folders of one machine; a slash before them belongs to a longer, relative path.
MACHINE_PATH = re.compile(r"(?<![\w.*}])/(?:work|root|home/\w+|tmp/\w+)(?:/|\b)")
LICENCED = {".c", ".cc", ".h", ".hpp", ".py", ".cmake", ".sh", ".map", ".rs", ".go", ".toml"}
# The sources of a binding, and how they call a function of the library: each must be called.
BINDINGS = {
    "C++": (r"bindings/cpp/include/.*\.hpp", r"\b(?:abi::|dlbridge_)(\w+)\("),
    "Rust": (r"bindings/rust/dlbridge/src/.*\.rs", r"\bsys::dlbridge_(\w+)"),
    "Go": (r"bindings/go/(?!.*_test\.go).*\.(?:go|c|h)", r"\bdlbridge_(\w+)"),
    "Python": (r"bindings/python/src/.*\.(?:c|cc|h)", r"\bdlbridge_(\w+)"),
}


def read(name):
    return (ROOT / name).read_text()


def core():
    return api.read_header(PUBLIC / "dlbridge.h")


def check_since():
    """Each exported item has a comment of its own, with the version that brought it."""
    constants = core()["constants"]
    for name, comment in api.comments(PUBLIC / "dlbridge.h").items():
        if not comment.startswith("/**") and name not in constants:
            yield f"dlbridge.h: {name} has no comment of its own"
        elif not re.search(r"\\since \d+\.\d+\.\d+", comment) and name not in constants:
            yield f"dlbridge.h: {name} has no \\since"


def check_version():
    """All files that repeat the version of the header have it."""
    yield from versions.disagreements(ROOT)


def check_readme_example():
    """README's C function is one of the program that is compiled and run."""
    shown = re.findall(r"```c\n(.*?)```", read("README.md"), re.DOTALL)
    if not shown or any(text not in read("examples/first_import/import.c") for text in shown):
        yield "README.md: the C function is not in examples/first_import/import.c"


CODE = {".c", ".cc", ".h", ".py", ".rs", ".go"}


def code_lines(text):
    """The lines that are neither blank nor comment."""
    text = re.sub(
        r"/\*.*?\*/|^\s*(?://|#(?!\s*(?:include|define|if|endif))).*", "", text, flags=re.S | re.M
    )
    return sum(bool(line.strip()) for line in text.splitlines())


def check_examples():
    """An example is short, and its folder has a page that the index lists."""
    index = read("examples/README.md")
    names = [name for name in checkout.files() if re.match(r"examples/(?!demo/)\w+/", name)]
    for folder in sorted({name.split("/")[1] for name in names}):
        files = [name for name in names if name.startswith(f"examples/{folder}/")]
        lines = sum(code_lines(read(name)) for name in files if pathlib.Path(name).suffix in CODE)
        if lines > 60:
            yield f"examples/{folder}: {lines} lines of code, expected at most 60"
        if f"examples/{folder}/README.md" not in files:
            yield f"examples/{folder}: there is no README.md"
        if f"({folder}/README.md)" not in index:
            yield f"examples/README.md: the table lacks {folder}"


def check_guides():
    """A program of a guide that is named like a file of an example is that file."""
    shown = 0
    for path in sorted((ROOT / "docs/guides").glob("*.md")):
        for name, text in re.findall(
            r"<!-- file: (\S+) -->\n\n```c\n(.*?)```", path.read_text(), re.S
        ):
            example = ROOT / "examples" / path.stem.replace("-", "_") / name
            if not example.exists():
                continue
            shown += 1
            if example.read_text().partition("\n")[2] != text:
                yield f"docs/guides/{path.name}: {name} is not that of {example.relative_to(ROOT)}"
    if not shown:
        yield "docs/guides: no guide shows an example"


def check_readme_length():
    """README is read to its end."""
    length = len(read("README.md").splitlines())
    if length > 150:
        yield f"README.md: {length} lines, expected at most 150"


def check_readme_usage():
    """The ways to use the library in CMake are lines of what tests/consumers runs."""
    shown = re.findall(r"```cmake\n(.*?)```", read(INSTALL), re.DOTALL)
    if not shown:
        yield f"{INSTALL}: nothing on CMake"
    texts = [read(name) for name in checkout.files() if name.startswith("tests/consumers/")]
    tested = {line.strip() for text in texts for line in text.splitlines()}
    for line in "".join(shown).splitlines():
        if line.strip() not in tested:
            yield f"{INSTALL}: tests/consumers has no line '{line.strip()}'"


def check_files():
    """Every file but the fuzzers' inputs: no machine's paths, a licence line, no stray blanks."""
    for name in checkout.files():
        if name.startswith(("bindings/rust/fuzz/corpus/", "tests/fuzz/seeds/")):
            continue
        try:
            text = read(name)
        except (UnicodeDecodeError, IsADirectoryError):  # the latter: a link to a folder
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: a path of one machine: {line.strip()[:80]}"
            if line != line.rstrip():
                yield f"{name}:{number}: blanks at the end of the line"
        licenced = pathlib.Path(name).suffix in LICENCED or name.endswith("CMakeLists.txt")
        if licenced and "SPDX-License-Identifier: Apache-2.0" not in text[:300]:
            yield f"{name}: no SPDX line"


def check_bindings():
    """Each function of the library is called by the hand-written part of each binding."""
    with (ROOT / "facts/functions.toml").open("rb") as file:
        functions = tomllib.load(file)
    for language, (pattern, call) in BINDINGS.items():
        names = [name for name in checkout.files() if re.fullmatch(pattern, name)]
        text = re.sub(r"\[facts/.*?\[/facts\]", "", "\n".join(map(read, names)), flags=re.DOTALL)
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        called = set(re.findall(call, code))
        for name, fact in functions.items():
            if called.isdisjoint((name, fact.get("member"))):
                yield f"{language}: nothing calls dlbridge_{name}; CONTRIBUTING.md has the file"


def check_cpp_names():
    """Each constant and struct of the C header has its place in the C++ binding."""
    pattern = re.compile(BINDINGS["C++"][0])
    text = "\n".join(read(name) for name in checkout.files() if pattern.fullmatch(name))
    words, header = set(re.findall(r"\w+", text)), core()
    for name in (*header["constants"], *header["structs"]):
        if name not in words:
            yield f"C++: the binding lacks {name}; edit bindings/cpp/include/dlbridge/hpp"


def check_header_lines():
    """The public headers are laid out by hand: 105 columns, no tabs."""
    for path in sorted(PUBLIC.rglob("*.h")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > 105 or "\t" in line:
                yield f"{path.relative_to(PUBLIC)}:{number}: longer than 105 columns, or a tab"


def anchors(name):
    """The anchors that a hosting platform makes of the headings of a Markdown file."""
    text = re.sub(r"^```.*?^```", "", read(name), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links():
    """Links of a Markdown file to files and headings of the repository lead somewhere."""
    for name in checkout.files():
        if not name.endswith(".md"):
            continue
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", read(name), flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\(([^()\s]+)\)", text):
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            target = (ROOT / name).parent / path if path else ROOT / name
            if not target.exists():
                yield f"{name}: nothing is at {link}"
            elif anchor and anchor not in anchors(target.resolve().relative_to(ROOT.resolve())):
                yield f"{name}: no heading is called {link}"


def tests_of(path):
    """The names of the tests of a file, as its language's runner prints them."""
    text = path.read_text()
    if path.suffix == ".py":
        return set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    macros = r"^(?:TEST|TEST_F|TEST_P|\w+_TEST)\((\w+), (\w+)\)"
    return {".".join(names) for names in re.findall(macros, text, re.MULTILINE)}


def check_named_tests():
    """Each `test` in [file](path) of SECURITY.md is a test of that file."""
    found = 0
    for names, link in re.findall(
        r"((?:`[\w.]+`(?: and )?)+) in \[\w+\]\((\S+?)\)", read("SECURITY.md")
    ):
        for name in re.findall(r"`([\w.]+)`", names):
            found += 1
            if name not in tests_of(ROOT / link):
                yield f"SECURITY.md: {link} has no test {name}"
    if not found:
        yield "SECURITY.md: no test is named"


def check_presets():
    """The table of presets has those of CMakePresets.json."""
    listed = json.loads(read("CMakePresets.json"))["configurePresets"]
    presets = {preset["name"] for preset in listed if not preset.get("hidden")}
    table = re.search(r"^\| preset \|.*?\n\n", read("docs/building.md"), re.DOTALL | re.MULTILINE)
    rows = re.findall(r"^\| (`.*?) \|", table[0] if table else "", re.MULTILINE)
    shown = set(re.findall(r"`(\S+)`", " ".join(rows)))
    for name in sorted(presets ^ shown):
        fault = "lacks the" if name in presets else "has another"
        yield f"docs/building.md: the table {fault} preset {name}"


def check_site():
    """The documentation can be made: every name of Python has a text, and links of pages lead to
    pages or files."""
    yield from python_pages.incomplete(ROOT)
    rewriter = links.Rewriter(ROOT)
    for name in stage.sources(ROOT):
        if name.endswith(".md"):
            rewriter.page(name, read(name))
    yield from rewriter.problems


def check_hooks():
    """The hooks before a commit use the version of ruff that `./run lint` uses."""
    pinned = re.findall(r"ruff==[\d.]+", read("tests/lint/requirements.txt"))
    for found in re.findall(r"ruff==[\d.]+", read(".pre-commit-config.yaml")):
        if [found] != pinned:
            yield f".pre-commit-config.yaml: {found}, tests/lint/requirements.txt: {pinned}"


def stage_lists():
    """The lists of stages in ./run: quick, ci, every ..."""
    found = {}
    for name, words in re.findall(r"(?:^readonly| )\b(\w+)=\(([^)]*)\)", read("run"), re.M):
        stages = []
        for word in words.replace('"', "").split():
            other = re.fullmatch(r"\$\{(\w+)\[@\](?:::(\d+))?\}", word)
            count = int(other[2]) if other and other[2] else None
            stages += found[other[1]][:count] if other else [word]
        found[name] = stages
    return found


def stages_of(task, lists):
    """The stages that a task of ./run runs; `lists` are those of stage_lists."""
    first, *words = task.split()
    if first == "lint" and words:
        return {*lists["lint"], "tidy_deep", "tidy_tests"}
    if first == "test":
        return set(words) or set(lists["quick"])
    return {"interop", "matrix"} if first == "interop" else set(lists.get(first, (first,)))


def tasks_of(workflow):
    """The tasks of ./run in a workflow."""
    text = read(f".github/workflows/{workflow}.yml")
    shown = re.findall(r"^ {10}- (.+)|run: \./run ([^$\n]+)", text, re.MULTILINE)
    return [first or second for first, second in shown if not first.isdecimal()]


def check_workflows():
    """The workflows run the stages of .ci/run and of `./run test all`; CONTRIBUTING lists them."""
    lists, tasks = stage_lists(), {name: tasks_of(name) for name in ("ci", "nightly")}
    runs = {
        name: set().union(*(stages_of(task, lists) for task in found))
        for name, found in tasks.items()
    }
    for name in sorted(set(lists["ci"]) - runs["ci"]):
        yield f".github/workflows/ci.yml: no job runs {name}, which .ci/run runs"
    for name in sorted(set(lists["every"]) - runs["ci"] - runs["nightly"]):
        yield f".github/workflows/nightly.yml: no job runs {name}"
    nightly = re.findall(r"^\| nightly: (.*?) \|", read("CONTRIBUTING.md"), re.MULTILINE)
    shown = re.findall(r"`\./run (.+?)`", " ".join(nightly))
    words = [{word for task in each for word in task.split()} for each in (shown, tasks["nightly"])]
    for word in sorted(words[0] ^ words[1]):
        yield f"CONTRIBUTING.md: its rows on the night and nightly.yml differ in {word}"


def check_vendor_types():
    """libclang knows the vendors' types in the public headers."""
    for path in sorted(PUBLIC.glob("*.h")):
        try:
            api.read_header(path)
        except api.ParseError as error:
            yield str(error)


def check_device_tests():
    """A .cmake file of tests/device names each test there, or has a pattern that matches it."""
    folder = ROOT / "tests/device"
    text = "\n".join(path.read_text() for path in sorted(folder.glob("*.cmake")))
    patterns = re.findall(r"\w+\*\w*\.cc", text)
    words = set(re.findall(r"\w+", text))
    for path in sorted(folder.glob("*_test.cc")):
        matched = any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)
        if not matched and words.isdisjoint((path.stem, path.stem.removesuffix("_test"))):
            yield f"tests/device: no .cmake file builds {path.name}"


def check_meson_sources():
    """The lines of src/CMakeLists.txt that meson.build reads are all sources, each listed once."""
    lines = [line.strip().strip(")") for line in read("src/CMakeLists.txt").split("\n")]
    listed = [line for line in lines if line.endswith(".cc") and " " not in line]
    names = {name.removeprefix("src/") for name in checkout.files("src/*.cc")}
    for name in sorted(set(listed) ^ names):
        fault = "no line of its own has" if name in names else "there is no file"
        yield f"src/CMakeLists.txt: {fault} {name}, and meson.build reads these lines"
    for name in sorted(name for name in set(listed) if listed.count(name) > 1):
        yield f"src/CMakeLists.txt: {name} has several lines, and meson.build reads each of them"


def check_mutants():
    """Each edit of tests/fuzz/mutants.toml, which `./run mutants` makes at night, has its place."""
    for name, mutant in tomllib.loads(read("tests/fuzz/mutants.toml")).items():
        try:
            mutants.edited(read(mutant["file"]), name, mutant)
        except ValueError as error:
            yield str(error)


CHECKS = (
    check_since,
    check_version,
    check_readme_example,
    check_examples,
    check_guides,
    check_readme_length,
    check_readme_usage,
    check_files,
    check_bindings,
    check_cpp_names,
    check_header_lines,
    check_links,
    check_named_tests,
    check_presets,
    check_site,
    check_hooks,
    check_workflows,
    check_vendor_types,
    check_device_tests,
    check_meson_sources,
    check_mutants,
)


def main():
    complaints = [complaint for check in CHECKS for complaint in check()]
    for complaint in complaints:
        print(complaint)
    print(f"{len(CHECKS)} checks, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
