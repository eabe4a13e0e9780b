// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Uses POSIX timers, signals with values and CPU-time clocks, selected by the argument, and prints the results and
 * their times in milliseconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

enum { MILLISECOND = 1000000 };

static struct timespec begun;
static siginfo_t last;
static int rung;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / MILLISECOND;
}

static void on_signal(int signal, siginfo_t *info, void *unused)
{
	last = *info;
}

static void show(const char *what, int result)
{
	printf("%s: %d %s\n", what, result, result ? strerror(errno) : "");
}

static void catch(int signal)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(signal, &action, NULL);
}

static void start(timer_t timer, long first_ms, long every_ms)
{
	struct itimerspec span = {
		.it_value = { first_ms / 1000, first_ms % 1000 * MILLISECOND },
		.it_interval = { every_ms / 1000, every_ms % 1000 * MILLISECOND },
	};

	if (timer_settime(timer, 0, &span, NULL))
		exit(1);
}

/* The signal that a timer sends by default, and the time left. */
static void use_signals(void)
{
	struct itimerspec left;
	timer_t timer;
	int i;

	catch(SIGALRM);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer))
		exit(1);
	start(timer, 10, 20);
	for (i = 0; i < 3; i++) {
		pause();
		printf("%d by %s at %ld\n", last.si_signo, last.si_code == SI_TIMER ? "timer" : "?", now_ms());
	}
	usleep(5500);
	timer_gettime(timer, &left);
	printf("%ld ms of %ld left\n", left.it_value.tv_nsec / MILLISECOND, left.it_interval.tv_nsec / MILLISECOND);
	start(timer, 0, 0);
	timer_gettime(timer, &left);
	printf("%ld left, %d\n", left.it_value.tv_nsec, usleep(50000));
	printf("%d\n", timer_delete(timer));
	show("again", syscall(SYS_timer_delete, 0));
}

/* A signal that waits to be taken is sent once, and the rest is counted. */
static void use_overruns(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 77 };
	struct itimerspec until = { 0 };
	siginfo_t info;
	timer_t timer;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (timer_create(CLOCK_REALTIME, &event, &timer))
		exit(1);
	start(timer, 1, 1);
	usleep(10500);
	sigwaitinfo(&set, &info);
	printf("%d, value %d, %d more\n", info.si_signo, info.si_value.sival_int, timer_getoverrun(timer));
	start(timer, 0, 0);
	/* At a time of the clock. */
	clock_gettime(CLOCK_REALTIME, &until.it_value);
	until.it_value.tv_sec++;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	timer_settime(timer, TIMER_ABSTIME, &until, NULL);
	sigwaitinfo(&set, &info);
	printf("%d at %ld, %d more\n", info.si_signo, now_ms(), timer_getoverrun(timer));
}

static void ring(union sigval value)
{
	printf("%d at %ld\n", value.sival_int, now_ms());
	rung++;
}

static void use_threads(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = ring, .sigev_value.sival_int = 5 };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		exit(1);
	start(timer, 100, 200);
	while (rung < 3)
		usleep(10000);
	printf("%d\n", timer_delete(timer));
}

static void use_values(void)
{
	union sigval value = { .sival_int = 42 };
	siginfo_t info;
	sigset_t set;

	catch(SIGUSR1);
	printf("%d, ", sigqueue(getpid(), SIGUSR1, value));
	printf("%d from %d by %d\n", last.si_value.sival_int, last.si_pid == getpid(), last.si_code == SI_QUEUE);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (value.sival_int = 1; value.sival_int < 4; value.sival_int++)
		pthread_sigqueue(pthread_self(), SIGRTMIN, value);
	while (value.sival_int-- > 1 && sigwaitinfo(&set, &info) == SIGRTMIN)
		printf("%d ", info.si_value.sival_int);
	show("\nnobody", sigqueue(1 << 22, SIGUSR1, value));
}

static void use_wrongly(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = 65 };
	struct itimerspec span = { .it_value.tv_nsec = 1000 * MILLISECOND };
	struct timespec now;
	timer_t timer;

	show("signal", timer_create(CLOCK_MONOTONIC, &event, &timer));
	event.sigev_notify = 9;
	show("notice", timer_create(CLOCK_MONOTONIC, &event, &timer));
	show("raw", timer_create(CLOCK_MONOTONIC_RAW, NULL, &timer));
	show("clock", timer_create(1000, NULL, &timer));
	show("timer", timer_create(CLOCK_BOOTTIME, NULL, &timer));
	show("span", timer_settime(timer, 0, &span, NULL));
	show("address", syscall(SYS_timer_settime, 0, 0, NULL, NULL));
	show("time", clock_gettime(1000, &now));
	show("old", clock_gettime(10, &now));
	show("sample", syscall(SYS_clock_getres, 12, NULL));
}

static long cpu_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		exit(1);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *work(void *clock)
{
	int i;

	for (i = 0; i < 500; i++)
		syscall(SYS_getppid);
	printf("%s\n", cpu_ns(*(clockid_t *)clock) < cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - 500 ? "less" : "all");
	return NULL;
}

/* Sleeping takes no CPU time, and each call takes a nanosecond. */
static void use_cpu_time(void)
{
	clockid_t clocks[] = { CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, 0 }, own;
	struct rusage usage;
	pthread_t thread;
	struct tms times_used;
	unsigned i, calls;
	long before;
	clock_t ticks;

	clock_getcpuclockid(0, &clocks[2]);
	for (i = 0; i < LENGTH(clocks); i++) {
		before = cpu_ns(clocks[i]);
		sleep(1);
		for (calls = 0; calls < 1000; calls++)
			syscall(SYS_getppid);
		printf("%ld\n", cpu_ns(clocks[i]) - before);
	}
	pthread_getcpuclockid(pthread_self(), &own);
	if (pthread_create(&thread, NULL, work, &own))
		exit(1);
	pthread_join(thread, NULL);
	ticks = times(&times_used);
	sleep(2);
	ticks = times(&times_used) - ticks;
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld ticks, %ld used, %ld us\n", (long)ticks, (long)times_used.tms_utime, (long)usage.ru_utime.tv_usec);
	printf("%d\n", getrusage(7, &usage));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*use)(void);
	} ways[] = {
		{ "signals", use_signals }, { "overruns", use_overruns }, { "threads", use_threads },
		{ "values", use_values }, { "wrongly", use_wrongly }, { "cpu-time", use_cpu_time },
	};
	unsigned i;

	setbuf(stdout, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (i = 0; i < LENGTH(ways); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].use();
	return 0;
}
