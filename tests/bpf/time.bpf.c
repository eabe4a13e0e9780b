// SPDX-License-Identifier: GPL-2.0-only
/* Clocks never go back; CPU and node are those of the machine; random numbers have 32 bits. */
#include "case.h"

#define RISES(clock)                                                                               \
	({                                                                                         \
		u64 before = clock, wrong = 0;                                                     \
		s32 i;                                                                             \
                                                                                                   \
		for_range(i, 0, 100) {                                                             \
			u64 now = clock;                                                           \
                                                                                                   \
			wrong += now < before;                                                     \
			before = now;                                                              \
		}                                                                                  \
		wrong;                                                                             \
	})

STEPS(clocks_never_go_back, 0, 0, 0)
{
	got[0] = RISES(bpf_ktime_get_ns());
	got[1] = RISES(bpf_ktime_get_boot_ns());
	got[2] = RISES(bpf_jiffies64());
}

/* Time passes while a program runs. */
CASE(time_passes, 1)
{
	u64 before = bpf_ktime_get_ns(), sum = 0;
	s32 i;

	for_range(i, 0, 10000)
		sum += HIDE(i);
	return bpf_ktime_get_ns() > before && sum;
}

STEPS(places, 1, 1)
{
	got[0] = bpf_get_smp_processor_id() < 8;
	got[1] = bpf_get_numa_node_id() < 2;
}

STEPS(random_numbers, 0, 1)
{
	u64 high = 0, differ = 0;
	s32 i;

	for_range(i, 0, 20) {
		u64 a = bpf_get_prandom_u32(), b = bpf_get_prandom_u32();

		high |= a >> 32;
		differ |= a != b;
	}
	got[0] = high;
	got[1] = differ;
}
