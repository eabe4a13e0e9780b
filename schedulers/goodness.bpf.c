// SPDX-License-Identifier: GPL-2.0-only
/*
 * goodness: the scheduler of Linux 2.4, whole.
 *
 * Policy. One list of all waiting tasks, and one lock. A CPU that needs a task weighs every one of
 * them (goodness): nothing while its counter is used up, else the counter, 15 more where it ran last
 * on this CPU, 1 more where it shares the memory of the task before, and 20 - nice. The counter is
 * a task's time, in ticks of 10 ms; a tick takes one from whoever runs. When nobody whom this CPU may
 * take, nor its own task, weighs anything, every task of the machine, asleep ones too, gets half of
 * what it has left and its nice value's ticks anew. Whoever wakes goes to its last CPU if that
 * idles, else to the CPU that has idled longest, else it preempts where it outweighs the running
 * task most. A child halves its parent's counter, and what it leaves goes back. sched_yield() makes a task
 * weigh nothing, once. Hinted real-time tasks weigh 1000 and their priority.
 *
 * Source. kernel/sched.c of Linux 2.4 (HZ 100): schedule(), goodness(), reschedule_idle(),
 * sys_sched_yield(), update_process_times(), do_fork(), release_task(). The lock is taken as often as there:
 * by the switch, and for the task that was put back, which there means reschedule_idle() or, after a
 * yield, a move to the list's end. Tasks that run are not on our list; nobody could take them there either.
 *
 * Weaknesses. A decision costs what all waiting tasks cost, and a recalculation what all tasks
 * cost; every CPU waits for the one lock. Two tasks that wake at once may both be sent to one idle CPU, while
 * the next one idles on. Whoever has used its counter up waits until all others have, so tasks
 * bounce to whichever CPU still finds something. On nohz_full CPUs, where ticks stop, nobody's
 * counter falls.
 */
#include "hints.h"

/* How a task leaves its CPU, if not asleep. */
enum leaving {
	OUTWEIGHED,
	TURN_OVER,
	YIELDING,
};

/* What a decision needs of a task: one cache line. */
struct slot {
	/* The list; both are NOBODY at its ends. */
	u32 next;
	u32 prev;
	s32 pid;
	/* Ticks left. */
	s32 counter;
	s32 nice;
	/* The CPU it ran on last. */
	u32 cpu;
	/* Whose memory it uses; 0 for a kernel thread. */
	u64 mm;
	struct hint rt;
	/* enum leaving. */
	u8 leaving;
	bool linked;
	/* It may use all CPUs. */
	bool everywhere;
	/* It weighs nothing, once. */
	bool weightless;
	/* The CPUs that it may use went offline while it waited. */
	bool homeless;
} __attribute__((aligned(64)));

#include "slots.h"

LICENSE;

#define TICK_NS (10 * MSEC_NS)
#define PROC_CHANGE_PENALTY 15
#define MAX_COUNTER 20
#define REALTIME_WEIGHT 1000
/* Less than any weight: nobody. */
#define NO_WEIGHT (-1000)

/*
 * The squeeze that o1's announcement accuses this scheduler of: counters are made anew only when no running task of
 * any CPU has time left either, and until then CPUs idle. The code of 2.4 looks at waiting tasks alone.
 */
const volatile bool squeeze = false;

/* What every CPU's line tells. */
struct cpu {
	/* Who runs here; NOBODY where it idles. */
	u32 curr;
	/* Whose memory is loaded; an idle CPU keeps it. */
	u64 mm;
	u64 idle_since;
	bool offline;
	/* The last 10 ms that a tick was counted for. */
	u64 tick;
} LINE;

static struct cpu cpus[MAX_CPUS] LINE;

/* runqueue_lock, and what it protects. */
static LOCK(runqueue_lock);
static u32 first LINE;
static u32 last;
static u32 nr_waiting;

/* Why it ended, for user space. */
struct exit_record exit_record;

static __always_inline struct cpu *cpu_at(u32 cpu)
{
	return &cpus[cpu & (MAX_CPUS - 1)];
}

/* NICE_TO_TICKS() at HZ 100: 60 ms at nice 0, 10 ms at 19, 110 ms at -20. */
static __always_inline s32 ticks_of(s32 nice)
{
	return ((20 - nice) >> 2) + 1;
}

static __always_inline s32 goodness(struct slot *s, u32 cpu, u64 mm)
{
	s32 weight;

	if (s->weightless)
		return 0;
	if (s->rt.policy)
		return REALTIME_WEIGHT + s->rt.rt_priority;
	weight = s->counter;
	if (!weight)
		return 0;
	if (s->cpu == cpu)
		weight += PROC_CHANGE_PENALTY;
	if (s->mm == mm || !s->mm)
		weight += 1;
	return weight + 20 - s->nice;
}

