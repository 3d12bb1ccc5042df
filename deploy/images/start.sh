#!/bin/sh
# Lays the kernels that were compiled with the image where numba may write, then becomes bigfleet.
# A read-only image is why: numba refuses a cache it cannot add to, even where it need not.
set -eu
kernels=${BIGFLEET_KERNELS:-/opt/bigfleet/kernels}
cache=${NUMBA_CACHE_DIR:-}
if [ -n "$cache" ] && [ -w "$cache" ] && [ -d "$kernels" ] && [ -z "$(ls -A "$cache")" ]; then
  cp -Rp "$kernels/." "$cache/"
fi
exec bigfleet "$@"
