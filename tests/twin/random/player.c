/*
 * What rt-app 1.0 cannot express: tasks that pass messages through a pipe, and tasks that fork.
 *
 *   player SECONDS pipe SENDER RUN SLEEP RECEIVER RUN
 *   player SECONDS fork PARENT SLEEP CHILD RUN
 *
 * Times are in microseconds. RUN keeps a CPU busy until this much time has passed, as rt-app's `runtime` does.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 64

static long long now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

static void run(long us)
{
	long long end = now_ns() + us * 1000LL;

	while (now_ns() < end)
		;
}

static void rest(long us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

static int pipes(long long end, char **arg)
{
	char message[MESSAGE] = "";
	int ends[2];
	pid_t receiver;

	if (pipe(ends))
		return 1;
	receiver = fork();
	if (receiver == 0) {
		name(arg[3]);
		close(ends[1]);
		while (read(ends[0], message, MESSAGE) == MESSAGE)
			run(atol(arg[4]));
		return 0;
	}
	name(arg[0]);
	close(ends[0]);
	while (now_ns() < end) {
		run(atol(arg[1]));
		if (write(ends[1], message, MESSAGE) != MESSAGE)
			return 1;
		rest(atol(arg[2]));
	}
	kill(receiver, SIGKILL);
	waitpid(receiver, NULL, 0);
	return 0;
}

static int forks(long long end, char **arg)
{
	name(arg[0]);
	while (now_ns() < end) {
		pid_t child = fork();

		if (child == 0) {
			name(arg[2]);
			run(atol(arg[3]));
			_exit(0);
		}
		if (child < 0)
			return 1;
		waitpid(child, NULL, 0);
		rest(atol(arg[1]));
	}
	return 0;
}

int main(int count, char **arg)
{
	long long end;

	if (count < 3)
		return 2;
	end = now_ns() + atol(arg[1]) * 1000000000LL;
	if (!strcmp(arg[2], "pipe") && count == 8)
		return pipes(end, arg + 3);
	if (!strcmp(arg[2], "fork") && count == 7)
		return forks(end, arg + 3);
	fprintf(stderr, "usage: player SECONDS pipe|fork ...; see player.c\n");
	return 2;
}
