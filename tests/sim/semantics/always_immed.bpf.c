// SPDX-License-Identifier: GPL-2.0-only
/* The tracer. All tasks in a local queue run at once or come back. */
#define OPS_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ALWAYS_ENQ_IMMED)
#include "tracer.h"
