# In a guest of 4 CPUs: disturbs the kernel in many ways while a recorder runs. Results go to NAME.facts, one fact per
# line. xtask/src/live/harm.rs judges them.
#
# usage: harm.sh KEEL OUT SECONDS TURN... A turn is N-WHO-ROUND: what is active (record, watch, scheduler), what is provoked
# (mounts, groups, classes, tools, all)
. tests/live/common.sh
seconds=$1
shift
work=/tmp/harm
mkdir -p $work
echo "+cpu +cpuset" > /sys/fs/cgroup/cgroup.subtree_control

# Seconds by the machine's own clock chip, which QEMU keeps by the host's clock.
now() {
    cat /sys/class/rtc/rtc0/since_epoch 2> /dev/null || cut -d. -f1 /proc/uptime
}

# On a busy host, an emulated kernel may measure its TSC's rate wrong by a factor, and then report false stalls.
begun=$(now)
sleep 3
if [ $(($(now) - begun)) -lt 2 ]; then
    echo "this guest's time passes too fast" | tee "$out/clock" >&2
    exit 1
fi

# Repeats something until the turn's time is up, and counts the successes. $2 distinguishes several loops of
# a kind.
again() {
    loops=0
    while [ "$(now)" -lt "$end" ]; do
        $1 "$2" > /dev/null 2>&1 && loops=$((loops + 1))
    done
    fact "$1-$2" $loops
}

mounts() {
    mkdir -p $work/mount.$1
    mount -t tmpfs none $work/mount.$1 && umount $work/mount.$1
}

umounts() {
    stress-ng --umount 3 --temp-path /tmp --timeout 5s
}

pipes() {
    hackbench -p -g 1 -l 20
}

forks() {
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do (:) & done
    wait
}

# A CPU goes off- and online.
hotplug() {
    echo 0 > /sys/devices/system/cpu/cpu3/online
    sleep 0.1
    echo 1 > /sys/devices/system/cpu/cpu3/online
}

# A group that runs out of CPU time, below another such group. It changes CPUs, is frozen, loses its tasks, and is removed.
groups() {
    group=/sys/fs/cgroup/harm.$1
    mkdir -p $group
    echo +cpu > $group/cgroup.subtree_control
    mkdir -p $group/below
    echo "20000 50000" > $group/cpu.max
    echo "5000 20000" > $group/below/cpu.max
    for i in 1 2 3; do
        sh -c "echo \$\$ > $group/below/cgroup.procs; exec timeout 1 sh -c 'while :; do :; done'" &
    done
    sleep 0.3
    echo 1-2 > $group/cpuset.cpus
    sleep 0.1
    echo 1 > $group/below/cgroup.freeze
    echo "max 20000" > $group/below/cpu.max
    echo 0 > $group/below/cgroup.freeze
    echo "1000 100000" > $group/cpu.max
    sleep 0.2
    echo 0-3 > $group/cpuset.cpus
    while read -r pid; do echo "$pid" > /sys/fs/cgroup/cgroup.procs; done < $group/below/cgroup.procs
    echo max > $group/cpu.max
    wait
    rmdir $group/below $group
}

realtime() {
    chrt -r 10 sh -c 'for i in 1 2 3 4 5; do :; done'
    chrt -f 50 timeout 0.2 sh -c 'while :; do :; done'
    [ $? = 124 ]
}

# Uses up its budget repeatedly, and becomes an ordinary task in the middle of that.
deadline() {
    chrt -d -T 5000000 -D 20000000 -P 50000000 0 sh -c 'while :; do :; done' &
    hog=$!
    sleep 0.5
    chrt -o -p 0 $hog
    kill $hog
    wait $hog
    [ $? = 143 ]
}

# Is pinned to changing CPUs, stopped, woken, and yields. Its policy changes, too.
affinity() {
    sh -c 'while :; do :; done' &
    hog=$!
    for cpus in 0 1-2 2 0-3; do
        taskset -pc $cpus $hog
        kill -STOP $hog
        chrt -f -p 1 $hog
        chrt -b -p 0 $hog
        kill -CONT $hog
    done
    kill $hog
    wait $hog
    [ $? = 143 ]
}

perf_records() {
    perf sched record -q -o $work/perf.data -- sleep 1
}

trace_records() {
    trace-cmd record -q -e sched -o $work/trace.dat sleep 1
}

yields() {
    stress-ng --yield 2 --switch 2 --futex 2 --temp-path /tmp --timeout 1s
}

