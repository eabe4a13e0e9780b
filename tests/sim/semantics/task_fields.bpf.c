// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, which reads more of an enqueued task, including one that may not migrate. */
#define WITH_TASK_FIELDS
#define OPS_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_MIGRATION_DISABLED)
#include "tracer.h"
