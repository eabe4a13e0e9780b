// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Loads shared.bpf.o with libbpf, runs its program, attaches the tracing programs and the scheduler, and prints what it
 * sees once per virtual second until SIGINT. Any argument but the object's path makes it fail on purpose: `hang`,
 * `exit`, `exec`, `again`, `crash`. `execute` executes itself, and `leave` ends, once its scheduler is ended. `cgroups` prints the cgroups,
 * and `tasks` the tasks. `yield` yields its CPU over and over. `all` runs what arena.c, maps.c, sockets.c and host.c have first. `later` loads the object more than once: before the scheduler is attached, and
 * while it is; that one's scheduler is attached when the first has ended.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int load_arena(void);
int use_arena(void);
int load_maps(void);
int use_maps(void);
int use_sockets(void);
int use_host(void);
int use_names(void);
int has_name(const char *wanted);
void say_cgroups(void);
void say_tasks(void);
int has_worked(void);

/* As shared.bpf.c has them. */
struct constant {
	unsigned long long slice_ns, cpus, pid;
};

struct seen {
	unsigned long long enqueued, sum_of_entries, switches, registered, exit_kind, hz, home, away, drained, disordered,
		made, removed, joined_whole, joined;
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

/* What is open and attached. */
struct running {
	struct bpf_object *object;
	struct ring_buffer *ring;
	struct user_ring_buffer *asked;
	/* Written so far, and before the last time. */
	unsigned long long records, before;
	struct bpf_link *link, *traces[2], *groups[3];
	const struct seen *seen;
	unsigned long long told;
	unsigned long long answer;
};

/* Opens the object, and sets what must be set before it is loaded. */
static struct bpf_object *load(const char *path)
{
	struct bpf_object *object = path ? bpf_object__open_file(path, NULL) : NULL;
	struct constant *constant;
	size_t bytes;

	if (!object)
		fail("open");
	bpf_program__set_flags(bpf_object__find_program_by_name(object, "shared_init"), BPF_F_SLEEPABLE);
	constant = bpf_map__initial_value(bpf_object__find_map_by_name(object, ".rodata"), &bytes);
	if (!constant || bytes != sizeof(*constant))
		fail("constants");
	constant->cpus = sysconf(_SC_NPROCESSORS_CONF);
	constant->pid = getpid();
	if (bpf_object__load(object))
		fail("load");
	return object;
}

/* The kernel has the map now: more entries are added and removed at once. */
static void use_batches(int map)
{
	unsigned keys[] = { 5, 6 }, found[4], count = 2, token;
	unsigned long long values[] = { 50, 60 }, got[4], sum = 0;
	int failed = bpf_map_update_batch(map, keys, values, &count, NULL);
	void *from = NULL;

	if (failed || count != 2)
		fail("update of a batch");
	do {
		count = 2;
		failed = bpf_map_lookup_batch(map, from, &token, found, got, &count, NULL);
		while (count)
			sum += got[--count];
		from = &token;
	} while (!failed);
	if (sum != 21 + 50 + 60)
		fail("lookup of batches");
	count = 2;
	if (bpf_map_delete_batch(map, keys, &count, NULL) || count != 2)
		fail("delete of a batch");
	count = 4;
	if (!bpf_map_lookup_batch(map, NULL, &token, found, got, &count, NULL) || count != 1 || got[0] != 21)
		fail("what is left");
}

/* Before anything is attached: the program's return value and its context count. */
static unsigned long long ask(struct bpf_object *object)
{
	struct question question = { .key = 3 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &question, .ctx_size_in = sizeof(question));
	int prog = bpf_program__fd(bpf_object__find_program_by_name(object, "look_up"));

	if (bpf_prog_test_run_opts(prog, &run) || run.retval)
		fail("run");
	question.key = 99;
	if (bpf_prog_test_run_opts(prog, &run) || run.retval != (unsigned)-2)
		fail("run without an entry");
	use_batches(bpf_object__find_map_fd_by_name(object, "entries"));
	return question.answer;
}

static void fill(struct bpf_object *object)
{
	unsigned long long value = 21;
	unsigned key = 3;

	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "entries"), &key, &value, 0))
		fail("update");
}

/* bpf_map__initial_value() is the map's own memory only in skeletons. */
static const struct seen *look(struct bpf_object *object)
{
	const struct seen *seen = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
				       bpf_object__find_map_fd_by_name(object, "shared.bss"), 0);

	if (seen == MAP_FAILED)
		fail("mmap");
	return seen;
}

/* Another object, whose programs work beside those of the others. */
static struct bpf_object *load_another(const char *path, const char *when)
{
	struct bpf_object *object = load(path);
	const struct seen *seen = look(object);
	struct bpf_link *trace;

	fill(object);
	printf("%s: answer %llu, ", when, ask(object));
	trace = bpf_program__attach(bpf_object__find_program_by_name(object, "shared_switched"));
	if (!trace)
		fail("trace");
	usleep(200000);
	printf("%s, %d Hz\n", seen->switches ? "traces" : "nothing to trace", (int)seen->hz);
	bpf_link__destroy(trace);
	munmap((void *)seen, sysconf(_SC_PAGESIZE));
	return object;
}

