/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is recorded of tasks and their groups, once and after each change.
 */
#ifndef KEEL_TASKS_H
#define KEEL_TASKS_H

#include "ring.h"

/* What a group is. */
struct group_record {
	struct head head;
	u64 parent;
	u64 id;
	u64 shares;
	s64 period;
	u64 quota;
	u64 burst;
	char name[64];
};

/* In a group's record. */
#define IS_IDLE 1
#define IS_SESSION 2

/* More groups above one another are not recorded. */
#define MOST_GROUPS_ABOVE 8

/* The group that this CPU recorded last: many tasks have the same. */
struct group_told {
	u64 group;
	u64 settings;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct group_told);
} last_group SEC(".maps");

/* A number that stands for a group's settings. */
static __always_inline u64 settings_of(struct task_group *group)
{
	u64 sum = bpf_core_field_exists(group->shares) ? group->shares : 0;

	if (bpf_core_field_exists(group->idle))
		sum = sum << 1 ^ (group->idle > 0);
	if (bpf_core_field_exists(group->cfs_bandwidth.quota)) {
		sum = (sum ^ group->cfs_bandwidth.quota) * 0x9e3779b97f4a7c15ULL;
		sum = (sum ^ group->cfs_bandwidth.period) * 0x9e3779b97f4a7c15ULL;
		sum = (sum ^ group->cfs_bandwidth.burst) * 0x9e3779b97f4a7c15ULL;
	}
	return sum;
}

/* Records a group; false if it did not fit. It may be any address, so it is read with care. */
static __noinline bool record_group(void *ring, u64 address)
{
	struct task_group *group = (void *)address, *above;
	struct group_record *record;
	struct autogroup *session = NULL;
	u32 zero = 0;
	u64 *missed = bpf_map_lookup_elem(&lost, &zero);
	u64 flags;

	if (!missed || !ring)
		return 0;
	flags = wake_flags(ring, sizeof(*record));
	record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);
	/* What does not fit is recorded later. */
	if (!record)
		return 0;
	if (bpf_core_field_exists(group->autogroup))
		session = BPF_CORE_READ(group, autogroup);
	record->head.at = bpf_ktime_get_ns();
	record->head.task = address;
	record->head.lost = *missed;
	record->head.cpu = bpf_get_smp_processor_id();
	record->head.kind = GROUP;
	record->head.detail = session ? IS_SESSION : 0;
	above = BPF_CORE_READ(group, parent);
	/* The root has no record. */
	record->parent = above && BPF_CORE_READ(above, parent) ? (u64)above : 0;
	record->id = session ? BPF_CORE_READ(session, id) : BPF_CORE_READ(group, css.cgroup, kn, id);
	record->shares = 0;
	record->period = 0;
	record->quota = ~0ULL;
	record->burst = 0;
	if (bpf_core_field_exists(group->shares))
		record->shares = BPF_CORE_READ(group, shares);
	if (bpf_core_field_exists(group->idle) && BPF_CORE_READ(group, idle) > 0)
		record->head.detail |= IS_IDLE;
	if (bpf_core_field_exists(group->cfs_bandwidth.quota)) {
		record->period = BPF_CORE_READ(group, cfs_bandwidth.period);
		record->quota = BPF_CORE_READ(group, cfs_bandwidth.quota);
		record->burst = BPF_CORE_READ(group, cfs_bandwidth.burst);
	}
	record->name[0] = 0;
	if (!session)
		bpf_probe_read_kernel_str(record->name, sizeof(record->name), BPF_CORE_READ(group, css.cgroup, kn, name));
	*missed = 0;
	bpf_ringbuf_submit(record, flags);
	return 1;
}

/* Records a group and those above it, unless this CPU recorded them last; false if they did not fit. */
static __noinline bool record_groups(u64 address, u64 settings)
{
	u32 zero = 0, i;
	struct group_told *last = bpf_map_lookup_elem(&last_group, &zero);
	void *ring = ring_here();
	u64 next = address;

	if (!last || !ring)
		return 0;
	if (last->group == address && last->settings == settings)
		return 1;
	for (i = 0; i < MOST_GROUPS_ABOVE && next; i++) {
		u64 above = (u64)BPF_CORE_READ((struct task_group *)next, parent);

		/* The root has none above it. */
		if (!above)
			break;
		if (!record_group(ring, next))
			return 0;
		next = above;
	}
	last->group = address;
	last->settings = settings;
	return 1;
}

/* Records the group that `p` is in, unless that was recorded already. */
static __always_inline void record_group_of(struct task_struct *p, struct known *known)
{
	struct task_group *group = group_of(p);
	u64 settings;

	if (!known || !group)
		return;
	settings = settings_of(group);
	if (known->is_recorded && known->group == (u64)group && known->settings == settings)
		return;
	if (record_groups((u64)group, settings))
		known->settings = settings;
}

/* Records what `p` is, with its CPUs; returns a number that stands for these. */
static __always_inline u64 describe(struct task_struct *p, struct task_record *info, struct cpumask *cpus, u32 bytes)
{
	u64 sum = 0;
	u32 i;

	write_down(p, info, cpus, bytes);
	for (i = 0; i < MAX_WORDS && i < sizes.words; i++)
		sum = (sum ^ info->cpus[i]) * 0x9e3779b97f4a7c15ULL;
	return sum;
}

static __always_inline void remember(struct known *known, struct task_record *info, u64 cpus)
{
	known->name[0] = info->name[0];
	known->name[1] = info->name[1];
	known->cpus = cpus;
	known->pid = info->pid;
	known->static_prio = info->static_prio;
	known->prio = info->prio;
	known->policy = info->policy;
	known->group = info->group;
	known->is_recorded = 1;
}

/* Records what `p` is, with the CPUs it may use now, unless that was recorded already. */
static __always_inline void record_task(struct task_struct *p, struct known *known, struct cpumask *mask, u32 room)
{
	struct task_record *info = bpf_map_lookup_elem(&task_buffers, &room);
	u32 bytes = sizes.words * sizeof(u64);
	void *ring;
	u64 cpus;

	if (!known || !info || bytes > sizeof(info->cpus))
		return;
	record_group_of(p, known);
	cpus = describe(p, info, mask, bytes);
	if (known->is_recorded && known->name[0] == info->name[0] && known->name[1] == info->name[1] &&
	    known->cpus == cpus && known->pid == info->pid && known->static_prio == info->static_prio &&
	    known->prio == info->prio && known->policy == info->policy && known->group == info->group)
		return;
	info->head.kind = TASK_RECORD;
	info->head.detail = known->is_recorded ? 0 : IS_FIRST_RECORD;
	ring = ring_here();
	/* What does not fit is recorded later. */
	if (ring && !bpf_ringbuf_output(ring, info, TASK_RECORD_HEAD + bytes, wake_flags(ring, TASK_RECORD_HEAD + bytes)))
		remember(known, info, cpus);
}

#endif
