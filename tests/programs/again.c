// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Executes itself three times, each time after a sleep and while a thread waits, and prints what it finds: its arguments,
 * its environment, the time. At last it tries to execute another program.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void *wait_forever(void *unused)
{
	for (;;)
		pause();
	return NULL;
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
	printf("%s %s: %d ms, pid %d, %s\n", argc > 1 ? argv[0] : "first", argc > 2 ? argv[2] : "-",
	       (int)(now.tv_nsec / 1000000), getpid(), getenv("STEP") ? getenv("STEP") : "-");
	fflush(stdout);
	setenv("STEP", next, 1);
	if (next[0] < '4') {
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
