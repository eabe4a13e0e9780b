// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Waits in other ways than poll and sleep, selected by the argument, and prints the results and their times in
 * millisecond.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static struct timespec begun;
static int sender;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000;
}

static void on_signal(int signal, siginfo_t *info, void *unused)
{
	handled = signal;
	sender = info->si_pid;
}

static void catch(int signal)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigaction(signal, &action, NULL);
}

static void block(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int is_blocked(int signal)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, signal);
}

static void *write_later(void *fd)
{
	usleep(30000);
	if (write(*(int *)fd, "12345678", 8) != 8)
		exit(4);
	return NULL;
}

/* What select reports about a pipe that is empty at first. */
static void use_select(void)
{
	struct timeval span = { .tv_usec = 20000 };
	struct timespec longer = { .tv_sec = 1 };
	int fds[2], found;
	pthread_t thread;
	fd_set in, out;

	if (pipe(fds))
		exit(1);
	FD_ZERO(&in);
	FD_SET(fds[0], &in);
	found = select(fds[1] + 1, &in, NULL, NULL, &span);
	printf("%d at %ld, in %d\n", found, now_ms(), !!FD_ISSET(fds[0], &in));
	if (pthread_create(&thread, NULL, write_later, &fds[1]))
		exit(1);
	FD_SET(fds[0], &in);
	FD_ZERO(&out);
	/* The C library calls pselect6 for both, so the system call is made directly. */
	span.tv_sec = 1;
	span.tv_usec = 0;
	found = syscall(SYS_select, fds[0] + 1, &in, &out, NULL, &span);
	printf("%d at %ld, in %d, %ld ms left\n", found, now_ms(), !!FD_ISSET(fds[0], &in), ((long)span.tv_usec + 500) / 1000);
	FD_SET(fds[1], &out);
	found = pselect(fds[1] + 1, &in, &out, NULL, &longer, NULL);
	printf("%d at %ld, in %d, out %d\n", found, now_ms(), !!FD_ISSET(fds[0], &in), !!FD_ISSET(fds[1], &out));
	close(fds[0]);
	found = select(fds[1] + 1, &in, NULL, NULL, NULL);
	printf("%d %s\n", found, strerror(errno));
}

static void use_alarm(void)
{
	struct itimerval timer = { .it_value.tv_usec = 10000, .it_interval.tv_usec = 20000 }, old;

	catch(SIGALRM);
	printf("%u\n", alarm(7));
	usleep(1500000);
	setitimer(ITIMER_REAL, &timer, &old);
	printf("%ld s left\n", (long)old.it_value.tv_sec);
	begun.tv_sec += 1;
	begun.tv_nsec += 500000000;
	pause();
	printf("%d at %ld by %d\n", handled, now_ms(), sender != 0);
	pause();
	timer.it_value.tv_usec = timer.it_interval.tv_usec = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%d at %ld, %u\n", handled, now_ms(), alarm(0));
}

static void use_suspend(void)
{
	struct timespec span = { .tv_sec = 5 };
	int result, fd = eventfd(0, 0);
	struct pollfd none = { .fd = fd, .events = POLLIN };
	sigset_t empty;

	sigemptyset(&empty);
	catch(SIGALRM);
	catch(SIGUSR1);
	block(SIGALRM);
	block(SIGUSR1);
	alarm(1);
	result = sigsuspend(&empty);
	printf("%d %s, %d at %ld, blocked %d\n", result, strerror(errno), handled, now_ms(), is_blocked(SIGALRM));
	/* One that is already pending. */
	raise(SIGUSR1);
	result = ppoll(&none, 1, &span, &empty);
	printf("%d %s, %d at %ld, blocked %d\n", result, strerror(errno), handled, now_ms(), is_blocked(SIGUSR1));
	alarm(1);
	result = pselect(0, NULL, NULL, NULL, &span, &empty);
	printf("%d %s, %d at %ld, blocked %d\n", result, strerror(errno), handled, now_ms(), is_blocked(SIGALRM));
	/* Blocked, so that the wait continues. */
	alarm(1);
	result = poll(NULL, 0, 3000);
	printf("%d at %ld\n", result, now_ms());
}

