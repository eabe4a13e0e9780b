// SPDX-License-Identifier: GPL-2.0-only
/* Writes down every callback; see tracer.h. */
#include "tracer.h"
