// SPDX-License-Identifier: GPL-2.0-only
/*
 * o1: Ingo Molnar's O(1) scheduler, as announced.
 *
 * Policy. Each CPU has a runqueue, a lock, and two priority arrays of 64 levels with a bitmap: active and
 * expired. The first task of the best level runs. When its timeslice has expired it gets a new one at once and
 * goes to the expired array; when no active task is left, the arrays are exchanged. A task's level is its nice
 * value and a bounded penalty for its load of the last 4 x 1 s: hogs sink below tasks that sleep, and still observe
 * each other's nice values. A task that wakes above the running one preempts it. Nice 19 is batch: the last level, and long slices in turn where only batch tasks wait. A child runs before its parent, on the same CPU, with
 * half of its timeslice. Tasks stay on their CPU; a balancer takes them only from CPUs that have more.
 * Hinted real-time tasks wait in one queue for all CPUs, and a broadcast makes every CPU look.
 *
 * Source. Molnar, '[announce] [patch] ultra-scalable O(1) SMP and UP scheduler', linux-kernel, 4 January 2002. Our
 * choices, since the announcement leaves them open: a timeslice is 5 ms for each nice value below 20; batch slices are 400
 * ms; a task without a known parent begins with a timeslice of 10 ms; a yielding task goes to the end of its level. Load,
 * too, follows a rule of our own, similar to that of later versions: a task that hardly uses its CPU stays active when its
 * timeslice expires, unless expired tasks have waited for 100 ms each. With --set announced_load=1 load and penalty are
 * those of the patch, which Libenzi quotes in his reply of that day: all time that a task does not sleep is load.
 *
 * Weaknesses. A wakeup goes to the task's last CPU, however many others are idle; those notice it within a
 * balancing interval (10 ms). With many hogs a round is long: 100 ms for each. The balancer ignores caches
 * and nodes, reads every runqueue, and skips at most 16 tasks that may not move. A task that only just counts
 * as light may still wait for a whole round once. A task that is preempted before much is known of it, among
 * hundreds of light ones, counts as a hog and may wait for ten seconds. With the announced load, waiting is
 * load: a light task that many others keep waiting sinks as they do, and then waits for whole rounds.
 *
 * Read on in include/o1: types, load, arrays, realtime, balance, hotplug.
 */
#include "o1/hotplug.h"

LICENSE;

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
	if (where == IN_REALTIME) {
		bpf_spin_lock(&realtime_lock.lock);
		if (s->where == where)
			unlink_realtime(number);
		bpf_spin_unlock(&realtime_lock.lock);
		return 0;
	}
	lock = lock_at(where - IN_RUNQUEUE);
	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	if (s->where == where)
		unlink(runqueue_at(where - IN_RUNQUEUE), number);
	bpf_spin_unlock(lock);
	return 0;
}

CALLBACK(s32, o1_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct slot *s = slot_at(slot_of(p));
	s32 here = bpf_get_smp_processor_id();

	/* A child stays on its parent's CPU, any other task on its last one. */
	if (s->is_new && child_first && may_use(slot_of(p), here))
		return here;
	return prev_cpu;
}

/* Accounts for a task's sleep when it wakes. */
static __always_inline void wake(struct task_struct *p, u32 number, struct runqueue *rq)
{
	struct slot *s = slot_at(number);
	u64 now = scx_bpf_now();

	s->rt = hint_of(p);
	if (s->left_ns <= 0) {
		expire(number, rq, now);
	} else {
		update_load(number, now);
		s->level = level_of(s, now);
	}
	begin_waiting(s, now);
}

/* Makes `cpu` reschedule, if the task that was queued there must run at once. */
static __always_inline void preempt(u32 number, u32 cpu)
{
	struct runqueue *there = runqueue_at(cpu);

	/* The kernel itself wakes an idle CPU that a task is queued to. */
	if (there->curr == NOBODY)
		return;
	if (!there->curr_realtime && slot_at(number)->level < there->curr_level)
		kick(cpu, SCX_KICK_PREEMPT);
	else if (global_queue)
		tell_idle(cpu, 1);
}

/* A child runs first: its parent, which runs here, goes behind it and gives way. */
static __always_inline bool goes_first(struct slot *s, u32 cpu)
{
	struct runqueue *here = runqueue_at(cpu);

	if (!child_first || cpu != bpf_get_smp_processor_id() || here->curr == NOBODY)
		return false;
	if (here->curr_realtime || s->level > here->curr_level)
		return false;
	slot_at(here->curr)->behind = true;
	return true;
}

