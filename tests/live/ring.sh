# In a guest of 4 CPUs: keel record --ring, which writes its last moments at each SIGUSR1 and at its end, under load. Results
# go to NAME.facts, one fact per line, and the output of keel check for each file to NAME.N.json: xtask/src/live judges both.
#
# usage: ring.sh KEEL OUT SECONDS TURN... A turn is signals (three files of SECONDS each), short (it ends before SECONDS have
# passed) or killed (no file, and none half written)
. tests/live/common.sh
seconds=$1
shift

# Messages go around.
load() {
    while :; do hackbench -g 1 -l 20 > /dev/null; done &
    noise=$!
}

# Waits until keel's programs are attached.
until_records() {
    for i in $(seq 600); do
        ls -l /proc/$recorder/fd | grep -q bpf_link && return
        sleep 0.1
    done
    return 1
}

# After this many seconds, a task that only this signal's file may contain; then the signal.
send() {
    sleep "$2"
    cp /bin/sh "/dev/shm/mark-$3"
    "/dev/shm/mark-$3" -c 'n=0; while [ $n -lt 1000 ]; do n=$((n + 1)); done'
    kill "-$1" $recorder
}

turn() {
    begin "$1"
    load
    $keel record -o "$at.keel" --ring "${seconds}s" 2> "$at.said" &
    recorder=$!
    until_records
    case $1 in
    signals)
        send USR1 $((2 * seconds + 2)) 1
        until_said "$at.said" "the last" 1
        send USR1 $((seconds + 1)) 2
        until_said "$at.said" "the last" 2
        send INT $((seconds + 1)) 3
        ;;
    short) send INT 1 1 ;;
    killed) send KILL $((seconds + 1)) 1 ;;
    esac
    wait $recorder
    fact code $?
    kill $noise
    pkill hackbench
    nth=0
    for file in "$at.keel" "$at.2.keel" "$at.3.keel"; do
        [ -e "$file" ] || continue
        nth=$((nth + 1))
        $keel check "$file" --json > "$at.$nth.json" 2>&1
        fact "check-$nth" $?
    done
    fact files $nth
    fact rest "$(ls -A "$out" | grep -c -e part$)"
    rm -f "$at"*.keel "$out"/.keel-* /dev/shm/mark-*
    settle
}

for name; do
    turn "$name"
done
