/* SPDX-License-Identifier: GPL-2.0-only */
/* bsd, second: from a task's use of the CPU to its priority, and how the use is forgotten. */
#ifndef BSD_PRIORITY_H
#define BSD_PRIORITY_H

#include "types.h"

/* stathz: so often a second whoever runs is charged. */
#define STAT_HZ 128
/* INVERSE_ESTCPU_WEIGHT: charges to a priority. */
#define CHARGES_PER_PRIORITY 8
/* ESTCPULIM(): nice values still count among those who use the CPU most. */
#define MAX_ESTCPU (CHARGES_PER_PRIORITY * (40 - PRIORITIES_PER_QUEUE) + CHARGES_PER_PRIORITY - 1)

/* Numbers with a fraction: FSHIFT. The load of a minute is renewed every five seconds: exp(-1/12). */
#define FRACTION_SHIFT 11
#define ONE (1 << FRACTION_SHIFT)
#define LOAD_SECONDS 5
#define LOAD_KEPT 1884
/* Longer ago is forever. */
#define MAX_DECAYS 512

/* averunnable.ldavg[0] */
static u64 load LINE;

/* resetpriority(): the kernel's own for real-time tasks, 3 of whose hints share one. */
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

/* decay_cpu(): 2 x load / (2 x load + 1) stay, so that nine tenths are forgotten in 5 x load seconds. */
static __always_inline u32 decayed(u32 estcpu)
{
	u64 factor = 2 * load;

	return decay ? factor * estcpu / (factor + ONE) : estcpu;
}

/* schedcpu() and updatepri(): what happened to the use since; for a sleeper at once, when it wakes. */
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

/* loadav(): once, with so many who run and wait. */
static __always_inline void renew_load(u64 runnable)
{
	load = (LOAD_KEPT * load + runnable * ONE * (ONE - LOAD_KEPT)) >> FRACTION_SHIFT;
}

#endif
