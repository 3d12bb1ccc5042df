#!/bin/sh
# A host as files in the folder $1: NAME.up while it runs, NAME.cluster while it serves one.
# Every verb may be repeated, as real hooks must.
set -eu
world=$1
machine=$world/${BIGFLEET_MACHINE:-}

standing() {
    if [ ! -e "$1.up" ]; then
        echo down
    elif [ -e "$1.cluster" ]; then
        read -r cluster <"$1.cluster"
        echo "bound $cluster"
    else
        echo up
    fi
}

must_be_up() {
    [ -e "$machine.up" ] || { echo "$BIGFLEET_MACHINE is down" >&2; exit 69; }
}

case $2 in
survey)
    for host in "$world"/*.host; do
        name=${host##*/}
        printf '%s ' "${name%.host}"
        standing "${host%.host}"
    done
    ;;
inspect) standing "$machine" ;;
create) : >"$machine.up" ;;
configure)
    must_be_up
    cat >/dev/null
    echo "${BIGFLEET_CLUSTER:-unnamed}" >"$machine.next"
    mv "$machine.next" "$machine.cluster"
    ;;
ready)
    must_be_up
    [ -e "$machine.cluster" ] || { echo "not configured yet" >&2; exit 75; }
    ;;
drain | reset)
    must_be_up
    rm -f "$machine.cluster"
    ;;
*)
    echo "no verb $2" >&2
    exit 64
    ;;
esac
