# SPDX-License-Identifier: Apache-2.0
"""Writes docs/performance.md and its plots from results.json, which report.py has written.

performance.py RESULTS [--out FOLDER]
"""

import argparse
import json
import pathlib
import re
import textwrap

import gpu
import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plot  # noqa: E402 needs the backend
from instructions import BATCH, SMALL, by_key  # noqa: E402
from machine import MOST_OTHER_WORK, MOST_SPREAD  # noqa: E402
from targets import GROWTH, NDIMS, ROWS, cell, multiples, table, target  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHY = ROOT / "bench/why.md"
# Replaced by a colour that follows the reader's light or dark background.
INK = "#123456"
# Each has a contrast of at least 3 on white and on GitHub's dark background.
OURS, PEER, OTHER = "#2f81f7", "#d9730d", "#8b949e"
STYLE = "<style>svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"
BARS = (
    ("validate", OURS), ("share", OURS), ("tvm_export", PEER), ("upgrade_into", OURS),
    ("upgrade_vouched", OURS), ("upgrade", OURS), ("import", OURS), ("import_unknown", OURS),
    ("downgrade", OURS), ("import_versioned", OURS), ("export", OURS), ("tvm_import_export", PEER),
    ("wrap", OURS), ("upgrade_many_64", OURS), ("upgrade_loop_64", OTHER),
)  # fmt: skip
LINES = (("validate", OURS, "-"), ("upgrade", OURS, "--"), ("share", OURS, ":"),
         ("downgrade", OURS, "-."), ("tvm_import_export", PEER, "--"),
         ("tvm_export", PEER, ":"))  # fmt: skip


def begin(title, width=8.0, height=4.0):
    plot.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "dlbridge", "font.size": 10,
        "font.family": "sans-serif", "text.color": INK, "axes.edgecolor": INK,
        "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
        "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    })  # fmt: skip
    figure, axes = plot.subplots(figsize=(width, height), layout="constrained")
    axes.set_title(title, fontsize=11, loc="left")
    return figure, axes


def save(figure, path):
    """Writes the figure without a background, in the reader's colour."""
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    plot.close(figure)
    text = path.read_text().replace(INK, "currentColor")
    text = re.sub(r"(<svg [^>]*>)", rf"\1\n{STYLE}", text, count=1)
    path.write_text("".join(line.rstrip() + "\n" for line in text.splitlines()))


def plot_instructions(counts, path):
    found = by_key(counts)
    rows = [(name, colour, found.get((name, 4, "given", SMALL))) for name, colour in BARS]
    rows = sorted((row for row in rows if row[2] is not None), key=lambda row: -row[2])
    figure, axes = begin("Instructions of a call with its release, ndim 4", 9.0, 4.6)
    bars = axes.barh(
        [ROWS[name] for name, *_ in rows], [ir for *_, ir in rows],
        color=[colour for _, colour, _ in rows],
    )  # fmt: skip
    axes.bar_label(bars, fmt="%.0f", padding=3, color=INK)
    axes.axvline(counts["malloc_free"], color=OTHER, linestyle="--", linewidth=1)
    axes.text(counts["malloc_free"] + 4, -0.9, "malloc + free", fontsize=9)
    axes.set_xlabel("instructions; blue: dlbridge, orange: tvm-ffi (which validates nothing)")
    save(figure, path)


def plot_ndim(counts, path):
    found = by_key(counts)
    figure, axes = begin("Cost by number of axes")
    for name, colour, style in LINES:
        points = sorted((key[1], ir) for key, ir in found.items()
                        if key[0] == name and key[2:] == ("given", SMALL))  # fmt: skip
        if points:
            axes.plot(*zip(*points), style, color=colour, marker="o", markersize=3,
                      label=ROWS[name])  # fmt: skip
    axes.set_xlabel("ndim")
    axes.set_ylabel("instructions")
    axes.legend(fontsize=8)
    save(figure, path)


def plot_table(growth, path):
    rows = [row for row in growth if row["name"].startswith("look_up/")]
    figure, axes = begin("Look-up in the context table, by number of entries", height=3.2)
    entries = [int(row["name"].split("/")[1]) for row in rows]
    middle = [row["median"] for row in rows]
    below = [row["median"] - row["low"] for row in rows]
    above = [row["high"] - row["median"] for row in rows]
    axes.errorbar(entries, middle, yerr=[below, above], color=OURS, marker="o", capsize=3)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("entries (bars: quartiles of the batches)")
    axes.set_ylabel("ns of CPU time")
    save(figure, path)


def preformatted(lines):
    return "```text\n" + "\n".join(lines).rstrip() + "\n```\n"


def machine_lines(found):
    machine = found["machine"]
    peers = ", ".join(f"{name} {version}" for name, version in sorted(machine["peers"].items()))
    yield f"- machine: {machine['processor']}; {machine['system']}"
    yield f"- {machine['compiler']}; Python {machine['python']}; peers: {peers or 'none'}"
    yield (
        f"- date: {machine['date']}, commit {machine['commit']}; other work during the times: "
        f"{100 * machine['other_work']:.0f} % of the processors"
    )


