// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, which writes the mask of wholly idle cores down as well. */
#define WITH_SMT_MASK
#include "tracer.h"
