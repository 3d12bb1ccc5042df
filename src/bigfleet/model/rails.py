"""The rails every action passes before it is carried out, in their order."""

from bigfleet.model.shard_views import Disposition

#: What stops an action at each rail, and what is said of one that got through.
_RAILS = (
    (Disposition.DEDUPED, "nothing under way"),
    (Disposition.SUPPRESSED, "no pause"),
    (Disposition.DRY_RUN, "no dry-run"),
    (Disposition.INAPPLICABLE, "the machine as it was decided on"),
    (Disposition.HELD, "no thrash hold"),
    (Disposition.CAPPED, "within the caps"),
    (Disposition.DEFERRED, "provider and budget free"),
    (Disposition.VETOED, "verified"),
    (Disposition.DROPPED, "room in the queue"),
)


def rails_passed(disposition: Disposition) -> tuple[str, ...]:
    """Those before the one that stopped it; all of them where none did."""
    stops = [stop for stop, _ in _RAILS]
    end = stops.index(disposition) if disposition in stops else len(stops)
    return tuple(said for _, said in _RAILS[:end])
