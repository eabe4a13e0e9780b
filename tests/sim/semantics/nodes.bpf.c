// SPDX-License-Identifier: GPL-2.0-only
/* The tracer with idle masks of single nodes. */
#define OPS_FLAGS (SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_BUILTIN_IDLE_PER_NODE)
#define WITH_NODE_MASKS
#include "tracer.h"
