/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's iterator over numbers, for loops whose bound the verifier need not count.
 */
#ifndef KEEL_NUMBERS_H
#define KEEL_NUMBERS_H

#include "bpf_types.h"

/* Its layout is opaque. */
struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

#endif
