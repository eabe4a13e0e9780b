// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF_MAP_TYPE_ARENA: pages on demand, at user space's addresses. All cases share one arena of 64 pages.
 * libbpf may take the last page for the variables. Each case frees what it allocated.
 */
#include "case.h"

#define PAGES 64
#define PAGE 4096
#define START (1ull << 44)
#define ANY_NODE (-1)

#define __arena __attribute__((address_space(1)))
#define AS_WORDS(at) ((u64 __arena *)(at))

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, 1 << 10); /* BPF_F_MMAPABLE */
	__uint(max_entries, PAGES);
	enum { start = START } map_extra;
} arena SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} kept SEC(".maps");

/* As numbers, because casting a pointer between the address spaces loses a low half of 0. */
static __always_inline u64 alloc(u64 at, u32 pages)
{
	return (u64)bpf_arena_alloc_pages(&arena, (void *)at, pages, ANY_NODE, 0);
}

static __always_inline void release(u64 at, u32 pages)
{
	bpf_arena_free_pages(&arena, (void *)at, pages);
}

/* The verifier finds a program's arena by its address. A program that only follows pointers names it this way. */
#define USES_ARENA asm volatile("" ::"r"(&arena))

STEPS(pages_are_given_zeroed, START >> 32, 0, 0, 0, 7, 9)
{
	u64 at = alloc(0, 2);
	u64 __arena *words = AS_WORDS(at);

	if (!at)
		return;
	got[0] = at >> 32;
	got[1] = at % PAGE;
	got[2] = words[0];
	got[3] = words[1023];
	words[0] = 7;
	words[1023] = 9;
	got[4] = words[0];
	got[5] = words[1023];
	release(at, 2);
}

INVALID_ACCESSES(what_is_given_back_is_gone, 1);
STEPS(what_is_given_back_is_gone, 5, 0, 1, 0)
{
	u64 at = alloc(0, 1);
	u64 __arena *words = AS_WORDS(at);

	if (!at)
		return;
	words[3] = HIDE(5);
	got[0] = words[3];
	release(at, 1);
	got[1] = words[3];
	got[2] = alloc(at, 1) == at;
	got[3] = words[3];
	release(at, 1);
}

INVALID_ACCESSES(what_is_not_allocated_reads_0_and_takes_nothing, 6);
STEPS(what_is_not_allocated_reads_0_and_takes_nothing, 0, 0, 0, 1, 0, 0)
{
	u64 at = START + 40 * PAGE;
	volatile u64 __arena *words = AS_WORDS(at);

	USES_ARENA;
	words[0] = 5;
	got[0] = words[0];
	got[1] = *(volatile u8 __arena *)(at + 1);
	got[2] = *(volatile s32 __arena *)(at + 4);
	words[2] = HIDE(9);
	__sync_fetch_and_or(&words[1], 8);
	got[3] = alloc(at, 1) == at;
	got[4] = words[0];
	got[5] = words[1];
	release(at, 1);
}

/* Older kernels leave the register unchanged. */
SINCE(the_old_value_of_what_is_not_allocated, 7, 2)
INVALID_ACCESSES(the_old_value_of_what_is_not_allocated, 3);
STEPS(the_old_value_of_what_is_not_allocated, 0, 0, 0)
{
	u64 old = HIDE(77), expected = HIDE(5);
	volatile u64 __arena *words = AS_WORDS(START + 40 * PAGE);

	USES_ARENA;
	got[0] = __sync_lock_test_and_set(&words[1], old);
	got[1] = __sync_fetch_and_add(&words[1], 1);
	got[2] = __sync_val_compare_and_swap(&words[1], expected, 3);
}

/* One access, as the compiler makes it for a struct: the displacement is added last. */
INVALID_ACCESSES(displacements_reach_out_of_the_page, 2);
STEPS(displacements_reach_out_of_the_page, 11, 0, 0)
{
	u64 at = alloc(0, 1), value;

	if (!at)
		return;
	AS_WORDS(at)[511] = 11;
	asm volatile("r1 = %[at]; r1 = addr_space_cast(r1, 0, 1); %[value] = *(u64 *)(r1 + 4088)"
		     : [value] "=r"(value) : [at] "r"(at) : "r1");
	got[0] = value;
	asm volatile("r1 = %[at]; r1 = addr_space_cast(r1, 0, 1); %[value] = *(u64 *)(r1 + 32760)"
		     : [value] "=r"(value) : [at] "r"(at) : "r1");
	got[1] = value;
	asm volatile("r1 = %[at]; r1 = addr_space_cast(r1, 0, 1); %[value] = *(u64 *)(r1 - 32768)"
		     : [value] "=r"(value) : [at] "r"(at) : "r1");
	got[2] = value;
	release(at, 1);
}

