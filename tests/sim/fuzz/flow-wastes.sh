#!/bin/sh
# Records two busy loops beside scx_flow on a real kernel, three times, and judges the recordings.
#
# usage: keel vm --icount --cpus 4 -- sh tests/sim/fuzz/flow-wastes.sh
# Needs keel and scx_flow on PATH. Its last line is the kernel's answer whether the scheduler is still attached.
set -eu

scx_flow --no-webui > /tmp/scx_flow.log 2>&1 &
for _ in $(seq 600); do
	[ "$(cat /sys/kernel/sched_ext/state)" = enabled ] && break
	sleep 1
done
for round in 1 2 3; do
	sh -c 'while :; do :; done' &
	first=$!
	sh -c 'while :; do :; done' &
	second=$!
	keel record -o "/tmp/$round.keel" -- sleep 2
	keel check "/tmp/$round.keel"
	kill "$first" "$second"
done
cat /sys/kernel/sched_ext/state