static void use_signalfd(void)
{
	struct signalfd_siginfo info = {};
	struct pollfd ready = { .events = POLLIN };
	sigset_t set;
	int fd, result;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	block(SIGALRM);
	fd = ready.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	result = read(fd, &info, sizeof(info));
	printf("%d %s\n", result, strerror(errno));
	alarm(1);
	result = poll(&ready, 1, 5000);
	printf("%d at %ld\n", result, now_ms());
	result = read(fd, &info, sizeof(info));
	printf("%d, signal %u of %d\n", result, info.ssi_signo, info.ssi_pid == (unsigned)getpid());
	close(fd);
	fd = signalfd(-1, &set, 0);
	alarm(1);
	result = read(fd, &info, sizeof(info));
	printf("%d, signal %u at %ld\n", result, info.ssi_signo, now_ms());
}

static void *nap(void *unused)
{
	struct timespec span = { .tv_sec = 50 };
	int result = nanosleep(&span, &span);

	printf("%d, %d at %ld, %ld s left\n", result, handled, now_ms(), (long)span.tv_sec);
	return NULL;
}

/* A signal for a thread ends its sleep. */
static void use_threads(void)
{
	pthread_t thread;
	int result;

	catch(SIGUSR1);
	if (pthread_create(&thread, NULL, nap, NULL))
		exit(1);
	usleep(40000);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	/* Which processes exist? */
	printf("%d", kill(1, 0));
	result = kill(999, 0);
	printf(" %d %s\n", result, strerror(errno));
}

static void use_inotify(void)
{
	struct inotify_event event;
	int fd = inotify_init1(IN_NONBLOCK), watch = inotify_add_watch(fd, "/sys/fs/cgroup", IN_CREATE);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int result = inotify_add_watch(fd, "/sys/fs/cgroup/none", IN_CREATE);

	printf("%d, %d %s\n", watch, result, strerror(errno));
	result = poll(&ready, 1, 100);
	printf("%d at %ld\n", result, now_ms());
	inotify_rm_watch(fd, watch);
	result = read(fd, &event, sizeof(event));
	printf("%d, %d %x\n", result, event.wd, event.mask);
}

static int timer_at(int clock, int flags, long seconds, long milliseconds)
{
	struct itimerspec span = { .it_value = { seconds, milliseconds * 1000000 } };
	int fd = timerfd_create(clock, 0);

	if (timerfd_settime(fd, flags, &span, NULL))
		printf("%s\n", strerror(errno));
	return fd;
}

static void await(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int found = poll(&ready, 1, 10000);

	printf("%d at %ld\n", found, now_ms());
}

/* At a time of each clock, and while another timer has expired that nobody reads. */
static void use_timerfd(void)
{
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME_ALARM };
	struct timespec now;
	unsigned i;
	int first;

	for (i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		clock_gettime(clocks[i], &now);
		await(timer_at(clocks[i], TFD_TIMER_ABSTIME, now.tv_sec + 2, now.tv_nsec / 1000000));
	}
	first = timer_at(CLOCK_MONOTONIC, 0, 0, 1);
	usleep(2500);
	await(timer_at(CLOCK_MONOTONIC, 0, 0, 5));
	await(first);
	first = timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0);
	printf("%d %s\n", first, strerror(errno));
}

/* For a record that nobody writes, without epoll. musl has no linux/bpf.h: the type, two sizes, and the ring's bytes. */
static void use_ring(void)
{
	enum { MAP_CREATE = 0, RINGBUF = 27 };
	unsigned attr[] = { RINGBUF, 0, 0, 4096 };

	await(syscall(SYS_bpf, MAP_CREATE, attr, sizeof(attr)));
}

/* Shared memory can be written back. */
static void use_memory(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_create("page", 0), 0);

	printf("%d\n", msync(page, 4096, MS_SYNC));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (!strcmp(how, "select"))
		use_select();
	else if (!strcmp(how, "alarm"))
		use_alarm();
	else if (!strcmp(how, "suspend"))
		use_suspend();
	else if (!strcmp(how, "signalfd"))
		use_signalfd();
	else if (!strcmp(how, "threads"))
		use_threads();
	else if (!strcmp(how, "inotify"))
		use_inotify();
	else if (!strcmp(how, "timerfd"))
		use_timerfd();
	else if (!strcmp(how, "ring"))
		use_ring();
	else if (!strcmp(how, "memory"))
		use_memory();
	return 0;
}
