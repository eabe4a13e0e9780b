// SPDX-License-Identifier: GPL-2.0-only
/*
 * It reads events that nobody has opened, and exits with the result: only struct_ops
 * programs may (those that cannot sleep).
 */
#include "keel.h"

LICENSE;

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

/* Numbers that the verifier doesn't know. */
const volatile u64 first = 0, beyond = 2, unknown_flag = 1ULL << 32;

CALLBACK(void, no_events_running, struct task_struct *p)
{
	struct bpf_perf_event_value value = { 1, 2, 3 };
	s64 own = bpf_perf_event_read_value(&events, BPF_F_CURRENT_CPU, &value, sizeof(value));
	s64 one = bpf_perf_event_read_value(&two_events, first, &value, sizeof(value));
	s64 none = bpf_perf_event_read_value(&two_events, beyond, &value, sizeof(value));
	s64 flag = bpf_perf_event_read_value(&events, unknown_flag, &value, sizeof(value));

	scheduler_error("events: %lld %lld %lld %lld, %llu", own, one, none, flag,
			value.counter + value.enabled + value.running);
}

struct exit_record exit_record;

CALLBACK(void, no_events_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(no_events_ops,
	  .running = (void *)no_events_running,
	  .exit = (void *)no_events_exit,
	  .name = "no_events");
