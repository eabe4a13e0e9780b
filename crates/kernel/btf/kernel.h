/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All that BPF code can see of the simulated kernel. */
#ifndef KEEL_KERNEL_H
#define KEEL_KERNEL_H

#include "enums.h"
#include "types.h"
#include "ops.h"
#include "kfuncs.h"

#endif
