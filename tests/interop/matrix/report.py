# SPDX-License-Identifier: Apache-2.0
"""The matrix as text, Markdown and HTML: the native result beside that of dlbridge."""

import html

from dlbridge.conformance import frameworks

from . import cases, measure, proofs, results

# The letter of a permission in a cell.
LETTERS = {
    "readonly=copy": "r",
    "strides=compact": "s",
    "lazy=resolve": "l",
    "grad=detach": "g",
    "device=cpu": "d",
    "x64=enabled": "x",
}
NONE = "–"


def native_text(cell):
    """The native result in one word."""
    if cell["status"] == measure.OK:
        return "copy" if cell.get("copied") else "ok"
    return NONE if cell["status"] == measure.ABSENT else cell["status"]


def bridged_text(found, pair, case):
    """The result with dlbridge: ok or copy with the permissions used, or the reason."""
    cell = found["pairs"][pair][case]["dlbridge"]
    if cell["status"] == measure.OK:
        word = "copy" if cell.get("copied") else "ok"
        marks = "".join(LETTERS.get(name, "?") for name in cell.get("permissions", ()))
        marks += "t" if cell.get("way") == "to" else ""
        return f"{word} ({marks})" if marks else word
    return results.reason(found, pair, case) or f"FAILED: {cell['status']}"


def pair_text(found, pair, case):
    """The text of a cell; None if it was not measured."""
    if pair not in found["pairs"] or case not in found["pairs"][pair]:
        return None
    native = native_text(found["pairs"][pair][case]["native"])
    ours = bridged_text(found, pair, case)
    return ours if native == NONE else f"{native} → {ours}"


def names_of(found):
    """The frameworks in the results, in the order of the table."""
    seen = {name for pair in found["pairs"] for name in pair.split(">")}
    return [name for name in frameworks.KNOWN if name in seen]


def cases_of(found):
    seen = {case for table in found["pairs"].values() for case in table}
    return [case for case in cases.CASES if case.name in seen]


def title(name):
    return frameworks.KNOWN[name].title


def rows_of(found, case):
    """(producer, [text per consumer]) of one case; producers without such an array are left out."""
    names = names_of(found)
    for producer in names:
        texts = [pair_text(found, f"{producer}>{consumer}", case.name) for consumer in names]
        if any(text not in (None, "no-array", "not-handed-out") for text in texts):
            yield producer, [text or "" for text in texts]


def without(found, case):
    """Producers that do not have or do not export such an array: [(name, reason, why)]."""
    for producer in names_of(found):
        cells = [
            table[case.name]["dlbridge"]
            for pair, table in found["pairs"].items()
            if pair.startswith(f"{producer}>") and case.name in table
        ]
        if cells and all(cell["status"] == measure.ABSENT for cell in cells):
            yield producer, cells[0]["reason"], cells[0]["why"]


def totals(found):
    """How many cells there are, work natively, work through dlbridge, and cannot work."""
    count = {"cells": 0, "native": 0, "dlbridge": 0, "uncopied": 0, "impossible": 0}
    for pair, table in found["pairs"].items():
        for case, modes in table.items():
            if modes["dlbridge"]["status"] == measure.ABSENT:
                continue
            count["cells"] += 1
            count["native"] += modes["native"]["status"] == measure.OK
            ours = modes["dlbridge"]
            count["dlbridge"] += ours["status"] == measure.OK
            count["uncopied"] += ours["status"] == measure.OK and not ours.get("copied")
            count["impossible"] += results.reason(found, pair, case) is not None
    return count


def total_line(found):
    count = totals(found)
    return (
        f"{count['cells']} cells: {count['native']} work natively, {count['dlbridge']} through "
        f"dlbridge ({count['uncopied']} of them without a copy), {count['impossible']} cannot work"
    )


def _table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def markdown_summary(found):
    """The number of working cells of each pair, natively and through dlbridge."""
    consumers = names_of(found)
    rows = []
    for producer in consumers:
        row = [title(producer)]
        for consumer in consumers:
            table = found["pairs"].get(f"{producer}>{consumer}")
            row.append(_pair_summary(table) if table else "")
        rows.append(row)
    yield "Working cells, natively → through dlbridge, of those that the producer supports:"
    yield ""
    yield from _table(["from \\ to", *(title(name) for name in consumers)], rows)
    yield ""


