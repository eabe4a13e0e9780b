// SPDX-License-Identifier: GPL-2.0-only
/* The accesses of contended.bpf.c, with a bpf_res_spin_lock in place of the bpf_spin_lock. */
#define RESILIENT
#include "contended.bpf.c"
