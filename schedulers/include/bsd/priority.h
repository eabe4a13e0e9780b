/* SPDX-License-Identifier: GPL-2.0-only */
/* bsd, second: how a task's use of the CPU becomes its priority, and how that use decays. */
#ifndef BSD_PRIORITY_H
#define BSD_PRIORITY_H

#include "types.h"

/* stathz: how many times a second the running task is charged. */
#define STAT_HZ 128
/* INVERSE_ESTCPU_WEIGHT: how many charges make one priority. */
#define CHARGES_PER_PRIORITY 8
/* ESTCPULIM(): nice values still count among the tasks that use the CPU most. */
#define MAX_ESTCPU (CHARGES_PER_PRIORITY * (40 - PRIORITIES_PER_QUEUE) + CHARGES_PER_PRIORITY - 1)

/* Fixed-point numbers: FSHIFT. The one-minute load is updated every five seconds: exp(-1/12). */
#define FRACTION_SHIFT 11
#define ONE (1 << FRACTION_SHIFT)
#define LOAD_SECONDS 5
#define LOAD_KEPT 1884
/* Anything longer ago counts as forever. */
#define MAX_DECAYS 512

/* averunnable.ldavg[0] */
static u64 load LINE;

/* resetpriority(): real-time tasks get the kernel's priorities; 3 hints share one. */
static __always_inline u8 user_priority(struct slot *s)
{
	u32 priority = USER_FIRST + s->estcpu / CHARGES_PER_PRIORITY + s->nice + 20;

	if (s->rt.policy)
		return REALTIME_FIRST + (99 - s->rt.rt_priority) * REALTIME_LEVELS / 100 % REALTIME_LEVELS;
	return priority < USER_LAST ? priority : USER_LAST;
}

static __always_inline u32 limited(u32 estcpu)
{
	return estcpu < MAX_ESTCPU ? estcpu : MAX_ESTCPU;
}

/* decay_cpu(): 2 x load / (2 x load + 1) remain, so that nine tenths are forgotten in 5 x load seconds. */
static __always_inline u32 decayed(u32 estcpu)
{
	u64 factor = 2 * load;

	return decay ? factor * estcpu / (factor + ONE) : estcpu;
}

/* schedcpu() and updatepri(): decays the use since then; for a sleeper all at once, when it wakes. */
static __always_inline void forget(struct slot *s, u32 second)
{
	s32 seconds = second - s->second;
	s32 i;

	if (seconds <= 0)
		return;
	s->second = second;
	if (seconds > MAX_DECAYS && decay)
		s->estcpu = 0;
	for_range(i, 0, MAX_DECAYS) {
		if (i >= seconds || !s->estcpu)
			break;
		s->estcpu = decayed(s->estcpu);
	}
}

/* loadav(): one update, given the number of running and waiting tasks. */
static __always_inline void renew_load(u64 runnable)
{
	load = (LOAD_KEPT * load + runnable * ONE * (ONE - LOAD_KEPT)) >> FRACTION_SHIFT;
}

#endif
