// SPDX-License-Identifier: GPL-2.0-only
/* Wants callbacks for the last runnable task, but has no ops.enqueue(): the kernel rejects it. */
#define WITHOUT_SELECT_CPU
#define WITHOUT_ENQUEUE
#define WITHOUT_DISPATCH
#define OPS_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST)
#include "tracer.h"
