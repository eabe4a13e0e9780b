/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every scheduler here builds on: the kernel's types, kfuncs and constants, and one name
 * for each thing that differs between Linux 6.16 and 7.2. The same object loads into all of them
 * and into the simulated kernel: types are looked up when it is loaded, missing kfuncs are null.
 */
#ifndef KEEL_H
#define KEEL_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#include "enums.h"
#include "types.h"
#include "ops.h"
#pragma clang attribute pop

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* A name that ends in ___version needs one more suffix, because libbpf removes the last one. */
#define KFUNC(result, name, ...) extern result name(__VA_ARGS__) __ksym __weak;
#define KFUNC_VERSION(result, name, version, ...) \
	extern result name##version##___compat(__VA_ARGS__) __ksym __weak;
#include "kfuncs.h"

/* Whether the running kernel has this kfunc. */
#define kfunc_exists(kfunc) (!!(kfunc))

/* Constants from the running kernel's types. */
#define SCX_DSQ_GLOBAL bpf_core_enum_value(enum scx_dsq_id_flags, SCX_DSQ_GLOBAL)
#define SCX_DSQ_LOCAL bpf_core_enum_value(enum scx_dsq_id_flags, SCX_DSQ_LOCAL)
#define SCX_DSQ_LOCAL_ON bpf_core_enum_value(enum scx_dsq_id_flags, SCX_DSQ_LOCAL_ON)
#define SCX_ENQ_HEAD bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_HEAD)
#define SCX_ENQ_WAKEUP bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_WAKEUP)
#define SCX_ENQ_PREEMPT bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_PREEMPT)
#define SCX_ENQ_REENQ bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_REENQ)
#define SCX_ENQ_LAST bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_LAST)
#define SCX_KICK_IDLE bpf_core_enum_value(enum scx_kick_flags, SCX_KICK_IDLE)
#define SCX_KICK_PREEMPT bpf_core_enum_value(enum scx_kick_flags, SCX_KICK_PREEMPT)
#define SCX_SLICE_DFL bpf_core_enum_value(enum scx_public_consts, SCX_SLICE_DFL)
#define SCX_SLICE_INF bpf_core_enum_value(enum scx_public_consts, SCX_SLICE_INF)

/* A callback: its result, its name, its parameters. */
#define CALLBACK(result, name, parameters...) SEC("struct_ops/" #name) result BPF_PROG(name, ##parameters)
/* One that may sleep: init, exit, init_task... */
#define SLEEPABLE(result, name, parameters...) SEC("struct_ops.s/" #name) result BPF_PROG(name, ##parameters)
/* The scheduler itself: its members. */
#define SCHEDULER(variable, members...) SEC(".struct_ops.link") struct sched_ext_ops variable = { members }

#define LICENSE char _license[] SEC("license") = "GPL"

#define __CLEANUP(function) __attribute__((cleanup(function)))

/* For every number (s32 or u32) from `start` up to `end`, which is excluded; the verifier need not unroll it. */
#define for_range(number, start, end)                                                              \
	for (struct bpf_iter_num ___it __CLEANUP(bpf_iter_num_destroy),                            \
	     *___begun __attribute__((unused)) = (bpf_iter_num_new(&___it, start, end), (void *)0); \
	     range_next(&___it, _Generic(&(number), u32 *: (s32 *)&(number), default: &(number)));)

static __always_inline bool range_next(struct bpf_iter_num *it, s32 *number)
{
	int *next = bpf_iter_num_next(it);

	if (!next)
		return false;
	*number = *next;
	return true;
}

/* For every task in a queue of the scheduler's own; `it` is what scx_bpf_dsq_move() asks for. */
#define for_each_queued(it, p, dsq, flags)                                                       \
	for (struct bpf_iter_scx_dsq it __CLEANUP(bpf_iter_scx_dsq_destroy),                     \
	     *___begun __attribute__((unused)) = (bpf_iter_scx_dsq_new(&it, dsq, flags), (void *)0); \
	     ((p) = bpf_iter_scx_dsq_next(&it));)

