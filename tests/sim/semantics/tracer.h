/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler that logs every callback, and does what its variables select, so that a
 * test can provoke one of the kernel's rules and check how the kernel kept it. Files that include
 * this omit callbacks or set flags, which variables can't.
 *
 * A line of the log: the callback, the task's pid (0 for no task), the CPU, and a value in hex.
 */
#include "keel.h"

LICENSE;

#define LOG_PID(op, pid, value) bpf_printk(op " %d %d %llx", pid, bpf_get_smp_processor_id(), (u64)(value))
#define LOG(op, p, value) LOG_PID(op, (p)->pid, value)

#define OWN_DSQ 1
#define OTHER_DSQ 2
/* No queue, no CPU. */
#define NONE 0
#define NOWHERE (-1)

/* The task to treat specially; 0 for every task. The others go through OWN_DSQ. */
const volatile s32 only_pid = 0;
const volatile u64 slice_ns = 5000000;

/* ops.select_cpu: this CPU, or the default choice; and an insert into this queue. */
const volatile bool select_default = true;
const volatile s32 select_this = NOWHERE;
const volatile u64 select_dsq = NONE;
const volatile u64 select_flags = 0;
const volatile bool select_twice = false;
/* Also calls scx_bpf_select_cpu_dfl() from ops.enqueue. */
const volatile bool enqueue_selects = false;
const volatile s32 select_prev = NOWHERE;

/* ops.enqueue: into this queue, or held by the BPF program. */
const volatile u64 enqueue_dsq = OWN_DSQ;
const volatile u64 enqueue_flags = 0;
const volatile bool enqueue_by_vtime = false;
const volatile u64 first_vtime = 0;
const volatile s64 vtime_step = 0;
const volatile s32 enqueue_inserts_pid = 0;
const volatile s32 enqueue_local_pid = 0;
const volatile bool enqueue_twice = false;
const volatile s32 enqueue_kicks = NOWHERE;
const volatile s32 kicks_too = NOWHERE;
const volatile u64 kick_flags = 0;
const volatile u32 kick_times = 1;
const volatile bool fifo_once = false;
/* After this many times, tasks that are enqueued again go to OWN_DSQ. */
const volatile u32 again_to_own = 0;
static u32 times_again;
/* Requests them back when a higher class takes the CPU. */
const volatile bool release_reenqueues = false;
/* The same with the function that 7.2 replaced, which may be called only there. */
const volatile bool release_reenqueues_as_before = false;
/* Requests the local queue's tasks back. Those that come back go to OWN_DSQ. */
const volatile bool reenqueues = false;
/* From ops.tick: requests this queue's tasks back. */
const volatile u64 tick_reenqueues = NONE;
const volatile u64 tick_reenqueue_flags = 0;

/* ops.dispatch: moves from OWN_DSQ, else from the BPF program to this queue, this many times. */
const volatile bool dispatch_moves = true;
const volatile u64 dispatch_dsq = 0x8000000000000002ULL;
const volatile u32 dispatch_times = 1;
const volatile u32 dispatch_cancels = 0;
const volatile u64 dispatch_prev_dsq = NONE;
const volatile s32 dispatch_only_on = NOWHERE;
const volatile bool dispatch_iterates = false;
const volatile u64 move_dsq = NONE;
const volatile u64 move_slice = 0;
const volatile bool move_twice = false;
const volatile u64 peek_dsq = NONE;
const volatile u64 count_dsq = NONE;
const volatile u64 consume_dsq = NONE;

/* The rest. */
const volatile u32 tick_zeroes_after = 0;
const volatile u64 stopping_slice = 0;
const volatile bool enqueue_zeroes = false;
const volatile bool yield_keeps = false;
const volatile s32 init_answer = 0;
const volatile s32 init_task_answer = 0;
const volatile s32 init_task_fails_pid = 0;
/* The same for a task that existed before. */
const volatile s32 init_task_fails_unforked_pid = 0;
/* Tasks that it keeps out of SCHED_EXT: at any time, or if the task existed before. */
const volatile s32 disallow_pid = 0;
const volatile s32 disallow_unforked_pid = 0;
const volatile bool picks_idle = false;
const volatile u32 ends_at_enqueue = 0;
const volatile u32 ends_by = 0;

