# In a guest: keel's failure cases, one after another. CASE.said contains keel's output, CASE.facts its exit code
# and the scheduler that is active afterwards. xtask/src/live compares them with failures.tsv.
#
# usage: failures.sh KEEL OUT CASE...
. tests/live/common.sh

# Runs keel until it exits, which is soon.
whole() {
    timeout 100 "$@" > "$at.said" 2>&1
    code=$?
}

# Starts keel run in the background and waits until its scheduler is enabled: NAME, then its arguments.
start() {
    name=$1
    shift
    "$@" > "$at.said" 2>&1 &
    run=$!
    until_who "enabled $name" || echo "$name is not in charge: $(who)" >> "$at.said"
}

# Ends it with a signal, or waits for its end.
stop() {
    kill "-$1" $run
    (sleep 60; kill -9 $run) 2> /dev/null &
    guard=$!
    wait $run
    code=$?
    kill $guard
}

# Ten tasks that never sleep, and so wait for CPUs.
crowd() {
    for i in 1 2 3 4 5 6 7 8 9 10; do
        (while :; do :; done) &
        busy="$busy $!"
    done
}

objects=$(dirname "$(dirname "$out")")/objects
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"

no_root() { whole $nobody $keel run o1; }
two_capabilities() {
    start o1 $nobody --inh-caps=-all,+bpf,+perfmon --ambient-caps=+bpf,+perfmon $keel run o1
    stop INT
}
no_sched_ext() { whole $keel run o1; }
broken_btf() { whole $keel run o1; }
busy() {
    start fifo $keel run fifo
    fifo=$run
    at=$at.second whole $keel run o1
    fact meanwhile "$(who)"
    kill -INT $fifo
    wait $fifo
    mv "$at.second.said" "$at.said"
}
refused() { whole $keel run "$objects/beyond.bpf.o"; }
no_kfunc() { whole $keel run "$objects/unknown_kfunc.bpf.o"; }
no_scheduler() { whole $keel run "$objects/wrong_type.bpf.o"; }
stalls() { whole $keel run "$objects/stall.bpf.o"; }
# It drops some of the tasks that wait for a CPU: there must be some.
forgets() { crowd; whole $keel run "$objects/forgets.bpf.o"; }
leaves() { crowd; whole $keel run "$objects/exits.bpf.o"; }
killed() { start goodness $keel run goodness; stop KILL; }
crashed() { start goodness $keel run goodness; stop ABRT; }
terminated() { start goodness $keel run goodness; stop TERM; }
hung_up() { start goodness $keel run goodness; stop HUP; }

# The reader of its output has exited before the second line: it stays attached, silently.
unread() {
    mkfifo "/tmp/unread"
    $keel run fifo --stats 1 > /tmp/unread 2> "$at.err" &
    run=$!
    head -1 /tmp/unread > "$at.said"
    until_who "enabled fifo"
    sleep 4
    fact meanwhile "$(who)"
    stop INT
    cat "$at.err" >> "$at.said"
    rm /tmp/unread
}

# A scheduler reports its decisions, and keel record reads them. Garbage is not counted as a decision.
record_events() {
    start "$1" $keel run "$objects/$1.bpf.o"
    $keel record -o "$at.keel" -- sh -c 'hackbench -g 1 -l 5 > /dev/null' > "$at.heard" 2>&1
    $keel check "$at.keel" > /dev/null 2>> "$at.heard" || echo "keel check fails: $?" >> "$at.heard"
    stop INT
    cat "$at.heard" >> "$at.said"
}
reports() { record_events reports; }
babbles() { record_events babbles; }

# A CPU goes off- and online under load. If the scheduler does not handle that, the kernel requests another start.
offline() {
    start "$1" $keel run "$1"
    for i in 1 2 3; do hackbench -g 1 -l 1000 > /dev/null 2>&1 & done
    taskset -c 3 sh -c 'while :; do :; done' &
    busy=$!
    sleep 2
    echo 0 > /sys/devices/system/cpu/cpu3/online
    sleep 2
    until_who "enabled $1"
    echo 1 > /sys/devices/system/cpu/cpu3/online
    sleep 2
    until_who "enabled $1"
    fact meanwhile "$(who)"
    pkill -9 hackbench
    stop INT
}
offline_fifo() { offline fifo; }
offline_goodness() { offline goodness; }
offline_o1() { offline o1; }
offline_ule() { offline ule; }
offline_mq() { offline mq; }
offline_bsd() { offline bsd; }
offline_cfs() { offline cfs; }

for case; do
    at=$out/$case
    busy=
    rm -f "$at".*
    dmesg --clear
    echo "$case" > "$out/turn"
    $case
    [ -n "$busy" ] && kill -9 $busy
    fact code $code
    [ -e $scx ] && until_who "disabled -"
    fact detached "$([ -e $scx ] && who || echo absent -)"
    settle
done
