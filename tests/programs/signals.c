// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Waits for SIGINT in the requested way, with a handler after which calls are restarted if the kernel allows
 * that, and prints what the wait returned.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
	handled++;
}

static void *wait_for_it(void *all)
{
	int signal = 0, failed = sigwait(all, &signal);

	printf("a thread got %d, %d\n", signal, failed);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec span = { .tv_sec = 100 }, rest = {};
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	int result = 0;
	sigset_t all;

	sigemptyset(&all);
	sigaddset(&all, SIGINT);
	sigaction(SIGINT, &action, NULL);
	if (!strcmp(how, "pause")) {
		result = pause();
	} else if (!strcmp(how, "poll")) {
		result = poll(NULL, 0, -1);
	} else if (!strcmp(how, "sleep")) {
		result = nanosleep(&span, &rest);
	} else if (!strcmp(how, "sigwait") || !strcmp(how, "thread")) {
		sigprocmask(SIG_BLOCK, &all, NULL);
		if (!strcmp(how, "thread")) {
			if (pthread_create(&thread, NULL, wait_for_it, &all) || pthread_join(thread, NULL))
				return 1;
		} else {
			span.tv_sec = 1;
			result = sigtimedwait(&all, NULL, &span);
			printf("%d %s\n", result, strerror(errno));
			result = sigwaitinfo(&all, NULL);
		}
	}
	printf("%d, handled %d, %d s left\n", result, handled, (int)rest.tv_sec);
	return 0;
}
