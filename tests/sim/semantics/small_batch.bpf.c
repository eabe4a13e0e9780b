// SPDX-License-Identifier: GPL-2.0-only
/* The tracer with space for four inserts per dispatch. */
#define MAX_BATCH 4
#include "tracer.h"
