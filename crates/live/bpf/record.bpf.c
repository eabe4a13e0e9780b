/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this kernel schedules, as records in one ring buffer per CPU, so that no CPU waits
 * for another to write. A record that finds its ring full is counted, and the next one that
 * fits reports how many were lost before it. The reader polls now and then, to disturb what
 * it watches as little as possible, and is woken when a quarter of a ring has filled.
 *
 * Tasks are identified by the address of their task_struct, which is the task's own until after
 * its last switch; pids change hands earlier. What is known of a task (its pid, name, nice value,
 * priority, policy and CPUs) is recorded when it is first seen, and again whenever a switch away from
 * it, a wakeup or an exec finds it changed. A switch also records the priority of the next task.
 *
 * crates/live/src/record/raw.rs reads these records.
 *
 * Beside each program stands where the kernel calls it ('runs'), and whether what it does can call it again ('reaches
 * itself'). None runs in NMI. Each is entered once on a CPU at a time: the kernel skips it when it interrupts itself. But
 * that guard ends before the program's RCU section does, and the end of that section may, on its own CPU, ask for a
 * reschedule, queue irq_work, raise RCU's softirq, and for the latter, with interrupts on, wake ksoftirqd. So no program
 * listens to any of these but the last, which comes with interrupts off and so once. docs/reference/recording.md has all as a table.
 */
#include "ring.h"
#include "tasks.h"
#include "kicks.h"
#include "calls.h"
#include "decisions.h"
#include "throttled.h"
#include "pipes.h"

/* Why a task left its CPU; in the order of keel_trace::Why. */
enum {
	WAS_IDLE = 0,
	PREEMPTED = 1,
	YIELDED = 2,
	BLOCKED = 3,
	EXITED = 4,
};

/*
 * Runs: in __schedule(), under the runqueue's lock with interrupts off.
 * Reaches itself: no. It asks for no switch but the one after this one.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	struct known *known;
	u8 why = BLOCKED;

	if (!prev->pid) {
		why = WAS_IDLE;
	} else {
		known = known_of(prev);
		record_task(prev, known, prev->cpus_ptr, BY_EVENT);
		if (is_out_of_quota(prev) || is_out_of_budget(prev))
			tell_throttled(prev, 1);
		if (preempt)
			why = PREEMPTED;
		else if (state & TASK_DEAD)
			why = EXITED;
		else if (!state)
			why = known && known->yields ? YIELDED : PREEMPTED;
		if (known) {
			known->call = IN_UNKNOWN;
			if (why == BLOCKED)
				known->call = known->pipe ? known->pipe : call_of(prev);
			known->has_sent = 0;
		}
	}
	emit(SWITCH, why, bpf_get_smp_processor_id(), id_of(prev), id_of(next), 0, next->prio);
	return 0;
}

/*
 * Here the waker acts; the task becomes runnable a little later, perhaps on another CPU.
 *
 * Runs: wherever a task is woken: under the task's lock with
 * interrupts off, or with preemption off where a task wakes itself.
 * Reaches itself: once at most. Where a task wakes itself, the program's end may wake ksoftirqd, with interrupts off.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct known *known = known_of(p);

	if (known) {
		known->source = source_here();
		known->waker = known->source == BY_SENDER ? id_of(bpf_get_current_task_btf()) : actor();
		known->waker_cpu = bpf_get_smp_processor_id();
		known->woken = 1;
	}
	return 0;
}

/*
 * Runs: as on_waking, mostly under the runqueue's lock, too; or in the interrupt by which the task's CPU takes it over.
 * Reaches itself: once at most, as on_waking.
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	struct known *known = known_of(p);
	u32 cpu = bpf_get_smp_processor_id();
	u64 waker = 0;
	u8 call = IN_UNKNOWN, source = BY_TASK;

	record_task(p, known, p->cpus_ptr, BY_EVENT);
	if (known && known->woken) {
		cpu = known->waker_cpu;
		waker = known->waker;
		known->woken = 0;
		call = known->call;
		source = known->source;
		known->call = IN_UNKNOWN;
	}
	emit(WAKEUP, call, cpu, (u64)p, waker, source, p->thread_info.cpu);
	/* Past its deadline and before its next period. */
	if (is_out_of_budget(p))
		tell_throttled(p, 1);
	else
		tell_own_kick(p->thread_info.cpu);
	return 0;
}

