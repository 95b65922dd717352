"""Writes a run as JUnit XML, which CI services show: a test for each case.

The elements and attributes are those of the Jenkins xUnit plugin's schema (junit-10.xsd), which GitHub's and GitLab's
readers take as well.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, tostring

from gleaner_local.evaluation.comparing import Comparison
from gleaner_local.evaluation.report import CaseReport, Report

# What XML 1.0 cannot hold, even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MILLISECONDS = 1000


def to_junit(report: Report, comparison: Comparison | None) -> str:
    """XML with one test suite.

    A case that is not right fails. With a baseline, only a case that became worse in some figure that fell, or that
    leaks, fails: what was wrong before is skipped, so that a build is red for what changed. A case that could not be
    asked is an error.
    """
    worse = None if comparison is None else {case for change in comparison.fallen for case in change.worse}
    suite = Element("testsuite", name=_clean(report.file))
    counts = {"failure": 0, "error": 0, "skipped": 0}
    for case in report.cases:
        test = _add_test(suite, case.id, case.language, report.times.cases.get(case.id, 0.0))
        if kind := _kind(case, worse):
            counts[kind] += 1
            reason = _clean("; ".join(case.reasons) or "worse than in the baseline")
            SubElement(test, kind, message=reason).text = _clean(case.answer)
    for missed in report.not_asked:
        counts["error"] += 1
        SubElement(_add_test(suite, missed.id, None, 0.0), "error", message=_clean(missed.reason))
    suite.attrib |= {
        "tests": str(len(report.cases) + len(report.not_asked)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _kind(case: CaseReport, worse: set[str] | None) -> str | None:
    """How a case ended, as the name of its element; None if it is as it should be."""
    if worse is None:
        return "failure" if case.reasons else None
    if case.id in worse or case.values.get("leaks"):
        return "failure"
    return "skipped" if case.reasons else None


def _add_test(suite: Element, name: str, language: str | None, milliseconds: float) -> Element:
    seconds = f"{milliseconds / _MILLISECONDS:.3f}"
    group = f"gleaner.eval.{language}" if language else "gleaner.eval"
    return SubElement(suite, "testcase", name=_clean(name), classname=group, time=seconds)


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
