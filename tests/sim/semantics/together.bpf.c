// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, with every callback: CPUs that come, go and are taken, cgroups, yields. */
#define WITH_HOTPLUG
#define WITH_CPU_PREEMPT
#define WITH_YIELD
#include "cgroups.bpf.c"
