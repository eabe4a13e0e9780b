// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, which logs a task's session and the number of its autogroup when it begins and when it blocks. */
#include "sessions.h"

#define SAY(op, p, value) bpf_printk(op " %d %d %llx", (p)->pid, bpf_get_smp_processor_id(), (u64)(value))
#define SAY_GROUP(p) SAY("session", p, (u64)session_of(p) << 32 | autogroup_of(p))
#define SAY_BIRTH(p, args) SAY("born_in", p, (u64)session_of(p) << 32 | autogroup_of(p))
#define MORE_CALLBACKS
#include "tracer.h"