/*
 * Runs: in the parent, under the runqueue's lock with interrupts off.
 * Reaches itself: no. It forks no task.
 */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_fork, struct task_struct *p)
{
	record_task(p, known_of(p), p->cpus_ptr, BY_EVENT);
	emit(FORK, 0, bpf_get_smp_processor_id(), (u64)p, actor(), 0, p->thread_info.cpu);
	return 0;
}

/*
 * Runs: in set_task_cpu(), under the lock of the task or of a runqueue, with interrupts off.
 * Reaches itself: no. It moves no task.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *p, int to)
{
	/* One that sleeps, or wakes just now, is on no runqueue. */
	if (p->on_rq) {
		emit(MIGRATE, 0, bpf_get_smp_processor_id(), (u64)p, 0, p->thread_info.cpu, to);
		tell_own_kick(to);
	}
	return 0;
}

/*
 * A task that waits for a mutex lends its priority to the owner (rt_mutex_setprio()), and takes it back.
 *
 * Runs: under the runqueue's lock with interrupts off.
 * Reaches itself: no. It takes no mutex.
 */
SEC("?tp_btf/sched_pi_setprio")
int BPF_PROG(on_inherit, struct task_struct *p, struct task_struct *from)
{
	struct known *known = known_of(p);
	int prio = p->normal_prio;

	if (from && from->prio < prio)
		prio = from->prio;
	if (!known || !known->is_recorded || known->prio == prio)
		return 0;
	known->prio = prio;
	emit(PRIORITY, 0, bpf_get_smp_processor_id(), (u64)p, 0, 0, prio);
	return 0;
}

/*
 * Runs: in the task, in its system call, with interrupts on.
 * Reaches itself: no. It executes nothing. Another task's may come in between on this CPU; that one is skipped, and
 * recorded at its next switch: so the buffer is not shared.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
	record_task(p, known_of(p), p->cpus_ptr, BY_EXEC);
	return 0;
}

/*
 * Runs: in the task that takes a CPU up or down, in cpuhp/N, or in the stopper with interrupts off.
 * Reaches itself: no. It takes no CPU up or down. Nor does on_stop.
 */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(on_hotplug, unsigned int cpu, int target, int step)
{
	/* From this step on, and until it is undone, the scheduler uses the CPU. */
	int active = bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_ACTIVE);

	if (step == active)
		emit(HOTPLUG, target >= active, bpf_get_smp_processor_id(), 0, 0, 0, cpu);
	return 0;
}

/* An offline CPU records nothing of its last switch, to its idle task. */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(on_stop, unsigned int cpu, int state, int step)
{
	if (step == bpf_core_enum_value(enum cpuhp_state, CPUHP_TEARDOWN_CPU))
		emit(STOPPED, 0, bpf_get_smp_processor_id(), 0, 0, 0, cpu);
	return 0;
}

/*
 * A task that switches away in here gives the CPU up of its own will.
 *
 * Runs: in the task, before it takes the runqueue's lock and, after_yield, after it ran again, with interrupts on.
 * Reaches itself: no. It yields nothing.
 */
SEC("?fentry")
int BPF_PROG(on_yield)
{
	struct known *known = known_of(bpf_get_current_task_btf());

	if (known)
		known->yields = 1;
	return 0;
}

SEC("?fexit")
int BPF_PROG(after_yield)
{
	struct known *known = known_of(bpf_get_current_task_btf());

	if (known)
		known->yields = 0;
	return 0;
}

/*
 * Every task, and what it does: the state from which the records go on.
 *
 * Runs: in keel, as it reads the list, with interrupts on and no lock; a task's RCU section at a time.
 * Reaches itself: no. Only keel reads it.
 */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	u32 room = BY_SNAPSHOT, bytes = sizes.words * sizeof(u64);
	struct task_record *info = bpf_map_lookup_elem(&task_buffers, &room);
	struct known *known;
	u64 cpus;

	if (!p || !info || bytes > sizeof(info->cpus))
		return 0;
	if ((p->__state & TASK_DEAD) && !p->on_cpu)
		return 0;
	cpus = describe(p, info, p->cpus_ptr, bytes);
	info->head.kind = SNAPSHOT;
	info->head.detail = ASLEEP;
	if (p->on_cpu)
		info->head.detail = RUNNING;
	else if (waits(p))
		info->head.detail = is_out_of_quota(p) || is_out_of_budget(p) ? KEPT_OFF : WAITING;
	if (bpf_seq_write(ctx->meta->seq, info, TASK_RECORD_HEAD + bytes))
		return 0;
	known = known_of(p);
	record_group_of(p, known);
	if (known)
		remember(known, info, cpus);
	return 0;
}

char _license[] SEC("license") = "GPL";