# What a round provokes, all at the same time.
provoked() {
    case $1 in
    mounts) echo mounts:1 umounts:1 pipes:1 forks:1 ;;
    groups) echo groups:1 groups:2 hotplug:1 forks:1 mounts:1 ;;
    classes) echo realtime:1 deadline:1 deadline:2 affinity:1 yields:1 mounts:1 ;;
    tools) echo perf_records:1 trace_records:1 umounts:1 pipes:1 forks:1 ;;
    all) echo umounts:1 pipes:1 forks:1 hotplug:1 groups:1 realtime:1 deadline:1 affinity:1 perf_records:1 trace_records:1 ;;
    esac
}

# Where in the kernel each task is that waits for something which only the kernel can end, or that could run and doesn't: who
# holds what the others want, and which task a grace period may wait for.
blocked() {
    for task in /proc/[0-9]*/task/[0-9]*; do
        case $(cut -d')' -f2- "$task/stat" | cut -c2) in
        D) echo "blocked: $(cat "$task/comm") $task" && cat "$task/stack" ;;
        R) echo "runnable: $(cat "$task/comm") $task" && cat "$task/stack" && grep ctxt "$task/status" && cat "$task/schedstat" ;;
        esac
    done
    # Where each CPU is: code that spins in the kernel has no stack above.
    echo l > /proc/sysrq-trigger
    sleep 1
    dmesg | tail -n 200
    grep -E 'LOC|RES|CAL' /proc/interrupts
}

# Runs a command. If it takes minutes, writes down where in the kernel it and others wait, and kills it.
bounded() {
    "$@" &
    pid=$!
    waited=0
    while kill -0 $pid 2> /dev/null; do
        sleep 1
        waited=$((waited + 1))
        if [ $waited = 150 ]; then
            for thread in /proc/$pid/task/*; do cat "$thread/comm" "$thread/wchan" "$thread/stack"; done > "$at.hung" 2>&1
            grep -E 'State|ctxt' /proc/$pid/status >> "$at.hung"
            blocked >> "$at.hung" 2>&1
            kill -9 $pid
        fi
    done
    wait $pid
}

# One recording after another. Every third is killed in the middle.
records() {
    good=0 killed=0 bad= decisions=--decisions
    while [ "$(now)" -lt "$end" ]; do
        bounded $keel record $decisions -o $work/run.keel --duration 8s > "$at.words" 2>&1
        code=$?
        if [ $code = 0 ]; then good=$((good + 1)); else bad="$bad $code"; fi
        # Every second one also records what the fair class considers.
        if [ "$decisions" ]; then decisions=; else decisions=--decisions; fi
        [ "$(now)" -lt "$end" ] || break
        timeout -s KILL 3 $keel record $decisions -o $work/killed.keel > /dev/null 2>&1 && bad="$bad kill"
        killed=$((killed + 1))
        rm -f $work/killed.keel $work/.keel-*
    done
    fact recorded $good
    fact killed $killed
    fact bad "$bad"
    fact words "$(tail -n 1 "$at.words")"
    $keel check $work/run.keel --json > "$at.check" 2>&1
    fact check-code $?
    fact events "$(sed -n 's/^ *"events": *\([0-9]*\).*/\1/p' "$at.check" | head -n 1)"
    rm -f $work/run.keel
}

watches() {
    timeout --preserve-status -s INT "$seconds" $keel watch --json --keep $work/kept > "$at.lines" 2> "$at.words"
    fact watch-code $?
    fact looks "$(sed -n 's/.*"event":"end".*"looks":\([0-9]*\).*/\1/p' "$at.lines")"
    fact words "$(tail -n 1 "$at.words")"
    rm -rf $work/kept
}

# Writes down where tasks are if a turn takes far longer than expected.
late() {
    sleep $((3 * seconds))
    blocked > "$at.late" 2>&1
}

turn() {
    begin "$1"
    late &
    watcher=$!
    who=${1#*-} round=${1##*-}
    who=${who%-*}
    begun=$(now)
    end=$((begun + seconds))
    run=
    if [ $who = scheduler ]; then
        attach o1
        fact attached "$(who)"
        end=$(($(now) + seconds))
    fi
    loads=
    for load in $(provoked "$round"); do
        again "${load%:*}" "${load#*:}" &
        loads="$loads $!"
    done
    if [ $who = watch ]; then watches; else records; fi
    wait $loads
    kill $watcher
    echo 1 > /sys/devices/system/cpu/cpu3/online
    fact lasted $(($(now) - begun))
    [ "$run" ] && detach
    fact detached "$(who)"
    settle
}

for name; do
    turn "$name"
done
