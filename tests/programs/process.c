// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Asks for what a process has: random bytes, a folder, policies and priorities of its threads; and prints what it gets.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EXT = 7 };

static void show(const char *what, long result)
{
	printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerror(errno) : "");
}

/* They differ from one another, and are the same in each run. */
static void use_random(void)
{
	static const char *const names[] = { "/dev/urandom", "/dev/random" };
	uint64_t words[2];
	unsigned i;
	int fd;

	for (i = 0; i < 2; i++) {
		fd = open(names[i], O_RDONLY | O_CLOEXEC);
		show(names[i], read(fd, words, sizeof(words)));
		printf("%016llx, %d\n", (unsigned long long)words[0], words[0] != words[1]);
		close(fd);
	}
	show("the host's messages", open("/dev/kmsg", O_RDONLY));
}

/* What keel itself answers may be read into several places. */
static void use_vectors(void)
{
	uint64_t word = 0, other = 0;
	struct iovec places[] = { { &word, sizeof(word) }, { &other, sizeof(other) } };
	int fd = eventfd(5, 0);
	long result = readv(fd, places, 2);

	show("vector", result);
	printf("%llu\n", (unsigned long long)word);
	show("short", read(fd, &word, 4));
}

static void use_folder(void)
{
	char name[64];

	show("folder", chdir("/sys/devices"));
	show("below", chdir("system/cpu"));
	printf("%s\n", getcwd(name, sizeof(name)));
	show("online", open("online", O_RDONLY) >= 0);
	show("missing", chdir("none"));
	show("file", chdir("online"));
	show("small", syscall(SYS_getcwd, name, 3));
	show("rename", rename("/none/first", "/none/second"));
	show("back", chdir("/"));
}

static void *use_priorities(void *unused)
{
	struct sched_param param = { .sched_priority = 10 };
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t rest[4];
	} attr;

	show("fifo", sched_setscheduler(0, SCHED_FIFO, &param));
	show("policy", sched_getscheduler(0));
	param.sched_priority = 0;
	show("none", sched_setscheduler(0, SCHED_FIFO, &param));
	show("ext", sched_setscheduler(0, EXT, &param));
	show("nice", setpriority(PRIO_PROCESS, 0, -5));
	show("nice and 20", getpriority(PRIO_PROCESS, 0) + 20);
	show("attr", syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0));
	printf("%u bytes, policy %u, nice %d, priority %u\n", attr.size, attr.policy, attr.nice, attr.priority);
	attr.policy = SCHED_RR;
	attr.priority = 3;
	show("attr", syscall(SYS_sched_setattr, 0, &attr, 0));
	show("policy", sched_getscheduler(gettid()));
	show("the first thread's", sched_getscheduler(getpid()));
	show("nobody", sched_getscheduler(1 << 22));
	return NULL;
}

static void use_cpus(void)
{
	unsigned cpu = 9, node = 9;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(1, &cpus);
	show("pinned", sched_setaffinity(0, sizeof(cpus), &cpus));
	show("cpu", sched_getcpu());
	show("both", syscall(SYS_getcpu, &cpu, &node, NULL));
	show("node", syscall(SYS_getcpu, NULL, &node, NULL));
	printf("%u %u\n", cpu, node);
}

int main(void)
{
	unsigned attr[16] = { 0 };
	pthread_t thread;

	use_random();
	use_vectors();
	use_folder();
	if (pthread_create(&thread, NULL, use_priorities, NULL))
		return 1;
	pthread_join(thread, NULL);
	use_cpus();
	show("statistics", syscall(SYS_bpf, 32, attr, sizeof(attr))); /* BPF_ENABLE_STATS */
	show("refused", syscall(SYS_pidfd_open, getpid(), 0));
	return 0;
}
