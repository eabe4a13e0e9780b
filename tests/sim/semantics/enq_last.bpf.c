// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, asked about the last runnable task, too. */
#define OPS_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST)
#include "tracer.h"
