// SPDX-License-Identifier: GPL-2.0-only
/* BPF_MAP_TYPE_PERF_EVENT_ARRAY: nobody opens an event for it. */
#include "case.h"

struct bpf_perf_event_value {
	u64 counter;
	u64 enabled;
	u64 running;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
	__uint(max_entries, 2);
} two_events SEC(".maps");

/* On this machine's 8 CPUs; what is read is zeroed. */
STEPS(no_event_is_open, -ENOENT, -ENOENT, -ENOENT, -ENOENT, -E2BIG, -E2BIG, -EINVAL, 0)
{
	struct bpf_perf_event_value value = { 1, 2, 3 };

	got[0] = bpf_perf_event_read_value(&events, BPF_F_CURRENT_CPU, &value, sizeof(value));
	got[1] = bpf_perf_event_read_value(&events, HIDE(0), &value, sizeof(value));
	got[2] = bpf_perf_event_read_value(&events, HIDE(7), &value, sizeof(value));
	got[3] = bpf_perf_event_read_value(&two_events, HIDE(1), &value, sizeof(value));
	got[4] = bpf_perf_event_read_value(&events, HIDE(64000), &value, sizeof(value));
	got[5] = bpf_perf_event_read_value(&two_events, HIDE(2), &value, sizeof(value));
	value.counter = 1;
	got[6] = bpf_perf_event_read_value(&events, HIDE(1ull << 32), &value, sizeof(value));
	got[7] = value.counter + value.enabled + value.running;
}
