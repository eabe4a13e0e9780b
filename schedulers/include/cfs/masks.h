/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs, sixth: sets of CPUs. All are in one array, so that a set can be passed around as a number: the
 * spans of each CPU's domains, level by level, and after them a few that each CPU uses while it balances.
 */
#ifndef CFS_MASKS_H
#define CFS_MASKS_H

#include "vruntime.h"

struct mask {
	u64 words[CPU_WORDS];
} LINE;

#define SPANS (MAX_CPUS * LEVELS)
#define MASKS (2 * SPANS)

static struct mask masks[MASKS] LINE;
static u32 nr_words = 1;

static __always_inline struct mask *mask_at(u32 id)
{
	return &masks[hidden(id) & (MASKS - 1)];
}

/* The CPUs of a CPU's domain at a level; level 0 is the CPU itself. */
static __always_inline u32 span_of(u32 cpu, u32 level)
{
	return cpu * LEVELS + level;
}

/* CPUs that are already in a group; CPUs from which no task could move. They belong to the balancing CPU. */
static __always_inline u32 covered_of(u32 cpu)
{
	return SPANS + cpu * 2;
}

static __always_inline u32 excluded_of(u32 cpu)
{
	return SPANS + cpu * 2 + 1;
}

/* The word that contains a CPU. */
static __always_inline u32 word_of(u32 cpu)
{
	return hidden(cpu / 64) & (CPU_WORDS - 1);
}

static __always_inline bool has_cpu(u32 id, u32 cpu)
{
	return mask_at(id)->words[word_of(cpu)] >> (cpu % 64) & 1;
}

static __always_inline void add_cpu(u32 id, u32 cpu)
{
	mask_at(id)->words[word_of(cpu)] |= 1ULL << (cpu % 64);
}

static __always_inline void remove_cpu(u32 id, u32 cpu)
{
	mask_at(id)->words[word_of(cpu)] &= ~(1ULL << (cpu % 64));
}

static __always_inline void clear_mask(u32 id)
{
	__builtin_memset(mask_at(id), 0, sizeof(struct mask));
}

/* Adds the CPUs of one set to another. */
static __always_inline void add_mask(u32 id, u32 more)
{
	s32 i;

	for_range(i, 0, nr_words) {
		u32 word = hidden(i) & (CPU_WORDS - 1);

		mask_at(id)->words[word] |= mask_at(more)->words[word];
	}
}

/* The first CPU from `from` on that is in one set and not in the other; NO_CPU if there is none. */
__noinline u32 next_outside(u32 id, u32 other, u32 from)
{
	struct mask *in = mask_at(id), *out = mask_at(other);
	u32 word = word_of(from);
	u64 bits = in->words[word] & ~out->words[word] & (~0ULL << (from % 64));
	s32 i;

	if (from >= NO_CPU)
		return NO_CPU;
	if (bits)
		return word * 64 + __builtin_ctzll(bits);
	if (word + 1 >= nr_words)
		return NO_CPU;
	for_range(i, word + 1, nr_words) {
		word = hidden(i) & (CPU_WORDS - 1);
		bits = in->words[word] & ~out->words[word];
		if (bits)
			return word * 64 + __builtin_ctzll(bits);
	}
	return NO_CPU;
}

/* A set that is always empty. */
#define NO_MASK (MASKS - 1)

static __always_inline u32 first_of(u32 id)
{
	return next_outside(id, NO_MASK, 0);
}

/* For each CPU of a set, in ascending order. */
#define for_each_cpu(i, cpu, id)                                                              \
	(cpu) = ~0U;                                                                          \
	for_range(i, 0, MAX_CPUS)                                                             \
		if (((cpu) = next_outside(id, NO_MASK, (cpu) + 1)) >= NO_CPU)                 \
			break;                                                                \
		else

#endif
