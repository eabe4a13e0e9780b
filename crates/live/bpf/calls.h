/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a task waits in, and what wakes it: what a replay must know to let it wait for the same.
 *
 * What it waits in is the class of its system call, by the registers that it entered the kernel with. No program is
 * called for that: it is looked up when the task leaves its CPU. Only x86-64 is known here.
 */
#ifndef KEEL_CALLS_H
#define KEEL_CALLS_H

#include "ring.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___x86 {
	unsigned long cx;
	unsigned long si;
	unsigned long orig_ax;
	unsigned long ip;
};
#pragma clang attribute pop

#define PF_KTHREAD 0x00200000
#define TIMER_ABSTIME 1

/* In the order of keel_trace::Call. */
enum {
	IN_UNKNOWN = 0,
	IN_SLEEP = 1,
	IN_SLEEP_UNTIL = 2,
	IN_DISK = 3,
	IN_FUTEX = 4,
	IN_POLL = 5,
	IN_TRANSFER = 6,
	IN_CHILD = 7,
	IN_OTHER = 8,
	IN_KERNEL = 9,
};

/* In the order of keel_trace::Source. */
enum {
	BY_TASK = 0,
	BY_TIMER = 1,
	BY_INTERRUPT = 2,
	BY_SOFTIRQ = 3,
	BY_SENDER = 4,
};

/* A class of system calls, by the number on x86-64. */
static __always_inline u8 call_class(u64 number, u64 second)
{
	switch (number) {
	case 35: /* nanosleep */
		return IN_SLEEP;
	case 230: /* clock_nanosleep */
		return second & TIMER_ABSTIME ? IN_SLEEP_UNTIL : IN_SLEEP;
	case 202: /* futex */
	case 449: /* futex_waitv */
	case 455: /* futex_wait */
		return IN_FUTEX;
	case 7: /* poll */
	case 23: /* select */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
		return IN_POLL;
	case 0: /* read */
	case 1: /* write */
	case 17: /* pread64 */
	case 18: /* pwrite64 */
	case 19: /* readv */
	case 20: /* writev */
	case 40: /* sendfile */
	case 42: /* connect */
	case 43: /* accept */
	case 44: /* sendto */
	case 45: /* recvfrom */
	case 46: /* sendmsg */
	case 47: /* recvmsg */
	case 275: /* splice */
	case 288: /* accept4 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
		return IN_TRANSFER;
	case 61: /* wait4 */
	case 247: /* waitid */
		return IN_CHILD;
	}
	return IN_OTHER;
}

/* What a task that leaves its CPU just now, waits in. */
static __always_inline u8 call_of(struct task_struct *task)
{
	struct pt_regs___x86 *regs;

	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return IN_DISK;
	if (task->flags & PF_KTHREAD)
		return IN_KERNEL;
	regs = (void *)bpf_task_pt_regs(task);
	/* The instruction for system calls leaves its own address there; faults do not, and what they are for is not known. */
	if (!bpf_core_field_exists(regs->orig_ax) || !regs->ip || regs->cx != regs->ip)
		return IN_UNKNOWN;
	return call_class(regs->orig_ax, regs->si);
}

/* What this CPU is in the midst of: the interrupt of its own timer, and timers of the wheel. */
#define CPU_TIMER 1
#define WHEEL 2

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} expiring SEC(".maps");

static __always_inline void set_expiring(u32 kind, bool on)
{
	u32 zero = 0;
	u32 *kinds = bpf_map_lookup_elem(&expiring, &zero);

	if (kinds)
		*kinds = on ? *kinds | kind : *kinds & ~kind;
}

/* What wakes here: the task that runs, or what has interrupted it. */
static __always_inline u8 source_here(void)
{
	u32 zero = 0, midst = &__preempt_count ? *(int *)bpf_this_cpu_ptr(&__preempt_count) : 0;
	u32 *kinds = bpf_map_lookup_elem(&expiring, &zero);
	bool is_hard = midst & IN_HARDIRQ_OR_NMI;
	struct task_struct *me;
	struct known *known;

	if (!sizes.sees_timers || !kinds || !(is_hard || midst & SERVING_SOFTIRQ))
		return BY_TASK;
	/* A device may interrupt a timer of the wheel. */
	if (*kinds & (is_hard ? CPU_TIMER : CPU_TIMER | WHEEL))
		return BY_TIMER;
	if (is_hard)
		return BY_INTERRUPT;
	me = bpf_get_current_task_btf();
	known = me->pid ? known_of(me) : NULL;
	return known && known->has_sent ? BY_SENDER : BY_SOFTIRQ;
}

/*
 * Around the whole interrupt, not around each hrtimer: between taking a timer off its queue and calling its function the
 * kernel holds no lock, and what runs there gives other CPUs longer to start the same timer again.
 *
 * Runs: in the interrupt of the CPU's own timer, with interrupts off.
 * Reaches itself: no. It starts no timer, and the next such interrupt comes later.
 */
SEC("?tp_btf/local_timer_entry")
int BPF_PROG(on_timer_interrupt)
{
	set_expiring(CPU_TIMER, 1);
	return 0;
}

SEC("?tp_btf/local_timer_exit")
int BPF_PROG(after_timer_interrupt)
{
	set_expiring(CPU_TIMER, 0);
	return 0;
}

/*
 * Runs: in a softirq, with interrupts on or off; around what a timer is for.
 * Reaches itself: no, likewise.
 */
SEC("?tp_btf/timer_expire_entry")
int BPF_PROG(on_timer)
{
	set_expiring(WHEEL, 1);
	return 0;
}

SEC("?tp_btf/timer_expire_exit")
int BPF_PROG(after_timer)
{
	set_expiring(WHEEL, 0);
	return 0;
}

/*
 * A packet for this machine itself, by loopback or a pair of virtual devices: it waits on this CPU until the sender lets
 * softirqs in, a moment later. So what these wake then, the sender woke.
 *
 * Runs: in the sender, or in a softirq, with softirqs off.
 * Reaches itself: no. It sends nothing.
 */
SEC("?tp_btf/netif_rx")
int BPF_PROG(on_packet)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct known *known;

	if (!actor())
		return 0;
	known = known_of(me);
	if (known)
		known->has_sent = 1;
	return 0;
}

#endif