def verdict(found):
    if not found["inconclusive"]:
        return "The machine did little else: the times below decide whether a target is met."
    return (
        "**The times are inconclusive**: " + "; ".join(found["inconclusive"]) + ". A `?` after a\n"
        "target means that this run neither meets nor misses it. The instructions are exact."
    )


def time_lines(found):
    rows = {row["name"]: row for row in found["core"]}
    costs = multiples(found["core"])
    yield f"{'operation':<42}{'ndim':<5}{'multiple':<15}{'quartiles':<13}{'ns':>7}"
    for operation, title in ROWS.items():
        for ndim in NDIMS:
            row = rows.get(f"{operation}/{ndim}/given")
            if row:
                goal = target(operation, ndim, "given", 0, costs)
                text = cell(row["multiple"], goal, 2, sure=not found["inconclusive"])
                between = f"{row['low']:.2f} to {row['high']:.2f}"
                yield f"{title:<42}{ndim:<5}{text:<15}{between:<13}{row['ns']:>7.1f}"


def growth_lines(found):
    sure = not found["inconclusive"]
    for row in found["growth"]:
        goal = GROWTH.get(row["name"])
        text = cell(row["median"], goal, 1, sure=sure or row["unit"] == "bytes")
        quartiles = f"{row['low']:.1f} to {row['high']:.1f}" if row["low"] != row["high"] else ""
        yield f"{row['name']:<36}{text:>20} {row['unit']:<9}{quartiles}".rstrip()


def paragraph(*sentences):
    return textwrap.fill(" ".join(sentences), 104) + "\n"


def document(found):
    counts = found["instructions"]
    small = {key[:3]: ir for key, ir in by_key(counts).items() if key[3] == SMALL}
    yield "<!-- Generated by `./run bench` (bench/performance.py); do not edit. -->\n"
    yield "# Performance\n"
    yield paragraph(
        "To measure it yourself: `./run bench` builds everything, measures it beside every peer",
        "that is installed, and writes this page. `./run test budget` keeps the costs: it compares",
        "instructions with `bench/budget.json` and fails at +3 %.",
    )
    yield "\n".join(machine_lines(found)) + "\n"
    yield verdict(found) + "\n"
    yield "## Instructions\n"
    yield paragraph(
        "Exact and independent of the load: `python3 -B bench/instructions.py --binary",
        "build/bench/bench/core_instructions`. malloc + free of 128 bytes take",
        f"{counts['malloc_free']:.0f}. A row of {BATCH} is per tensor, with {BATCH} tensors alive.",
        "Targets are in brackets, with `!` where they are missed.",
    )
    yield "![Bars: instructions of each operation at ndim 4](performance/instructions.svg)\n"
    yield preformatted(table(small, unit=1, digits=0))
    yield "![Lines: instructions by ndim, all of them straight](performance/ndim.svg)\n"
    yield "## Times\n"
    yield paragraph(
        "CPU time of short batches, interleaved at random, as multiples of malloc + free of 128",
        "bytes immediately before and after each batch: `./run bench --core`. A run with more than",
        f"{100 * MOST_OTHER_WORK:.0f} % of the processors' time for other work, or in which",
        f"malloc + free itself varies by more than {100 * MOST_SPREAD:.0f} % beside its",
        "neighbours, decides nothing.",
    )
    yield preformatted(time_lines(found))
    yield "## Memory and growth\n"
    yield paragraph(
        "`build/bench/bench/growth_bench COPY_OF_THE_LIBRARY`: bytes of a live tensor by ndim,",
        "tensors alive at once, registrations and look-ups by number of entries, releases on",
        "another thread by number of threads, and dlopen with one call in a new process.",
    )
    yield "![Line with error bars: look-ups by entries](performance/table.svg)\n"
    yield preformatted(growth_lines(found))
    for name, title in (
        ("copies", "Copies"),
        ("sweep", "Layouts in which NumPy or PyTorch copies faster"),
        ("devices", "Devices"),
    ):
        if found.get(name):
            yield f"## {title}\n"
            yield preformatted(found[name].splitlines())
    for name, text in found.get("bindings", {}).items():
        yield f"## Binding: {name}\n"
        yield preformatted(text.splitlines())
    yield "\n".join(gpu.section()) + "\n"
    yield "## Targets that are missed, and why\n"
    yield WHY.read_text().partition("-->\n\n")[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    arguments = parser.parse_args()
    found = json.loads(arguments.results.read_text())
    plots = arguments.out / "performance"
    plots.mkdir(parents=True, exist_ok=True)
    plot_instructions(found["instructions"], plots / "instructions.svg")
    plot_ndim(found["instructions"], plots / "ndim.svg")
    plot_table(found["growth"], plots / "table.svg")
    text = "\n".join(document(found))
    (arguments.out / "performance.md").write_text(text)
    print(f"written: {arguments.out / 'performance.md'} and 3 plots")


if __name__ == "__main__":
    main()
