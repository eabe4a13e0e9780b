/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * rt_migrate THREADS LOCKS MS [PI [TIMES]]: real-time threads that share locks, after the description in 'sched: Try not
 * to migrate higher priority RT tasks'. Thread i has SCHED_FIFO priority 1 + i; it takes each lock in turn, is busy with
 * it for THREADS - i ms by the clock, releases it and sleeps for i ms. If PI is not 0, the locks inherit
 * priorities. With TIMES, every one of these times, and MS, is this many times as long.
 *
 * At the end of those MS, it prints what each thread did, as counted by the kernel, and does not wait for the threads:
 * no thread works alone at the end. crates/workload/src/programs/rt_migrate.rs is the same work, simulated.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L
/* The estimate for each of the four lines that a pass writes to the trace. */
#define LINE_NS 1000L
/* The counts are taken this long before the start, when all threads wait for it. */
#define SETTLE_NS (500 * NS_PER_MS)
/* Locked memory: no more of it than a thread needs. */
#define STACK_BYTES (128 * 1024)
/* Priorities end at 99, which is the main thread's. */
#define MOST_THREADS 98
#define MOST_LOCKS 1000

struct counts {
	long voluntary;
	long involuntary;
	long migrated;
	long iterations;
};

struct thread {
	pthread_t thread;
	volatile pid_t tid;
	volatile long iterations;
	struct counts before;
};

static struct thread threads[MOST_THREADS];
static pthread_mutex_t locks[MOST_LOCKS];
static int nr_threads, nr_locks;
static long times = 1;
static sem_t ready, begin;
static struct timespec start;

static void fail(const char *what, int error)
{
	fprintf(stderr, "rt_migrate: %s: %s\n", what, strerror(error));
	exit(1);
}

