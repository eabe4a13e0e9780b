// SPDX-License-Identifier: GPL-2.0-only
/* The tracer with room for four inserts a dispatch. */
#define MAX_BATCH 4
#include "tracer.h"