static void begin(struct running *r, struct bpf_object *object, int all)
{
	const char *groups[] = { "shared_made", "shared_removed", "shared_joined" };
	int i;

	r->object = object;
	fill(object);
	if (all && (load_arena() || load_maps()))
		fail("arena and maps");
	r->answer = ask(r->object);
	if (all && (use_arena() || use_maps()))
		fail("arena and maps");
	r->traces[0] = bpf_program__attach(bpf_object__find_program_by_name(r->object, "shared_registered"));
	r->traces[1] = bpf_program__attach(bpf_object__find_program_by_name(r->object, "shared_switched"));
	if (!r->traces[0] || !r->traces[1])
		fail("trace");
	for (i = 0; i < 3; i++) {
		r->groups[i] = bpf_program__attach(bpf_object__find_program_by_name(r->object, groups[i]));
		if (!r->groups[i])
			fail(groups[i]);
	}
	r->link = bpf_map__attach_struct_ops(bpf_object__find_map_by_name(r->object, "shared_ops"));
	if (!r->link)
		fail("attach");
	if (all && !has_name("shared"))
		fail("name");
	r->told = 0;
	r->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(r->object, "told"), on_record, &r->told, NULL);
	r->asked = user_ring_buffer__new(bpf_object__find_map_fd_by_name(r->object, "asked"), NULL);
	r->records = r->before = 0;
	if (!r->ring || !r->asked)
		fail("ring");
	r->seen = look(object);
}

/*
 * Writes more than the ring of 4096 bytes holds, so it waits for space. Every other record is discarded.
 * libbpf asks again and again while it waits, so it waits for 10 ms at most.
 */
static void tell(struct running *r)
{
	unsigned long long *record;
	unsigned len, i;

	r->before = r->records;
	for (i = 0; i < 20; i++) {
		len = 8 * (3 + (r->records * 7 + i) % 100);
		record = user_ring_buffer__reserve_blocking(r->asked, len, 10);
		/* When the scheduler is gone, nobody makes space. */
		if (!record)
			return;
		if (i % 2) {
			user_ring_buffer__discard(r->asked, record);
			continue;
		}
		record[0] = record[len / 8 - 1] = ++r->records;
		record[1] = len;
		user_ring_buffer__submit(r->asked, record);
	}
}

/* Until it gets SIGINT, or the scheduler is gone. */
static int go_on(struct running *r, const char *how)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (!r->seen->exit_kind && (!stop || !strcmp(how, "hang"))) {
		/* Nobody drains the ring any more, so it would only be asked again and again. */
		if (stop) {
			sleep(1);
			continue;
		}
		ring_buffer__poll(r->ring, 100);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > begin.tv_sec) {
			begin = now;
			tell(r);
			printf("told %s, wakeups %d, bss %s\n", r->told ? "yes" : "no",
			       __atomic_load_n(&wakeups, __ATOMIC_SEQ_CST),
			       r->seen->enqueued >= r->told && r->seen->switches ? "shared" : "apart");
		}
		if (!strcmp(how, "cgroups"))
			say_cgroups();
		if (!strcmp(how, "tasks"))
			say_tasks();
		if (!strcmp(how, "tasks"))
			printf("tasks: made %llu, removed %llu, joined %llu, as a process %llu\n", r->seen->made,
			       r->seen->removed, r->seen->joined, r->seen->joined_whole);
		while (!strcmp(how, "yield") && !stop)
			sched_yield();
		if (!strcmp(how, "exit"))
			exit(7);
		if (!strcmp(how, "exec")) {
			execl("/bin/true", "true", NULL);
			exit(errno == EACCES ? 9 : 10);
		}
		if (!strcmp(how, "again"))
			execl("/proc/self/exe", "shared", "no.bpf.o", NULL);
		if (!strcmp(how, "crash"))
			abort();
		if (!strcmp(how, "kill"))
			kill(getpid(), SIGKILL);
	}
	return r->seen->exit_kind != 0;
}

static void end(struct running *r)
{
	int i;

	bpf_link__destroy(r->link);
	/* The last writes may not have been taken out when the scheduler was gone; all earlier ones have. */
	printf("drained %s\n", r->seen->disordered || r->seen->drained < r->before ||
	       r->seen->drained > r->records ? "badly" : r->records ? "in order" : "nothing");
	printf("detached, exit kind %llu, registered %llu times, %llu Hz, %s, %s\n", r->seen->exit_kind,
	       r->seen->registered, r->seen->hz, has_worked() ? "busy at times" : "no times",
	       r->seen->home > 10 && r->seen->away < 4 ? "at home" : "abroad");
	bpf_link__destroy(r->traces[0]);
	bpf_link__destroy(r->traces[1]);
	for (i = 0; i < 3; i++)
		bpf_link__destroy(r->groups[i]);
	ring_buffer__free(r->ring);
	user_ring_buffer__free(r->asked);
	munmap((void *)r->seen, sysconf(_SC_PAGESIZE));
	bpf_object__close(r->object);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : NULL, *how = argc > 2 ? argv[2] : "";
	int all = !strcmp(how, "all"), later = !strcmp(how, "later"), is_gone;
	struct bpf_object *next = NULL;
	struct running running;
	pthread_t counter;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGINT, on_signal);
	if (all && use_sockets())
		fail("sockets");
	if (all && use_names())
		fail("names");
	if (all && use_host())
		fail("host");
	if (pthread_create(&counter, NULL, count, NULL))
		fail("thread");
	if (later)
		load_another(path, "before");
	/* A scheduler that the kernel has ended is loaded again, as after hotplug, unless the next one is loaded already. */
	do {
		begin(&running, next ? next : load(path), all);
		printf("%ld CPUs, answer %llu\n", sysconf(_SC_NPROCESSORS_ONLN), running.answer);
		next = later ? load_another(path, "beside") : NULL;
		is_gone = go_on(&running, how);
		end(&running);
		if (is_gone && !strcmp(how, "execute"))
			execv("/proc/self/exe", argv);
	} while (is_gone && strcmp(how, "leave"));
	return 0;
}
