// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, which logs the kernel's counters for it when a task blocks: the pid's place has the counter's number. */
#include "keel.h"

static __noinline int say_events(void)
{
	struct scx_event_stats all = {};
	const s64 *counters = (const s64 *)&all;
	s32 number;

	scx_bpf_events(&all, sizeof(all));
	for_range(number, 0, sizeof(all) / sizeof(s64))
		bpf_printk("event %d %d %llx", number, bpf_get_smp_processor_id(), counters[number]);
	return 0;
}

#define SAY_GROUP(p) say_events()
#define SAY_BIRTH(p, args)
#define MORE_CALLBACKS
#define WITH_HOTPLUG
#include "tracer.h"
