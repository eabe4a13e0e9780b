/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this kernel schedules, as records in one ring buffer a CPU: so no CPU waits for another to
 * tell. A record that finds its ring full is counted, and the next one that finds room says how
 * many were lost before it. The reader looks by itself now and then, so that it disturbs what it
 * watches as little as can be, and is woken when a quarter of a ring has filled.
 *
 * Tasks are told apart by the address of their task_struct, which is the task's own until after
 * its last switch; pids change hands earlier. What is known of a task (its pid, name, nice value,
 * priority, policy and CPUs) is told when it is first seen, and again whenever a switch away from
 * it, a wakeup or an exec finds it changed. A switch tells the priority of who comes, too.
 *
 * crates/live/src/record/raw.rs reads these records.
 */
#include "records.h"

/* x86's count of what the CPU is in the midst of; other machines keep it elsewhere. */
extern int __preempt_count __ksym __weak;

#define SERVING_SOFTIRQ 0x00000100
#define IN_HARDIRQ_OR_NMI 0x00ff0000

/* Why a task left its CPU; in the order of keel_trace::Why. */
enum {
	WAS_IDLE = 0,
	PREEMPTED = 1,
	YIELDED = 2,
	BLOCKED = 3,
	EXITED = 4,
};

struct event {
	struct head head;
	u64 other;
	u32 from;
	u32 to;
};

const volatile struct {
	/* How many 64-bit words hold the machine's CPUs. */
	u32 words;
	/* The reader is woken whenever two to this power more bytes wait for it in one ring. */
	u32 portion_log2;
} sizes = { 1, 10 };

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* Records that found no room and were not spoken of yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

/* Rooms to write a `struct told` in, one for each context that may interrupt another. */
enum {
	BY_EVENT = 0,
	BY_EXEC = 1,
	BY_SNAPSHOT = 2,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, struct told);
} rooms SEC(".maps");

/* What was told of a task, and who wakes it just now. */
struct known {
	u64 name[2];
	u64 cpus;
	u64 waker;
	u32 pid;
	s32 static_prio;
	s32 prio;
	u32 policy;
	u32 waker_cpu;
	u8 told;
	u8 woken;
	u8 yields;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct known);
} tasks SEC(".maps");

static __always_inline struct known *known_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A task's address; 0 for an idle task. */
static __always_inline u64 id_of(struct task_struct *p)
{
	return p->pid ? (u64)p : 0;
}

static __always_inline void *ring_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/* Whether the `bytes` that are handed in now fill another portion. */
static __always_inline u64 wake_flags(void *ring, u32 bytes)
{
	u64 waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	return (waiting + bytes) >> sizes.portion_log2 > waiting >> sizes.portion_log2 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void emit(u8 kind, u8 detail, u32 cpu, u64 task, u64 other, u32 from, u32 to)
{
	u32 zero = 0;
	u64 *missed = bpf_map_lookup_elem(&lost, &zero);
	void *ring = ring_here();
	struct event *event;
	u64 flags;

	if (!missed || !ring)
		return;
	flags = wake_flags(ring, sizeof(*event));
	event = bpf_ringbuf_reserve(ring, sizeof(*event), 0);
	if (!event) {
		(*missed)++;
		return;
	}
	event->head.at = bpf_ktime_get_ns();
	event->head.task = task;
	event->head.lost = *missed;
	event->head.cpu = cpu;
	event->head.kind = kind;
	event->head.detail = detail;
	event->other = other;
	event->from = from;
	event->to = to;
	*missed = 0;
	bpf_ringbuf_submit(event, flags);
}

/* Writes down what `p` is; gives a number that stands for its CPUs. */
static __always_inline u64 describe(struct task_struct *p, struct told *told, u32 bytes)
{
	u64 sum = 0;
	u32 i;

	write_down(p, told, &p->cpus_mask, bytes);
	for (i = 0; i < MAX_WORDS && i < sizes.words; i++)
		sum = (sum ^ told->cpus[i]) * 0x9e3779b97f4a7c15ULL;
	return sum;
}

static __always_inline void remember(struct known *known, struct told *told, u64 cpus)
{
	known->name[0] = told->name[0];
	known->name[1] = told->name[1];
	known->cpus = cpus;
	known->pid = told->pid;
	known->static_prio = told->static_prio;
	known->prio = told->prio;
	known->policy = told->policy;
	known->told = 1;
}

/* Tells what `p` is, unless it was told so already. */
static __always_inline void tell(struct task_struct *p, struct known *known, u32 room)
{
	struct told *told = bpf_map_lookup_elem(&rooms, &room);
	u32 bytes = sizes.words * sizeof(u64);
	void *ring;
	u64 cpus;

	if (!known || !told || bytes > sizeof(told->cpus))
		return;
	cpus = describe(p, told, bytes);
	if (known->told && known->name[0] == told->name[0] && known->name[1] == told->name[1] &&
	    known->cpus == cpus && known->pid == told->pid && known->static_prio == told->static_prio &&
	    known->prio == told->prio && known->policy == told->policy)
		return;
	told->head.kind = TOLD;
	told->head.detail = known->told ? 0 : TELLS_FIRST_TIME;
	ring = ring_here();
	/* What finds no room is told another time. */
	if (ring && !bpf_ringbuf_output(ring, told, TOLD_HEAD + bytes, wake_flags(ring, TOLD_HEAD + bytes)))
		remember(known, told, cpus);
}

/* Who acts here: no task where an interrupt does. */
static __always_inline u64 actor(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (&__preempt_count) {
		int *count = bpf_this_cpu_ptr(&__preempt_count);

		if (*count & (SERVING_SOFTIRQ | IN_HARDIRQ_OR_NMI))
			return 0;
	}
	return id_of(me);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	struct known *known;
	u8 why = BLOCKED;

	if (!prev->pid) {
		why = WAS_IDLE;
	} else {
		known = known_of(prev);
		tell(prev, known, BY_EVENT);
		if (preempt)
			why = PREEMPTED;
		else if (state & TASK_DEAD)
			why = EXITED;
		else if (!state)
			why = known && known->yields ? YIELDED : PREEMPTED;
	}
	emit(SWITCH, why, bpf_get_smp_processor_id(), id_of(prev), id_of(next), 0, next->prio);
	return 0;
}

/* Here the waker acts; the task becomes runnable a little later, perhaps on another CPU. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct known *known = known_of(p);

	if (known) {
		known->waker = actor();
		known->waker_cpu = bpf_get_smp_processor_id();
		known->woken = 1;
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	struct known *known = known_of(p);
	u32 cpu = bpf_get_smp_processor_id();
	u64 waker = 0;

	tell(p, known, BY_EVENT);
	if (known && known->woken) {
		cpu = known->waker_cpu;
		waker = known->waker;
		known->woken = 0;
	}
	emit(WAKEUP, 0, cpu, (u64)p, waker, 0, p->thread_info.cpu);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_fork, struct task_struct *p)
{
	tell(p, known_of(p), BY_EVENT);
	emit(FORK, 0, bpf_get_smp_processor_id(), (u64)p, actor(), 0, p->thread_info.cpu);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *p, int to)
{
	/* One that sleeps, or wakes just now, is on no runqueue. */
	if (p->on_rq)
		emit(MIGRATE, 0, bpf_get_smp_processor_id(), (u64)p, 0, p->thread_info.cpu, to);
	return 0;
}