/* ops.running of one task, and ops.exit_task of another, take so long. */
const volatile s32 runs_slowly_pid = 0;
const volatile s32 exits_slowly_pid = 0;
const volatile u64 slowly_ns = 0;

/* What files that include this log in addition. */
#ifndef MORE_CALLBACKS
#define MORE_CALLBACKS
#define SAY_GROUP(p)
#define SAY_BIRTH(p, args)
#endif
#ifndef SAY_PLUGGED
#define SAY_PLUGGED(cpu)
#endif

static u32 nr_enqueued;
static u32 nr_ticks;
static u64 next_vtime;
static bool was_fifo;

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1024);
	__type(value, s32);
} hands SEC(".maps");

/* Takes this long, in steps during which other CPUs go on. */
static __always_inline void spend(u64 ns)
{
	u64 start = bpf_ktime_get_ns();
	s32 i;

	for_range(i, 0, 1000000)
		if (bpf_ktime_get_ns() - start >= ns)
			break;
}

static __always_inline bool is_special(struct task_struct *p)
{
	return !only_pid || p->pid == only_pid;
}

#ifdef WITH_NODE_MASKS
/* Two nodes' masks, of CPUs and of whole cores. */
static __always_inline void log_idle_mask(void)
{
	const struct cpumask *idle;
	s32 node;

	for_range(node, 0, 2) {
		idle = scx_bpf_get_idle_cpumask_node(node);
		LOG_PID("node_cpus", node, idle->bits[0]);
		scx_bpf_put_idle_cpumask(idle);
		idle = scx_bpf_get_idle_smtmask_node(node);
		LOG_PID("node_cores", node, idle->bits[0]);
		scx_bpf_put_idle_cpumask(idle);
	}
	idle = scx_bpf_get_idle_cpumask_node(-1);
	LOG_PID("no_node", 0, idle->bits[0]);
	scx_bpf_put_idle_cpumask(idle);
}
#else
static __always_inline void log_idle_mask(void)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();

	LOG_PID("idle_mask", 0, idle->bits[0]);
	scx_bpf_put_idle_cpumask(idle);
#ifdef WITH_SMT_MASK
	idle = scx_bpf_get_idle_smtmask();
	LOG_PID("smt_mask", 0, idle->bits[0]);
	scx_bpf_put_idle_cpumask(idle);
	idle = scx_bpf_get_idle_cpumask();
	LOG_PID("idle_then", 0, idle->bits[0]);
	scx_bpf_put_idle_cpumask(idle);
#endif
}
#endif

#ifndef WITHOUT_SELECT_CPU
CALLBACK(s32, tracer_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = prev_cpu;

	LOG("select_cpu", p, wake_flags);
	LOG("prev_cpu", p, prev_cpu);
	LOG("on_cpu", p, scx_bpf_task_running(p));
	if (select_this != NOWHERE && is_special(p))
		cpu = select_this;
	else if (select_default)
		cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	LOG("selected", p, is_idle);
	if (select_dsq != NONE && is_special(p)) {
		insert(p, select_dsq, slice_ns, select_flags);
		if (select_twice)
			insert(p, select_dsq, slice_ns, select_flags);
	}
	return cpu;
}
#endif

static __always_inline void enqueue_special(struct task_struct *p, u64 enq_flags)
{
	u64 flags = enq_flags | enqueue_flags;

	if (p->pid == enqueue_local_pid) {
		insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
		return;
	}
	if (enqueue_inserts_pid) {
		struct task_struct *other = bpf_task_from_pid(enqueue_inserts_pid);

		if (other) {
			insert(other, enqueue_dsq, slice_ns, flags);
			bpf_task_release(other);
		}
		return;
	}
	if (enqueue_dsq == NONE) {
		s32 pid = p->pid;

		bpf_map_push_elem(&hands, &pid, 0);
	} else if (enqueue_by_vtime && !(fifo_once && !was_fifo)) {
		next_vtime += vtime_step;
		insert_vtime(p, enqueue_dsq, slice_ns, first_vtime + next_vtime, flags);
	} else {
		was_fifo = true;
		insert(p, enqueue_dsq, slice_ns, flags);
		if (enqueue_twice)
			insert(p, enqueue_dsq, slice_ns, flags);
	}
}

