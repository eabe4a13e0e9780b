// SPDX-License-Identifier: GPL-2.0-only
/*
 * cfs: the Completely Fair Scheduler of Linux 3.17 to 4.3, as described in 'The Linux
 * Scheduler: a Decade of Wasted Cores', with its four bugs as switches, off by default.
 *
 * Policy. Each CPU has a queue of waiting tasks by vruntime, running time over weight. The task with the least runs, for
 * its weight's share of a period of 6 ms. A woken task preempts one that is 1 ms ahead of it. A task that slept is at most
 * half a period ahead of the others, a child a slice behind. (On n CPUs these times are 1 + log2(n) times as long, n being
 * 8 at most.) A nice level is a factor of 1.25 in weight. A group, a cgroup or else a session, has one weight, which its
 * runnable tasks share. A task's load is its weight times how much of the recent past it was runnable; a CPU's is that of
 * its runnable tasks. To even out load, cfs goes through the kernel's domains: SMT siblings, node, nodes by hops. One CPU
 * of a group balances for all of it: it takes half the difference from the busiest group's busiest CPU. That happens at
 * intervals, for idle CPUs on the first of them, and at once when a CPU runs out of tasks. A woken task goes to its last
 * CPU if that is idle, else to the one that has idled longest; a child goes to the idlest group's least loaded CPU.
 *
 * The bugs, --set bug=A+B: group-imbalance (groups are compared by their average load, so an idle CPU is
 * hidden by a loaded one in its group), group-construction (groups of nodes are built as CPU 0 sees them, so
 * that some nodes are in all groups, and never balanced), overload-on-wakeup (woken tasks stay within their
 * cache though other nodes idle), missing-domains (once a CPU came or went, nothing balances between nodes).
 *
 * Source. Lozi, Lepers, Funston, Gaud, Quema, Fedorova, EuroSys 2016; the functions of kernel/sched/fair.c that are
 * named here. As in those kernels, and not as in the paper's Algorithm 1, the CPU that balances is a group's, not the
 * domain's, first idle one. Our choices: smoothed load (cpu_load[]) counts only between two CPUs that both run
 * something; cache-hot tasks are left alone only by a CPU that runs out of tasks; no active balancing of running tasks,
 * no buddies, no balancing at exec; weights are updated when a task is queued, runs or ticks, so a waiting task's may
 * be old; the minimum vruntime is that of the last choice; a task is counted where it is placed at once, and a child's
 * CPU is chosen again if others were quicker; tasks go to an idle CPU next to the balancing one if they may not come
 * there, but to none of the busiest group; sessions that are 4095 apart share a group, and a session has no nice value.
 *
 * Weaknesses. Balancing reads every runqueue of the domain, within a dispatch. Idle CPUs of far nodes notice waiting
 * tasks after as many milliseconds as the machine has CPUs. Loads, not tasks, are evened out: a node with one heavy task
 * may leave others waiting elsewhere; comparing least loaded CPUs, one idle CPU hides that other CPUs of its group are
 * crowded until that group has balanced itself. Bound kernel threads bypass the queue. Real-time hints are not read.
 *
 * Read on in include/cfs: types, load, groups, tally, vruntime; masks, domains, sched_groups, move, balance, rounds; idle_list,
 * place, hotplug.
 */
#include "cfs/hotplug.h"

LICENSE;

/* Why the scheduler ended, for user space. */
struct exit_record exit_record;

CALLBACK(s32, cfs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 number = slot_of(p), cpu;
	bool is_new = slot_at(number)->is_new;
	struct policy_event *e;

	cpu = is_new ? place_child(number, prev_cpu) : place_woken(p, number, prev_cpu);
	e = policy_begin(is_new ? POLICY_FORK : POLICY_WAKEUP, 0, bpf_get_smp_processor_id());
	tell_considered(e, is_new, prev_cpu);
	policy_chose(e, p->pid, cpu);
	policy_tell(e);
	/* Other CPUs choose at the same time. */
	count_at(number, cpu);
	return cpu;
}

CALLBACK(void, cfs_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p), cpu = scx_bpf_task_cpu(p);
	struct slot *s = slot_at(number);
	struct runqueue *rq = runqueue_at(cpu);
	bool wakes = enq_flags & SCX_ENQ_WAKEUP;
	u64 now = scx_bpf_now(), vruntime;
	bool comes = wakes || s->is_new;

	if (number == NOBODY || rq->offline || is_bound_kthread(p)) {
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_INF, enq_flags | (wakes ? SCX_ENQ_PREEMPT : 0));
		return;
	}
	raise_min_alone(rq, now);
	vruntime = placed(rq, waiting_at(cpu) + (rq->curr != NOBODY), s,
			  on_clock_of(p->scx.dsq_vtime, clock_of(s, p->scx.dsq_vtime), cpu), wakes);
	settle_clock(s, cpu);
	s->is_new = false;
	update_average(s, now, true);
	count_at(number, cpu);
	insert_vtime(p, dsq_of(cpu), SCX_SLICE_INF, vruntime, enq_flags);
	/* The kernel itself wakes an idle CPU that a task is queued to. */
	if (comes && preempts(rq, number, vruntime, now)) {
		rq->resched = true;
		kick(cpu, SCX_KICK_PREEMPT);
	}
}