CALLBACK(void, o1_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	u32 cpu = scx_bpf_task_cpu(p);
	u32 queue = queue_of(cpu);
	struct runqueue *rq = runqueue_at(queue);
	struct bpf_spin_lock *lock = lock_at(queue);
	bool wakes = enq_flags & SCX_ENQ_WAKEUP;
	bool is_new = s->is_new;
	bool at_end = wakes || is_new || s->goes_last;
	bool first = false;

	if (number == NOBODY || !lock || is_bound_kthread(p)) {
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags | (wakes ? SCX_ENQ_PREEMPT : 0));
		return;
	}
	leave_queue(number);
	s->is_new = false;
	if (wakes)
		wake(p, number, rq);
	else if (is_new)
		begin_waiting(s, scx_bpf_now());
	if (s->rt.policy) {
		enqueue_realtime(number, at_end);
		return;
	}
	if (is_new)
		first = goes_first(s, cpu);

	bpf_spin_lock(lock);
	link(rq, queue, number, s->expired ? s->array : rq->active, at_end && !first);
	bpf_spin_unlock(lock);
	if (first)
		kick(cpu, SCX_KICK_PREEMPT);
	else if (wakes || is_new)
		preempt(number, cpu);
}

/* Returns the next task of this CPU's own arrays, or `before`. */
static __always_inline u32 take_next(u32 cpu, u32 before)
{
	u32 queue = queue_of(cpu);
	struct bpf_spin_lock *lock = lock_at(queue);
	u32 number;

	if (!lock)
		return before;
	bpf_spin_lock(lock);
	number = pick(runqueue_at(queue), cpu, before);
	bpf_spin_unlock(lock);
	return number;
}

/* Returns the task that `cpu` runs next. */
static __always_inline u32 choose(u32 cpu, u32 before)
{
	u32 number = NOBODY;

	if (realtime_waits())
		number = take_realtime(cpu, before);
	if (number != NOBODY)
		return number;
	if (before && slot_at(before)->rt.policy)
		return before;
	number = take_next(cpu, before);
	if (number != NOBODY)
		return number;
	number = balance_idle(cpu);
	if (number != NOBODY) {
		slot_at(number)->array = runqueue_at(queue_of(cpu))->active;
		slot_at(number)->expired = false;
	}
	return number;
}

static __always_inline u64 slice_of(struct slot *s)
{
	if (s->rt.policy == HINT_FIFO)
		return SCX_SLICE_INF;
	return s->left_ns > 0 ? s->left_ns : 1;
}

/* Ends the turn of a round-robin task. */
static __always_inline void end_turn(struct slot *s)
{
	s->left_ns = ROUND_ROBIN_NS;
	s->behind = true;
	s->goes_last = true;
}

static __always_inline void end_timeslice(struct task_struct *p, u32 number, u32 cpu)
{
	struct slot *s = slot_at(number);

	charge(s, p);
	if (s->left_ns > 0 || s->rt.policy == HINT_FIFO)
		return;
	if (s->rt.policy == HINT_RR)
		end_turn(s);
	else
		expire(number, runqueue_at(queue_of(cpu)), scx_bpf_now());
}

static __always_inline void keep(struct task_struct *p, struct slot *s)
{
	settle(s);
	set_slice(p, slice_of(s));
}

CALLBACK(void, o1_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 before = prev && is_queued(prev) ? slot_of(prev) : NOBODY;
	s32 i;

	if (before != NOBODY && prev)
		end_timeslice(prev, before, cpu);
	/* The task we chose may have died, been dequeued, or belong to another CPU. */
	for_range(i, 0, 8) {
		u32 number = choose(cpu, before);
		struct slot *s = slot_at(number);
		struct task_struct *p;
		bool stays, comes;

		if (number == NOBODY) {
			runqueue_at(cpu)->curr = NOBODY;
			return;
		}
		if (number == before && prev) {
			keep(prev, s);
			return;
		}
		p = bpf_task_from_pid(s->pid);
		if (!p)
			continue;
		stays = !may_use(number, cpu) || is_leaving_cpu(p);
		comes = insert_on(p, number, cpu, stays, slice_of(s)) && !stays;
		bpf_task_release(p);
		if (comes)
			return;
	}
}

CALLBACK(void, o1_running, struct task_struct *p)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	struct runqueue *here = runqueue_at(bpf_get_smp_processor_id());

	/* One of the kernel's own paths has picked the task. */
	if (s->where != NOWHERE)
		leave_queue(number);
	here->curr = number;
	here->curr_level = s->level;
	here->curr_realtime = realtime_rank(s);
	if (!s->busy_since)
		s->busy_since = scx_bpf_now();
	/* Nothing could be known about the task before. */
	if (!s->born)
		s->born = s->busy_since;
}

