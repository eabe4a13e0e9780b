// SPDX-License-Identifier: GPL-2.0-only
/* The session and the autogroup of a process. Here nobody has called setsid(). */
#include "case.h"
#include "sessions.h"

STEPS(of_the_current_task, 0, 0)
{
	struct task_struct *p = bpf_get_current_task_btf();

	got[0] = session_of(p);
	got[1] = autogroup_of(p);
}

/* Plain loads work, too. */
STEPS(by_loads, 0, 0, 0)
{
	struct task_struct *p = bpf_get_current_task_btf();

	bpf_rcu_read_lock();
	got[0] = p->signal->autogroup->id;
	got[1] = p->signal->autogroup->nice;
	got[2] = p->signal->leader;
	bpf_rcu_read_unlock();
}

/* Threads share it, and children inherit their parent's. */
STEPS(who_shares_it, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();

	got[0] = BPF_CORE_READ(p, signal) == BPF_CORE_READ(p, group_leader, signal);
	got[1] = BPF_CORE_READ(p, signal, autogroup) == BPF_CORE_READ(p, real_parent, signal, autogroup);
}

/* Its user, its number in the first namespace, and that namespace's own. */
STEPS(who_it_is, 0, 0, 1, 0xeffffffc, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(p, thread_pid);

	got[0] = BPF_CORE_READ(p, real_cred, euid.val);
	got[1] = BPF_CORE_READ(p, cred, egid.val);
	got[2] = BPF_CORE_READ(pid, numbers[0].nr) == p->pid;
	got[3] = BPF_CORE_READ(pid, numbers[0].ns, ns.inum);
	got[4] = BPF_CORE_READ(p, signal, pids[PIDTYPE_TGID]) == BPF_CORE_READ(p, group_leader, thread_pid);
	got[5] = BPF_CORE_READ(p, sched_class) != NULL;
}
