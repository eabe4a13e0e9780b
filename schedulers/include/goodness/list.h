/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * goodness, third: the lists of all runnable tasks, including running
 * ones. Which list a task is in is up to the scheduler: list_of().
 */
#ifndef GOODNESS_LIST_H
#define GOODNESS_LIST_H

#include "weight.h"

static __always_inline struct list *list_of(u32 number);

static __always_inline void unlink(u32 number)
{
	struct slot *s = slot_at(number);

	unlink_from(list_of(number), s);
	s->linked = false;
	runqueue.nr_running--;
}

static __always_inline void link(u32 number, bool at_end)
{
	link_into(list_of(number), number, at_end);
	slot_at(number)->linked = true;
	runqueue.nr_running++;
}

static __always_inline void unlink_if_linked(u32 number)
{
	if (number == NOBODY || !slot_at(number)->linked)
		return;
	bpf_spin_lock(&runqueue_lock.lock);
	if (slot_at(number)->linked)
		unlink(number);
	bpf_spin_unlock(&runqueue_lock.lock);
}

#endif
