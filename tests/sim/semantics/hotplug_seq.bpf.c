// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, whose user-space half was started when four CPUs had been brought up. */
#define WITH_HOTPLUG
#define HOTPLUG_SEQ 3
#include "tracer.h"
