/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One look at every CPU: which of them idle, and how many tasks wait? If a CPU idles while tasks wait,
 * it reports which CPUs and which tasks, so that the reader can tell whether these CPUs could run these
 * tasks. Nothing is locked: what is reported may be over a moment later, so the reader looks again.
 *
 * A runqueue counts whatever is runnable there, including tasks that a sched_ext scheduler holds in
 * queues of its own. So tasks are walked only if some CPU idles and the counts say that tasks wait.
 *
 * crates/live/src/watch/look.rs runs this and reads its records.
 */
#include "records.h"
#include "numbers.h"

extern const struct rq runqueues __ksym;

/* Memory for the kernel's iterator over tasks, whose layout is opaque. */
struct bpf_iter_task {
	u64 opaque[3];
} __attribute__((aligned(8)));

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

#define ALL_THREADS 1

const volatile struct {
	u32 cpus;
	/* How many 64-bit words hold them. */
	u32 words;
} machine = { 1, 1 };

/* The result of one look. */
struct look {
	/* CPUs that are used, and those of them that idle. */
	u32 online;
	u32 idle;
	/* Tasks that wait, as the runqueues count them. */
	u32 waiting;
	/* Waiting tasks that found no space. */
	u32 left_out;
	/* Tasks that were walked. */
	u64 tasks;
};

/* An idle CPU. */
struct idle {
	struct head head;
	/* Switches so far: as long as they stay the same, it idles on. */
	u64 switches;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 262144);
} reports SEC(".maps");

/* One look is taken at a time. */
struct task_record task;

static __always_inline void count(struct look *seen)
{
	struct bpf_iter_num it;
	int *cpu;

	bpf_iter_num_new(&it, 0, machine.cpus);
	while ((cpu = bpf_iter_num_next(&it))) {
		struct rq *rq = bpf_per_cpu_ptr(&runqueues, *cpu);
		u32 runnable;

		if (!rq || !rq->online)
			continue;
		runnable = rq->nr_running;
		seen->online++;
		if (rq->curr == rq->idle) {
			seen->idle++;
			seen->waiting += runnable;
		} else if (runnable) {
			seen->waiting += runnable - 1;
		}
	}
	bpf_iter_num_destroy(&it);
}

static __always_inline void tell_idle(void)
{
	struct bpf_iter_num it;
	int *cpu;

	bpf_iter_num_new(&it, 0, machine.cpus);
	while ((cpu = bpf_iter_num_next(&it))) {
		struct rq *rq = bpf_per_cpu_ptr(&runqueues, *cpu);
		struct idle idle = { .head = { .kind = IDLE } };

		if (!rq || !rq->online || rq->curr != rq->idle)
			continue;
		idle.head.at = bpf_ktime_get_ns();
		idle.head.cpu = *cpu;
		idle.switches = rq->nr_switches;
		bpf_ringbuf_output(&reports, &idle, sizeof(idle), BPF_RB_NO_WAKEUP);
	}
	bpf_iter_num_destroy(&it);
}

/* Is it, or its group, out of CPU time for now? Newer kernels know that of each task, older ones of its queue. */
static __always_inline bool is_throttled(struct task_struct *p)
{
	struct cfs_rq *queue;

	if (is_out_of_budget(p))
		return 1;
	if (bpf_core_field_exists(p->throttled))
		return p->throttled;
	if (!bpf_core_field_exists(p->se.cfs_rq))
		return 0;
	queue = p->se.cfs_rq;
	return queue && bpf_core_field_exists(queue->throttle_count) && queue->throttle_count;
}

/* Could another CPU take it? Not one that is bound to its CPU. */
static __always_inline bool is_free(struct task_struct *p)
{
	return p->nr_cpus_allowed > 1 && !p->migration_disabled;
}

static __always_inline void tell_waiting(struct look *seen)
{
	u32 bytes = machine.words * sizeof(u64);
	struct bpf_iter_task it;
	struct task_struct *p;

	if (bytes > sizeof(task.cpus))
		return;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, (void *)0, ALL_THREADS);
	while ((p = bpf_iter_task_next(&it))) {
		seen->tasks++;
		if (!waits(p) || !is_free(p) || is_throttled(p))
			continue;
		write_down(p, &task, p->cpus_ptr, bytes);
		task.head.kind = SNAPSHOT;
		task.head.detail = WAITING;
		if (bpf_ringbuf_output(&reports, &task, TASK_RECORD_HEAD + bytes, BPF_RB_NO_WAKEUP))
			seen->left_out++;
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
}

/*
 * Runs: in keel, with interrupts on and no lock; inside RCU while it goes through the tasks.
 * Reaches itself: no. Only keel calls it.
 */
SEC("syscall")
int look(struct look *seen)
{
	count(seen);
	if (!seen->idle || !seen->waiting)
		return 0;
	tell_idle();
	tell_waiting(seen);
	return 0;
}

char _license[] SEC("license") = "GPL";
