"""A run of a study once more, whole: an ordinary result, with everything that a run has."""

from __future__ import annotations

from dataclasses import replace

from kingpost.results.history import History
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.simulate import carry_out, prepare
from kingpost.studies.case import Case
from kingpost.studies.planning import StudyPlan


def replay(plan: StudyPlan, case: Case) -> History:
    """Run a case as the study did, step by step the same, and keep all channels."""
    opened = plan.opened
    how = opened.how(plan.how, RunSettings(sea=case.sea) if case.sea else RunSettings())
    simulation = prepare(
        opened.mechanism,
        settings={**opened.settings, **case.settings},
        inputs=opened.inputs,
        how=how if plan.study.loads() else replace(how, loads=None).with_usual_loads(opened.mechanism),
        plugins=opened.plugins,
    )
    history = carry_out(simulation)
    told = {"name": plan.study.name, "case": case.key, "labels": dict(case.labels), "sea": case.sea, "skip_s": plan.study.skip}
    return replace(history, provenance={**history.provenance, "study": told})
