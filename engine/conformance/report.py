"""A conformance report as lines for people, as JSON and as JUnit XML. The command writes them."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection
from xml.etree import ElementTree

from .findings import Outcome, Report, Result

_LABEL = {"pass": "pass", "fail": "FAIL", "unproved": "UNPROVED", "skip": "skip", "declared": "declared"}
#: What XML 1.0 cannot carry.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def line(outcome: Outcome) -> str:
    """One check on one line: result, name, clause without its protocol, what was seen. One that failed has its rule on the next."""
    finding, check = outcome.finding, outcome.check
    clause = check.clause.partition(", ")[2] or check.clause
    told = f"{_LABEL[finding.result]:<9} {check.name:<24} {clause:<22} {finding.detail or check.rule}".rstrip()
    if finding.result in ("fail", "unproved"):
        return f"{told}\n{'':<9} {'':<24} {'':<22} rule: {check.rule} [{check.clause}]"
    return told


def summary(report: Report, allowed: Collection[str]) -> str:
    """The counts, the verdict, and whether the skips are the allowed ones."""
    counts = Counter(outcome.finding.result for outcome in report.outcomes)
    words: dict[Result, str] = {
        "pass": "passed",
        "fail": "failed",
        "unproved": "unproved",
        "skip": "skipped",
        "declared": "declared",
    }
    told = [f"{counts[result]} {word}" for result, word in words.items() if counts[result]]
    lines = [f"{', '.join(told) or 'nothing checked'} in {report.seconds:.1f} s: {report.verdict}"]
    if report.trouble:
        lines.append(report.trouble)
    unexpected, unused = sorted(report.skips - set(allowed)), sorted(set(allowed) - report.skips)
    if report.verdict in ("passed-with-skips", "skipped") and unexpected:
        lines.append(f"not certified: skipped without --allow-skip: {', '.join(unexpected)}")
    if report.verdict in ("passed", "passed-with-skips", "skipped") and unused:
        lines.append(f"not certified: allowed to be skipped, and was not: {', '.join(unused)}")
    return "\n".join(lines)


def as_json(report: Report, allowed: Collection[str]) -> str:
    """The whole report as one JSON object, indented."""
    return json.dumps(
        {
            "protocol": report.protocol,
            "program": list(report.program),
            "adapter": report.adapter,
            "announced": list(report.announced),
            "startedMs": report.started_ms,
            "seconds": round(report.seconds, 3),
            "verdict": report.verdict,
            "certified": report.certifies(allowed),
            "trouble": report.trouble,
            "run": [{"state": state, "at": round(at, 3)} for state, at in report.history],
            "skipped": [
                {"name": outcome.check.name, "reason": outcome.finding.detail}
                for outcome in report.outcomes
                if outcome.finding.result == "skip"
            ],
            "allowedSkips": sorted(allowed),
            "checks": [
                {
                    "name": outcome.check.name,
                    "clause": outcome.check.clause,
                    "rule": outcome.check.rule,
                    "result": outcome.finding.result,
                    "detail": outcome.finding.detail,
                    "seconds": round(outcome.seconds, 3),
                }
                for outcome in report.outcomes
            ],
        },
        indent=2,
        ensure_ascii=False,
    )


def as_junit(report: Report) -> str:
    """The report as JUnit XML: a check is a test case, its clause the class; a declared deviation passes and says so."""
    results = Counter(outcome.finding.result for outcome in report.outcomes)
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=f"{report.protocol} conformance",
        tests=str(len(report.outcomes)),
        failures=str(results["fail"] + results["unproved"]),
        skipped=str(results["skip"]),
        errors=str(int(report.verdict in ("cancelled", "infrastructure-failed"))),
        time=f"{report.seconds:.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("program", shlex.join(report.program)),
        ("adapter", report.adapter),
        ("announced", " ".join(report.announced)),
        ("verdict", report.verdict),
        ("run", " ".join(f"{state}@{at:.3f}" for state, at in report.history)),
        ("trouble", report.trouble),
    ):
        ElementTree.SubElement(properties, "property", name=name, value=_xml(value))
    for outcome in report.outcomes:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=outcome.check.clause,
            name=outcome.check.name,
            time=f"{outcome.seconds:.3f}",
        )
        detail = _xml(outcome.finding.detail)
        if outcome.finding.result in ("fail", "unproved"):
            ElementTree.SubElement(case, "failure", type=outcome.finding.result, message=detail).text = _xml(outcome.check.rule)
        elif outcome.finding.result == "skip":
            ElementTree.SubElement(case, "skipped", message=detail)
        elif detail:
            ElementTree.SubElement(case, "system-out").text = f"{outcome.finding.result}: {detail}"
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    return _NO_XML.sub("�", text)
