# In a guest of 8 CPUs on 4 nodes in a ring: keel watch, while cores are wasted and while they are not, under the kernel's
# own scheduler and under cfs with a bug from the Wasted Cores paper and without, beside the usual tools. Results
# go to NAME.facts, one fact per line, the output of keel watch to NAME.lines: xtask/src/live judges both.
#
# usage: watch.sh KEEL OUT SECONDS TURN... A turn is quiet, pinned, freed, partition, or a bug's name with or without -fixed
. tests/live/common.sh
seconds=$1
shift

# Little work: a few tasks that sleep most of the time.
quiet() {
    hogs=
    for i in 1 2 3; do
        sh -c 'while :; do sleep 0.05; done' &
        hogs="$hogs $!"
    done
}

# Eight hogs on two CPUs, which are all that they may use: nothing is wasted.
pinned() {
    hogs 8 0,1 0,1
}

# The same, and then they may use all CPUs: the kernel spreads them.
freed() {
    hogs 8 0,1 0-7
}

# Eight hogs on two of four CPUs that the kernel must not balance: they may use all four, and stay where they are.
partition() {
    group=/sys/fs/cgroup/watched
    echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control
    mkdir $group
    echo 4-7 > $group/cpuset.cpus
    echo isolated > $group/cpuset.cpus.partition
    fact partition "$(cat $group/cpuset.cpus.partition)"
    hogs=
    for i in $(seq 8); do
        sh -c "echo \$\$ > $group/cgroup.procs; taskset -pc 4,5 \$\$ > /dev/null; while :; do :; done" &
        hogs="$hogs $!"
    done
    sleep 1
    for pid in $hogs; do
        taskset -pc 4-7 "$pid" > /dev/null
    done
}

# The usual tools.
others() {
    vmstat 1 4 > "$at.vmstat" 2>&1 &
    sar -u -q 1 3 > "$at.sar" 2>&1 &
    sar=$!
    perf stat -a -e context-switches,cpu-migrations,cpu-clock sleep 3 > "$at.perf" 2>&1
    wait $sar
    TERM=xterm timeout 3 script -qc "htop -d 10" /dev/null < /dev/null > "$at.htop" 2>&1
}

# keel watch, from now on.
watch() {
    $keel watch --json --strict --cost 1000 --keep "$at.kept" > "$at.lines" 2> "$at.words" &
    watch=$!
    until_said "$at.lines" '"begin"' 1
}

turn() {
    begin "$1"
    name=${1%-fixed}
    run=
    case $name in
    group-construction | missing-domains)
        case $1 in
        *-fixed) attach cfs ;;
        *) attach cfs --set bug="$name" ;;
        esac
        ;;
    esac
    fact scheduler "$(who)"
    case $1 in
    # Waste is provoked while it watches.
    partition | group-construction | missing-domains)
        watch
        provoke "$name"
        ;;
    # The time that the kernel or the scheduler needs to settle is not waste.
    *)
        provoke "$name"
        sleep 3
        watch
        ;;
    esac
    fact provoked "$(date +%s%N)"
    sleep "$seconds" &
    rest=$!
    case $1 in
    pinned | partition) others ;;
    esac
    wait $rest
    kill -INT $watch
    wait $watch
    fact code $?
    fact words "$(head -n 1 "$at.words")"
    kill $hogs
    [ "$run" ] && detach
    fact detached "$(who)"
    first=$(ls "$at.kept" | head -n 1)
    if [ "$first" ]; then
        $keel check "$at.kept/$first" --json > "$at.check" 2>&1
        fact check-code $?
    fi
    if [ "$name" = partition ]; then
        sleep 1
        rmdir /sys/fs/cgroup/watched
    fi
    settle
}

for name; do
    turn "$name"
done