/* Puts the task into a queue. Returns false if the kernel reports that it did not. */
static inline bool insert(struct task_struct *p, u64 dsq, u64 slice_ns, u64 enq_flags)
{
	if (kfunc_exists(scx_bpf_dsq_insert___v2___compat))
		return scx_bpf_dsq_insert___v2___compat(p, dsq, slice_ns, enq_flags);
	scx_bpf_dsq_insert(p, dsq, slice_ns, enq_flags);
	return true;
}

/* Puts the task into a queue ordered by vtime. */
static inline bool insert_vtime(struct task_struct *p, u64 dsq, u64 slice_ns, u64 vtime, u64 enq_flags)
{
	if (bpf_core_type_exists(struct scx_bpf_dsq_insert_vtime_args)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq,
			.slice = slice_ns,
			.vtime = vtime,
			.enq_flags = enq_flags,
		};

		return __scx_bpf_dsq_insert_vtime(p, &args);
	}
	scx_bpf_dsq_insert_vtime(p, dsq, slice_ns, vtime, enq_flags);
	return true;
}

/* Claims an idle CPU among those allowed. Returns it, or a negative value if there is none. */
static inline s32 select_cpu_and(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
				 const struct cpumask *allowed, u64 flags)
{
	if (bpf_core_type_exists(struct scx_bpf_select_cpu_and_args)) {
		struct scx_bpf_select_cpu_and_args args = {
			.prev_cpu = prev_cpu,
			.wake_flags = wake_flags,
			.flags = flags,
		};

		return __scx_bpf_select_cpu_and(p, allowed, &args);
	}
	return scx_bpf_select_cpu_and(p, prev_cpu, wake_flags, allowed, flags);
}

/* From 6.19 on slice and vtime are set by kfunc; writing the fields is deprecated. */
static inline void set_slice(struct task_struct *p, u64 slice_ns)
{
	if (kfunc_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice_ns);
	else
		p->scx.slice = slice_ns;
}

static inline void set_vtime(struct task_struct *p, u64 vtime)
{
	if (kfunc_exists(scx_bpf_task_set_dsq_vtime))
		scx_bpf_task_set_dsq_vtime(p, vtime);
	else
		p->scx.dsq_vtime = vtime;
}

/* Whether vtime a is before b, even if they wrap around. */
static inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* Ends the scheduler with an error or, voluntarily, with a code; the format is printf's. */
#define scheduler_error(fmt, args...)                                                \
	({                                                                           \
		static char ___fmt[] = fmt;                                          \
		unsigned long long ___args[___bpf_narg(args) ?: 1] = {};             \
		___bpf_fill(___args, args);                                          \
		scx_bpf_error_bstr(___fmt, ___args, ___bpf_narg(args) * sizeof(u64)); \
	})
#define scheduler_exit(code, fmt, args...)                                                \
	({                                                                                \
		static char ___fmt[] = fmt;                                               \
		unsigned long long ___args[___bpf_narg(args) ?: 1] = {};                  \
		___bpf_fill(___args, args);                                               \
		scx_bpf_exit_bstr(code, ___fmt, ___args, ___bpf_narg(args) * sizeof(u64)); \
	})

/* Why the scheduler ended, for user space to read from .bss. */
struct exit_record {
	u32 kind;
	s32 cpu;
	s64 code;
	char reason[128];
	char msg[1024];
};

static inline void record_exit(struct exit_record *record, const struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(record->reason, sizeof(record->reason), info->reason);
	bpf_probe_read_kernel_str(record->msg, sizeof(record->msg), info->msg);
	record->code = info->exit_code;
	record->cpu = bpf_core_field_exists(info->exit_cpu) ? info->exit_cpu : -1;
	record->kind = info->kind;
}

#endif
