// SPDX-License-Identifier: GPL-2.0-only
/*
 * ule: Jeff Roberson's scheduler for FreeBSD, as posted, plus the parts that were said to be missing.
 *
 * Policy. Each CPU has a lock and two queues of 64 levels with a bitmap, the current and the next one. The first task
 * of the current queue's best level runs; when the queue is empty, the two are exchanged. A task gets a slice by its
 * nice value. A task that has used up its slice, or wakes, waits in the next queue. Interactive tasks go to the
 * current one, and preempt a task that is worse there. Their slices are short, so that they are reassessed soon. A
 * task's score, and with its nice value its level, comes from its voluntary sleep: by default from the ratio of
 * sleeping (s) and running (r) over a bounded past: 50 x r/s if it slept more, else 50 + 50 x (1 - s/r), and below 30
 * it is interactive. A child inherits a bounded part of its parent's past, and goes to the least loaded CPU. Tasks
 * stay on their CPU, but CPUs without work steal, and twice a second half of the difference moves from the most to
 * the least loaded CPU. Tasks under SCHED_IDLE have a queue of their own, which is served when the two are empty.
 *
 * With --set posted=1 it is what was posted in January 2003: sleep is saved up, running spends it, and the savings
 * are the score. A child inherits all of it. Tasks are placed only when they are forked, on the first CPU: the function
 * for it looked for a CPU with a load below zero (sched_pickcpu() in sched_ule.c as committed three days after the posting, where
 * its call is commented out). The numbers are that file's: 2 s of sleep at most; with more than 250 ms a task goes to the current
 * queue, else it keeps the one it has; each slice that is granted halves them (halve=0: not, as the posting's own words on the drift
 * want it); a slice is 10 to 100 ms by the sleep and the level. Each fix can be left out alone: ratio=0, place=0,
 * steal=0, push=0, patience=0.
 *
 * Source. Roberson, 'New scheduler', arch@freebsd.org, 23 January 2003; the ratio, stealing and the push from his 'ULE: A
 * Modern Scheduler for FreeBSD', BSDCon 2003. Ours, since the posting leaves them open: slices of 10 to 100 ms, evenly
 * from nice 19 to -20; the past is 5 s long, a fifth of which is forgotten when it is full, and sleep is saved up to
 * as much; a child inherits 0.1 s of it; the score makes 44 levels, two nice values one; on equal load a child stays
 * with its parent; idle CPUs notice a waiting task at once; a preempted task keeps its place and its slice; a
 * round that takes longer than 100 ms for each task that is not interactive lets no more tasks into the current queue; the idle queue
 * gets a slice of 10 ms every 5 s in any case, since kernels end a scheduler that lets a task wait for 30 s.
 *
 * Weaknesses. As posted: all CPUs but the first idle; a task that sleeps a tick longer than it runs drifts to the top, and may then run for seconds
 * while others wait; interactive tasks may fill a CPU, and tasks in the next queue starve; CPUs idle beside others
 * at which tasks wait. In any case: with many hogs a round is long, and a task wrongly taken for a hog waits for all of
 * it. A fork, a steal and a push look at every CPU; none knows caches or nodes. The push ignores nice values.
 * It passes over 16 tasks at most that may not move. There is no real-time class: hints are not read.
 *
 * Read on in include/ule: types, score, queues, balance, hotplug.
 */
#include "ule/hotplug.h"

LICENSE;

#define SCHED_IDLE_POLICY 5

/* Why the scheduler ended, for user space. */
struct exit_record exit_record;

/* Takes a task off whichever queue it waits in. */
static __noinline u32 leave_queue(u32 number)
{
	struct slot *s = slot_at(number);
	u32 where = s->where;
	struct bpf_spin_lock *lock;

	if (where == NOWHERE)
		return 0;
	lock = lock_of(where - IN_RUNQUEUE);
	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	if (s->where == where)
		unlink(runqueue_at(where - IN_RUNQUEUE), number);
	bpf_spin_unlock(lock);
	return 0;
}

/* Selects a CPU for a child. Any other task stays where it was. */
CALLBACK(s32, ule_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 number = slot_of(p);

	if (!slot_at(number)->is_new)
		return prev_cpu;
	return cpu_for_child(number, bpf_get_smp_processor_id());
}

