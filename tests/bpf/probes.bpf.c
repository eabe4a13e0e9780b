// SPDX-License-Identifier: GPL-2.0-only
/* Reading memory that may not exist, and strings. */
#include "case.h"

static char text[16] = "scheduler";
static u64 words[2] = { 0x1122334455667788, 7 };

STEPS(probe_read_kernel, 0, 0x1122334455667788, 0, 0x7788)
{
	u64 whole = 0;
	u16 part = 0;

	got[0] = bpf_probe_read_kernel(&whole, sizeof(whole), words);
	got[1] = whole;
	got[2] = bpf_probe_read_kernel(&part, sizeof(part), words);
	got[3] = part;
}

/*
 * Addresses where no kernel has memory are not even tried. Elsewhere the read faults. The buffer is zeroed either
 * way.
 */
STEPS(bad_addresses, -ERANGE, 0, -ERANGE, 0, -EFAULT, 0)
{
	u64 number = 5;

	got[0] = bpf_probe_read_kernel(&number, sizeof(number), (void *)HIDE(0));
	got[1] = number;
	number = 5;
	got[2] = bpf_probe_read_kernel(&number, sizeof(number), (void *)HIDE(0xdead000000000000));
	got[3] = number;
	number = 5;
	got[4] = bpf_probe_read_kernel(&number, sizeof(number), (void *)HIDE(0xffff800000000000));
	got[5] = number;
}

/* The length includes the NUL. A longer string is truncated, and ends with one. */
STEPS(strings, 10, 's', 'r', 0, 5, 'e', 0, 1, 0)
{
	char out[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	got[0] = bpf_probe_read_kernel_str(out, sizeof(out), text);
	got[1] = out[0];
	got[2] = out[8];
	got[3] = out[9];
	got[4] = bpf_probe_read_kernel_str(out, 5, text);
	got[5] = out[3];
	got[6] = out[4];
	got[7] = bpf_probe_read_kernel_str(out, 1, text);
	got[8] = out[0];
}

STEPS(strings_at_bad_addresses, -ERANGE, 0, 0, -EFAULT)
{
	char out[4] = { 1, 2, 3, 4 };

	got[0] = bpf_probe_read_kernel_str(out, sizeof(out), (void *)HIDE(0));
	got[1] = out[0];
	got[2] = out[3];
	got[3] = bpf_probe_read_kernel_str(out, sizeof(out), (void *)HIDE(0xffff800000000000));
}

static const char name[] = "scheduler", longer[] = "schedulers", other[] = "schedule", later[] = "scheme";

/* Compared as in strncmp(), up to the NUL or the length. The sign gives the order. */
STEPS(comparisons, 0, 0, 1, 1, 0)
{
	got[0] = bpf_strncmp(text, 16, name);
	got[1] = bpf_strncmp(text, 9, longer);
	got[2] = (int)bpf_strncmp(text, 10, longer) < 0;
	got[3] = (int)bpf_strncmp(text, 16, other) > 0;
	got[4] = bpf_strncmp(text, 4, later);
}

/* Reading zero bytes succeeds at any address. */
STEPS(no_bytes, 0, 0, 5)
{
	char out[4] = { 5 };

	got[0] = bpf_probe_read_kernel(out, 0, text);
	got[1] = bpf_probe_read_kernel_str(out, 0, text);
	got[2] = out[0];
}

/* The older names read kernel memory if an address is the kernel's. */
STEPS(older_names, 0, 0x1122334455667788, 10, 's', 0)
{
	char out[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	u64 whole = 0;

	got[0] = bpf_probe_read(&whole, sizeof(whole), words);
	got[1] = whole;
	got[2] = bpf_probe_read_str(out, sizeof(out), text);
	got[3] = out[0];
	got[4] = out[9];
}