/* Who waits for a mutex hands its priority to who has it (rt_mutex_setprio()), and takes it back. */
SEC("?tp_btf/sched_pi_setprio")
int BPF_PROG(on_inherit, struct task_struct *p, struct task_struct *from)
{
	struct known *known = known_of(p);
	int prio = p->normal_prio;

	if (from && from->prio < prio)
		prio = from->prio;
	if (!known || !known->told || known->prio == prio)
		return 0;
	known->prio = prio;
	emit(PRIORITY, 0, bpf_get_smp_processor_id(), (u64)p, 0, 0, prio);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
	tell(p, known_of(p), BY_EXEC);
	return 0;
}

SEC("tp_btf/cpuhp_enter")
int BPF_PROG(on_hotplug, unsigned int cpu, int target, int step)
{
	/* From this step on, and until it is undone, the scheduler uses the CPU. */
	int active = bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_ACTIVE);

	if (step == active)
		emit(HOTPLUG, target >= active, bpf_get_smp_processor_id(), 0, 0, 0, cpu);
	return 0;
}

/* A CPU that is offline tells nothing of its last switch, to its idle task. */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(on_stop, unsigned int cpu, int state, int step)
{
	if (step == bpf_core_enum_value(enum cpuhp_state, CPUHP_TEARDOWN_CPU))
		emit(STOPPED, 0, bpf_get_smp_processor_id(), 0, 0, 0, cpu);
	return 0;
}

/* An idle CPU is told that there is work; of busy ones their switches tell. */
SEC("?tp_btf/sched_set_need_resched_tp")
int BPF_PROG(on_kick, struct task_struct *current, int cpu)
{
	if (!current->pid)
		emit(KICK, 0, bpf_get_smp_processor_id(), 0, 0, 0, cpu);
	return 0;
}

/* A task that switches away in here gives the CPU up of its own will. */
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

/* Every task, and what it does: the state from which the records go on. */
SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	u32 room = BY_SNAPSHOT, bytes = sizes.words * sizeof(u64);
	struct told *told = bpf_map_lookup_elem(&rooms, &room);
	struct known *known;
	u64 cpus;

	if (!p || !told || bytes > sizeof(told->cpus))
		return 0;
	if ((p->__state & TASK_DEAD) && !p->on_cpu)
		return 0;
	cpus = describe(p, told, bytes);
	told->head.kind = SNAPSHOT;
	told->head.detail = ASLEEP;
	if (p->on_cpu)
		told->head.detail = RUNNING;
	else if (waits(p))
		told->head.detail = WAITING;
	if (bpf_seq_write(ctx->meta->seq, told, TOLD_HEAD + bytes))
		return 0;
	known = known_of(p);
	if (known)
		remember(known, told, cpus);
	return 0;
}

char _license[] SEC("license") = "GPL";
