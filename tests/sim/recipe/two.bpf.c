// SPDX-License-Identifier: GPL-2.0-only
/* Two schedulers in one object: the first stays attached when a CPU goes offline, the second does not. */
#include "keel.h"

LICENSE;

SLEEPABLE(void, stays_cpu_offline, s32 cpu)
{
}

SCHEDULER(stays_ops, .cpu_offline = (void *)stays_cpu_offline, .name = "stays");
SCHEDULER(goes_ops, .name = "goes");
