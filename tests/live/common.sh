# What the scripts for guests share. Arguments: keel, a folder to write to, and more.
keel=$1
out=$2
shift 2
scx=/sys/kernel/sched_ext

# Who schedules, in two words: the kernel's state and the scheduler's name, '-' where there is none.
who() {
    echo "$(cat $scx/state) $(cat $scx/root/ops 2> /dev/null || echo -)"
}

# Waits until who schedules; emulated CPUs are slow, verifiers too.
until_who() {
    for i in $(seq 600); do
        [ "$(who)" = "$1" ] && return
        sleep 0.1
    done
    return 1
}

# Waits until a file has a line with these words so many times.
until_said() {
    for i in $(seq 600); do
        [ "$(grep -c -F -- "$2" "$1")" -ge "$3" ] && return
        sleep 0.1
    done
    return 1
}

# A turn begins: what it writes begins with $at.
begin() {
    at=$out/$1
    rm -rf "$at".*
    dmesg --clear
    echo "$1" > "$out/turn"
}

# Has keel run a scheduler with these settings, until it is in charge; its pid in $run.
attach() {
    $keel run "$@" > "$at.said" 2>&1 &
    run=$!
    until_who "enabled $1"
}

# Ctrl-C for it; gives its exit code once the kernel schedules by itself.
detach() {
    kill -INT $run
    wait $run
    code=$?
    until_who "disabled -"
    return $code
}

# What provokes a turn's waste: a function of the turn's name.
provoke() {
    $(echo "$1" | tr - _)
}

# Keeps a fact of this turn, whose files begin with $at.
fact() {
    echo "$*" >> "$at.facts"
}

# The scheduler is gone: does the machine still work? Keeps the answer, and what the kernel said.
settle() {
    hackbench -g 1 -l 5 > /dev/null
    fact works $?
    dmesg > "$at.dmesg"
    fact done
}

# Seconds since boot.
now() {
    cut -d. -f1 /proc/uptime
}

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

# What two bugs of the Wasted Cores paper waste CPUs with, on 8 CPUs of 4 nodes in a ring.
#
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
