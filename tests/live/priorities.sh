# In a guest: real-time tasks that wait, recorded by keel and judged. The kernel's deadline server inverts priorities. That
# must be found. What the kernel does right must not be reported.
#
# usage: keel vm --cpus 4 --icount=3 -- sh tests/live/priorities.sh KEEL OUT
keel=$1
out=$2
mkdir -p "$out" || exit 2
failed=0

hog='while :; do :; done'

# Records for some seconds, and stores the output of keel check.
record() {
    $keel record -o "$out/$1.keel" --duration "$2" 2> "$out/$1.said"
    $keel check "$out/$1.keel" --json > "$out/$1.json" || failed=1
    $keel check "$out/$1.keel" > "$out/$1.txt"
}

# The number of findings of a kind.
found() { sed -n "s/^ *\"$2\": \([0-9]*\),*$/\1/p" "$out/$1.json" | head -1; }

# A kind must be found, or must not.
expect() {
    count=$(found "$1" "$2")
    echo "$1: $2 $count, expected $3"
    case $3 in
    none) [ "$count" = 0 ] || failed=1 ;;
    some) [ "${count:-0}" -gt 0 ] || failed=1 ;;
    esac
    grep -E "real-time task .*(sh|hog)" "$out/$1.txt" | head -2
}

# Real-time tasks that always have their CPUs.
for i in 1 2 3; do
    taskset -c $i chrt -f 1$i sh -c "$hog" &
    pids="$pids $!"
done
sleep 1
record right 3s
expect right priority_inversion none
expect right misplaced_realtime none
kill $pids

# A real-time task and a fair one that may use only CPU 1. The deadline server gives the fair one its 50 ms per second.
taskset -c 1 sh -c "$hog" &
fair=$!
taskset -c 1 chrt -f 10 sh -c "$hog" &
urgent=$!
sleep 1
record inverted 4s
expect inverted priority_inversion some
# It keeps its CPU for most of a second, while the fair one waits. It may do that.
expect inverted stall none
kill $fair $urgent

# Two of equal priority on CPU 1. Then the one that waits may also use CPU 2, which idles: the kernel takes it there at once.
taskset -c 1 chrt -f 10 sh -c "$hog" &
first=$!
taskset -c 1 chrt -f 10 sh -c "$hog" &
second=$!
sleep 1
taskset -pc 1-2 $second > /dev/null
record placed 3s
expect placed misplaced_realtime none
expect placed priority_inversion none
kill $first $second
exit $failed
