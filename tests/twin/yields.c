/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * yields TASKS SECONDS: processes that only call sched_yield(), the loop_yield of O(1)'s announcement. Prints how
 * often they did so per second, in total. They begin when all exist, and end by themselves: beside hundreds
 * of yielding tasks, a task that starts or ends them would wait for whole rounds.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int tasks = argc > 2 ? atoi(argv[1]) : 0;
	double seconds = argc > 2 ? atof(argv[2]) : 0;
	unsigned long total = 0;
	volatile unsigned long *counts;
	pid_t pid;
	double begun_s;
	int start[2];
	char none;
	int i;

	if (tasks < 1 || tasks > 10000 || seconds <= 0) {
		fprintf(stderr, "usage: yields TASKS SECONDS\n");
		return 2;
	}
	if (pipe(start)) {
		perror("pipe");
		return 1;
	}
	/* The first entry is the end; the others belong to the tasks. */
	counts = mmap(NULL, (tasks + 1) * 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (i = 0; i < tasks; i++) {
		pid = fork();
		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (!pid) {
			close(start[1]);
			/* Nothing is written: this ends when nobody can write any more. */
			if (read(start[0], &none, 1) < 0)
				_exit(1);
			while (!counts[0]) {
				sched_yield();
				counts[(i + 1) * 8]++;
			}
			_exit(0);
		}
	}
	close(start[1]);
	begun_s = now_s();
	for (i = 0; i < tasks; i++)
		total -= counts[(i + 1) * 8];
	usleep(seconds * 1e6);
	for (i = 0; i < tasks; i++)
		total += counts[(i + 1) * 8];
	printf("%.1f\n", total / (now_s() - begun_s));
	counts[0] = 1;
	while (wait(NULL) > 0)
		;
	return 0;
}
