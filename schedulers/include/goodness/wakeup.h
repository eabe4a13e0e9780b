/* SPDX-License-Identifier: GPL-2.0-only */
/* goodness, fourth: reschedule_idle(), which CPU should run a newly waiting task at once. */
#ifndef GOODNESS_WAKEUP_H
#define GOODNESS_WAKEUP_H

#include "list.h"

/* What reschedule_idle() decides: a CPU, and whether it is idle. */
struct target {
	s32 cpu;
	bool is_idle;
};

/* The lock is held. */
static __always_inline struct target reschedule_idle(u32 number)
{
	struct slot *s = slot_at(number);
	struct target target = { -1, false };
	u64 oldest = ~0ULL;
	s32 most = 0;
	s32 i;

	if (cpu_at(s->cpu)->curr == NOBODY && !cpu_at(s->cpu)->offline && may_use(number, s->cpu)) {
		target.cpu = s->cpu;
		target.is_idle = true;
		return target;
	}
	for_range(i, 0, nr_cpus) {
		struct cpu *there = cpu_at(i);
		u32 curr = there->curr;

		if (there->offline || !may_use(number, i))
			continue;
		if (curr == NOBODY) {
			if (there->idle_since < oldest) {
				oldest = there->idle_since;
				target.cpu = i;
				target.is_idle = true;
			}
		} else if (!target.is_idle) {
			s32 more = goodness(s, i, there->mm) - goodness(slot_at(curr), i, there->mm);

			if (more > most) {
				most = more;
				target.cpu = i;
			}
		}
	}
	return target;
}

#endif
