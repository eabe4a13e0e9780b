// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it calls a kfunc that no kernel has.
 */
#include "keel.h"

LICENSE;

extern s32 scx_bpf_no_such_kfunc(struct task_struct *p) __ksym;

struct exit_record exit_record;

CALLBACK(void, unknown_kfunc_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_no_such_kfunc(p);
	insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, unknown_kfunc_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(unknown_kfunc_ops,
	  .enqueue = (void *)unknown_kfunc_enqueue,
	  .exit = (void *)unknown_kfunc_exit,
	  .name = "unknown_kfunc");
