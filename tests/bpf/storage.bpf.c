// SPDX-License-Identifier: GPL-2.0-only
/* BPF_MAP_TYPE_TASK_STORAGE, and the current task. */
#include "case.h"

struct own {
	u64 a, b;
};

#define STORAGE(name)                                                                              \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, struct own);                                                         \
	} name SEC(".maps")

STORAGE(made);
STORAGE(given);
STORAGE(ended);
STORAGE(other);

STEPS(made_when_asked_for, 1, 0, 0, 5, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct own *own;

	got[0] = !bpf_task_storage_get(&made, p, NULL, 0);
	own = bpf_task_storage_get(&made, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!own)
		return;
	got[1] = own->a;
	got[2] = own->b;
	own->b = HIDE(5);
	own = bpf_task_storage_get(&made, p, NULL, 0);
	got[3] = own ? own->b : -1;
	/* What exists is not created again. */
	got[4] = own == bpf_task_storage_get(&made, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

STEPS(with_a_first_value, 3, 4, 4)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct own first = { HIDE(3), HIDE(4) }, second = { 8, 9 }, *own;

	own = bpf_task_storage_get(&given, p, &first, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!own)
		return;
	got[0] = own->a;
	got[1] = own->b;
	own = bpf_task_storage_get(&given, p, &second, BPF_LOCAL_STORAGE_GET_F_CREATE);
	got[2] = own ? own->b : -1;
}

STEPS(deleted, -ENOENT, 0, -ENOENT, 1, 0)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct own *own;

	got[0] = bpf_task_storage_delete(&ended, p);
	own = bpf_task_storage_get(&ended, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!own)
		return;
	own->a = 6;
	got[1] = bpf_task_storage_delete(&ended, p);
	got[2] = bpf_task_storage_delete(&ended, p);
	got[3] = !bpf_task_storage_get(&ended, p, NULL, 0);
	own = bpf_task_storage_get(&ended, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	got[4] = own ? own->a : -1;
}

/* Each map has its own value, and unknown flags give none. */
STEPS(of_its_own, 1, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();

	bpf_task_storage_get(&made, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	got[0] = !bpf_task_storage_get(&other, p, NULL, 0);
	got[1] = !bpf_task_storage_get(&other, p, NULL, HIDE(2));
	got[2] = !bpf_task_storage_get(&made, p, NULL, HIDE(2));
}

STEPS(the_current_task, 1, 1, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();
	u64 both = bpf_get_current_pid_tgid();

	got[0] = p->pid == (s32)both;
	got[1] = p->tgid == (s32)(both >> 32);
	got[2] = (u64)p == bpf_get_current_task();
	got[3] = p->pid > 0;
}

/* By pid, with a reference that is released. */
STEPS(by_pid, 1, 1, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf(), *found, *again;

	found = bpf_task_from_pid(p->pid);
	if (!found)
		return;
	got[0] = (u64)found == (u64)p;
	again = bpf_task_acquire(found);
	if (again) {
		got[1] = again->pid == p->pid;
		bpf_task_release(again);
	}
	bpf_task_release(found);
	found = bpf_task_from_pid(HIDE(0x3fffff));
	got[2] = !found;
	if (found)
		bpf_task_release(found);
	found = bpf_task_from_pid(HIDE(-1));
	got[3] = !found;
	if (found)
		bpf_task_release(found);
}

struct kept {
	struct task_struct __kptr *task;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kept);
} kept SEC(".maps");

/* A task with a reference may be stored in a map. */
STEPS(kept_in_a_map, 1, 1, 1)
{
	u32 key = HIDE(0);
	struct kept *value = bpf_map_lookup_elem(&kept, &key);
	struct task_struct *p = bpf_get_current_task_btf(), *found, *old, *seen;

	found = bpf_task_from_pid(p->pid);
	if (!found)
		return;
	if (!value) {
		bpf_task_release(found);
		return;
	}
	old = bpf_kptr_xchg(&value->task, found);
	got[0] = !old;
	if (old)
		bpf_task_release(old);
	bpf_rcu_read_lock();
	seen = value->task;
	got[1] = seen && seen->pid == p->pid;
	bpf_rcu_read_unlock();
	old = bpf_kptr_xchg(&value->task, NULL);
	got[2] = old && old->pid == p->pid;
	if (old)
		bpf_task_release(old);
}
