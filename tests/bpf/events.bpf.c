// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's counters for the attached scheduler, if any. None applies here. */
#include "case.h"

/* A program that knows fewer gets only these; one that knows more gets only the existing ones. */
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
