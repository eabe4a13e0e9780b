# In a guest of 4 CPUs: scenes with known truth (scenes.tsv), each recorded by keel, perf and trace-cmd at once for some
# seconds, to NAME.keel, NAME.perf and NAME.dat. Facts go to NAME.facts; xtask/src/live/scenes.rs judges them.
#
# usage: scenes.sh KEEL OUT SECONDS SCENE...
. tests/live/common.sh
seconds=$1
shift
scene=$(dirname "$out")/scene
groups=/sys/fs/cgroup
tracing=/sys/kernel/tracing
# Tasks whose names and first instants are in every recording. The scene is between them, without the recorders' start.
marks=$(mktemp -d)
cp "$(command -v sleep)" "$marks/begins"
cp "$marks/begins" "$marks/ends"
# A reader of this waits for the scene's end.
mkfifo "$marks/over"
mount -t tracefs tracefs $tracing 2> /dev/null
echo +cpu +cpuset > $groups/cgroup.subtree_control
# Groups of sessions would be throttled and get separate shares: a scene requests them.
echo 0 > /proc/sys/kernel/sched_autogroup_enabled

# Runs a command in the background. All of them end with the scene. With $within, it runs in that group.
start() {
    if [ "$within" ]; then
        sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$groups/$within" "$@" &
    else
        "$@" &
    fi
    pids="$pids $!"
}

# This many hogs, started by a command with its arguments, if given.
spin() {
    count=$1
    shift
    for i in $(seq "$count"); do
        start "$@" sh -c 'while :; do :; done'
    done
}

# A group, with cpu.max if given.
group() {
    mkdir "$groups/$1"
    made="$groups/$1 $made"
    [ "$2" ] && echo "$2" > "$groups/$1/cpu.max"
}

half() {
    sleep $((seconds / 2))
}

signal() {
    kill "-$1" $pids
}

quiet() { :; }

sleepers() {
    for i in 1 2 3 4 5 6; do
        start "$scene" sleeper 30
    done
}

pipeline() { start "$scene" pipeline 8; }

fork_storm() {
    for i in 1 2 3; do
        start sh -c 'while :; do /bin/true; done'
    done
}

crowd() { spin 8; }

throttled() {
    group t "20000 100000"
    within=t spin 2
}

throttled_crowd() {
    group t "100000 100000"
    within=t spin 8
}

throttled_nested() {
    group t "30000 100000"
    echo +cpu > $groups/t/cgroup.subtree_control
    group t/inner "60000 100000"
    group t/other
    within=t/inner spin 2
    within=t/other spin 1
}

throttled_wakers() {
    group t "5000 100000"
    within=t
    for i in 1 2 3 4; do
        start "$scene" sleeper 10
    done
    within=
}

unthrottled() {
    group t "20000 100000"
    within=t spin 4
}
unthrottled_meanwhile() {
    half
    echo max > $groups/t/cpu.max
}

deadline() { spin 1 chrt -d -T 10000000 -D 100000000 -P 100000000 0; }

deadline_pair() {
    spin 2 chrt -d -T 1000000 -D 100000000 -P 100000000 0
    spin 2 taskset -c 0
}

pinned() { spin 4 taskset -c 0; }

pinned_apart() {
    spin 2 taskset -c 1
    spin 3 taskset -c 2,3
}

repinned() { spin 4 taskset -c 0; }
repinned_meanwhile() {
    half
    for pid in $pids; do
        taskset -pc 3 "$pid" > /dev/null
    done
}

cpuset_shrinks() {
    group c
    within=c spin 12
}
cpuset_shrinks_meanwhile() {
    half
    echo 0 > $groups/c/cpuset.cpus
}

cpuset_shrinks_o1() {
    attach o1
    cpuset_shrinks
}
cpuset_shrinks_o1_meanwhile() { cpuset_shrinks_meanwhile; }

cpuset_grows() {
    group c
    echo 0 > $groups/c/cpuset.cpus
    within=c spin 8
}
# Once it has grown, all tasks may use all CPUs, and trace-cmd's recording shows who waits.
cpuset_grows_recorded() {
    echo 0-3 > $groups/c/cpuset.cpus
}

migration_disabled() {
    start "$scene" hold
    start "$scene" hold
}

stopped() { spin 6; }
stopped_meanwhile() {
    sleep 1
    signal STOP
    half
    signal CONT
}

frozen() {
    group f
    within=f spin 6
}
frozen_meanwhile() {
    sleep 1
    echo 1 > $groups/f/cgroup.freeze
    half
    echo 0 > $groups/f/cgroup.freeze
}

offline() { spin 6; }
offline_meanwhile() {
    sleep 1
    echo 0 > /sys/devices/system/cpu/cpu3/online
    half
    echo 1 > /sys/devices/system/cpu/cpu3/online
}

