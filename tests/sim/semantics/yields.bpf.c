// SPDX-License-Identifier: GPL-2.0-only
/* The tracer with ops.yield. */
#define WITH_YIELD
#include "tracer.h"
