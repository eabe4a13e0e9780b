// SPDX-License-Identifier: GPL-2.0-only
/* The tracer that stays attached when CPUs come and go. */
#define WITH_HOTPLUG
#include "tracer.h"