autogroup() {
    echo 1 > /proc/sys/kernel/sched_autogroup_enabled
    start setsid sh -c 'for i in 1 2 3 4 5; do sh -c "while :; do :; done" & done; while :; do :; done'
    start setsid sh -c 'while :; do :; done'
}
autogroup_after() { echo 0 > /proc/sys/kernel/sched_autogroup_enabled; }

sched_idle() {
    spin 6 chrt -i 0
    spin 2
}

realtime() {
    spin 1 taskset -c 0 chrt -f 50
    spin 1 taskset -c 0
}

partition() {
    group p
    echo 2-3 > $groups/p/cpuset.cpus
    echo isolated > $groups/p/cpuset.cpus.partition
    fact partition "$(cat $groups/p/cpuset.cpus.partition)"
    within=p spin 6 taskset -c 2
    sleep 1
    for pid in $pids; do
        taskset -pc 2,3 "$pid" > /dev/null
    done
}

isolated() { spin 6; }

isolated_pinned() { spin 2 taskset -c 2; }

core_scheduling() {
    fact threads "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)"
    spin 4 "$scene" core
}

left_behind() {
    attach ule --set posted=1
    hogs 6 0,1 0-3
    pids=$hogs
}

# perf sees nothing of a CPU that went and came back: it begins afterwards.
missing_domains_before() {
    attach cfs --set bug=missing-domains
    echo 0 > /sys/devices/system/cpu/cpu3/online
    echo 1 > /sys/devices/system/cpu/cpu3/online
}
missing_domains() {
    hogs 8 0,1 0-3
    pids=$hogs
}

# Waits until a tool records.
until_on() {
    for i in $(seq 240); do
        "$@" && return
        sleep 0.5
    done
    fact late "$*"
}
# The files of this kind that a recorder has open.
opened() { ls -l "/proc/$1/fd" 2> /dev/null | grep -c -F "$2"; }
keel_records() { [ "$(opened $keel_pid bpf_link)" -ge 6 ]; }
# It opens some events on each CPU, one after another: it has all if there are no more a moment later.
perf_records() {
    had=$(opened $perf_pid perf_event)
    sleep 1
    [ "$had" -ge 20 ] && [ "$(opened $perf_pid perf_event)" = "$had" ]
}
trace_cmd_records() { [ "$(cat $tracing/events/sched/enable)" = 1 ]; }

# perf takes its time to start, most of all on a busy machine: it starts before the scene does.
record_with_perf() {
    perf sched record -B -N --no-bpf-event --synth=no -m 4M -o "$at.perf" > "$at.perf.words" 2>&1 &
    perf_pid=$!
    until_on perf_records
}

# The others start one after another. The scene's activity starts when the last of them is ready.
record() {
    $keel record -o "$at.keel" > "$at.keel.words" 2>&1 &
    keel_pid=$!
    until_on keel_records
    # It lists the tasks before it begins.
    sleep 0.5
    # If interrupted, it may leave its parts in pieces: it exits by itself when the scene has ended.
    trace-cmd record -e sched -b 4000 -o "$at.dat" cat "$marks/over" > "$at.dat.words" 2>&1 &
    trace_cmd=$!
    until_on trace_cmd_records
    sleep 0.5
    if type "$1_recorded" > /dev/null 2>&1; then
        "$1_recorded"
    fi
    # On a CPU that stays online: perf records nothing from one that went offline and came back.
    taskset -c 0-2 "$marks/begins" 0.01
    sleep "$seconds" &
    rest=$!
    if type "$1_meanwhile" > /dev/null 2>&1; then
        "$1_meanwhile"
    fi
    wait $rest
    taskset -c 0-2 "$marks/ends" 0.01
    echo > "$marks/over"
    # It reads the list of the kernel's functions at its end, which changes as others end.
    wait $trace_cmd
    kill -INT $keel_pid $perf_pid
    wait $keel_pid
    fact keel-code $?
    wait $perf_pid
}

# Ends what the scene started.
clean() {
    for pid in $pids; do
        pkill -KILL -P "$pid"
    done
    kill -KILL $pids
    pkill -KILL -x scene
    wait $pids 2> /dev/null
    if [ "$run" ]; then
        detach
        run=
    fi
    if type "$1_after" > /dev/null 2>&1; then
        "$1_after"
    fi
    sleep 0.3
    for folder in $made; do
        rmdir "$folder"
    done
}

turn() {
    begin "$1"
    pids= made= within= run=
    if type "$1_before" > /dev/null 2>&1; then
        "$1_before"
    fi
    record_with_perf
    "$1"
    sleep 1
    record "$1"
    clean "$1" 2> /dev/null
    settle
}

for name; do
    turn "$name"
done
