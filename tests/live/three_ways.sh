# In a guest: one run recorded by keel, perf and trace-cmd at once, and judged by keel check. Between two markers in the
# recordings, the counts must be equal, and the figures nearly so: the recorders read their times one after another.
#
# usage: keel vm --cpus 4 -- sh tests/live/three_ways.sh KEEL OUT
keel=$1
out=$2
mkdir -p "$out" && cd "$out" || exit 2
mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null
on=/sys/kernel/tracing/events/sched/enable

# Tasks whose names and first instants are in every recording.
cp /bin/sleep begins && cp begins ends

$keel record -o run.keel --duration 32s 2> keel.said &
sleep 2
perf record -q -e 'sched:*' -a -m 2048 -o perf.data -- sleep 28 2> perf.said &
sleep 3
trace-cmd record -q -e sched -b 8000 -o trace.dat sleep 21 > trace-cmd.said 2>&1 &
until [ "$(cat $on)" = 1 ]; do sleep 0.2; done
sleep 4
./begins 0.01
for i in 1 2 3 4 5 6; do timeout 0.4 sh -c 'while :; do :; done' & busy="$busy $!"; done
hackbench -g 1 -l 10 > /dev/null
wait $busy
./ends 0.01
wait

# A field that occurs once at the top of a JSON object, and one of a task's.
field() { sed -n "s/^.*\"$2\": *\([0-9.]*\).*/\1/p" "$1" | head -1; }
first_run() { tr -d '\n ' < "$1" | tr '{' '\n' | sed -n "s/^\"name\":\"$2\",\"pid\".*\"first_run_ns\":\([0-9]*\).*/\1/p" | head -1; }

failed=0
for file in run.keel perf.data trace.dat; do
    $keel check $file --json > whole.json || failed=1
    from=$(first_run whole.json begins)
    until=$(first_run whole.json ends)
    $keel check $file --json --from "${from}ns" --until "${until}ns" | tr ',' '\n' > "$file.json" || failed=1
    echo "$file from $from until $until"
    for name in switches wakeups migrations preemptions busy_share wasted_core_ns wasted_share; do
        echo "  $name $(field "$file.json" $name)"
    done
    $keel check $file --from "${from}ns" --until "${until}ns" > "$file.txt"
    tail -1 "$file.txt"
    for name in switches wakeups migrations preemptions; do field "$file.json" $name; done > "$file.counts"
done
cmp run.keel.counts perf.data.counts && cmp run.keel.counts trace.dat.counts || failed=1
exit $failed
