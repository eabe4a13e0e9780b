# In a guest: attaches each named scheduler, puts it under load of three kinds for some seconds, and detaches it.
# Results go to NAME.facts, one fact per line. xtask/src/live judges them.
#
# usage: load.sh KEEL OUT SECONDS SCHEDULER...
. tests/live/common.sh
seconds=$1
shift

# Processes that repeatedly send to each other.
hackbenches() {
    loops=0
    while [ "$(now)" -lt "$1" ]; do
        hackbench -g 1 -l 20 > /dev/null || break
        loops=$((loops + 1))
    done
    fact hackbench $loops
}

# Computing, switches, forks, pipes, yields, locks: each name with its loops.
stress() {
    stress-ng --cpu 2 --switch 2 --fork 2 --pipe 2 --yield 2 --futex 2 --temp-path /tmp \
        --timeout "${seconds}s" --metrics-brief > "$at.stress" 2>&1
    fact stress-ng-code $?
    sed -n 's/^stress-ng: metrc: \[[0-9]*\] *\([a-z]*\)  *\([0-9][0-9]*\) .*/\1 \2/p' "$at.stress" |
        while read -r kind loops; do fact "$kind" "$loops"; done
}

# Tasks that work and sleep by the clock. The logs contain a line per loop.
mix() {
    logs=$(mktemp -d)
    sed "s/\"duration\": [0-9]*/\"duration\": $seconds/; s|\"logdir\": \"[^\"]*\"|\"logdir\": \"$logs\"|" \
        tests/live/mix.json > "$logs/mix.json"
    rt-app "$logs/mix.json" > "$at.rt-app" 2>&1
    fact rt-app-code $?
    fact rt-app "$(cat "$logs"/*.log | grep -vc '^#')"
}

turn() {
    begin "$1"
    attach "$1"
    fact attached "$(who)"
    end=$(($(now) + seconds))
    begun=$(now)
    hackbenches $end &
    loads=$!
    stress &
    loads="$loads $!"
    mix &
    loads="$loads $!"
    wait $loads
    fact loaded $(($(now) - begun))
    fact afterwards "$(who)"
    detach
    fact code $?
    fact detached "$(who)"
    settle
}

for scheduler; do
    turn "$scheduler"
done