CALLBACK(void, o1_stopping, struct task_struct *p, bool runnable)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);

	charge(s, p);
	if (runnable)
		return;
	update_load(number, scx_bpf_now());
	s->busy_since = 0;
}

CALLBACK(void, o1_tick, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	u32 number = slot_of(p);

	end_timeslice(p, number, cpu);
	if (slot_at(number)->goes_last)
		set_slice(p, 0);
	balance_tick(cpu, scx_bpf_now());
}

CALLBACK(void, o1_update_idle, s32 cpu, bool idle)
{
	if (idle)
		runqueue_at(cpu)->curr = NOBODY;
}

CALLBACK(bool, o1_yield, struct task_struct *from, struct task_struct *to)
{
	struct slot *s = slot_at(slot_of(from));

	s->behind = true;
	s->goes_last = true;
	set_slice(from, 0);
	return false;
}

CALLBACK(void, o1_set_weight, struct task_struct *p, u32 weight)
{
	struct slot *s = slot_at(slot_of(p));
	s32 nice = nice_of(p);

	if (nice == s->nice)
		return;
	s->nice = nice;
	/* A waiting task keeps its place until it is queued again. */
	if (s->where == NOWHERE && !s->rt.policy)
		s->level = level_of(s, scx_bpf_now());
}

CALLBACK(void, o1_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	u32 number = slot_of(p);

	slot_at(number)->everywhere = copy_cpus(number, p);
}

/* A child begins with its own load and half of its parent's remaining time; by our rule with its parent's penalty. */
static __always_inline void inherit(struct slot *s, struct slot *parent)
{
	if (!announced_load && !parent->rt.policy && parent->nice != BATCH_NICE && s->nice != BATCH_NICE)
		s->level += parent->level - best_level_of(parent);
	s->left_ns = (parent->left_ns >> 1) + 1;
	s->borrowed = true;
	parent->left_ns >>= 1;
}

CALLBACK(s32, o1_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 number = take_slot(p);
	struct slot *s = slot_at(number);

	if (number == NOBODY)
		return -NO_ROOM_ERRNO;
	s->pid = p->pid;
	s->nice = nice_of(p);
	s->everywhere = copy_cpus(number, p);
	s->ran_ns = p->se.sum_exec_runtime;
	s->interval = scx_bpf_now() / interval_ns();
	s->level = best_level_of(s);
	s->left_ns = first_slice_ns;
	if (args->fork) {
		struct task_struct *current = bpf_get_current_task_btf();
		u32 parent = slot_of(current);

		inherit_hint(p, current);
		s->is_new = true;
		if (parent != NOBODY)
			inherit(s, slot_at(parent));
	}
	s->rt = hint_of(p);
	return 0;
}

/*
 * What is left of the dead task's share of its parent's timeslice goes back. Its own timeslice doesn't:
 * a task that forks endlessly would never use up its slice, and expired tasks would wait forever.
 */
CALLBACK(void, o1_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 number = own_slot_of(p);
	u32 parent = slot_of(p->real_parent);

	if (number == NOBODY)
		return;
	leave_queue(number);
	if (parent != NOBODY && slot_at(number)->borrowed && slot_at(number)->left_ns > 0)
		slot_at(parent)->left_ns += slot_at(number)->left_ns;
	give_slot(p);
}

CALLBACK(void, o1_disable, struct task_struct *p)
{
	leave_queue(own_slot_of(p));
}

SLEEPABLE(void, o1_cpu_online, s32 cpu)
{
	runqueue_at(cpu)->offline = false;
}

SLEEPABLE(void, o1_cpu_offline, s32 cpu)
{
	cpus_leave = true;
	leave_cpu(cpu);
}

SLEEPABLE(s32, o1_init)
{
	return count_cpus();
}

CALLBACK(void, o1_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(o1_ops,
	  .select_cpu = (void *)o1_select_cpu,
	  .enqueue = (void *)o1_enqueue,
	  .dispatch = (void *)o1_dispatch,
	  .running = (void *)o1_running,
	  .stopping = (void *)o1_stopping,
	  .tick = (void *)o1_tick,
	  .update_idle = (void *)o1_update_idle,
	  .yield = (void *)o1_yield,
	  .set_weight = (void *)o1_set_weight,
	  .set_cpumask = (void *)o1_set_cpumask,
	  .init_task = (void *)o1_init_task,
	  .exit_task = (void *)o1_exit_task,
	  .disable = (void *)o1_disable,
	  .cpu_online = (void *)o1_cpu_online,
	  .cpu_offline = (void *)o1_cpu_offline,
	  .init = (void *)o1_init,
	  .exit = (void *)o1_exit,
	  .name = "o1");