#ifndef WITHOUT_ENQUEUE
CALLBACK(void, tracer_enqueue, struct task_struct *p, u64 enq_flags)
{
	bool goes_home = false;
	s32 i;

	LOG("enqueue", p, enq_flags);
	LOG("slice", p, p->scx.slice);
	if (enq_flags & SCX_ENQ_REENQ)
		LOG("why_again", p, p->scx.flags & SCX_TASK_REENQ_REASON_MASK);
#ifdef WITH_TASK_FIELDS
	LOG("flags", p, p->flags);
	LOG("has_mm", p, p->mm != 0);
	LOG("disabled", p, p->migration_disabled);
	LOG("cpus", p, p->cpus_ptr->bits[0]);
	LOG("nr_cpus", p, p->nr_cpus_allowed);
#endif
	if (++nr_enqueued == ends_at_enqueue) {
		if (ends_by == 1)
			scheduler_error("the end of %d", p->pid);
		if (ends_by == 2)
			scheduler_exit(42, "the end of %d", p->pid);
		if (ends_by == 3) {
			scheduler_error("first");
			scheduler_exit(7, "second");
		}
		if (ends_by == 4)
			scheduler_exit(1ULL << 48 | 9, "once more after %d", p->pid);
	}
	if (picks_idle) {
		s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

		LOG("picked", p, cpu);
	}
	if (enqueue_selects) {
		bool is_idle = false;
		s32 prev = select_prev == NOWHERE ? scx_bpf_task_cpu(p) : select_prev;
		s32 cpu = scx_bpf_select_cpu_dfl(p, prev, 0, &is_idle);

		LOG("selected_by_kfunc", p, cpu);
		LOG("was_idle", p, is_idle);
	}
	if (again_to_own && enq_flags & SCX_ENQ_REENQ)
		goes_home = ++times_again >= again_to_own;
	if (is_special(p) && !(reenqueues && enq_flags & SCX_ENQ_REENQ) && !goes_home)
		enqueue_special(p, enq_flags);
	else
		insert(p, OWN_DSQ, slice_ns, enq_flags);
	if (reenqueues && is_special(p) && !(enq_flags & SCX_ENQ_REENQ))
		scx_bpf_reenqueue_local___v2___compat();
	if (enqueue_zeroes)
		set_slice(p, 0);
	if (enqueue_kicks != NOWHERE && is_special(p))
		for_range(i, 0, kick_times)
			scx_bpf_kick_cpu(enqueue_kicks, kick_flags);
	if (kicks_too != NOWHERE && is_special(p))
		scx_bpf_kick_cpu(kicks_too, kick_flags);
}

CALLBACK(void, tracer_dequeue, struct task_struct *p, u64 deq_flags)
{
	LOG("dequeue", p, deq_flags);
}
#endif

static __always_inline void dispatch_from_hands(void)
{
	struct task_struct *p;
	s32 pid, i;

	if (bpf_map_pop_elem(&hands, &pid))
		return;
	p = bpf_task_from_pid(pid);
	if (!p)
		return;
	for_range(i, 0, dispatch_times)
		insert(p, dispatch_dsq, slice_ns, 0);
	LOG("slots", p, scx_bpf_dispatch_nr_slots());
	for_range(i, 0, dispatch_cancels)
		scx_bpf_dispatch_cancel();
	bpf_task_release(p);
}

static __always_inline void dispatch_by_iteration(void)
{
	struct task_struct *p;

	for_each_queued(it, p, OWN_DSQ, 0) {
		LOG("sees", p, 0);
		if (move_dsq == NONE)
			continue;
		if (move_slice)
			scx_bpf_dsq_move_set_slice(&it, move_slice);
		LOG("moved", p, scx_bpf_dsq_move(&it, p, move_dsq, 0));
		if (move_twice)
			LOG("moved_again", p, scx_bpf_dsq_move(&it, p, move_dsq, 0));
	}
}

