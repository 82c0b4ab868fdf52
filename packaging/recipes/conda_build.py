# SPDX-License-Identifier: Apache-2.0
"""Renders conda's recipe with rattler-build, and builds its package with the machine's compilers.

conda_build.py RECIPE FOLDER    prints the package, a file below FOLDER

The build does not install what the recipe requires, since that needs a channel of packages.
"""

import pathlib
import sys

from rattler_build import (
    EnvironmentIsolation,
    Stage0Recipe,
    ToolConfiguration,
    VariantConfig,
)

VARIANT = "c_compiler: [gcc]\ncxx_compiler: [gxx]\nc_stdlib: [sysroot]\n"
TOOLS = {"gcc", "gxx", "sysroot", "cmake", "ninja"}


def rendered(text, folder):
    (one,) = Stage0Recipe.from_yaml(text, recipe_dir=folder).render(
        VariantConfig.from_yaml(VARIANT)
    )
    return one


def tools_of(recipe):
    """The names of what the recipe's build needs."""
    return {name.split("_linux")[0] for name in recipe.requirements.to_dict()["build"]}


def without_requirements(text):
    """The recipe with an empty `requirements: build`."""
    before, rest = text.split("requirements:\n  build:\n")
    return before + "requirements:\n" + rest[rest.index("  run_exports:") :]


def main():
    recipe, folder = map(pathlib.Path, sys.argv[1:])
    text = recipe.read_text()
    complete = rendered(text, folder / "complete").recipe
    if tools_of(complete) != TOOLS:
        sys.exit(f"conda_build.py: expected {TOOLS}, found {complete.requirements.to_dict()}")
    result = rendered(without_requirements(text), folder / "here").run_build(
        tool_config=ToolConfiguration(test_strategy="native"),
        output_dir=folder / "output",
        channels=[],
        env_isolation=EnvironmentIsolation.NONE,
    )
    print(*result.packages)


if __name__ == "__main__":
    main()
