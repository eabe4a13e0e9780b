#!/run/keel/busybox sh
# The guest's first program once it has the host's files: runs the command, passes what it says
# out through ports, reports how it ended. Facts go through the port keel.facts, a line each.
busybox=/run/keel/busybox

for port in /sys/class/virtio-ports/*; do
    read -r name < "$port/name"
    case $name in
    keel.out) out=/dev/${port##*/} ;;
    keel.err) err=/dev/${port##*/} ;;
    keel.facts) facts=/dev/${port##*/} ;;
    esac
done
exec 3> "$facts" < /dev/null

$busybox hostname guest
$busybox ifconfig lo 127.0.0.1 up
ulimit -n 1048576

# Ports can be opened once only, and commands open /dev/stdout as they like: pipes between.
$busybox mkfifo /run/keel/out /run/keel/err
$busybox cat /run/keel/out > "$out" &
out=$!
$busybox cat /run/keel/err > "$err" &
err=$!
echo begun >&3
read -r beat < /run/keel/beat
while $busybox sleep "$beat"; do
    echo beat >&3
done &

# The pipes are opened by the command's own shell: what this one says of it is not the command's.
/bin/sh -c 'exec > /run/keel/out 2> /run/keel/err 3>&-; . /run/keel/command'
code=$?

# What the command left behind would hold its pipes.
for process in /proc/[0-9]*; do
    process=${process#/proc/}
    case $process in 1 | "$out" | "$err") ;; *) kill -9 "$process" 2> /dev/null ;; esac
done
{ $busybox sleep 10; kill -9 "$out" "$err" 2> /dev/null; } &
wait "$out" "$err"
$busybox sync
echo "code $code" >&3
# The host ends the guest now; where it does not, nothing else would.
$busybox sleep 5
$busybox poweroff -f
