// SPDX-License-Identifier: GPL-2.0-only
/* Global variables and constants, the kernel's version, and symbols that may be absent. */
#include "case.h"

u32 initialized = 5;
u64 zeroed[4];
const volatile u32 constant = 7;
const volatile u16 numbers[] = { 10, 20, 30 };
static u64 own_section SEC(".data.own") = 3;
static const volatile u64 own_constant SEC(".rodata.own") = 4;
static u64 own_zeroes[2] SEC(".bss.own");

STEPS(variables, 5, 6, 0, 9, 7, 60)
{
	u32 at = HIDE(2);

	got[0] = initialized;
	initialized = HIDE(6);
	barrier();
	got[1] = initialized;
	got[2] = zeroed[1];
	zeroed[1] = HIDE(9);
	barrier();
	got[3] = zeroed[1];
	got[4] = constant;
	got[5] = at < 3 ? numbers[0] + numbers[1] + numbers[at] : 0;
}

STEPS(sections_of_their_own, 3, 4, 0, 8)
{
	got[0] = *(volatile u64 *)&own_section;
	got[1] = own_constant;
	got[2] = *(volatile u64 *)&own_zeroes[1];
	own_zeroes[1] = HIDE(8);
	barrier();
	got[3] = own_zeroes[1];
}

/* A string of the code itself. */
STEPS(strings, 'o', 0)
{
	const char *text = "two";

	got[0] = text[HIDE(2) & 3];
	got[1] = text[HIDE(3) & 3];
}

extern int LINUX_KERNEL_VERSION __kconfig;

CASE(the_kernels_version, 1)
{
	return LINUX_KERNEL_VERSION >= (6 << 16 | 16 << 8) && LINUX_KERNEL_VERSION < 20 << 16;
}

extern int keel_no_such_kfunc(u64 argument) __ksym __weak;
extern const int keel_no_such_variable __ksym __weak;
extern void bpf_rcu_read_lock___flavour(void) __ksym __weak;
extern int bpf_rcu_read_lock___otherwise(u64 a, u64 b) __ksym __weak;

/* A weak symbol that is absent is null, and so is one with another prototype. A flavour's suffix is ignored. */
STEPS(weak_symbols, 1, 0, 0, 1, 0)
{
	got[0] = kfunc_exists(bpf_rcu_read_lock);
	got[1] = kfunc_exists(keel_no_such_kfunc);
	got[2] = &keel_no_such_variable != 0;
	got[3] = !!bpf_rcu_read_lock___flavour;
	got[4] = !!bpf_rcu_read_lock___otherwise;
	if (kfunc_exists(keel_no_such_kfunc))
		got[1] += keel_no_such_kfunc(HIDE(1));
}

/* A kfunc's later version also exists, under its name for BPF. */
SINCE(versions_of_kfuncs, 7, 0)
STEPS(versions_of_kfuncs, 1, 1)
{
	got[0] = kfunc_exists(scx_bpf_dsq_insert);
	got[1] = kfunc_exists(scx_bpf_dsq_insert___v2___compat);
}
