// SPDX-License-Identifier: GPL-2.0-only
/* goodness, with hints by name. */
#include "hints_by_name.h"
#include "../../../schedulers/goodness.bpf.c"