/* Adds a task's sleep to its history when it wakes. */
static __always_inline void wake(struct slot *s, u64 now)
{
	if (s->asleep_since && now > s->asleep_since)
		add_sleep(s, now - s->asleep_since);
	s->asleep_since = 0;
}

CALLBACK(void, ule_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	u32 cpu = scx_bpf_task_cpu(p);
	struct runqueue *rq = runqueue_at(cpu);
	struct bpf_spin_lock *lock = lock_of(cpu);
	bool wakes = enq_flags & SCX_ENQ_WAKEUP;
	bool comes = wakes || s->is_new;
	bool stops;
	u64 now = scx_bpf_now();

	if (number == NOBODY || !lock || is_bound_kthread(p)) {
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags | (wakes ? SCX_ENQ_PREEMPT : 0));
		return;
	}
	leave_queue(number);
	if (wakes)
		wake(s, now);
	if (comes)
		come(s);

	bpf_spin_lock(lock);
	link(cpu, number, comes && !s->keeps_queue ? queue_for(rq, s, now) : s->queue, comes || s->is_over, now);
	stops = comes && gives_way(rq, s);
	bpf_spin_unlock(lock);
	if (stops)
		kick(cpu, SCX_KICK_PREEMPT);
	/* The kernel itself wakes an idle CPU that a task is queued to. */
	if (rq->curr != NOBODY || rq->nr_waiting > 1)
		tell_idle(p->cpus_ptr);
}

/* Returns the next task of this CPU's own queues, or `before`. */
static __always_inline u32 take_next(u32 cpu, u32 before)
{
	struct bpf_spin_lock *lock = lock_of(cpu);
	u64 now = scx_bpf_now();
	u32 number;

	if (!lock)
		return before;
	bpf_spin_lock(lock);
	number = pick(runqueue_at(cpu), cpu, before, now);
	bpf_spin_unlock(lock);
	return number;
}

/* Returns the task that `cpu` runs next. */
static __always_inline u32 choose(u32 cpu, u32 before)
{
	u32 number = take_next(cpu, before);

	return number != NOBODY ? number : steal_one(cpu);
}

/* A used-up slice ends the turn, and decides the next one's queue: the queues may be exchanged before it gets there. */
static __always_inline void end_turn(struct slot *s, struct task_struct *p, u32 cpu)
{
	charge(s, p);
	if (s->left_ns > 0)
		return;
	begin_turn(s);
	s->queue = queue_for(runqueue_at(cpu), s, scx_bpf_now());
	s->is_over = true;
}

static __always_inline u32 level_of(struct slot *s)
{
	return s->is_idle ? IDLE_LEVEL : s->level;
}

static __always_inline u64 left_of(struct slot *s)
{
	return s->left_ns > 0 ? s->left_ns : 1;
}

CALLBACK(void, ule_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 before = prev && is_queued(prev) ? slot_of(prev) : NOBODY;
	s32 i;

	if (before != NOBODY && prev)
		end_turn(slot_at(before), prev, cpu);
	/* The task we chose may have died, been dequeued, or belong to another CPU. */
	for_range(i, 0, 8) {
		u32 number = choose(cpu, before);
		struct slot *s = slot_at(number);
		bool stays, comes;
		struct task_struct *p;

		if (number == NOBODY) {
			runqueue_at(cpu)->curr = NOBODY;
			return;
		}
		if (number == before && prev) {
			s->is_over = false;
			runqueue_at(cpu)->curr_level = level_of(s);
			set_slice(prev, left_of(s));
			return;
		}
		p = bpf_task_from_pid(s->pid);
		if (!p)
			continue;
		stays = !may_use(number, cpu) || is_leaving_cpu(p);
		comes = insert_on(p, number, cpu, stays, left_of(s)) && !stays;
		bpf_task_release(p);
		if (comes)
			return;
	}
}

CALLBACK(void, ule_running, struct task_struct *p)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	struct runqueue *here = runqueue_at(bpf_get_smp_processor_id());

	/* One of the kernel's own paths has picked the task. */
	if (s->where != NOWHERE)
		leave_queue(number);
	here->curr = number;
	here->curr_level = level_of(s);
}

