#!/bin/busybox sh
# The guest's first program. Loads modules, puts the host's files below a layer of memory, and
# hands over to /run/keel/guest in there. Errors go to the kernel's console.
export PATH=/bin

fail() {
    echo "keel: $*" > /dev/ttyS0
    poweroff -f
}

mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /modules/*.ko; do
    case $module in "/modules/*.ko") break ;; esac
    insmod "$module" || fail "the module $module cannot be loaded"
done

# Where time is counted in instructions, a CPU's turn ends when a timer does, whosever it is. The clock
# chip's, to which nobody listens here, ends them every 122 us: register A (10) has the rate, B (11) the switch.
poke() {
    printf "$2" | dd of=/dev/port bs=1 seek="$1" count=1 2> /dev/null
}
if [ -e /keel/turns ]; then
    poke 112 '\012' && poke 113 '\043' && poke 112 '\013' && poke 113 '\102'
fi

SHARE=trans=virtio,version=9p2000.L,msize=524288
mount -t 9p -o "$SHARE,cache=loose,ro" root /lower || fail "the host's files cannot be mounted"
mount -t tmpfs -o size=75% upper /upper
mkdir /upper/data /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work root /new ||
    fail "no layer can be put above the host's files"

mkdir -p /new/dev /new/proc /new/sys /new/run /new/tmp
mount --move /dev /new/dev
mount --move /proc /new/proc
mount --move /sys /new/sys
mount -t tmpfs -o mode=755 run /new/run
mkdir -p /new/run/keel /new/run/lock /new/dev/pts /new/dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /new/dev/pts
mount -t tmpfs -o mode=1777 shm /new/dev/shm
for link in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
    ln -sf "/proc/self/${link#*:}" "/new/dev/${link%:*}"
done
mount -t bpf bpf /new/sys/fs/bpf
mount -t cgroup2 cgroup /new/sys/fs/cgroup
mount -t debugfs debug /new/sys/kernel/debug
mount -t tracefs tracing /new/sys/kernel/tracing

FOLDER=$(cat /keel/folder; echo .)
FOLDER=${FOLDER%.}
mkdir -p "/new$FOLDER"
mount -t 9p -o "$SHARE,cache=mmap,access=any" folder "/new$FOLDER" ||
    fail "the current folder cannot be mounted"

# Loaders look up how the kernel was configured there.
if [ -e /keel/config ]; then
    mkdir -p /new/boot
    cp /keel/config "/new/boot/config-$(uname -r)"
fi
cp /bin/busybox /keel/guest /keel/command /keel/beat /new/run/keel/
exec switch_root /new /run/keel/guest
