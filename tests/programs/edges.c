// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Does what asynchronous runtimes do, selected by the argument: waits for edges, for one event at a time and
 * for nested epoll instances, with non-blocking sockets; and makes other calls of such a process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

static int epoll;

static void show(const char *what, long result)
{
	int saved = errno;

	printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerror(saved) : "");
}

static void watch(int in, int fd, unsigned events, int op)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	if (epoll_ctl(in, op, fd, &event))
		exit(1);
}

/* How many descriptors have an event now, and which events the first one has. */
static void look(const char *what)
{
	struct epoll_event event = { 0 };
	int count = epoll_wait(epoll, &event, 1, 0);

	printf("%s: %d, %x\n", what, count, count > 0 ? event.events : 0);
}

static void wake(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		exit(1);
}

static void use_counter(void)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	uint64_t count;

	watch(epoll, fd, EPOLLIN | EPOLLET, EPOLL_CTL_ADD);
	look("empty");
	wake(fd);
	look("woken");
	look("seen");
	wake(fd);
	look("woken again");
	show("read", read(fd, &count, sizeof(count)));
	look("empty again");
	wake(fd);
	look("woken once more");
	watch(epoll, fd, EPOLLIN | EPOLLET, EPOLL_CTL_MOD);
	look("asked anew");
	close(fd);
}

static void use_pipe(void)
{
	char bytes[8192] = { 0 };
	int fds[2];

	if (pipe2(fds, O_NONBLOCK))
		exit(1);
	watch(epoll, fds[0], EPOLLIN | EPOLLET | EPOLLRDHUP, EPOLL_CTL_ADD);
	watch(epoll, fds[1], EPOLLOUT | EPOLLET, EPOLL_CTL_ADD);
	look("room");
	look("seen");
	show("write", write(fds[1], bytes, 3));
	look("bytes");
	look("seen");
	show("write", write(fds[1], bytes, 2));
	look("more");
	show("read", read(fds[0], bytes, sizeof(bytes)));
	while (write(fds[1], bytes, sizeof(bytes)) > 0)
		;
	look("full");
	while (read(fds[0], bytes, sizeof(bytes)) > 0)
		;
	look("room again");
	close(fds[1]);
	look("end");
	close(fds[0]);
}

static void use_once(void)
{
	int fd = eventfd(1, EFD_NONBLOCK), outer = epoll_create1(0);
	struct pollfd both[2] = { { epoll, POLLIN }, { outer, POLLIN } };
	struct epoll_event event;

	watch(outer, epoll, EPOLLIN, EPOLL_CTL_ADD);
	show("outer", epoll_wait(outer, &event, 1, 0));
	watch(epoll, fd, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_ADD);
	show("outer", epoll_wait(outer, &event, 1, 0));
	printf("inner: %d\n", poll(both, 1, 0));
	look("once");
	look("no more");
	show("outer", epoll_wait(outer, &event, 1, 0));
	watch(epoll, fd, EPOLLIN | EPOLLONESHOT, EPOLL_CTL_MOD);
	look("asked anew");
	show("no room", epoll_wait(epoll, &event, 0, 0));
	close(fd);
}

static void use_sockets(void)
{
	struct sockaddr_un name = { AF_UNIX, "/run/name" }, shown = { 0 };
	char bytes[16] = "words", got[16] = { 0 };
	struct iovec piece = { bytes, 5 }, room = { got, sizeof(got) };
	struct msghdr out = { .msg_iov = &piece, .msg_iovlen = 1 }, in = { .msg_iov = &room, .msg_iovlen = 1 };
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), one = 1, value = -1, other;
	socklen_t len = sizeof(shown);

	show("peer", getpeername(client, (void *)&shown, &len));
	if (bind(server, (void *)&name, sizeof(name)) || listen(server, 4))
		exit(1);
	len = sizeof(shown);
	show("name", getsockname(server, (void *)&shown, &len));
	printf("%s, %d\n", shown.sun_path, (int)(len - sizeof(shown.sun_family)));
	show("control", ioctl(server, FIONBIO, &one));
	show("accept", accept(server, NULL, NULL));
	watch(epoll, server, EPOLLIN | EPOLLET, EPOLL_CTL_ADD);
	look("nobody");
	if (connect(client, (void *)&name, sizeof(name)))
		exit(1);
	look("somebody");
	look("seen");
	other = accept(server, NULL, NULL);
	len = sizeof(value);
	show("option", getsockopt(server, SOL_SOCKET, SO_TYPE, &value, &len));
	printf("%d\n", value == SOCK_STREAM);
	show("message", sendmsg(client, &out, 0));
	show("waiting", ioctl(other, FIONREAD, &value));
	printf("%d\n", value);
	show("message", recvmsg(other, &in, 0));
	printf("%s\n", got);
	show("at once", recv(other, got, sizeof(got), MSG_DONTWAIT));
	show("control", ioctl(other, FIONBIO, &one));
	show("read", read(other, got, sizeof(got)));
	unlink("/run/name");
	close(server);
}