CALLBACK(void, ule_stopping, struct task_struct *p, bool runnable)
{
	struct slot *s = slot_at(slot_of(p));

	charge(s, p);
	if (runnable)
		return;
	s->asleep_since = scx_bpf_now();
	/* sched_sleep() */
	s->keeps_queue = posted && !s->is_idle && slept_ticks(s) <= POSTED_CURRENT_TICKS;
}

CALLBACK(void, ule_tick, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct slot *s = slot_at(slot_of(p));

	end_turn(s, p, cpu);
	if (s->is_over)
		set_slice(p, 0);
	balance_tick(p, cpu, scx_bpf_now());
}

CALLBACK(void, ule_update_idle, s32 cpu, bool idle)
{
	if (idle)
		runqueue_at(cpu)->curr = NOBODY;
}

/* Treats a task that yields as if it had used up its slice. */
CALLBACK(bool, ule_yield, struct task_struct *from, struct task_struct *to)
{
	struct slot *s = slot_at(slot_of(from));

	charge(s, from);
	s->left_ns = 0;
	set_slice(from, 0);
	return false;
}

/* Copies what the kernel reports about a task's policy and nice value. */
static __always_inline void copy_policy(struct slot *s, const struct task_struct *p)
{
	s->nice = nice_of(p);
	s->is_idle = p->policy == SCHED_IDLE_POLICY || s->nice >= idle_nice;
}

CALLBACK(void, ule_set_weight, struct task_struct *p, u32 weight)
{
	struct slot *s = slot_at(slot_of(p));

	copy_policy(s, p);
	/* A waiting task keeps its place until it is queued again. */
	if (s->where == NOWHERE)
		rate(s);
}

CALLBACK(void, ule_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	u32 number = slot_of(p);

	slot_at(number)->everywhere = copy_cpus(number, p);
}

CALLBACK(s32, ule_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 number = take_slot(p);
	struct slot *s = slot_at(number);

	if (number == NOBODY)
		return -NO_ROOM_ERRNO;
	s->pid = p->pid;
	s->everywhere = copy_cpus(number, p);
	s->ran_ns = p->se.sum_exec_runtime;
	copy_policy(s, p);
	if (args->fork) {
		u32 parent = slot_of(bpf_get_current_task_btf());

		s->is_new = true;
		if (parent != NOBODY)
			inherit(s, slot_at(parent));
	}
	come(s);
	return 0;
}

CALLBACK(void, ule_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 number = own_slot_of(p), parent = slot_of(p->real_parent);

	leave_queue(number);
	/* sched_exit(): a child that ends replaces its parent's past by its own. */
	if (posted && number != NOBODY && parent != NOBODY)
		slot_at(parent)->slept = slot_at(number)->slept;
	give_slot(p);
}

CALLBACK(void, ule_disable, struct task_struct *p)
{
	leave_queue(own_slot_of(p));
}

SLEEPABLE(void, ule_cpu_online, s32 cpu)
{
	runqueue_at(cpu)->offline = false;
}

SLEEPABLE(void, ule_cpu_offline, s32 cpu)
{
	cpus_leave = true;
	leave_cpu(cpu);
}

SLEEPABLE(s32, ule_init)
{
	return count_cpus();
}

CALLBACK(void, ule_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(ule_ops,
	  .select_cpu = (void *)ule_select_cpu,
	  .enqueue = (void *)ule_enqueue,
	  .dispatch = (void *)ule_dispatch,
	  .running = (void *)ule_running,
	  .stopping = (void *)ule_stopping,
	  .tick = (void *)ule_tick,
	  .update_idle = (void *)ule_update_idle,
	  .yield = (void *)ule_yield,
	  .set_weight = (void *)ule_set_weight,
	  .set_cpumask = (void *)ule_set_cpumask,
	  .init_task = (void *)ule_init_task,
	  .exit_task = (void *)ule_exit_task,
	  .disable = (void *)ule_disable,
	  .cpu_online = (void *)ule_cpu_online,
	  .cpu_offline = (void *)ule_cpu_offline,
	  .init = (void *)ule_init,
	  .exit = (void *)ule_exit,
	  .flags = SCX_OPS_KEEP_BUILTIN_IDLE,
	  .name = "ule");