def _pair_summary(table):
    there = [modes for modes in table.values() if modes["dlbridge"]["status"] != measure.ABSENT]
    works = {
        mode: sum(modes[mode]["status"] == measure.OK for modes in there) for mode in results.MODES
    }
    return f"{works['native']} → {works['dlbridge']} of {len(there)}"


def markdown_tables(found):
    """A table per case: a row per producer, a column per consumer."""
    consumers = [title(name) for name in names_of(found)]
    for case in cases_of(found):
        yield f"### {case.name}: {case.title}"
        yield ""
        rows = [[title(producer), *texts] for producer, texts in rows_of(found, case)]
        if rows:
            yield from _table(["from \\ to", *consumers], rows)
            yield ""
        for producer, reason, why in without(found, case):
            yield f"- {title(producer)}: {reason}: `{why.replace('`', '')}`"
        yield ""


def markdown_proofs(found):
    """The answers of the consumers to handmade tensors."""
    for consumer, proved in sorted(found["proofs"].items()):
        for case, proof in sorted(proved.items()):
            rejected = sorted(set(proof.get("rejected", {}).values()))
            words = "; ".join(f"`{text.replace('`', '')}`" for text in rejected)
            reason = proof.get("reason", proof["status"])
            yield f"| {title(consumer)} | {case} | {reason} | {words} |"


def page(found):
    """The matrix as one HTML page."""
    yield "<!doctype html><meta charset=utf-8><title>dlbridge: matrix</title>"
    yield (
        "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
        "td,th{border:1px solid #ccc;padding:.3em .6em;text-align:left}"
        ".ok{background:#e2f3e2}.copy{background:#fdf5d8}.reason{background:#eee}"
        ".failed{background:#f8d0d0}</style>"
    )
    versions = ", ".join(
        f"{title(name)} {found['versions'].get(name, '?')}" for name in names_of(found)
    )
    yield "<h1>Every pair</h1>"
    for words in (versions, total_line(found), legend()):
        yield f"<p>{html.escape(words)}</p>"
    for case in cases_of(found):
        yield f"<h2>{html.escape(f'{case.name}: {case.title}')}</h2><table><tr><th>from \\ to"
        yield "".join(f"<th>{html.escape(title(name))}" for name in names_of(found))
        for producer, texts in rows_of(found, case):
            yield f"<tr><th>{html.escape(title(producer))}"
            for consumer, text in zip(names_of(found), texts):
                yield _html_cell(found, f"{producer}>{consumer}", case.name, text)
        yield "</table>"


def _html_cell(found, pair, case, text):
    ours = text.rpartition("→ ")[2]
    kind = "failed" if "FAILED" in ours else ours.split(" ")[0]
    kind = kind if kind in ("ok", "copy", "failed") else "reason"
    modes = found["pairs"].get(pair, {}).get(case, {})
    words = [
        f"{mode}: {cell.get('why') or '; '.join(cell.get('problems', ()))}"
        for mode, cell in modes.items()
        if cell.get("why") or cell.get("problems")
    ]
    return f'<td class="{kind}" title="{html.escape(" / ".join(words))}">{html.escape(text)}'


def legend():
    """The explanation of the cells, in one paragraph."""
    marks = ", ".join(f"{letter} {name}" for name, letter in LETTERS.items())
    reasons = "; ".join(f"{name}: {why}" for name, why in proofs.REASONS.items())
    return (
        "Each cell shows the native result → the result through dlbridge. "
        "ok: values, dtype, shape and immutability arrive and the memory is shared; "
        "copy: they arrive as a copy; wrong: something is lost; rejected: an exception; "
        f"crash: the process dies. In brackets, the permissions that the caller gave: {marks} "
        "(jax.config.update('jax_enable_x64', True), without which JAX changes dtypes of 64 bits); "
        "t: through dlbridge.to, since the consumer rejects adapt. "
        f"Reasons why a cell cannot work: {reasons}. "
        "Empty: the pair crashes if one process imports both, or there is no such array."
    )


def text(found):
    """The matrix as text for a terminal."""
    for case in cases_of(found):
        yield f"{case.name}: {case.title}"
        for producer, texts in rows_of(found, case):
            for consumer, words in zip(names_of(found), texts):
                if words:
                    yield f"  {title(producer):13} to {title(consumer):13} {words}"
    yield legend()
    yield total_line(found)
