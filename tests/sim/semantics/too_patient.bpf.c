// SPDX-License-Identifier: GPL-2.0-only
/* The tracer with a longer timeout than the kernel allows. */
#define TIMEOUT_MS 30001
#include "tracer.h"
