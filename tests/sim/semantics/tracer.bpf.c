// SPDX-License-Identifier: GPL-2.0-only
/* Logs every callback; see tracer.h. */
#include "tracer.h"
