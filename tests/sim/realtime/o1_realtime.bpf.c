// SPDX-License-Identifier: GPL-2.0-only
/* o1, with hints by name. */
#include "hints_by_name.h"
#include "../../../schedulers/o1.bpf.c"
