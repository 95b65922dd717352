"""What only a real account can show: a list to walk through after the first deployment.

The same list is in docs/16; a test compares them. Another entry is one more `Item`, and its line there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gleaner_local.diagnosis import _items_of_requests, _items_of_upkeep
from gleaner_local.diagnosis._item import Item, Need
from gleaner_local.diagnosis.finding import Finding, State, note, ok, problem
from infra.environment import Environment

SUBJECT = "checklist"
ITEMS = (*_items_of_requests.ITEMS, *_items_of_upkeep.ITEMS)
_PLACEHOLDER = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*\b(?!=)")  # not the name of an option of make, as in ENV=ENV


def walk(
    findings: Sequence[Finding], *, names: Mapping[str, str], available: frozenset[Need], record: Environment | None
) -> Iterator[Finding]:
    """One finding for each item of the environment: settled by `findings`, or what to look at and what should be seen.

    `names` replaces words in capitals; `available` says what the findings were made with. Items about features that
    the environment's `record` lacks are left out; the others keep their numbers.
    """
    for number, item in enumerate(ITEMS, start=1):
        if not item.is_of(record):
            continue
        states = {one.state for one in findings if one.subject == item.settled_by}
        is_settled = item.needs is None or item.needs in available
        yield _judge(f"{SUBJECT} {number}", item, states if is_settled else set(), names)


def _judge(subject: str, item: Item, states: set[State], names: Mapping[str, str]) -> Finding:
    if State.PROBLEM in states:
        return problem(subject, f"{item.title}: not as it should be.", f"See the findings `{item.settled_by}`.")
    if State.OK in states:  # notes beside it say what else is worth knowing
        return ok(subject, f"{item.title}: see the findings `{item.settled_by}`.")
    look, expected = (_fill(text, names) for text in (item.look, item.expected))
    return note(subject, f"Look: {item.title}.", f"{look} Expected: {expected}")


def _fill(text: str, names: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: names.get(match[0], match[0]), text)
