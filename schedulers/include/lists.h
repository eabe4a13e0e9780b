/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists of slots. Before you include this, define what a slot holds,
 * including `next` and `prev`. Callers hold the lock of the list.
 */
#ifndef KEEL_LISTS_H
#define KEEL_LISTS_H

#include "slots.h"

/* Waiting tasks, first to last. */
struct list {
	u32 first;
	u32 last;
};

static __always_inline void unlink_from(struct list *list, struct slot *s)
{
	if (s->prev)
		slot_at(s->prev)->next = s->next;
	else
		list->first = s->next;
	if (s->next)
		slot_at(s->next)->prev = s->prev;
	else
		list->last = s->prev;
}

static __always_inline void link_into(struct list *list, u32 number, bool at_end)
{
	struct slot *s = slot_at(number);

	s->prev = at_end ? list->last : NOBODY;
	s->next = at_end ? NOBODY : list->first;
	if (s->prev)
		slot_at(s->prev)->next = number;
	else
		list->first = number;
	if (s->next)
		slot_at(s->next)->prev = number;
	else
		list->last = number;
}

#endif
