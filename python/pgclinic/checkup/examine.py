"""One checkup: a case in, findings out, ranked and explained."""

from __future__ import annotations

from pgclinic import __version__
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.detect import detect
from pgclinic.checkup.explain import claims_of_causes, explain, health_of
from pgclinic.checkup.harmless import settings_read, without_harm
from pgclinic.checkup.measured_claims import Measured, refuted_links, saved_together, with_measured
from pgclinic.checkup.time_shares import explained_basis, explained_share
from pgclinic.checkup.unexplained import unexplained
from pgclinic.model.checkup import Checkup


def examine(case: Case, *, server: str, measured: Measured | None = None) -> Checkup:
    """All that is known to make a server slow, looked for in ``case``. ``server`` is where it is, without secrets.

    ``measured`` is what plans on a twin say of the treatments.
    """
    known = catalog()
    seen, unchecked = detect(case, known.values())
    read = settings_read(case, known)
    found = without_harm(case, seen, known, read)
    by_plans = measured or Measured()
    found = with_measured(found, by_plans, known, case)
    findings = explain(
        found,
        known,
        case,
        refuted=refuted_links(found, by_plans.best),
        saved_together=saved_together(by_plans.together),
    )
    claims = claims_of_causes(findings)
    snapshot = case.snapshot
    return Checkup(
        pgclinic=__version__,
        health=health_of(findings),
        server=server,
        version=snapshot.server.version,
        database=snapshot.server.database,
        taken_epoch_s=snapshot.taken_epoch_s,
        took_s=snapshot.took_s,
        observed_s=case.observed_s,
        statements=len(snapshot.counters.statements),
        pathologies=len(known) - len(unchecked),
        findings=findings,
        active_sessions=case.active_sessions,
        explained_share=explained_share(case, claims),
        explained_share_by=explained_basis(case, claims),
        gaps=snapshot.gaps,
        unchecked=unchecked,
        unexplained=unexplained(case, claims, frozenset().union(*read.values())),
    )
