// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, which also logs the mask of fully idle cores. */
#define WITH_SMT_MASK
#include "tracer.h"
