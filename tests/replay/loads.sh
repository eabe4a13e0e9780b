# The loads of ./x replay --real: `sh loads.sh NAME` runs one and returns when its work is done. Each has a fixed amount of
# work, so its duration shows its throughput. Files that a load makes are in memory.
here=$(cd "${0%/*}" && pwd)
root=$here/../..
scratch=/dev/shm/replay
mkdir -p $scratch && cd $scratch || exit 1

hackbench_pipes() {
    exec hackbench -g 2 -f 8 -l 60 > /dev/null
}

# Six jobs compile the project's own small C programs.
build() {
    rm -rf build && mkdir build && cp $here/build.mk build/Makefile
    cp $root/tests/twin/*.c $root/tests/twin/random/*.c $root/tests/live/scene.c $root/tests/programs/stats.c build
    exec make -s -C build -j6
}

redis() {
    redis-server --port 0 --unixsocket $scratch/redis --save '' --daemonize no > /dev/null &
    server=$!
    until [ -S redis ]; do sleep 0.01; done
    redis-benchmark -s $scratch/redis -q -c 16 -n 2000 -t set,get > /dev/null
    kill $server
    wait $server
}

# Two workers serve a page of 8 KiB to 16 clients at a time, over loopback.
nginx_pages() {
    ip link set lo up
    mkdir -p pages && head -c 8192 /dev/zero > pages/page
    nginx -c $here/nginx.conf 2> nginx.start &
    server=$!
    until ab -q -n 1 http://127.0.0.1:8927/page > /dev/null 2>&1; do
        kill -0 $server || exit 1
        sleep 0.05
    done
    ab -q -k -n 3000 -c 16 http://127.0.0.1:8927/page > /dev/null
    kill $server
    wait $server
}

# Work, pipes and pairs that switch.
stress_pipes() {
    exec stress-ng -q --cpu 3 --cpu-method int64 --cpu-ops 6 --pipe 2 --pipe-ops 4000 --switch 1 --switch-ops 2000
}

# Short-lived processes, locks and sleepers.
stress_forks() {
    exec stress-ng -q --fork 1 --fork-ops 60 --mutex 1 --mutex-ops 1500 --nanosleep 1 --nanosleep-ops 100 --cpu 2 --cpu-method int64 --cpu-ops 4
}

periodic() {
    exec rt-app $here/periodic.json > /dev/null
}

"$1"
