"""What a person should know of a run beside its figures, such as mistakes that look like bad answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Source
from gleaner_local.evaluation.matching import expected_places, is_at, places_of
from gleaner_local.evaluation.own_service import Loaded
from gleaner_local.evaluation.report import Report
from gleaner_local.evaluation.run import Outcome


def remark_on_loading(loaded: Loaded, cases: Sequence[Case]) -> Iterator[str]:
    """Files that were not loaded, and expected places that nothing is loaded from: no answer can cite them."""
    for problem in loaded.skipped:
        yield f"not loaded: {problem}"
    for case in cases:
        known = loaded.places[case.kb_id or loaded.default_kb_id]
        missing = [place for place in expected_places(case) if not any(is_at(source, place) for source in known)]
        if missing:
            names = ", ".join(repr(place.file or place.chapter) for place in missing)
            yield f"{case.id} expects what was not loaded: {names}"
        elif case.expects_places and not any(places_of(source, case) for source in known):
            yield f"{case.id} expects chapters that none of its expected files has"


def remark_on_planting(loaded: Loaded, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Cases that met what another one plants: all planted texts are in the knowledge base and the web of all cases."""
    for outcome in outcomes:
        case = outcome.case
        kb_id = case.kb_id or loaded.default_kb_id
        met = {
            loaded.planted.get(key)
            for measured in outcome.measured
            for source in (*measured.passages, *measured.sources)
            for key in _keys(source, kb_id)
        }
        if others := sorted(name for name in met if name is not None and name != case.id):
            yield f"{case.id} found what is planted for {', '.join(others)}"


def remark_on_repeats(baseline: Report, repeats: int) -> Iterator[str]:
    """Means of many runs vary less than single ones, which the tests take for a difference."""
    if baseline.repeats != repeats:
        yield f"the baseline has {baseline.repeats} runs of each case and this report {repeats}: repeat both alike"
    if baseline.interrupted:
        yield "the baseline is of a run that was interrupted"


def _keys(source: Source, kb_id: str) -> Iterator[tuple[str, str] | str]:
    if source.source_file_path:
        yield kb_id, source.source_file_path
    if source.source_url:
        yield source.source_url
