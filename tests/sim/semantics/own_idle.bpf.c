// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, for which the kernel keeps no idle masks. */
#define OPS_FLAGS 0
#define WITHOUT_IDLE_MASKS
#include "tracer.h"
