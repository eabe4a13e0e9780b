// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, with the callbacks for CPUs that higher classes take. */
#define WITH_CPU_PREEMPT
#include "tracer.h"
