// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's counters of the scheduler that is attached, if any is. None has a say here. */
#include "case.h"

/* Who knows fewer gets these alone, who knows more only those that there are. */
SINCE(as_many_as_asked_for, 7, 2)
STEPS(as_many_as_asked_for, 0, 0, -1, 0, -1)
{
	s64 words[20];

	__builtin_memset(words, 0xff, sizeof(words));
	scx_bpf_events((struct scx_event_stats *)words, 16);
	got[0] = words[0];
	got[1] = words[1];
	got[2] = words[2];
	scx_bpf_events((struct scx_event_stats *)words, sizeof(words));
	got[3] = words[12];
	got[4] = words[13];
}
