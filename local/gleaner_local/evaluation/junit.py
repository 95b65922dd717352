"""Writes a run as JUnit XML, which CI services show: a test for each case.

The elements and attributes are those of the Jenkins xUnit plugin's schema (junit-10.xsd), which GitHub's and GitLab's
readers take as well.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from gleaner_local.evaluation.comparing import Comparison
from gleaner_local.evaluation.report import CaseReport, NotAskedReport, Report

# What XML 1.0 cannot hold, even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MILLISECONDS = 1000
_MAX_QUERY = 120  # characters


def to_junit(report: Report, comparison: Comparison | None) -> str:
    """XML with one test suite.

    A case that is not right fails. With a baseline, only a case that became worse in some figure that fell, or that
    leaks, fails: what was wrong before is skipped, so that a build is red for what changed. A case that could not be
    asked is an error, one that was left out is skipped.
    """
    worse = None if comparison is None else {case for change in comparison.fallen for case in change.worse}
    figures = {} if comparison is None else comparison.worse_by_case
    suite = Element("testsuite", name=_clean(report.file))
    counts = {"failure": 0, "error": 0, "skipped": 0}
    for case in report.cases:
        test = _add_test(suite, case, report.times.cases.get(case.id, 0.0))
        if kind := _kind(case, worse):
            counts[kind] += 1
            SubElement(test, kind, message=_clean(_explain(case, figures.get(case.id, [])))).text = _clean(case.answer)
    for missed in report.not_asked:
        kind = "skipped" if missed.left_out else "error"
        counts[kind] += 1
        SubElement(_add_test(suite, missed, 0.0), kind, message=_clean(missed.reason))
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


def _explain(case: CaseReport, figures: Sequence[str]) -> str:
    worse = [f"worse than in the baseline in {', '.join(figures)}"] if figures else []
    return "; ".join([*case.reasons, *worse])


def _add_test(suite: Element, case: CaseReport | NotAskedReport, milliseconds: float) -> Element:
    """A test with the question in its name, since many ids are hashes."""
    language = case.language if isinstance(case, CaseReport) else None
    query = textwrap.shorten(case.query or "", _MAX_QUERY, placeholder=" …")
    return SubElement(
        suite,
        "testcase",
        name=_clean(f"{case.id}: {query}" if query else case.id),
        classname=f"gleaner.eval.{language}" if language else "gleaner.eval",
        time=f"{milliseconds / _MILLISECONDS:.3f}",
    )


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
