# In a guest of 8 CPUs on 4 nodes in a ring: cfs, with a bug of the Wasted Cores paper and without, and ule as it was posted and
# with its cures, have hogs to schedule, and their runs are recorded and checked. What was seen goes to NAME.facts, a fact a
# line, and what keel check says to NAME.json: xtask/src/live judges both.
#
# usage: bugs.sh KEEL OUT SECONDS TURN..., a turn being a bug's name or that and -cured
. tests/live/common.sh
seconds=$1
shift

# So many hogs that begin on some CPUs and may then use others, too; their pids in $hogs.
hogs() {
    hogs=
    for i in $(seq "$1"); do
        taskset -c "$2" sh -c 'while :; do :; done' &
        hogs="$hogs $!"
    done
    sleep 1
    for pid in $hogs; do
        taskset -pc "$3" "$pid" > /dev/null
    done
}

# Nodes 1 and 3 are two hops apart, and all four hogs begin on node 1.
group_construction() {
    hogs 4 2,3 2,3,6,7
}

# A CPU goes and comes back; then eight hogs begin on node 0.
missing_domains() {
    echo 0 > /sys/devices/system/cpu/cpu7/online
    echo 1 > /sys/devices/system/cpu/cpu7/online
    hogs 8 0,1 0-7
}

# Hogs are pinned to two CPUs and then freed: as posted, ule leaves them where they are.
left_behind() {
    hogs 6 0,1 0-7
}

turn() {
    at=$out/$1
    rm -f "$at".*
    dmesg --clear
    echo "$1" > "$out/turn"
    bug=${1%-cured}
    case $1 in
        left-behind) run="ule --set posted=1" ;;
        left-behind-cured) run=ule ;;
        *-cured) run=cfs ;;
        *) run="cfs --set bug=$bug" ;;
    esac
    scheduler=${run%% *}
    $keel run $run > "$at.said" 2>&1 &
    run=$!
    until_who "enabled $scheduler"
    fact attached "$(who)"
    $(echo "$bug" | tr - _)
    sleep 2
    $keel record -o "$at.trace" --duration "${seconds}s" > "$at.record" 2>&1
    fact record-code $?
    fact afterwards "$(who)"
    kill $hogs
    kill -INT $run
    wait $run
    fact code $?
    until_who "disabled -"
    fact detached "$(who)"
    $keel check "$at.trace" > "$at.check" 2>&1
    $keel check "$at.trace" --json > "$at.json" 2>&1
    fact check-code $?
    settle
}

for name; do
    turn "$name"
done
