"""A start that cannot be: anything an author's Backend raises then becomes one clear refusal.

What it raises on purpose, and what a wrong setting makes Python raise, is said as it is. Anything
else is a fault in the Backend: it refuses the start just the same, and its traceback is logged.
"""

import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bigfleet.model.errors import BadInput, StartRefused
from bigfleet.provider.backend import Backend, BackendError
from bigfleet.provider.calls import awaitable
from bigfleet.provider.logs import Log
from bigfleet.provider.operations.attempts import DeadlinePassed
from bigfleet.provider.stores.store import StoreFailed

_HINT = "check its settings and credentials; `bigfleet provider doctor` looks closer"


@asynccontextmanager
async def refusing(backend: Backend, verb: str, log: Log) -> AsyncIterator[None]:
    """What the Backend raises within becomes StartRefused; BadInput already is a refusal."""
    name = type(backend).__name__
    try:
        yield
    except (BadInput, StoreFailed):
        raise
    except DeadlinePassed:
        raise StartRefused(f"{name} could not {verb}: it took too long; {_HINT}") from None
    except (BackendError, ValueError, OSError) as said:
        text = str(said) or type(said).__name__
        raise StartRefused(f"{name} could not {verb}: {text}; {_HINT}") from said
    except Exception as fault:
        log.error("backend.broken", text=repr(fault), traceback=traceback.format_exc())
        text = f"{type(fault).__name__}: {fault}"
        raise StartRefused(f"{name} could not {verb}: {text} (a fault in the Backend)") from fault


async def close_opened(backend: Backend, log: Log, *, opened: bool) -> None:
    """The last call; after a failed `open` its own failure must not hide the first one."""
    try:
        await awaitable(backend.close)()
    except Exception as error:
        if opened:
            raise
        log.warning("backend.close", text=repr(error))
