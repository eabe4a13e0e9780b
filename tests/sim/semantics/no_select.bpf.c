// SPDX-License-Identifier: GPL-2.0-only
/* The tracer without ops.select_cpu. */
#define WITHOUT_SELECT_CPU
#include "tracer.h"
