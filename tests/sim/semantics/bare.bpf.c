// SPDX-License-Identifier: GPL-2.0-only
/* The tracer, without callbacks that decide where tasks go. */
#define WITHOUT_SELECT_CPU
#define WITHOUT_ENQUEUE
#define WITHOUT_DISPATCH
#include "tracer.h"
