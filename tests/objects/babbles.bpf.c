// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it has a ring buffer with the name used for policy events, and
 * fills it with garbage: records of any length, noise, nonexistent CPUs,
 * times long past and times to come. Its reader must not trust any of it.
 */
#include "keel.h"

#define TELL_POLICY 1
#include "policy.h"

LICENSE;

struct exit_record exit_record;

/* One record of this many bytes, of noise; every other one has a valid kind, outcome and CPU. */
static __always_inline void babble(u64 bytes)
{
	struct policy_event e = {};
	u32 *words = (u32 *)&e;
	s32 i;

	for_range(i, 0, sizeof(e) / 4) {
		if (i >= 0 && i < sizeof(e) / 4)
			words[i] = bpf_get_prandom_u32();
	}
	if (words[0] & 1) {
		e.kind = e.kind % 7 + 1;
		e.outcome %= 8;
		e.cpu %= 12;
		e.pid &= 0xffff;
		e.chosen = (u32)e.chosen % 12 - 2;
		e.nr_groups %= 3;
		__builtin_memset(e.considered, 0, sizeof(e.considered));
		e.considered[0] = words[1] & 0x3ff;
		e.groups[0].first_cpu %= 9;
		e.groups[0].cpus %= 10;
		e.groups[1].first_cpu %= 9;
		e.groups[1].cpus %= 10;
	}
	bpf_ringbuf_output(&policy_events, &e, bytes, 0);
}

CALLBACK(void, babbles_running, struct task_struct *p)
{
	struct policy_event *e = policy_begin(0, ~0, ~0);

	babble(sizeof(struct policy_event));
	babble(sizeof(struct policy_event) - 8);
	policy_considered(e, ~0);
	policy_chose(e, -1, 1 << 30);
	policy_tell(e);
	e = policy_begin(POLICY_WAKEUP, 0, 0);
	if (e) {
		/* From the past, and from the future. */
		e->at_ns = p->pid & 1 ? 1 : ~0ULL;
		bpf_ringbuf_submit(e, 0);
	}
}

CALLBACK(void, babbles_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(babbles_ops,
	  .running = (void *)babbles_running,
	  .exit = (void *)babbles_exit,
	  .name = "babbles");
