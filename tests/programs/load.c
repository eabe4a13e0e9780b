// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Loads an object with libbpf and attaches its scheduler, whichever structure describes it, until SIGINT. With one more
 * argument it detaches it at once, after something that keel refuses.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
	stop = 1;
}

static struct bpf_link *attach(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
			return bpf_map__attach_struct_ops(map);
	return NULL;
}

/* What the kernel knows of the link, and that sched_ext does not exchange a scheduler in it. */
static void look(struct bpf_link *link)
{
	struct bpf_link_info info = { 0 };
	unsigned bytes = sizeof(info), id = 0;
	union bpf_attr attr = { 0 };
	int fd = bpf_link__fd(link);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) || bpf_link_get_next_id(0, &id))
		return;
	attr.link_update.link_fd = fd;
	attr.link_update.new_prog_fd = fd;
	printf("link %s, %s, ", info.type == BPF_LINK_TYPE_STRUCT_OPS ? "of a scheduler" : "?", id == info.id ? "found" : "?");
	printf("%s\n", syscall(SYS_bpf, BPF_LINK_UPDATE, &attr, sizeof(attr)) ? strerror(errno) : "updated");
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program;
	struct bpf_link *link;

	signal(SIGINT, on_signal);
	if (!object)
		return 1;
	/* Not every libbpf knows the section struct_ops.s. */
	bpf_object__for_each_program(program, object)
		if (strstr(bpf_program__name(program), "_init"))
			bpf_program__set_flags(program, BPF_F_SLEEPABLE);
	if (bpf_object__load(object))
		return 1;
	link = attach(object);
	if (!link)
		return 2;
	printf("attached\n");
	look(link);
	if (argc > 2)
		stop = bpf_enable_stats(BPF_STATS_RUN_TIME) < 0;
	while (!stop)
		usleep(50000);
	/* It is gone before its descriptor is. */
	if (bpf_link__detach(link))
		return 3;
	bpf_link__destroy(link);
	bpf_object__close(object);
	printf("detached\n");
	return 0;
}