static __always_inline bool may_use(u32 number, struct slot *s, u32 cpu)
{
	return s->everywhere || slot_allows(number, cpu);
}

static __always_inline void unlink(u32 number)
{
	struct slot *s = slot_at(number);

	if (s->prev)
		slot_at(s->prev)->next = s->next;
	else
		first = s->next;
	if (s->next)
		slot_at(s->next)->prev = s->prev;
	else
		last = s->prev;
	s->linked = false;
	nr_waiting--;
}

static __always_inline void link(u32 number, bool at_end)
{
	struct slot *s = slot_at(number);

	s->prev = at_end ? last : NOBODY;
	s->next = at_end ? NOBODY : first;
	if (s->prev)
		slot_at(s->prev)->next = number;
	else
		first = number;
	if (s->next)
		slot_at(s->next)->prev = number;
	else
		last = number;
	s->linked = true;
	nr_waiting++;
}

static __always_inline void unlink_if_linked(u32 number)
{
	if (number == NOBODY || !slot_at(number)->linked)
		return;
	bpf_spin_lock(&runqueue_lock.lock);
	if (slot_at(number)->linked)
		unlink(number);
	bpf_spin_unlock(&runqueue_lock.lock);
}

/* Every task's counter anew; without the lock, as there. */
static __noinline u32 recalculate(void)
{
	u32 end = slots_used;
	s32 i;

	for_range(i, 1, end) {
		struct slot *s = slot_at(i);

		s->counter = (s->counter >> 1) + ticks_of(s->nice);
	}
	return 0;
}

struct choice {
	u32 number;
	s32 weight;
};

/*
 * The best of `prev`, if it goes on, and all who wait: among equals `prev`, or, where its turn is over, the
 * first in line. The lock is held.
 */
static __always_inline struct choice best_of_all(u32 prev, u32 cpu, u64 mm)
{
	struct choice best = { NOBODY, NO_WEIGHT };
	bool gives_way = slot_at(prev)->leaving != OUTWEIGHED;
	u32 number = first;
	s32 i;

	if (prev != NOBODY) {
		struct slot *s = slot_at(prev);

		best.number = prev;
		best.weight = goodness(s, cpu, mm);
		s->weightless = false;
	}
	for_range(i, 0, SLOTS) {
		struct slot *s = slot_at(number);

		if (number == NOBODY)
			break;
		if (may_use(number, s, cpu)) {
			s32 weight = goodness(s, cpu, mm);

			if (weight > best.weight || (gives_way && weight == best.weight && best.number == prev)) {
				best.weight = weight;
				best.number = number;
			}
		}
		number = s->next;
	}
	return best;
}

/* Has a task that runs on another CPU time left? */
static __always_inline bool time_left_elsewhere(u32 cpu)
{
	s32 i;

	for_range(i, 0, nr_cpus) {
		u32 curr = cpu_at(i)->curr;

		if (i != cpu && curr != NOBODY && slot_at(curr)->counter)
			return true;
	}
	return false;
}

/* Tells every idle CPU that there are tasks with time again. */
static __always_inline void end_squeeze(void)
{
	s32 i;

	for_range(i, 0, nr_cpus)
		if (cpu_at(i)->curr == NOBODY)
			scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
}

/* schedule(): whom `cpu` runs now; a waiting task is taken off the list. */
static __always_inline u32 choose(u32 cpu, u32 prev)
{
	struct cpu *here = cpu_at(cpu);
	struct choice best;

	bpf_spin_lock(&runqueue_lock.lock);
	best = best_of_all(prev, cpu, here->mm);
	if (best.weight == 0) {
		if (squeeze && time_left_elsewhere(cpu)) {
			here->curr = NOBODY;
			bpf_spin_unlock(&runqueue_lock.lock);
			return NOBODY;
		}
		bpf_spin_unlock(&runqueue_lock.lock);
		recalculate();
		if (squeeze)
			end_squeeze();
		bpf_spin_lock(&runqueue_lock.lock);
		best = best_of_all(prev, cpu, here->mm);
	}
	if (best.number != NOBODY && best.number != prev)
		unlink(best.number);
	here->curr = best.number;
	bpf_spin_unlock(&runqueue_lock.lock);
	return best.number;
}

/* What reschedule_idle() decides: a CPU, and whether it idles. */
struct target {
	s32 cpu;
	bool is_idle;
};

