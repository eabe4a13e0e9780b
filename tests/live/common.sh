# Shared code of the scripts for guests. Arguments: keel, a folder to write to, and more.
keel=$1
out=$2
shift 2
scx=/sys/kernel/sched_ext

# The current scheduler in two words: the kernel's state and the scheduler's name, '-' if there is none.
who() {
    echo "$(cat $scx/state) $(cat $scx/root/ops 2> /dev/null || echo -)"
}

# Waits until this is the current scheduler. Emulated CPUs are slow, and so are verifiers.
until_who() {
    for i in $(seq 600); do
        [ "$(who)" = "$1" ] && return
        sleep 0.1
    done
    return 1
}

# Waits until a file contains this many lines with these words.
until_said() {
    for i in $(seq 600); do
        [ "$(grep -c -F -- "$2" "$1")" -ge "$3" ] && return
        sleep 0.1
    done
    return 1
}

# Starts a turn: the names of its files begin with $at.
begin() {
    at=$out/$1
    rm -rf "$at".*
    dmesg --clear
    echo "$1" > "$out/turn"
}

# Runs a scheduler with these settings, and waits until it is active. Its pid is in $run.
attach() {
    $keel run "$@" > "$at.said" 2>&1 &
    run=$!
    until_who "enabled $1"
}

# Sends it Ctrl-C. Returns its exit code once the kernel's own scheduler is active.
detach() {
    kill -INT $run
    wait $run
    code=$?
    until_who "disabled -"
    return $code
}

# Provokes a turn's waste: a function with the turn's name.
provoke() {
    $(echo "$1" | tr - _)
}

# Writes a fact about this turn, whose files begin with $at.
fact() {
    echo "$*" >> "$at.facts"
}

# The scheduler is gone: does the machine still work? Writes the answer, and the kernel's messages.
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

# This many hogs that begin on some CPUs and may then use others, too. Their pids are in $hogs.
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

# How two bugs from the Wasted Cores paper waste CPUs, on 8 CPUs of 4 nodes in a ring.
#
# Nodes 1 and 3 are two hops apart, and all four hogs begin on node 1.
group_construction() {
    hogs 4 2,3 2,3,6,7
}

# A CPU goes off- and online. Then eight hogs begin on node 0.
missing_domains() {
    echo 0 > /sys/devices/system/cpu/cpu7/online
    echo 1 > /sys/devices/system/cpu/cpu7/online
    hogs 8 0,1 0-7
}
