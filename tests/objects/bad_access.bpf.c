// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it reads or writes where it must not. `fault` selects how. A kernel's verifier sees that it is 0, so
 * none of that exists: there it is an ordinary scheduler.
 */
#include "keel.h"

LICENSE;

#define SHARED_DSQ 1
#define ARENA_START (1ull << 44)

#define __arena __attribute__((address_space(1)))

const volatile u32 fault = 0;
const volatile u64 constant = 5;
volatile u64 nothing;
volatile u64 seen;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u64[3]);
} elements SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} storage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1 << 10); /* BPF_F_MMAPABLE */
	__uint(max_entries, 16);
	enum { start = ARENA_START } map_extra;
} arena SEC(".maps");

struct exit_record exit_record;

/* As a number, so that the compiler does not see where it leads. */
#define AT(type, number) (*(volatile type *)(number))

static __noinline int by_null(bool write)
{
	u64 at = nothing;

	if (write)
		AT(u32, at + 0x18) = 1;
	else
		seen = AT(u64, at + 0x20);
	return 0;
}

static __noinline int in_elements(bool write)
{
	u64 value[3] = { 1, 2, 3 };
	u64 *held;
	u32 key = 7;

	bpf_map_update_elem(&elements, &key, value, BPF_ANY);
	held = bpf_map_lookup_elem(&elements, &key);
	if (!held)
		return 0;
	seen = AT(u64, (u64)held + 16);
	if (!write) {
		seen = AT(u64, (u64)held + 24);
		return 0;
	}
	bpf_map_delete_elem(&elements, &key);
	AT(u16, (u64)held + 8) = 1;
	return 0;
}

static __noinline int in_storage(struct task_struct *p)
{
	u64 *held = bpf_task_storage_get(&storage, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!held)
		return 0;
	bpf_task_storage_delete(&storage, p);
	seen = AT(u64, (u64)held);
	return 0;
}

static __noinline int in_arena(bool write)
{
	u64 at = (u64)bpf_arena_alloc_pages(&arena, 0, 2, -1, 0);
	u64 __arena *words = (u64 __arena *)at;

	if (!at)
		return 0;
	words[511] = 7;
	seen = words[512];
	bpf_arena_free_pages(&arena, (void *)(at + 4096), 1);
	if (write)
		words[513] = 8;
	else
		seen = words[512];
	return 0;
}

static __noinline int in_stack(bool write)
{
	volatile u64 local[2] = { 1, 2 };
	u64 at = (u64)&local - nothing;

	seen = AT(u64, at + 8);
	if (write)
		AT(u8, at - 600) = 1;
	else
		seen = AT(u32, at - 520);
	return 0;
}

/* The next CPU's stack, if this is not the last one's. */
static __noinline int in_another_stack(void)
{
	volatile u64 local[2] = { 1, 2 };
	u64 at = (u64)&local + nothing;

	seen = AT(u64, at + 4800);
	return 0;
}

static __noinline int in_freed_mask(void)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();
	u64 at = (u64)mask;

	if (!mask)
		return 0;
	seen = AT(u64, at);
	bpf_cpumask_release(mask);
	seen = AT(u64, at);
	return 0;
}

static __noinline int elsewhere(bool write)
{
	u64 at = 0xffff888700000000 + nothing;

	if (write)
		AT(u16, at) = 1;
	else
		seen = AT(u8, at);
	return 0;
}

static __noinline int commit(struct task_struct *p)
{
	switch (fault) {
	case 1: return by_null(false);
	case 2: return by_null(true);
	case 3: return in_elements(false);
	case 4: return in_elements(true);
	case 5: return in_storage(p);
	case 6: return in_arena(false);
	case 7: return in_arena(true);
	case 8: return in_stack(false);
	case 9: return in_stack(true);
	case 10: return in_freed_mask();
	case 11: AT(u64, (u64)&constant + nothing) = 6; return 0;
	case 12: return elsewhere(false);
	case 13: return elsewhere(true);
	case 14: return in_another_stack();
	}
	return 0;
}

CALLBACK(void, bad_access_enqueue, struct task_struct *p, u64 enq_flags)
{
	if (fault)
		commit(p);
	insert(p, SHARED_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, bad_access_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ);
}

SLEEPABLE(s32, bad_access_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

CALLBACK(void, bad_access_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(bad_access_ops,
	  .enqueue = (void *)bad_access_enqueue,
	  .dispatch = (void *)bad_access_dispatch,
	  .init = (void *)bad_access_init,
	  .exit = (void *)bad_access_exit,
	  .name = "bad_access");
