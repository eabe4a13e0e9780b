/* SPDX-License-Identifier: GPL-2.0-only */
/* One file of tests/bpf beside a scheduler that does nothing, so that a kernel takes it as one. */
#include CASES

SCHEDULER(case_ops, .name = "case");
