// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: this is not a scheduler. It is an ordinary BPF object, with a tracepoint program and a
 * map, but it defines no struct sched_ext_ops.
 */
#include "keel.h"

LICENSE;

u64 nr_switches;

SEC("tp_btf/sched_switch")
int count_switches(unsigned long long *ctx)
{
	__sync_fetch_and_add(&nr_switches, 1);
	return 0;
}
