/* SPDX-License-Identifier: GPL-2.0-only */
/* In place of hints.h: a task called fifoNN or rrNN is a real-time one. */
#define KEEL_HINTS_H

#include "keel.h"

enum hint_policy {
	HINT_NONE,
	HINT_FIFO,
	HINT_RR,
};

struct hint {
	u32 rt_priority;
	u32 policy;
};

static __always_inline struct hint hint_of(struct task_struct *p)
{
	struct hint hint = {};
	const char *digits = p->comm;
	char comm[16];

	bpf_probe_read_kernel(comm, sizeof(comm), digits);
	if (comm[0] == 'f' && comm[1] == 'i' && comm[2] == 'f' && comm[3] == 'o') {
		hint.policy = HINT_FIFO;
		hint.rt_priority = (comm[4] - '0') * 10 + comm[5] - '0';
	} else if (comm[0] == 'r' && comm[1] == 'r') {
		hint.policy = HINT_RR;
		hint.rt_priority = (comm[2] - '0') * 10 + comm[3] - '0';
	}
	return hint;
}

static __always_inline void inherit_hint(struct task_struct *child, struct task_struct *parent)
{
}
