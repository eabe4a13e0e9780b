/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the threads of a process share beside memory, as far as it concerns sessions and their autogroups. */
#ifndef KEEL_KERNEL_SESSION_H
#define KEEL_KERNEL_SESSION_H

enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
	PIDTYPE_PGID,
	PIDTYPE_SID,
	PIDTYPE_MAX,
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

struct autogroup {
	unsigned long id;
	int nice;
};

struct signal_struct {
	struct pid *pids[PIDTYPE_MAX];
	struct autogroup *autogroup;
	int leader;
};

#endif