#define TO_USER(number)                                                                            \
	({                                                                                         \
		u64 ___user = HIDE(number);                                                        \
		asm volatile("%0 = addr_space_cast(%0, 1, 0)" : "+r"(___user));                    \
		___user;                                                                           \
	})

STEPS(casts, START + 0x1234, 0, 0, START + 0x80000000, START + 7, 1)
{
	u64 pointer = HIDE(START + 7), null = HIDE(0);

	USES_ARENA;
	got[0] = TO_USER(0x1234);
	got[1] = TO_USER(0);
	got[2] = TO_USER(5ull << 32);
	got[3] = TO_USER(0xffffffff80000000);
	asm volatile("%0 = addr_space_cast(%0, 0, 1); %0 = addr_space_cast(%0, 1, 0)" : "+r"(pointer));
	got[4] = pointer;
	asm volatile("r1 = %[null]; r1 = addr_space_cast(r1, 0, 1); %[null] = 1; if r1 == 0 goto +1; %[null] = 0"
		     : [null] "+r"(null) :: "r1");
	got[5] = null;
}

u64 __arena counter = 5;
u32 __arena marks[3] = { 1, 2, 3 };
u64 __arena empty;

STEPS(variables, 5, 6, 2, 9, 0, 1)
{
	got[0] = counter;
	counter++;
	got[1] = counter;
	got[2] = marks[HIDE(1) % 3];
	marks[2] = 9;
	got[3] = marks[2];
	got[4] = empty;
	got[5] = (u64)&counter >> 32 == START >> 32;
	counter = 5;
	marks[2] = 3;
}

/* On x86, no program can get the old value of and, or, xor here. */
STEPS(atomics, 10, 17, 17, 3, 3, 4, 6, 7, 2, 2, 8)
{
	u64 at = alloc(0, 1);
	u64 __arena *word = AS_WORDS(at);
	u32 __arena *half = (u32 __arena *)(at + 8);

	if (!at)
		return;
	*word = HIDE(10);
	got[0] = __sync_fetch_and_add(word, 7);
	got[1] = *word;
	got[2] = __sync_val_compare_and_swap(word, HIDE(17), 3);
	got[3] = *word;
	got[4] = __sync_val_compare_and_swap(word, HIDE(17), 4);
	*half = HIDE(4);
	got[5] = *half;
	__sync_fetch_and_or(half, 2);
	got[6] = *half;
	__sync_fetch_and_xor(half, 1);
	got[7] = *half;
	__sync_fetch_and_and(half, 2);
	got[8] = *half;
	got[9] = __sync_lock_test_and_set(half, 8);
	got[10] = *half;
	release(at, 1);
}

STEPS(narrow_accesses, 0x80, 0x8180, 0x0786858483828180, 0x83828180)
{
	u64 at = alloc(0, 1);
	u8 __arena *bytes = (u8 __arena *)at;

	if (!at)
		return;
	for (int i = 0; i < 8; i++)
		bytes[i] = (i == 7 ? 0 : 0x80) + i;
	got[0] = *(volatile u8 __arena *)at;
	got[1] = *(volatile u16 __arena *)at;
	got[2] = *(volatile u64 __arena *)at;
	got[3] = *(volatile u32 __arena *)at;
	release(at, 1);
}

/* A bad request gets nothing; a bad release does nothing. */
STEPS(bad_requests, 0, 0, 0, 0, 0, 0, 7)
{
	u64 at = alloc(0, 1);

	if (!at)
		return;
	got[0] = alloc(0, HIDE(0));
	got[1] = alloc(0, PAGES + 1);
	got[2] = alloc(START + 8, 1);
	got[3] = alloc(at, 1);
	got[4] = alloc(START + (PAGES - 1) * PAGE, 2);
	got[5] = (u64)bpf_arena_alloc_pages(&arena, 0, 1, ANY_NODE, HIDE(1));
	AS_WORDS(at)[0] = 7;
	release(at, HIDE(0));
	release(0, 1);
	release(START + (u64)PAGES * PAGE, 1);
	release(START - PAGE, 1);
	got[6] = AS_WORDS(at)[0];
	release(at, 1);
}

/* 6.18 uses the memory of a node that does not exist, and crashes. */
SINCE(nodes, 7, 0)
STEPS(nodes, 1, 0)
{
	u64 at = START + 50 * PAGE;

	got[0] = (u64)bpf_arena_alloc_pages(&arena, (void *)at, 1, 0, 0) == at;
	got[1] = (u64)bpf_arena_alloc_pages(&arena, (void *)(at + PAGE), 1, HIDE(4096), 0);
	release(at, 1);
}

STEPS(given_back_twice, 1, 1, 1)
{
	u64 at = alloc(0, 1), again, other;

	if (!at)
		return;
	release(at, 1);
	release(at, 1);
	again = alloc(at, 1);
	other = alloc(0, 1);
	got[0] = again == at;
	got[1] = other != 0;
	got[2] = other != again;
	release(again, 1);
	release(other, 1);
}

