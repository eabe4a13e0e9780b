// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a user-space program sets up and reads back, in one small scheduler: constants, global variables that both
 * sides have mapped, a hash, a ring buffer, a program that it runs, and programs that trace the kernel.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 7

/* The program sets the number of CPUs; shared.c has the same structure. */
const volatile struct {
	u64 slice_ns;
	u64 cpus;
	u64 pid;
} constant = { .slice_ns = 1000000 };

/* The program maps it; shared.c has the same structure. */
struct {
	u64 enqueued;
	u64 sum_of_entries;
	/* What is traced: switches, and the scheduler's registration. */
	u64 switches;
	u64 registered;
	/* From ops.exit. */
	u64 exit_kind;
	/* From the kernel's configuration. */
	u64 hz;
	/* How often the program's task ran on CPU 1, to which it has pinned itself if it exists; and elsewhere. */
	u64 home;
	u64 away;
	/* Records of the program's that were taken out, and how many of them were not the next one. */
	u64 drained;
	u64 disordered;
	/* Cgroups that have come and gone, and moves into the cgroup /late: by a process, and in all. */
	u64 made;
	u64 removed;
	u64 joined_whole;
	u64 joined;
} seen;

extern int CONFIG_HZ __kconfig;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u64);
} entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
} asked SEC(".maps");

struct question {
	u32 key;
	u32 unused;
	u64 answer;
};

SEC("syscall")
int look_up(struct question *question)
{
	u64 *value = bpf_map_lookup_elem(&entries, &question->key);

	if (!value)
		return -2;
	question->answer = *value * 2;
	seen.sum_of_entries += *value;
	seen.hz = CONFIG_HZ;
	return 0;
}

CALLBACK(void, shared_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 *record;

	seen.enqueued++;
	if (seen.enqueued % 100 == 0) {
		record = bpf_ringbuf_reserve(&told, sizeof(*record), 0);
		if (record) {
			*record = seen.enqueued;
			bpf_ringbuf_submit(record, 0);
		}
	}
	scx_bpf_dsq_insert(p, SHARED_DSQ, constant.slice_ns, enq_flags);
}

/* Each record begins with its number and its length, and ends with its number. */
static long on_record(struct bpf_dynptr *record, void *unused)
{
	u64 head[2] = { 0 }, last = 0;

	bpf_dynptr_read(head, sizeof(head), record, 0, 0);
	bpf_dynptr_read(&last, sizeof(last), record, head[1] - sizeof(last), 0);
	seen.drained++;
	if (head[0] != seen.drained || last != head[0])
		seen.disordered++;
	return 0;
}

CALLBACK(void, shared_dispatch, s32 cpu, struct task_struct *prev)
{
	bpf_user_ringbuf_drain(&asked, on_record, NULL, 0);
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

CALLBACK(void, shared_running, struct task_struct *p)
{
	if (p->pid != constant.pid)
		return;
	if (bpf_get_smp_processor_id() == (constant.cpus > 1))
		seen.home++;
	else
		seen.away++;
}

SEC("fentry/bpf_scx_reg")
int BPF_PROG(shared_registered, void *ops)
{
	seen.registered++;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(shared_switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (prev != next && bpf_get_smp_processor_id() < constant.cpus)
		__sync_fetch_and_add(&seen.switches, 1);
	return 0;
}

static bool is_late(const char *path)
{
	char text[8] = "";

	bpf_probe_read_kernel_str(text, sizeof(text), path);
	return text[0] == '/' && text[1] == 'l' && text[2] == 'a' && text[3] == 't' && text[4] == 'e' && !text[5];
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(shared_made, struct cgroup *cgrp, const char *path)
{
	seen.made += is_late(path) && cgrp->level == 1;
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(shared_removed, struct cgroup *cgrp, const char *path)
{
	seen.removed += is_late(path) && cgrp->level == 1;
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(shared_joined, struct cgroup *to, const char *path, struct task_struct *p, bool whole)
{
	if (!is_late(path) || p->pid != p->tgid)
		return 0;
	seen.joined++;
	seen.joined_whole += whole;
	return 0;
}

CALLBACK(void, shared_exit, struct scx_exit_info *info)
{
	seen.exit_kind = info->kind;
}

/* The loader marks it as sleepable, because not every libbpf supports the section struct_ops.s. */
CALLBACK(s32, shared_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

SEC(".struct_ops") struct sched_ext_ops shared_ops = {
	.enqueue = (void *)shared_enqueue,
	.dispatch = (void *)shared_dispatch,
	.running = (void *)shared_running,
	.init = (void *)shared_init,
	.exit = (void *)shared_exit,
	.name = "shared",
};