/* reschedule_idle(): where the task, which now waits, should run at once; the lock is held. */
static __always_inline struct target reschedule_idle(u32 number)
{
	struct slot *s = slot_at(number);
	struct target target = { -1, false };
	u64 oldest = ~0ULL;
	s32 most = 0;
	s32 i;

	if (cpu_at(s->cpu)->curr == NOBODY && !cpu_at(s->cpu)->offline && may_use(number, s, s->cpu)) {
		target.cpu = s->cpu;
		target.is_idle = true;
		return target;
	}
	for_range(i, 0, nr_cpus) {
		struct cpu *there = cpu_at(i);
		u32 curr = there->curr;

		if (there->offline || !may_use(number, s, i))
			continue;
		if (curr == NOBODY) {
			if (there->idle_since < oldest) {
				oldest = there->idle_since;
				target.cpu = i;
				target.is_idle = true;
			}
		} else if (!target.is_idle) {
			s32 more = goodness(s, i, there->mm) - goodness(slot_at(curr), i, there->mm);

			if (more > most) {
				most = more;
				target.cpu = i;
			}
		}
	}
	return target;
}

/* Everybody comes through here who is to wait: where it runs is decided in enqueue and dispatch. */
CALLBACK(s32, goodness_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

CALLBACK(void, goodness_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);
	struct target target = { -1, false };
	u8 leaving = s->leaving;

	if (number == NOBODY || is_bound_kthread(p)) {
		u64 preempt = enq_flags & SCX_ENQ_WAKEUP ? SCX_ENQ_PREEMPT : 0;

		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags | preempt);
		return;
	}
	if (enq_flags & SCX_ENQ_WAKEUP)
		s->rt = hint_of(p);
	s->mm = (u64)p->mm;
	s->leaving = OUTWEIGHED;
	s->weightless = false;

	bpf_spin_lock(&runqueue_lock.lock);
	if (s->linked)
		unlink(number);
	link(number, leaving != OUTWEIGHED);
	if (leaving != YIELDING)
		target = reschedule_idle(number);
	bpf_spin_unlock(&runqueue_lock.lock);

	/* The kernel itself tells an idle CPU of a task that comes to it. */
	if (target.cpu < 0 || (target.is_idle && target.cpu == scx_bpf_task_cpu(p)))
		return;
	scx_bpf_kick_cpu(target.cpu, target.is_idle ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

CALLBACK(void, goodness_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 before = prev && is_queued(prev) ? slot_of(prev) : NOBODY;
	s32 i;

	if (before != NOBODY) {
		struct slot *s = slot_at(before);

		if (s->rt.policy == HINT_RR && !s->counter) {
			s->counter = ticks_of(s->nice);
			s->leaving = TURN_OVER;
		}
	}
	/* Whom we chose may have died, or been taken out of our hands, meanwhile. */
	for_range(i, 0, 8) {
		u32 number = choose(cpu, before);
		struct task_struct *p;
		bool is_homeless;

		if (number == NOBODY)
			return;
		if (number == before) {
			slot_at(before)->leaving = OUTWEIGHED;
			set_slice(prev, SCX_SLICE_INF);
			return;
		}
		p = bpf_task_from_pid(slot_at(number)->pid);
		if (!p)
			continue;
		is_homeless = slot_at(number)->homeless;
		insert(p, is_homeless ? SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(p) : SCX_DSQ_LOCAL, SCX_SLICE_INF, 0);
		bpf_task_release(p);
		if (!is_homeless)
			return;
	}
}

CALLBACK(void, goodness_running, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu *here = cpu_at(cpu);
	u32 number = slot_of(p);
	struct slot *s = slot_at(number);

	/* It came by a way of the kernel's own. */
	unlink_if_linked(number);
	here->curr = number;
	if (s->mm)
		here->mm = s->mm;
	s->cpu = cpu;
}

/* Which 10 ms this is for a CPU: they don't tick together. */
static __always_inline u64 tick_of(u32 cpu)
{
	return (scx_bpf_now() + TICK_NS * cpu / MAX_CPUS) / TICK_NS;
}

/* update_process_times(): takes a tick from whoever it hits, and needs no lock for it. */
CALLBACK(void, goodness_tick, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu *here = cpu_at(cpu);
	struct slot *s = slot_at(slot_of(p));
	u64 tick = tick_of(cpu);

	if (tick == here->tick)
		return;
	here->tick = tick;
	if (s->counter > 1) {
		s->counter--;
		return;
	}
	s->counter = 0;
	set_slice(p, 0);
}

CALLBACK(void, goodness_update_idle, s32 cpu, bool idle)
{
	struct cpu *here = cpu_at(cpu);

	here->tick = tick_of(cpu);
	if (idle) {
		here->curr = NOBODY;
		here->idle_since = scx_bpf_now();
	}
}

/* sys_sched_yield(): nothing happens where nobody waits. */
CALLBACK(bool, goodness_yield, struct task_struct *from, struct task_struct *to)
{
	struct slot *s = slot_at(slot_of(from));

	if (!nr_waiting)
		return false;
	s->leaving = YIELDING;
	s->weightless = !s->rt.policy;
	set_slice(from, 0);
	return false;
}

CALLBACK(void, goodness_set_weight, struct task_struct *p, u32 weight)
{
	slot_at(slot_of(p))->nice = nice_of(p);
}

CALLBACK(void, goodness_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	u32 number = slot_of(p);

	slot_at(number)->everywhere = copy_cpus(number, p);
	slot_at(number)->homeless = false;
}

/*
 * Who waits and may use no CPU but this one would wait for ever. Any CPU may take such a task now, and hands it to the
 * CPU that it is still counted at, where the kernel finds it a new home.
 */
SLEEPABLE(void, goodness_cpu_offline, s32 cpu)
{
	u32 number;
	s32 i;

	cpu_at(cpu)->offline = true;
	bpf_spin_lock(&runqueue_lock.lock);
	number = first;
	for_range(i, 0, SLOTS) {
		struct slot *s = slot_at(number);

		if (number == NOBODY)
			break;
		if (!s->everywhere && slot_allows(number, cpu)) {
			s->everywhere = true;
			s->homeless = true;
		}
		number = s->next;
	}
	bpf_spin_unlock(&runqueue_lock.lock);
	for_range(i, 0, nr_cpus)
		if (i != cpu)
			scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
}

SLEEPABLE(void, goodness_cpu_online, s32 cpu)
{
	cpu_at(cpu)->curr = NOBODY;
	cpu_at(cpu)->offline = false;
}

/* do_fork(): parent and child share what the parent has left. */
CALLBACK(s32, goodness_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 number = take_slot(p);
	struct slot *s = slot_at(number);

	if (number == NOBODY)
		return -NO_ROOM_ERRNO;
	s->pid = p->pid;
	s->nice = nice_of(p);
	s->mm = (u64)p->mm;
	s->cpu = scx_bpf_task_cpu(p);
	s->everywhere = copy_cpus(number, p);
	s->counter = ticks_of(s->nice);
	if (args->fork) {
		struct task_struct *current = bpf_get_current_task_btf();
		u32 parent = slot_of(current);

		inherit_hint(p, current);
		if (parent != NOBODY) {
			s->counter = (slot_at(parent)->counter + 1) >> 1;
			slot_at(parent)->counter >>= 1;
		}
	}
	s->rt = hint_of(p);
	return 0;
}

/* release_task(): what the dead task has left is its parent's. */
CALLBACK(void, goodness_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 number = slot_of(p);
	u32 parent = slot_of(p->real_parent);

	unlink_if_linked(number);
	if (parent != NOBODY && number != NOBODY) {
		s32 counter = slot_at(parent)->counter + slot_at(number)->counter;

		slot_at(parent)->counter = counter < MAX_COUNTER ? counter : MAX_COUNTER;
	}
	give_slot(p);
}

CALLBACK(void, goodness_disable, struct task_struct *p)
{
	unlink_if_linked(slot_of(p));
}

SLEEPABLE(s32, goodness_init)
{
	return count_cpus();
}

CALLBACK(void, goodness_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(goodness_ops,
	  .select_cpu = (void *)goodness_select_cpu,
	  .enqueue = (void *)goodness_enqueue,
	  .dispatch = (void *)goodness_dispatch,
	  .running = (void *)goodness_running,
	  .tick = (void *)goodness_tick,
	  .update_idle = (void *)goodness_update_idle,
	  .yield = (void *)goodness_yield,
	  .set_weight = (void *)goodness_set_weight,
	  .set_cpumask = (void *)goodness_set_cpumask,
	  .cpu_online = (void *)goodness_cpu_online,
	  .cpu_offline = (void *)goodness_cpu_offline,
	  .init_task = (void *)goodness_init_task,
	  .exit_task = (void *)goodness_exit_task,
	  .disable = (void *)goodness_disable,
	  .init = (void *)goodness_init,
	  .exit = (void *)goodness_exit,
	  .flags = SCX_OPS_ENQ_LAST,
	  .name = "goodness");
