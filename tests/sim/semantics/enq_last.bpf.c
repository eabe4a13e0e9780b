// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, also called for the last runnable task. */
#define OPS_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST)
#include "tracer.h"