static void use_files(void)
{
	struct itimerspec span = { { 0, 200000000 }, { 0, 500000000 } }, left;
	int file = open("/etc/passwd", O_RDONLY), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	char bytes[8];
	struct iovec piece = { bytes, 3 };

	show("read", preadv(file, &piece, 1, 1));
	show("lock", flock(file, LOCK_SH));
	show("root", chdir("/"));
	timerfd_settime(timer, 0, &span, NULL);
	usleep(100000);
	timerfd_gettime(timer, &left);
	printf("%ld of %ld\n", left.it_value.tv_nsec / 100000000 + 1, left.it_interval.tv_nsec / 100000000);
}

static void use_process(void)
{
	struct rlimit limit;
	uid_t ids[3] = { 7, 7, 7 };
	char name[16] = { 0 };

	show("child", waitpid(-1, NULL, WNOHANG));
	show("limit", syscall(SYS_getrlimit, RLIMIT_STACK, &limit));
	getresuid(&ids[0], &ids[1], &ids[2]);
	printf("%d %d %d\n", ids[0], ids[1], ids[2]);
	show("user", setuid(0));
	show("group", setresgid(0, 0, 0));
	prctl(PR_SET_NAME, "a long name of a thread");
	prctl(PR_GET_NAME, name);
	printf("%s\n", name);
	show("slack", prctl(PR_SET_TIMERSLACK, 1));
	show("slack", prctl(PR_GET_TIMERSLACK));
}

static pthread_mutex_t lent;

static void *hold(void *unused)
{
	pthread_mutex_lock(&lent);
	usleep(50000);
	printf("held\n");
	pthread_mutex_unlock(&lent);
	return NULL;
}

/* A lock that lends priority. */
static void use_mutex(void)
{
	pthread_mutexattr_t attr;
	struct timespec until;
	pthread_t thread;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	printf("%d\n", pthread_mutex_init(&lent, &attr));
	if (pthread_create(&thread, NULL, hold, NULL))
		exit(1);
	usleep(20000);
	printf("%s\n", strerror(pthread_mutex_trylock(&lent)));
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 5000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	printf("%s\n", strerror(pthread_mutex_timedlock(&lent, &until)));
	printf("%d, ", pthread_mutex_lock(&lent));
	printf("%s, ", strerror(pthread_mutex_lock(&lent)));
	printf("%d, ", pthread_mutex_unlock(&lent));
	printf("%s\n", strerror(pthread_mutex_unlock(&lent)));
	pthread_join(thread, NULL);
}

/* A file's last line. */
static void tail(const char *path)
{
	char line[256] = "nothing\n";
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		;
	printf("%s", line);
	if (file)
		fclose(file);
}

/* The machine: four CPUs, all present, and one node. */
static void use_machine(void)
{
	tail("/sys/devices/system/cpu/offline");
	tail("/sys/devices/system/cpu/smt/control");
	tail("/sys/devices/system/node/node0/cpumap");
	tail("/sys/devices/system/node/node0/meminfo");
	tail("/proc/filesystems");
	tail("/proc/self/mounts");
	tail("/proc/self/mountinfo");
	printf("%s\n", access("/sys/kernel/debug", R_OK) ? "missing" : "there");
	usleep(1500000);
	tail("/proc/uptime");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*use)(void);
	} ways[] = {
		{ "counter", use_counter }, { "pipe", use_pipe }, { "once", use_once },
		{ "sockets", use_sockets }, { "files", use_files }, { "process", use_process },
		{ "machine", use_machine }, { "mutex", use_mutex },
	};
	unsigned i;

	epoll = epoll_create1(0);
	setbuf(stdout, NULL);
	for (i = 0; i < LENGTH(ways); i++)
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].use();
	return 0;
}
