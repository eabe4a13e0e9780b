// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Loads shared.bpf.o with libbpf, runs its program, attaches what traces and the scheduler, and prints what it sees once
 * every virtual second until it gets SIGINT. Any argument but the object's path makes it fail on purpose: `hang`,
 * `exit`, `crash`. `all` runs what arena.c, sockets.c and host.c have first.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int load_arena(void);
int use_arena(void);
int use_sockets(void);
int use_host(void);
int has_worked(void);

/* As shared.bpf.c has them. */
struct constant {
	unsigned long long slice_ns, cpus;
};

struct seen {
	unsigned long long enqueued, sum_of_entries, switches, registered, exit_kind, hz;
};

static volatile sig_atomic_t stop;
static int wakeups;

struct question {
	unsigned key, unused;
	unsigned long long answer;
};

static void on_signal(int signal)
{
	stop = 1;
}

static void *count(void *unused)
{
	for (;;) {
		usleep(250000);
		__atomic_add_fetch(&wakeups, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static int on_record(void *last, void *data, size_t size)
{
	*(unsigned long long *)last = *(unsigned long long *)data;
	return 0;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	struct question question = { .key = 3 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &question, .ctx_size_in = sizeof(question));
	unsigned long long value = 21, told = 0;
	unsigned key = 3;
	struct constant *constant;
	size_t bytes;
	struct bpf_object *object;
	struct ring_buffer *ring;
	struct bpf_link *link;
	struct timespec begin, now;
	pthread_t counter;

	setvbuf(stdout, NULL, _IOLBF, 0);
	object = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
	if (!object)
		fail("open");
	bpf_program__set_flags(bpf_object__find_program_by_name(object, "shared_init"), BPF_F_SLEEPABLE);
	constant = bpf_map__initial_value(bpf_object__find_map_by_name(object, ".rodata"), &bytes);
	if (!constant || bytes != sizeof(*constant))
		fail("constants");
	constant->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (bpf_object__load(object))
		fail("load");
	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "entries"), &key, &value, 0))
		fail("update");
	if (!strcmp(how, "all") && load_arena())
		fail("arena");
	/* Before anything is attached: what it returns and leaves in its context counts. */
	int prog = bpf_program__fd(bpf_object__find_program_by_name(object, "look_up"));
	if (bpf_prog_test_run_opts(prog, &run) || run.retval)
		fail("run");
	question.key = 99;
	if (bpf_prog_test_run_opts(prog, &run) || run.retval != (unsigned)-2)
		fail("run without an entry");
	if (!strcmp(how, "all") && use_arena())
		fail("arena");
	if (!strcmp(how, "all") && use_sockets())
		fail("sockets");
	if (!strcmp(how, "all") && use_host())
		fail("host");
	if (!bpf_program__attach(bpf_object__find_program_by_name(object, "shared_registered")) ||
	    !bpf_program__attach(bpf_object__find_program_by_name(object, "shared_switched")))
		fail("trace");
	link = bpf_map__attach_struct_ops(bpf_object__find_map_by_name(object, "shared_ops"));
	if (!link)
		fail("attach");
	printf("%ld CPUs, answer %llu\n", sysconf(_SC_NPROCESSORS_ONLN), question.answer);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "told"), on_record, &told, NULL);
	if (!ring)
		fail("ring");
	signal(SIGINT, on_signal);
	if (pthread_create(&counter, NULL, count, NULL))
		fail("thread");
	/* bpf_map__initial_value() is the map's own memory in skeletons alone. */
	const struct seen *seen = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
				       bpf_object__find_map_fd_by_name(object, "shared.bss"), 0);
	if (seen == MAP_FAILED)
		fail("mmap");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (!stop || !strcmp(how, "hang")) {
		ring_buffer__poll(ring, 1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > begin.tv_sec) {
			begin = now;
			printf("told %s, wakeups %d, bss %s\n", told ? "yes" : "no",
			       __atomic_load_n(&wakeups, __ATOMIC_SEQ_CST),
			       seen->enqueued >= told && seen->switches ? "shared" : "apart");
		}
		if (!strcmp(how, "exit"))
			return 7;
		if (!strcmp(how, "crash"))
			abort();
	}
	bpf_link__destroy(link);
	printf("detached, exit kind %llu, registered %llu times, %llu Hz, %s\n", seen->exit_kind, seen->registered,
	       seen->hz, has_worked() ? "busy at times" : "no times");
	return 0;
}
