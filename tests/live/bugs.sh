# In a guest of 8 CPUs on 4 nodes in a ring: runs hogs under cfs, with a bug from the Wasted Cores paper and without, and
# under ule, as posted and with its fixes. Records and checks the runs. Results go to NAME.facts, one fact
# per line, and the output of keel check to NAME.json: xtask/src/live judges both.
#
# usage: bugs.sh KEEL OUT SECONDS TURN... A turn is a bug's name, with or without -fixed
. tests/live/common.sh
seconds=$1
shift

# Hogs are pinned to two CPUs and then freed: as posted, ule leaves them there.
left_behind() {
    hogs 6 0,1 0-7
}

turn() {
    begin "$1"
    bug=${1%-fixed}
    case $1 in
        left-behind) attach ule --set posted=1 ;;
        left-behind-fixed) attach ule ;;
        *-fixed) attach cfs ;;
        *) attach cfs --set bug="$bug" ;;
    esac
    fact attached "$(who)"
    provoke "$bug"
    sleep 2
    $keel record -o "$at.trace" --duration "${seconds}s" > "$at.record" 2>&1
    fact record-code $?
    fact afterwards "$(who)"
    kill $hogs
    detach
    fact code $?
    fact detached "$(who)"
    $keel check "$at.trace" > "$at.check" 2>&1
    $keel check "$at.trace" --json > "$at.json" 2>&1
    fact check-code $?
    settle
}

for name; do
    turn "$name"
done
