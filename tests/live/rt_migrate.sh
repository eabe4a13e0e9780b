# In a guest: real-time threads that share locks, once for each turn: plain-1, pi-1... The output of rt_migrate goes to
# TURN.said. xtask/src/live reads it.
#
# usage: rt_migrate.sh KEEL OUT MS TURN...
. tests/live/common.sh
ms=$1
shift

# Only these threads want the CPUs: without reserved time for others, they can use them as long as they want.
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
for server in /sys/kernel/debug/sched/*_server/cpu*; do
    echo 0 > "$server/runtime"
done

for turn; do
    begin "$turn"
    inherits=0
    case $turn in pi-*) inherits=1 ;; esac
    "$(dirname "$out")/rt_migrate" 8 4 "$ms" $inherits > "$at.said" 2>&1
    fact code $?
    settle
done