#ifndef WITHOUT_DISPATCH
CALLBACK(void, tracer_dispatch, s32 cpu, struct task_struct *prev)
{
	LOG_PID("dispatch", prev ? prev->pid : 0, prev ? prev->scx.flags & 1 : 0);
	if (dispatch_only_on != NOWHERE && cpu != dispatch_only_on)
		return;
	if (peek_dsq != NONE)
		scx_bpf_dsq_peek(peek_dsq);
	if (count_dsq != NONE)
		LOG_PID("count", 0, (s64)scx_bpf_dsq_nr_queued(count_dsq));
	if (consume_dsq != NONE)
		scx_bpf_dsq_move_to_local(consume_dsq);
	if (prev && dispatch_prev_dsq != NONE && is_special(prev))
		insert(prev, dispatch_prev_dsq, slice_ns, 0);
	if (dispatch_iterates)
		dispatch_by_iteration();
	if (dispatch_moves) {
		bool moved = scx_bpf_dsq_move_to_local(OWN_DSQ);

		LOG_PID("move_to_local", 0, moved);
		if (moved)
			return;
	}
	dispatch_from_hands();
}
#endif

CALLBACK(void, tracer_tick, struct task_struct *p)
{
	LOG("tick", p, p->scx.slice);
	if (tick_reenqueues)
		scx_bpf_dsq_reenq(tick_reenqueues, tick_reenqueue_flags);
	if (tick_zeroes_after && ++nr_ticks >= tick_zeroes_after)
		set_slice(p, 0);
}

CALLBACK(void, tracer_runnable, struct task_struct *p, u64 enq_flags)
{
	LOG("runnable", p, enq_flags);
}

CALLBACK(void, tracer_running, struct task_struct *p)
{
	LOG("running", p, p->scx.slice);
	if (p->pid == runs_slowly_pid)
		spend(slowly_ns);
}

CALLBACK(void, tracer_stopping, struct task_struct *p, bool runnable)
{
	LOG("stopping", p, runnable);
	LOG("left", p, p->scx.slice);
	if (runnable && stopping_slice)
		set_slice(p, stopping_slice);
}

CALLBACK(void, tracer_quiescent, struct task_struct *p, u64 deq_flags)
{
	LOG("quiescent", p, deq_flags);
	SAY_GROUP(p);
}

#ifdef WITH_YIELD
CALLBACK(bool, tracer_yield, struct task_struct *from, struct task_struct *to)
{
	LOG("yield", from, to != 0);
	if (!yield_keeps)
		set_slice(from, 0);
	return false;
}
#endif

CALLBACK(void, tracer_set_weight, struct task_struct *p, u32 weight)
{
	LOG("set_weight", p, weight);
}

CALLBACK(void, tracer_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	LOG("set_cpumask", p, cpumask->bits[0]);
}

#ifndef WITHOUT_UPDATE_IDLE
CALLBACK(void, tracer_update_idle, s32 cpu, bool idle)
{
	LOG_PID("update_idle", 0, idle);
#ifndef WITHOUT_IDLE_MASKS
	log_idle_mask();
#endif
}
#endif

#ifdef WITH_CPU_PREEMPT
CALLBACK(void, tracer_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args)
{
	LOG_PID("cpu_acquire", 0, cpu);
}

extern u32 scx_bpf_reenqueue_local(void) __ksym __weak;

CALLBACK(void, tracer_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	LOG_PID("cpu_release", args->task->pid, args->reason);
	LOG("release_prio", args->task, args->task->prio);
	if (release_reenqueues)
		scx_bpf_reenqueue_local___v2___compat();
	if (release_reenqueues_as_before && scx_bpf_reenqueue_local)
		LOG("gave_back", args->task, scx_bpf_reenqueue_local());
}
#endif

#ifdef WITH_HOTPLUG
static __always_inline void log_online_mask(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();

	LOG_PID("online_mask", 0, online->bits[0]);
	scx_bpf_put_cpumask(online);
}

SLEEPABLE(void, tracer_cpu_online, s32 cpu)
{
	LOG_PID("cpu_online", 0, cpu);
	log_online_mask();
	SAY_PLUGGED(cpu);
}

