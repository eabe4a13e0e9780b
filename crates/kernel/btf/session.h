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

struct ns_common {
	unsigned int inum;
};

/* There is one, the first. */
struct pid_namespace {
	unsigned int level;
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
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
