// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refers to CPUs by cids. It compares the arguments of its callbacks with the results of the kernel's functions, and
 * exits after a while: with the cids of four CPUs if all agree, or else with the first disagreement.
 */
#include "keel.h"

LICENSE;

#define __arena __attribute__((address_space(1)))
/* The verifier finds a program's arena by its address. A program that only follows pointers names it this way. */
#define USES_ARENA asm volatile("" ::"r"(&arena))

#define SHARED_DSQ 1
#define MAX_CPUS 1024

/* What is wrong on purpose, or, with `REVERSED`, unusual. */
enum fault {
	FAULT_NONE,
	FAULT_REVERSED,
	FAULT_TWICE,
	FAULT_OUTSIDE,
	FAULT_SHORT,
	FAULT_SELECT,
	FAULT_INSERT,
	FAULT_KICK,
	FAULT_COUNT,
	FAULT_BY_CPU,
};
const volatile enum fault fault = FAULT_NONE;

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1 << 10); /* BPF_F_MMAPABLE */
	__uint(max_entries, 64);
	enum { start = 1ull << 44 } map_extra;
} arena SEC(".maps");

/* The cid at which a task was put, plus one; 0 for none. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, int);
	__type(value, u32);
} places SEC(".maps");

static s32 wanted[MAX_CPUS];
static u32 nr_enqueued, nr_masks, nr_placed, nr_idle, nr_found;

struct exit_record exit_record;

#define must(holds, what)                                        \
	do {                                                     \
		if (!(holds))                                    \
			scheduler_error("disagreement: " what); \
	} while (0)

static __always_inline u32 *place_of(struct task_struct *p, bool make)
{
	return bpf_task_storage_get(&places, p, NULL, make ? 1 : 0);
}

static __always_inline void leave_place(struct task_struct *p)
{
	u32 *place = place_of(p, false);

	if (place)
		*place = 0;
}

CALLBACK(s32, cids_select_cid, struct task_struct *p, s32 prev_cid, u64 wake_flags)
{
	must(prev_cid == scx_bpf_cpu_to_cid(p->wake_cpu), "select_cid");
	return fault == FAULT_SELECT ? 4096 : prev_cid;
}

/* Puts every other task at the next cid that it may use, and the rest where all find it. */
CALLBACK(void, cids_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 nr = __sync_fetch_and_add(&nr_enqueued, 1);
	u32 nr_cids = scx_bpf_nr_cids();
	s32 cid = (scx_bpf_task_cid(p) + 1) % (nr_cids ?: 1);
	u32 *place = place_of(p, true);

	if (place)
		*place = 0;
	if (nr > 300 && nr_masks && nr_placed && nr_idle && nr_found)
		scheduler_error("the cids agree: CPUs 0 to 3 have %d %d %d %d", scx_bpf_cpu_to_cid(0),
				scx_bpf_cpu_to_cid(1), scx_bpf_cpu_to_cid(2), scx_bpf_cpu_to_cid(3));
	if (fault == FAULT_KICK)
		scx_bpf_kick_cid(-3, 0);
	if (fault == FAULT_COUNT)
		scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | 4096);
	if (fault == FAULT_INSERT)
		cid = 4096;
	else if (nr % 2 || !place || !bpf_cpumask_test_cpu(scx_bpf_cid_to_cpu(cid), p->cpus_ptr)) {
		insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
		scx_bpf_kick_cid(scx_bpf_task_cid(p), SCX_KICK_IDLE);
		return;
	}
	if (place)
		*place = cid + 1;
	insert(p, SCX_DSQ_LOCAL_ON | cid, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, cids_dispatch, s32 cid, struct task_struct *prev)
{
	must(cid == scx_bpf_this_cid(), "dispatch");
	if (fault == FAULT_BY_CPU)
		scx_bpf_kick_cpu(0, 0);
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

CALLBACK(void, cids_running, struct task_struct *p)
{
	u32 *place = place_of(p, false);
	struct task_struct *found = scx_bpf_tid_to_task(p->scx.tid);

	must(found && found->pid == p->pid, "tid_to_task");
	__sync_fetch_and_add(&nr_found, 1);
	/* Not always this CPU: a task goes on running where another CPU has changed it. */
	must(scx_bpf_cid_to_cpu(scx_bpf_task_cid(p)) == (s32)p->thread_info.cpu, "task_cid");
	must(scx_bpf_cid_to_cpu(scx_bpf_this_cid()) == (s32)bpf_get_smp_processor_id(), "this_cid");
	if (place && *place) {
		must((s32)*place - 1 == scx_bpf_task_cid(p), "insert");
		__sync_fetch_and_add(&nr_placed, 1);
		*place = 0;
	}
}

CALLBACK(void, cids_update_idle, s32 cid, bool idle)
{
	must(cid == scx_bpf_this_cid(), "update_idle");
	__sync_fetch_and_add(&nr_idle, 1);
}

CALLBACK(void, cids_quiescent, struct task_struct *p, u64 deq_flags)
{
	leave_place(p);
}

CALLBACK(void, cids_set_cmask, struct task_struct *p, const struct scx_cmask *given)
{
	struct scx_cmask __arena *mask = (struct scx_cmask __arena *)(u64)given;
	u32 nr_cids = scx_bpf_nr_cids();
	s32 cid;

	USES_ARENA;
	leave_place(p);
	must(!mask->base && mask->nr_cids == nr_cids && mask->alloc_words == (nr_cids + 63) / 64 + 1, "cmask");
	for_range(cid, 0, nr_cids) {
		bool is_set = mask->bits[(u32)cid / 64] >> (u32)cid % 64 & 1;

		must(is_set == bpf_cpumask_test_cpu(scx_bpf_cid_to_cpu(cid), p->cpus_ptr), "set_cmask");
	}
	__sync_fetch_and_add(&nr_masks, 1);
}

static __always_inline void choose_cids(u32 nr_cpus)
{
	u32 nr_bytes = nr_cpus * sizeof(s32);
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
		if ((u32)cpu < MAX_CPUS)
			wanted[(u32)cpu] = nr_cpus - 1 - cpu;
	if (fault == FAULT_TWICE)
		wanted[1] = nr_cpus - 1;
	if (fault == FAULT_OUTSIDE)
		wanted[0] = nr_cpus;
	if (fault == FAULT_SHORT)
		nr_bytes = sizeof(s32);
	scx_bpf_cid_override(wanted, nr_bytes);
}

/* Units are in a row, and begin where they say. */
static __always_inline void check_topology(u32 nr_cids)
{
	struct scx_cid_topo before = {};
	s32 cid;

	for_range(cid, 0, nr_cids) {
		struct scx_cid_topo topo;

		scx_bpf_cid_topo(cid, &topo, sizeof(topo));
		must(scx_bpf_cpu_to_cid(scx_bpf_cid_to_cpu(cid)) == cid, "cid_to_cpu");
		if (fault == FAULT_REVERSED || cid >= scx_bpf_nr_online_cids()) {
			must(topo.core_cid == -1 && topo.node_idx == -1, "no topology");
			continue;
		}
		must(topo.core_cid <= cid && topo.llc_cid <= topo.core_cid && topo.node_cid <= topo.llc_cid, "topology");
		must((topo.core_idx == before.core_idx + 1 && topo.core_cid == cid) ||
		     (topo.core_idx == before.core_idx && topo.core_cid == before.core_cid), "core");
		must(topo.llc_idx == before.llc_idx || topo.llc_cid == cid, "cache");
		must(topo.node_idx == before.node_idx || topo.node_cid == cid, "node");
		before = topo;
	}
}

SLEEPABLE(s32, cids_init)
{
	u32 nr_cids = scx_bpf_nr_cids();

	if (nr_cids > MAX_CPUS)
		return -1;
	if (fault >= FAULT_REVERSED && fault <= FAULT_SHORT)
		choose_cids(nr_cids);
	check_topology(nr_cids);
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, cids_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SEC(".struct_ops.link")
struct sched_ext_ops_cid cids_ops = {
	.select_cid = (void *)cids_select_cid,
	.enqueue = (void *)cids_enqueue,
	.dispatch = (void *)cids_dispatch,
	.running = (void *)cids_running,
	.update_idle = (void *)cids_update_idle,
	.quiescent = (void *)cids_quiescent,
	.set_cmask = (void *)cids_set_cmask,
	.init = (void *)cids_init,
	.exit = (void *)cids_exit,
	.flags = 1 << 8, /* SCX_OPS_TID_TO_TASK */
	.name = "cids",
};