SLEEPABLE(void, tracer_cpu_offline, s32 cpu)
{
	LOG_PID("cpu_offline", 0, cpu);
	log_online_mask();
	SAY_PLUGGED(cpu);
}
#endif

SLEEPABLE(s32, tracer_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	LOG("init_task", p, args->fork);
	SAY_BIRTH(p, args);
	if (init_task_fails_pid && p->pid == init_task_fails_pid)
		return init_task_answer;
	if (init_task_fails_unforked_pid && !args->fork && p->pid == init_task_fails_unforked_pid)
		return init_task_answer;
	if ((disallow_pid && p->pid == disallow_pid) ||
	    (disallow_unforked_pid && !args->fork && p->pid == disallow_unforked_pid))
		p->scx.disallow = true;
	return 0;
}

CALLBACK(void, tracer_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	LOG("exit_task", p, args->cancelled);
	if (p->pid == exits_slowly_pid)
		spend(slowly_ns);
}

CALLBACK(void, tracer_enable, struct task_struct *p)
{
	LOG("enable", p, p->scx.weight);
}

CALLBACK(void, tracer_disable, struct task_struct *p)
{
	LOG("disable", p, 0);
}

SLEEPABLE(s32, tracer_init)
{
	s32 error = scx_bpf_create_dsq(OWN_DSQ, -1);

	LOG_PID("init", 0, 0);
	if (error)
		return error;
	error = scx_bpf_create_dsq(OTHER_DSQ, -1);
	if (error)
		return error;
#ifndef WITHOUT_IDLE_MASKS
	log_idle_mask();
#endif
	return init_answer;
}

struct exit_record exit_record;

SLEEPABLE(void, tracer_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
	LOG_PID("exit", 0, info->kind);
	LOG_PID("exit_code", 0, info->exit_code);
	bpf_printk("said 0 0 0 %s|%s", exit_record.reason, exit_record.msg);
}

#ifndef OPS_FLAGS
#define OPS_FLAGS SCX_OPS_KEEP_BUILTIN_IDLE
#endif
#ifndef TIMEOUT_MS
#define TIMEOUT_MS 0
#endif
#ifndef MAX_BATCH
#define MAX_BATCH 0
#endif

SCHEDULER(tracer_ops,
#ifndef WITHOUT_SELECT_CPU
	  .select_cpu = (void *)tracer_select_cpu,
#endif
#ifndef WITHOUT_ENQUEUE
	  .enqueue = (void *)tracer_enqueue,
	  .dequeue = (void *)tracer_dequeue,
#endif
#ifndef WITHOUT_DISPATCH
	  .dispatch = (void *)tracer_dispatch,
#endif
	  .tick = (void *)tracer_tick,
	  .runnable = (void *)tracer_runnable,
	  .running = (void *)tracer_running,
	  .stopping = (void *)tracer_stopping,
	  .quiescent = (void *)tracer_quiescent,
#ifdef WITH_YIELD
	  .yield = (void *)tracer_yield,
#endif
	  .set_weight = (void *)tracer_set_weight,
	  .set_cpumask = (void *)tracer_set_cpumask,
#ifndef WITHOUT_UPDATE_IDLE
	  .update_idle = (void *)tracer_update_idle,
#endif
#ifdef WITH_CPU_PREEMPT
	  .cpu_acquire = (void *)tracer_cpu_acquire,
	  .cpu_release = (void *)tracer_cpu_release,
#endif
#ifdef WITH_HOTPLUG
	  .cpu_online = (void *)tracer_cpu_online,
	  .cpu_offline = (void *)tracer_cpu_offline,
#endif
#ifdef HOTPLUG_SEQ
	  .hotplug_seq = HOTPLUG_SEQ,
#endif
	  .init_task = (void *)tracer_init_task,
	  .exit_task = (void *)tracer_exit_task,
	  .enable = (void *)tracer_enable,
	  .disable = (void *)tracer_disable,
	  MORE_CALLBACKS
	  .init = (void *)tracer_init,
	  .exit = (void *)tracer_exit,
	  .dispatch_max_batch = MAX_BATCH,
	  .flags = OPS_FLAGS,
	  .timeout_ms = TIMEOUT_MS,
	  .name = "tracer");
