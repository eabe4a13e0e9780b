// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault: it dispatches to a queue that was never created.
 */
#include "keel.h"

LICENSE;

#define NO_SUCH_DSQ 0xbad

struct exit_record exit_record;

CALLBACK(void, bad_dsq_enqueue, struct task_struct *p, u64 enq_flags)
{
	insert(p, NO_SUCH_DSQ, SCX_SLICE_DFL, enq_flags);
}

CALLBACK(void, bad_dsq_exit, struct scx_exit_info *info)
{
	record_exit(&exit_record, info);
}

SCHEDULER(bad_dsq_ops,
	  .enqueue = (void *)bad_dsq_enqueue,
	  .exit = (void *)bad_dsq_exit,
	  .name = "bad_dsq");
