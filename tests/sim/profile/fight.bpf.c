// SPDX-License-Identifier: GPL-2.0-only
/*
 * fight: a global queue, and a planted fault: two counters that different CPUs write are in one cache line.
 *
 * Every CPU that gives its task up counts in one of them, and every CPU that takes a task in the other, so that each
 * write takes the line from the CPU that made the other.
 */
#include "keel.h"

LICENSE;

/* Beside each other, in one line. */
static u64 nr_running;
static u64 nr_stopping;

CALLBACK(void, fight_running, struct task_struct *p)
{
	nr_running++;
}

CALLBACK(void, fight_stopping, struct task_struct *p, bool runnable)
{
	nr_stopping++;
}

SCHEDULER(fight,
	  .running = (void *)fight_running,
	  .stopping = (void *)fight_stopping,
	  .name = "fight");