/* The running task may continue: no waiting task is behind it. One that yields continues only if it is far behind itself. */
static __always_inline bool goes_on(struct runqueue *rq, u32 cpu, struct task_struct *prev)
{
	u64 vruntime = prev->scx.dsq_vtime;
	struct task_struct *p;
	u64 first = 0;
	bool waits = false;

	for_each_queued(it, p, dsq_of(cpu), 0) {
		first = p->scx.dsq_vtime;
		waits = true;
		break;
	}
	if (!waits)
		return true;
	if (rq->yields)
		return (s64)(first - vruntime) > (s64)virtual_ns(tuned(wakeup_granularity_ns), rq->curr_weight);
	return !vtime_before(first, vruntime);
}

/* Begins a new turn of the task that has been running here. */
static __always_inline void go_on(struct runqueue *rq, u32 number, struct task_struct *prev)
{
	if (rq->resched)
		slot_at(number)->turn_ns = slot_at(number)->ran_ns;
	rq->resched = false;
	rq->yields = false;
	set_slice(prev, SCX_SLICE_INF);
}

CALLBACK(void, cfs_dispatch, s32 cpu, struct task_struct *prev)
{
	struct runqueue *rq = runqueue_at(cpu);
	bool runs = prev && is_queued(prev);
	u32 before = runs ? slot_of(prev) : NOBODY;
	u64 now = scx_bpf_now();

	if (before != NOBODY && prev)
		charge(cpu, before, prev, now);
	balance_as_asked(cpu, now);
	if (before != NOBODY && prev && (!rq->resched || goes_on(rq, cpu, prev))) {
		go_on(rq, before, prev);
		return;
	}
	if (scx_bpf_dsq_move_to_local(dsq_of(cpu)))
		return;
	if (before != NOBODY && prev) {
		go_on(rq, before, prev);
		return;
	}
	balance_newly_idle(cpu, now);
	if (scx_bpf_dsq_move_to_local(dsq_of(cpu)))
		return;
	/* The task has arrived, but is still leaving its old CPU. */
	if (scx_bpf_dsq_nr_queued(dsq_of(cpu)) > 0)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

CALLBACK(void, cfs_runnable, struct task_struct *p, u64 enq_flags)
{
	struct slot *s = slot_at(slot_of(p));

	update_average(s, scx_bpf_now(), false);
	find_group(s, p);
}

CALLBACK(void, cfs_running, struct task_struct *p)
{
	u32 number = slot_of(p), cpu = bpf_get_smp_processor_id();
	struct slot *s = slot_at(number);
	struct runqueue *rq = runqueue_at(cpu);
	u64 now = scx_bpf_now();

	/* One of the kernel's own paths has picked the task. */
	if (clock_of(s, p->scx.dsq_vtime) != cpu)
		set_vtime(p, on_clock_of(p->scx.dsq_vtime, clock_of(s, p->scx.dsq_vtime), cpu));
	settle_clock(s, cpu);
	s->is_new = false;
	s->ran_ns = p->se.sum_exec_runtime;
	s->turn_ns = s->ran_ns;
	update_average(s, now, true);
	count_at(number, cpu);
	if (rq->is_listed) {
		rq->smoothed_load = 0;
		remove_idle(cpu);
	}
	rq->curr = number;
	rq->resched = false;
	rq->yields = false;
	rq->curr_vruntime = p->scx.dsq_vtime;
	rq->curr_at = now;
	rq->curr_weight = s->tally.weight;
	raise_min(rq, p->scx.dsq_vtime);
}

CALLBACK(void, cfs_stopping, struct task_struct *p, bool runnable)
{
	u32 number = slot_of(p), cpu = bpf_get_smp_processor_id();
	u64 now = scx_bpf_now();

	charge(cpu, number, p, now);
	update_average(slot_at(number), now, true);
	slot_at(number)->ran_until = now;
	runqueue_at(cpu)->curr = NOBODY;
}

CALLBACK(void, cfs_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 number = slot_of(p);

	update_average(slot_at(number), scx_bpf_now(), true);
	uncount(number);
}

CALLBACK(void, cfs_tick, struct task_struct *p)
{
	u32 number = slot_of(p), cpu = bpf_get_smp_processor_id();
	struct slot *s = slot_at(number);
	struct runqueue *rq = runqueue_at(cpu);
	u64 now = scx_bpf_now();
	bool asks;

	rq->smoothed_load = (3 * rq->smoothed_load + rq->load) / 4;
	asks = wants_balance(cpu, now);

	/* The task may have begun a session. */
	find_group(s, p);
	charge(cpu, number, p, now);
	update_average(s, now, true);
	count_at(number, cpu);
	if (turn_is_over(rq, waiting_at(cpu), s)) {
		rq->resched = true;
		asks = true;
	}
	if (asks)
		set_slice(p, 0);
}

CALLBACK(void, cfs_update_idle, s32 cpu, bool idle)
{
	note_idle(cpu, idle, scx_bpf_now());
}

CALLBACK(bool, cfs_yield, struct task_struct *from, struct task_struct *to)
{
	struct runqueue *rq = runqueue_at(bpf_get_smp_processor_id());

	if (waiting_at(bpf_get_smp_processor_id())) {
		rq->yields = true;
		rq->resched = true;
		set_slice(from, 0);
	}
	return false;
}

CALLBACK(void, cfs_set_weight, struct task_struct *p, u32 weight)
{
	copy_policy(slot_at(slot_of(p)), p);
}

CALLBACK(void, cfs_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	u32 number = slot_of(p);

	slot_at(number)->everywhere = copy_cpus(number, p);
}

/* A task that comes from another class starts at the vruntime of the others. */
CALLBACK(void, cfs_enable, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);

	settle_clock(slot_at(slot_of(p)), cpu);
	set_vtime(p, runqueue_at(cpu)->min_vruntime);
}

