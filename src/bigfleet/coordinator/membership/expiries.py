"""What passes with time alone, once a second."""

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import pauses, removal, snapshot_merge

#: Rows of one transaction: etcd takes 128, some are left for what completes on the way.
MOST_ROWS = {"etcd": 120, "sqlite": 10_000}


def tick(book: Book, draft: Draft) -> None:
    most = MOST_ROWS[book.settings.store]
    pauses.expire(book, draft, most // 4)
    removal.sweep_removed(book, draft, most // 2)
    snapshot_merge.go_on(book, draft, most)
