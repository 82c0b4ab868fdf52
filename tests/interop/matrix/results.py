# SPDX-License-Identifier: Apache-2.0
"""Measures all pairs of frameworks and judges the results."""

import json

from dlbridge.conformance import frameworks

from . import cases, drive, measure, proofs

MODES = ("native", "dlbridge")
# Handmade tensors use the memory of this framework, which must be installed.
HELPER = "numpy"


def pairs(names):
    """Every (producer, consumer) that can share a process, each framework with itself too."""
    for producer in names:
        for consumer in names:
            if frozenset((producer, consumer)) not in frameworks.APART:
                yield producer, consumer


def _plan(producer, consumer, steps):
    return {"producer": producer, "consumer": consumer, "steps": steps}


def run(names, chosen=None, jobs=None, progress=None, facts=True):
    """{versions, pairs: {"a>b": {case: {mode: cell}}}, proofs, facts}."""
    chosen = chosen or [case.name for case in cases.CASES]
    results = {"versions": {}, "pairs": {}, "proofs": {}, "facts": {}}
    steps = [[case, mode] for case in chosen for mode in MODES]
    plans = [_plan(producer, consumer, steps) for producer, consumer in pairs(names)]
    for plan, cells, versions, _ in drive.run_all(plans, jobs, progress):
        results["versions"] |= versions
        table = results["pairs"][f"{plan['producer']}>{plan['consumer']}"] = {}
        for (case, mode), cell in cells.items():
            table.setdefault(case, {})[mode] = cell
    plans = [
        _plan(HELPER, consumer, steps)
        for consumer, steps in _asked_of(names, results, facts).items()
        if steps
    ]
    for plan, cells, _, _ in drive.run_all(plans, jobs, progress):
        _sort(plan["consumer"], cells, results)
    return results


def _asked_of(names, results, facts):
    """Steps for each consumer alone: the proofs that cells need, and the facts of the table."""
    steps = {name: [[fact, "fact"] for fact in proofs.FACTS] if facts else [] for name in names}
    needed = {
        (pair.split(">")[1], case)
        for pair, table in results["pairs"].items()
        for case, cell in table.items()
        if cell["dlbridge"]["status"] == measure.REJECTED
    }
    for consumer, case in sorted(needed):
        steps[consumer].append([case, "proof"])
    return steps


def _sort(consumer, cells, results):
    for (name, mode), cell in cells.items():
        if cell.get("why", "").startswith("at exit"):
            # The cause is unknown, so it proves nothing.
            cell = {"status": proofs.UNPROVED, "why": cell["why"]}
        if mode == "fact":
            if cell["status"] == measure.CRASH:
                cell = proofs.fact_of_crash(consumer, name)
            results["facts"].setdefault(consumer, {})[name] = cell
            continue
        if cell["status"] == measure.CRASH:
            # The consumer died of the handmade tensor, by its dtype if the case has a plain shape.
            plain = cases.BY_NAME[name].form == "plain"
            reason = "no-dtype" if plain else "no-shape"
            cell = {"status": proofs.PROVED, "reason": reason, "rejected": {"any": cell["why"]}}
        results["proofs"].setdefault(consumer, {})[name] = cell


def reason(results, pair, case):
    """The reason of the closed list why a cell cannot work; None if it must work."""
    cell = results["pairs"][pair][case]["dlbridge"]
    if cell["status"] == measure.ABSENT:
        return cell["reason"]
    if cell["status"] == measure.REJECTED:
        proof = results["proofs"].get(pair.split(">")[1], {}).get(case, {})
        return proof.get("reason") if proof.get("status") == proofs.PROVED else None
    return None


def failures(results):
    """Every cell that must work but does not, and every fact that is wrong."""
    for pair, table in results["pairs"].items():
        for case, modes in table.items():
            cell = modes["dlbridge"]
            if cell["status"] != measure.OK and reason(results, pair, case) is None:
                why = cell.get("why") or "; ".join(cell.get("problems", ()))
                yield f"{pair} {case}: {cell['status']}: {why}"
    for consumer, facts in results["facts"].items():
        for name, fact in facts.items():
            if fact["status"] != "ok":
                yield (
                    f"{consumer}: {name}: expected {fact.get('table')} as the table says, "
                    f"found {fact.get('found', fact.get('why'))}"
                )


def dump(results):
    """The results as JSON, one line per case of a pair, in an order independent of the run."""
    return _lines(results, 3) + "\n"


def _lines(value, depth):
    if depth == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value, sort_keys=True)
    rows = [f"{json.dumps(key)}: {_lines(inner, depth - 1)}" for key, inner in value.items()]
    return "{\n" + ",\n".join(rows) + "\n}"
