// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Waits for several futexes, wakes waiters of two, and makes the calls that have one operation each. Prints what they
 * return, and at which millisecond.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FUTEX_WAITV = 449, FUTEX_WAKE_ALONE = 454, FUTEX_WAIT_ALONE = 455, FUTEX_REQUEUE_ALONE = 456 };
enum { SIZE_32 = 2, PRIVATE = 128 };

struct waiter {
	uint64_t value, at;
	uint32_t flags, reserved;
};

static uint32_t words[3];
static struct timespec begun;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000;
}

static void show(const char *what, long result)
{
	printf("%s: %ld %s at %ld\n", what, result, result < 0 ? strerror(errno) : "done", now_ms());
}

static struct waiter waiter_of(int word)
{
	struct waiter waiter = { words[word], (uintptr_t)&words[word], SIZE_32 | PRIVATE, 0 };

	return waiter;
}

static struct timespec later(int clock, long milliseconds)
{
	struct timespec until;

	clock_gettime(clock, &until);
	until.tv_nsec += milliseconds * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

static long wait_for(unsigned count, struct timespec *until, int clock)
{
	struct waiter list[] = { waiter_of(0), waiter_of(1), waiter_of(2) };

	return syscall(FUTEX_WAITV, list, count, 0, until, clock);
}

static void *wake_last(void *unused)
{
	usleep(10000);
	show("wake", syscall(FUTEX_WAKE_ALONE, &words[2], 0xffffffffUL, 5, SIZE_32 | PRIVATE));
	return NULL;
}

static void *wait_plainly(void *word)
{
	syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, *(uint32_t *)word, NULL);
	return NULL;
}

static void begin(pthread_t *thread, void *(*act)(void *), void *with)
{
	if (pthread_create(thread, NULL, act, with))
		exit(1);
}

static void use_many(void)
{
	struct timespec until = later(CLOCK_MONOTONIC, 20);
	struct waiter wrong = waiter_of(0);
	pthread_t thread;

	show("late", wait_for(3, &until, CLOCK_MONOTONIC));
	until = later(CLOCK_REALTIME, 30);
	show("late", wait_for(1, &until, CLOCK_REALTIME));
	begin(&thread, wake_last, NULL);
	show("third", wait_for(3, NULL, 0));
	pthread_join(thread, NULL);
	show("none", wait_for(0, NULL, 0));
	show("clock", wait_for(1, &until, CLOCK_BOOTTIME));
	wrong.value = 9;
	show("value", syscall(FUTEX_WAITV, &wrong, 1, 0, NULL, 0));
	wrong.flags = 0;
	show("size", syscall(FUTEX_WAITV, &wrong, 1, 0, NULL, 0));
}

static long wake_both(int operation, int operand, int comparison, int compared)
{
	return syscall(SYS_futex, &words[0], FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1, 1L, &words[1],
		       FUTEX_OP(operation, operand, comparison, compared));
}

static void use_two(void)
{
	pthread_t threads[3];

	begin(&threads[0], wait_plainly, &words[0]);
	begin(&threads[1], wait_plainly, &words[1]);
	begin(&threads[2], wait_plainly, &words[1]);
	usleep(1000);
	show("first", wake_both(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_GT, 0));
	show("second", wake_both(FUTEX_OP_ADD, -3, FUTEX_OP_CMP_EQ, 5));
	show("third", wake_both(FUTEX_OP_SET, 0, FUTEX_OP_CMP_LE, 2));
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pthread_join(threads[2], NULL);
	printf("%u\n", words[1]);
	show("unknown", wake_both(7, 0, 0, 0));
}

static void *wait_alone(void *word)
{
	show("woken", syscall(FUTEX_WAIT_ALONE, word, (uint64_t)*(uint32_t *)word, 2UL, SIZE_32 | PRIVATE, NULL, 0));
	return NULL;
}

static void use_alone(void)
{
	struct timespec until = later(CLOCK_MONOTONIC, 5);
	struct waiter list[2];
	pthread_t thread;

	show("late", syscall(FUTEX_WAIT_ALONE, &words[0], (uint64_t)words[0], 1UL, SIZE_32, &until, CLOCK_MONOTONIC));
	show("value", syscall(FUTEX_WAIT_ALONE, &words[0], words[0] + 1UL, 1UL, SIZE_32, NULL, 0));
	show("no bits", syscall(FUTEX_WAKE_ALONE, &words[0], 0UL, 1, SIZE_32));
	begin(&thread, wait_alone, &words[0]);
	usleep(1000);
	list[0] = waiter_of(0);
	list[1] = waiter_of(2);
	show("moved", syscall(FUTEX_REQUEUE_ALONE, list, 0, 0, 1));
	show("gone", syscall(FUTEX_WAKE_ALONE, &words[0], 2UL, 1, SIZE_32 | PRIVATE));
	show("other bits", syscall(FUTEX_WAKE_ALONE, &words[2], 4UL, 1, SIZE_32 | PRIVATE));
	show("there", syscall(FUTEX_WAKE_ALONE, &words[2], 6UL, 1, SIZE_32 | PRIVATE));
	pthread_join(thread, NULL);
}

int main(void)
{
	setbuf(stdout, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	use_many();
	use_two();
	use_alone();
	return 0;
}