static void check(const char *what, int error)
{
	if (error)
		fail(what, error);
}

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* By the clock: time during which a thread is preempted counts. */
static void busy(long ns)
{
	long end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static void sleep_ns(long ns)
{
	struct timespec span = { ns / NS_PER_S, ns % NS_PER_S };

	nanosleep(&span, NULL);
}

static void sleep_until(struct timespec until)
{
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static struct timespec later(struct timespec from, long ns)
{
	long sum = from.tv_nsec + ns;

	return (struct timespec){ from.tv_sec + sum / NS_PER_S, sum % NS_PER_S };
}

static void pass(long id)
{
	int l;

	for (l = 0; l < nr_locks; l++) {
		busy(LINE_NS);
		pthread_mutex_lock(&locks[l]);
		busy(LINE_NS);
		busy((nr_threads - id) * times * NS_PER_MS);
		busy(LINE_NS);
		pthread_mutex_unlock(&locks[l]);
		busy(LINE_NS);
		sleep_ns(id * times * NS_PER_MS);
	}
}

static void *work(void *of)
{
	struct thread *thread = of;
	long id = thread - threads;
	char name[16];

	snprintf(name, sizeof(name), "thread-%d", (int)id % MOST_THREADS);
	pthread_setname_np(pthread_self(), name);
	thread->tid = syscall(SYS_gettid);
	sem_post(&ready);
	sem_wait(&begin);
	sleep_until(start);
	for (;;) {
		pass(id);
		thread->iterations++;
	}
	return NULL;
}

/* The number in the line of a thread's file in /proc that begins with these words. */
static long number(pid_t tid, const char *file, const char *words)
{
	char path[64], line[256];
	long found = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
	f = fopen(path, "r");
	if (!f)
		fail(path, errno);
	while (found < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, words, strlen(words)) && strchr(line, ':'))
			found = atol(strchr(line, ':') + 1);
	fclose(f);
	if (found < 0) {
		fprintf(stderr, "rt_migrate: %s has no line '%s': this kernel does not count them\n", path, words);
		exit(1);
	}
	return found;
}

static struct counts counts(const struct thread *thread)
{
	pid_t tid = thread->tid;

	return (struct counts){
		.voluntary = number(tid, "status", "voluntary_ctxt_switches"),
		.involuntary = number(tid, "status", "nonvoluntary_ctxt_switches"),
		.migrated = number(tid, "sched", "se.nr_migrations"),
		.iterations = thread->iterations,
	};
}

static void make_locks(int inherits)
{
	pthread_mutexattr_t attr;
	int l;

	check("pthread_mutexattr_init", pthread_mutexattr_init(&attr));
	if (inherits)
		check("PTHREAD_PRIO_INHERIT", pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	for (l = 0; l < nr_locks; l++)
		check("pthread_mutex_init", pthread_mutex_init(&locks[l], &attr));
}

static void make_threads(void)
{
	struct sched_param priority;
	pthread_attr_t attr;
	int i;

	check("pthread_attr_init", pthread_attr_init(&attr));
	check("stack", pthread_attr_setstacksize(&attr, STACK_BYTES));
	check("inheritsched", pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	check("SCHED_FIFO", pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
	for (i = 0; i < nr_threads; i++) {
		priority.sched_priority = 1 + i;
		check("priority", pthread_attr_setschedparam(&attr, &priority));
		check("pthread_create", pthread_create(&threads[i].thread, &attr, work, &threads[i]));
	}
	for (i = 0; i < nr_threads; i++)
		sem_wait(&ready);
}

static void row(const char *name, struct counts c)
{
	printf("%5s: %9ld %9ld %9ld %12ld\n", name, c.voluntary, c.involuntary, c.migrated, c.iterations);
}

/* What they did meanwhile: first read, then printed. */
static void print(const struct counts *after)
{
	struct counts sum = { 0 };
	char name[16];
	int i;

	printf(" Task        vol    nonvol  migrated   iterations\n");
	for (i = 0; i < nr_threads; i++) {
		const struct counts *before = &threads[i].before;
		struct counts c = {
			after[i].voluntary - before->voluntary,
			after[i].involuntary - before->involuntary,
			after[i].migrated - before->migrated,
			after[i].iterations - before->iterations,
		};

		snprintf(name, sizeof(name), "%d", i);
		row(name, c);
		sum.voluntary += c.voluntary;
		sum.involuntary += c.involuntary;
		sum.migrated += c.migrated;
		sum.iterations += c.iterations;
	}
	row("total", sum);
}

int main(int argc, char **argv)
{
	static struct counts after[MOST_THREADS];
	struct sched_param highest = { .sched_priority = 99 };
	long ms = argc > 3 ? atol(argv[3]) : 0;
	int i;

	nr_threads = argc > 3 ? atoi(argv[1]) : 0;
	nr_locks = argc > 3 ? atoi(argv[2]) : 0;
	if (argc > 5)
		times = atol(argv[5]);
	if (nr_threads < 1 || nr_threads > MOST_THREADS || nr_locks < 1 || nr_locks > MOST_LOCKS || ms < 1 || times < 1) {
		fprintf(stderr, "usage: rt_migrate THREADS LOCKS MS [PI [TIMES]]\n");
		return 2;
	}
	/* Page faults would be switches of another kind. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("mlockall", errno);
	if (sched_setscheduler(0, SCHED_FIFO, &highest))
		fail("SCHED_FIFO takes root", errno);
	make_locks(argc > 4 && atoi(argv[4]));
	sem_init(&ready, 0, 0);
	sem_init(&begin, 0, 0);
	make_threads();
	clock_gettime(CLOCK_MONOTONIC, &start);
	start = later(start, 2 * SETTLE_NS);
	for (i = 0; i < nr_threads; i++)
		sem_post(&begin);
	sleep_until(later(start, -SETTLE_NS));
	for (i = 0; i < nr_threads; i++)
		threads[i].before = counts(&threads[i]);
	sleep_until(later(start, ms * times * NS_PER_MS));
	for (i = 0; i < nr_threads; i++)
		after[i] = counts(&threads[i]);
	print(after);
	fflush(stdout);
	_exit(0);
}