/* One page belongs to the variables, wherever libbpf puts them. */
STEPS(exhaustion, PAGES - 1, 0, 1)
{
	u64 first = 0, at;
	s32 i, count = 0;

	for_range(i, 0, PAGES + 1) {
		at = alloc(0, 1);
		if (!at)
			break;
		if (!first || at < first)
			first = at;
		count++;
	}
	got[0] = count;
	got[1] = alloc(0, 1);
	/* The variables survive it only if they are not given back. */
	if ((u64)&counter / PAGE == START / PAGE)
		release(START + PAGE, PAGES - 1);
	else
		release(START, PAGES - 1);
	got[2] = counter == 5;
}

/* The smallest hole that is large enough. Of equal ones, the latest. Adjacent holes are one. */
STEPS(which_pages_are_given_next, 1, 1, 1, 1, 1, 1)
{
	u64 at = alloc(0, 16);

	if (!at)
		return;
	release(at + 2 * PAGE, 1);
	release(at + 5 * PAGE, 2);
	release(at + 9 * PAGE, 1);
	release(at + 12 * PAGE, 3);
	got[0] = alloc(0, 2) == at + 5 * PAGE;
	got[1] = alloc(0, 1) == at + 9 * PAGE;
	got[2] = alloc(0, 1) == at + 2 * PAGE;
	release(at + 11 * PAGE, 1);
	release(at + 6 * PAGE, 1);
	got[3] = alloc(0, 4) == at + 11 * PAGE;
	release(at + 7 * PAGE, 1);
	got[4] = alloc(0, 2) == at + 6 * PAGE;
	/* Across what is already free. */
	release(at + 3 * PAGE, 1);
	release(at, 16);
	got[5] = alloc(at, 16) == at;
	release(at, 16);
}

STEPS(reserved_pages, 0, -EBUSY, 0, -EINVAL, 0, 0, 1, -EBUSY)
{
	u64 at = START + 32 * PAGE;

	got[0] = bpf_arena_reserve_pages(&arena, (void *)at, 2);
	got[1] = bpf_arena_reserve_pages(&arena, (void *)(at + PAGE), 2);
	got[2] = alloc(at, 1);
	got[3] = bpf_arena_reserve_pages(&arena, (void *)(START + (PAGES - 1) * PAGE), 2);
	got[4] = bpf_arena_reserve_pages(&arena, (void *)(at + 8), 2);
	got[5] = bpf_arena_reserve_pages(&arena, (void *)at, HIDE(0));
	release(at, 2);
	got[6] = alloc(at, 1) == at;
	got[7] = bpf_arena_reserve_pages(&arena, (void *)at, 1);
	release(at, 1);
}

struct node {
	u64 value;
	struct node __arena *next;
};

struct node __arena *head;

static __noinline int push(struct node __arena *node, u64 value)
{
	node->value = value;
	node->next = head;
	head = node;
	return 0;
}

static __noinline u64 total(struct node __arena *from)
{
	u64 sum = 0;
	s32 i;

	for_range(i, 0, 100) {
		if (!from)
			break;
		sum = sum * 10 + from->value;
		from = from->next;
	}
	return sum;
}

/* The first node is not at the arena's start, where the compiler's casts would take its address for null. */
STEPS(a_list_across_functions, 4321, 321, 0)
{
	u64 at = alloc(0, 1);
	struct node __arena *nodes = (struct node __arena *)(at + 64);
	s32 i;

	if (!at)
		return;
	for (i = 0; i < 4; i++)
		push(&nodes[i], i + 1);
	got[0] = total(head);
	got[1] = total(head->next);
	head = 0;
	got[2] = total(head);
	release(at, 1);
}

STEPS(pointers_in_maps, 6, 1)
{
	u64 at = alloc(0, 1), *value;
	u32 key = 0;

	if (!at)
		return;
	AS_WORDS(at)[4] = 6;
	bpf_map_update_elem(&kept, &key, &at, BPF_ANY);
	value = bpf_map_lookup_elem(&kept, &key);
	if (value) {
		got[0] = AS_WORDS(*value)[4];
		got[1] = *value == at;
	}
	release(at, 1);
}

/* Arena pointers may be on the stack, and in the argument of a loop's callback. */
struct spill {
	u64 __arena *words;
	u64 sum;
};

static long add_one(u64 index, struct spill *spill)
{
	spill->sum += spill->words[index % 4];
	return 0;
}

CASE(pointers_in_a_callback, 10)
{
	u64 at = alloc(0, 1);
	struct spill spill = { .words = AS_WORDS(at) };

	if (!at)
		return 0;
	for (int i = 0; i < 4; i++)
		spill.words[i] = i + 1;
	bpf_loop(4, add_one, &spill, 0);
	release(at, 1);
	return spill.sum;
}
