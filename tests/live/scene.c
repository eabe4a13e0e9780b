/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the scenes of scenes.sh need beyond a shell:
 *
 * scene core CMD...    runs CMD as its own group for core scheduling: only its own tasks may run beside it on a core
 * scene hold           pins itself to CPU 0, and runs a BPF program there for a while, with migration disabled; meanwhile
 *                      another thread lets it use all CPUs; repeatedly
 * scene pipeline N     N tasks in a ring pass a byte on, each after a little work: one of them runs at a time
 * scene sleeper MS     repeatedly works a little and sleeps for MS milliseconds
 */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif
/* PR_SCHED_CORE_CREATE, for a whole process. */
#define CORE_CREATE 1
#define OF_PROCESS 1

/* 'may_goto', which the kernel ends after a quarter of a second (BPF_JCOND). */
#define MAY_GOTO 0xe5

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void may_use(pid_t tid, int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = first; cpu <= last; cpu++)
		CPU_SET(cpu, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

static int core(char **argv)
{
	if (prctl(PR_SCHED_CORE, CORE_CREATE, 0, OF_PROCESS, 0))
		return fail("PR_SCHED_CORE");
	execvp(argv[0], argv);
	return fail(argv[0]);
}

/* A program that does nothing for as long as it may. */
static int load(void)
{
	struct bpf_insn insns[] = {
		{ .code = MAY_GOTO, .off = 1 },
		{ .code = BPF_JMP | BPF_JA, .off = -2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	static char said[16384];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SYSCALL;
	attr.prog_flags = BPF_F_SLEEPABLE;
	attr.insns = (unsigned long)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (unsigned long)"GPL";
	attr.log_buf = (unsigned long)said;
	attr.log_size = sizeof(said);
	attr.log_level = 1;
	int program = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (program < 0)
		fputs(said, stderr);
	return program;
}

static pthread_barrier_t pinned;
static pid_t holder;

static void *free_it(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&pinned);
		usleep(5000);
		may_use(holder, 0, 3);
	}
	return unused;
}

static int hold(void)
{
	pthread_t other;
	union bpf_attr attr;
	int program = load();

	if (program < 0)
		return fail("the program is refused");
	holder = syscall(SYS_gettid);
	pthread_barrier_init(&pinned, NULL, 2);
	pthread_create(&other, NULL, free_it, NULL);
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = program;
	for (;;) {
		may_use(0, 0, 0);
		pthread_barrier_wait(&pinned);
		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
			return fail("the program does not run");
	}
}

static void work(int turns)
{
	for (volatile int i = 0; i < turns; i++)
		;
}

static void sleeper(int ms)
{
	for (;;) {
		work(10000);
		usleep(ms * 1000);
	}
}

/* Takes a byte, works on it for a moment, and passes it on. */
static void stage(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1) {
		work(100000);
		if (write(to, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static int pipeline(int stages)
{
	int first[2], from, next[2];

	if (pipe(first))
		return fail("a pipe");
	from = first[0];
	for (int i = 1; i < stages; i++) {
		if (pipe(next))
			return fail("a pipe");
		if (!fork())
			stage(from, next[1]);
		from = next[0];
	}
	if (write(first[1], "x", 1) != 1)
		return fail("the first byte");
	stage(from, first[1]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "core"))
		return core(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "hold"))
		return hold();
	if (argc == 3 && !strcmp(argv[1], "pipeline"))
		return pipeline(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "sleeper"))
		sleeper(atoi(argv[2]));
	fputs("usage: scene core CMD... | hold | pipeline N | sleeper MS\n", stderr);
	return 2;
}
