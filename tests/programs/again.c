// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Executes itself three times, each time after a sleep and while a thread waits, and prints its arguments,
 * its environment, the time, and which descriptors are open. Finally it tries to execute another program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void *wait_forever(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

/* Descriptors that it had open before: a counter, one marked for closing, and a pipe. */
enum { COUNTER = 100, CLOSED, PIPE };

static long pinned(int command, unsigned fd)
{
	union bpf_attr attr = { .pathname = (unsigned long)"/sys/fs/bpf/numbers", .bpf_fd = fd };

	return syscall(SYS_bpf, command, &attr, sizeof(attr));
}

/* A map with a name. */
static void pin(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };

	if (pinned(BPF_OBJ_PIN, syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr))))
		exit(7);
}

static void say_open(void)
{
	unsigned long long count = 0;
	char text[16];
	ssize_t len;

	if (fcntl(COUNTER, F_GETFD) < 0)
		return;
	if (read(COUNTER, &count, sizeof(count)) < 0)
		count = 0;
	printf(", counted %llu, other %s", count, fcntl(CLOSED, F_GETFD) < 0 ? "closed" : "open");
	len = read(PIPE, text, sizeof(text));
	printf(", %d in the pipe, %s", (int)len, pinned(BPF_OBJ_GET, 0) < 0 ? "no name" : "a name");
}

static void keep_some(int step)
{
	unsigned long long count = step;
	int fds[2];

	if (step == 1)
		pin();
	if (fcntl(COUNTER, F_GETFD) < 0 && dup2(eventfd(0, EFD_NONBLOCK), COUNTER) < 0)
		exit(4);
	if (dup3(COUNTER, CLOSED, O_CLOEXEC) < 0 || pipe(fds) || dup2(fds[0], PIPE) < 0)
		exit(5);
	if (write(COUNTER, &count, sizeof(count)) < 0 || write(fds[1], "sevenXX", 7) != 7)
		exit(6);
}

int main(int argc, char **argv)
{
	char name[4096], next[2] = { argc > 1 ? argv[1][0] + 1 : '1', 0 };
	char *again[] = { "renamed", next, "with words", NULL };
	struct timespec now;
	pthread_t thread;
	ssize_t len;

	usleep(250000);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%s %s: %d ms, pid %d, %s", argc > 1 ? argv[0] : "first", argc > 2 ? argv[2] : "-",
	       (int)(now.tv_nsec / 1000000), getpid(), getenv("STEP") ? getenv("STEP") : "-");
	say_open();
	printf("\n");
	fflush(stdout);
	setenv("STEP", next, 1);
	if (next[0] < '4') {
		keep_some(next[0] - '0');
		if (pthread_create(&thread, NULL, wait_forever, NULL))
			return 1;
		len = readlink("/proc/self/exe", name, sizeof(name) - 1);
		if (len < 0)
			return 2;
		name[len] = 0;
		execve(next[0] == '2' ? "/proc/self/exe" : name, again, environ);
		return 3;
	}
	execve("/bin/true", again, environ);
	printf("%s\n", strerror(errno));
	return 0;
}
