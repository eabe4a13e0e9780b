// SPDX-License-Identifier: GPL-2.0-only
/* The tracer with a watchdog of one second. */
#define TIMEOUT_MS 1000
#include "tracer.h"
