// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, told of CPUs that higher classes take. */
#define WITH_CPU_PREEMPT
#include "tracer.h"