CALLBACK(void, cfs_disable, struct task_struct *p)
{
	uncount(own_slot_of(p));
}

CALLBACK(s32, cfs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 number = take_slot(p);
	struct slot *s = slot_at(number);

	if (number == NOBODY)
		return -NO_ROOM_ERRNO;
	s->everywhere = copy_cpus(number, p);
	s->ran_ns = p->se.sum_exec_runtime;
	s->is_new = args->fork;
	s->offered_clock = NO_CPU;
	/* Nothing is known about the task yet, so its load counts in full. */
	s->average = WHOLE;
	s->averaged_at = scx_bpf_now();
	copy_policy(s, p);
	if (bpf_core_field_exists(args->cgroup) && args->cgroup)
		s->cgroup = number_of_cgroup(args->cgroup);
	find_group(s, p);
	return 0;
}

CALLBACK(void, cfs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	uncount(own_slot_of(p));
	give_slot(p);
}

SLEEPABLE(s32, cfs_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
	return begin_cgroup(cgrp, args->weight);
}

SLEEPABLE(void, cfs_cgroup_exit, struct cgroup *cgrp)
{
	end_cgroup(cgrp);
}

CALLBACK(void, cfs_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);

	s->cgroup = number_of_cgroup(to);
	find_group(s, p);
	if (s->tally.where)
		count_at(number, s->tally.where - 1);
}

CALLBACK(void, cfs_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	weigh_cgroup(cgrp, weight);
}

SLEEPABLE(void, cfs_cpu_online, s32 cpu)
{
	hotplug(cpu, true);
	begin_idle(cpu);
	runqueue_at(cpu)->nohz = true;
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

SLEEPABLE(void, cfs_cpu_offline, s32 cpu)
{
	cpus_leave = true;
	leave_cpu(cpu);
}

SLEEPABLE(s32, cfs_init)
{
	s32 i, error = count_cpus();

	if (error)
		return error;
	for_range(i, 0, nr_cpus) {
		error = scx_bpf_create_dsq(dsq_of(i), -1);
		if (error)
			return error;
	}
	make_tables();
	make_domains();
	/* No callback reports CPUs that were idle from the start. */
	for_range(i, 0, nr_cpus)
		if (!runqueue_at(i)->offline)
			begin_idle(i);
	return 0;
}

CALLBACK(void, cfs_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(cfs_ops,
	  .select_cpu = (void *)cfs_select_cpu,
	  .enqueue = (void *)cfs_enqueue,
	  .dispatch = (void *)cfs_dispatch,
	  .runnable = (void *)cfs_runnable,
	  .running = (void *)cfs_running,
	  .stopping = (void *)cfs_stopping,
	  .quiescent = (void *)cfs_quiescent,
	  .tick = (void *)cfs_tick,
	  .update_idle = (void *)cfs_update_idle,
	  .yield = (void *)cfs_yield,
	  .set_weight = (void *)cfs_set_weight,
	  .set_cpumask = (void *)cfs_set_cpumask,
	  .enable = (void *)cfs_enable,
	  .disable = (void *)cfs_disable,
	  .init_task = (void *)cfs_init_task,
	  .exit_task = (void *)cfs_exit_task,
	  .cgroup_init = (void *)cfs_cgroup_init,
	  .cgroup_exit = (void *)cfs_cgroup_exit,
	  .cgroup_move = (void *)cfs_cgroup_move,
	  .cgroup_set_weight = (void *)cfs_cgroup_set_weight,
	  .cpu_online = (void *)cfs_cpu_online,
	  .cpu_offline = (void *)cfs_cpu_offline,
	  .init = (void *)cfs_init,
	  .exit = (void *)cfs_exit,
	  .name = "cfs");
