"""The waits of revised demand as placement counts them: in nanoseconds."""

from bigfleet.model.options import SECOND
from bigfleet.operator.revised_demand import RevisionSettings
from bigfleet.operator.settings import OperatorSettings
from bigfleet.placement.subjects import MarginSettings


def revision_settings_of(settings: OperatorSettings) -> RevisionSettings:
    times = settings.revision
    return RevisionSettings(
        MarginSettings(
            stuck_grace=round(settings.stuck_grace * SECOND),
            judged_after=round(times.judged_after * SECOND),
            probe_first=round(times.probe_first * SECOND),
            probe_longest=round(times.probe_longest * SECOND),
            probe_timeout=round(times.probe_timeout * SECOND),
            empty_for=round(times.empty_for * SECOND),
            event_every=round(times.event_every * SECOND),
        ),
        first_reply=round(times.first_reply * SECOND),
    )
