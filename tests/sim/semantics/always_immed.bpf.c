// SPDX-License-Identifier: GPL-2.0-only
/* The tracer; all that goes to a local queue runs at once or comes back. */
#define OPS_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ALWAYS_ENQ_IMMED)
#include "tracer.h"
