# SPDX-License-Identifier: Apache-2.0
"""The reference of the Python package, without building it: signatures are those of the stubs,
which a test compares with the extension, and texts are the docstrings of its sources."""

import ast
import re
from pathlib import Path

SECTIONS = (
    ("Exchange", ("from_dlpack", "to", "adapt", "Tensor", "Adapted", "Rejection", "collect")),
    ("Other protocols", ("from_buffer", "to_buffer", "from_interface", "portable")),
    ("Look", ("inspect",)),
    ("Frameworks that dlbridge does not know", ("register_consumer", "register_producer")),
    (
        "Build against the package",
        (
            "get_include",
            "get_library_dir",
            "get_library",
            "get_cmake_dir",
            "get_pkgconfig_dir",
        ),
    ),
)
PACKAGE = Path("bindings/python/dlbridge")
# One or more string literals of C, side by side.
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
TEXT = re.compile(r"(\w+)\(\$(?:module|self).*?\)\n--\n\n(.*)", re.DOTALL)
BOUND = re.compile(r'(?:module->def\(|Bind\w+\(module, )"(\w+)"(.*?)\);', re.DOTALL)
ATTRIBUTE = re.compile(r'ATTRIBUTE\("(\w+)", \w+,\s*("(?:[^"\\]|\\.)*")\)')


def literal(text):
    """The value of string literals of C, side by side."""
    return "".join(ast.literal_eval(part) for part in re.findall(r'"(?:[^"\\\n]|\\.)*"', text))


def native_texts(root):
    """Names of functions, methods and attributes of the extension, with their docstrings."""
    found = {}
    for path in sorted((root / "bindings/python/src/core").glob("*.c")):
        text = path.read_text()
        for match in LITERALS.finditer(text):
            described = TEXT.fullmatch(literal(match[0]))
            if described:
                found.setdefault((path.stem, described[1]), described[2])
        for name, value in ATTRIBUTE.findall(text):
            found[path.stem, name] = literal(value)
    return found


def bound_texts(root):
    """The docstrings of the functions of dlbridge.abi: the last literals of each binding."""
    found = {}
    for path in sorted((root / "bindings/python/src/describe").glob("*.cc")):
        for name, rest in BOUND.findall(path.read_text()):
            texts = LITERALS.findall(rest)
            if texts and len(literal(texts[-1])) > 12:
                found[name] = literal(texts[-1])
    return found


def definitions(path):
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: node for node in tree.body if isinstance(node, kinds)}


def signature(function):
    arguments = ast.unparse(function.args)
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    arguments = re.sub(r"^self(, /)?(, )?", "", arguments)
    return f"({arguments}){result}"


def directive(kind, head, text, depth=3):
    fence = "`" * depth
    return f"{fence}{{py:{kind}}} {head}\n\n{text.strip()}\n{fence}"


def is_property(node):
    return any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)


def class_page(name, node, texts):
    """A class with its public methods and attributes."""
    parts = [ast.get_docstring(node) or ""]
    for one in node.body:
        if not isinstance(one, ast.FunctionDef):
            continue
        shown = one.name in ("__dlpack__", "__dlpack_device__") or not one.name.startswith("_")
        text = texts.get(("tensor", one.name)) or ast.get_docstring(one) or ""
        if not shown:
            continue
        if is_property(one):
            head = f"{one.name}\n:type: {ast.unparse(one.returns)}"
            parts.append(directive("property", head, text))
        else:
            parts.append(directive("method", one.name + signature(one), text))
    return directive("class", name, "\n\n".join(parts), depth=4)


def lazily(root):
    """The modules of the names that dlbridge/__init__.py loads at first use."""
    tree = ast.parse((root / PACKAGE / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "_LAZY":
            return ast.literal_eval(node.value)
    raise ValueError("dlbridge/__init__.py has no _LAZY")


def entry(root, name, stubs, texts, modules):
    node = stubs.get(name) or defined(root, name, modules.get(name, "__init__"))
    if isinstance(node, ast.ClassDef):
        return class_page(name, node, texts)
    text = texts.get(("functions", name)) or ast.get_docstring(node) or ""
    return directive("function", name + signature(node), text)


def defined(root, name, module):
    """The definition of a name that `module` has, maybe from another module of the package."""
    first = root / PACKAGE / f"{module}.py"
    for path in (first, *sorted((root / PACKAGE).glob("*.py"))):
        found = definitions(path).get(name)
        if found is not None:
            return found
    raise ValueError(f"no module of the package defines {name}")


def exported(root):
    tree = ast.parse((root / PACKAGE / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    raise ValueError("dlbridge/__init__.py has no __all__")


def incomplete(root):
    """Complaints on public names that SECTIONS lacks, and on others that it has."""
    named = {name for _, names in SECTIONS for name in names}
    for name in sorted((exported(root) - {"__version__"}) ^ named):
        yield f"docs/site/python_pages.py: {name} is in only one of SECTIONS and dlbridge.__all__"


def native_page(root):
    """dlbridge.abi: every function of the C ABI, on addresses."""
    module = ast.parse((root / PACKAGE / "abi.py").read_text())
    texts = bound_texts(root)
    parts = ["# dlbridge.abi", ast.get_docstring(module), "```{py:module} dlbridge.abi\n```"]
    for name, node in definitions(root / PACKAGE / "_describe.pyi").items():
        if isinstance(node, ast.FunctionDef):
            parts.append(directive("function", name + signature(node), texts.get(name, "")))
    return "\n\n".join(parts) + "\n"


def pages(root):
    stubs, texts = definitions(root / PACKAGE / "_core.pyi"), native_texts(root)
    modules = lazily(root)
    parts = [
        "# Python",
        "[The page of the package](../bindings/python.md) has the rules and recipes; "
        "[dlbridge.abi](python-abi.md) is the C ABI on addresses.",
        "```{toctree}\n:hidden:\n\npython-abi\n```",
        "```{py:module} dlbridge\n```",
    ]
    for title, names in SECTIONS:
        parts.append(f"## {title}")
        parts += [entry(root, name, stubs, texts, modules) for name in names]
    yield "api/python.md", "\n\n".join(parts) + "\n"
    yield "api/python-abi.md", native_page(root)
