// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Loads an object with libbpf and attaches its scheduler, whichever structure describes it, until SIGINT. With one more
 * argument it attaches it by a link, which it looks at and detaches; with 'early' it does not wait for SIGINT.
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

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static struct bpf_map *scheduler_of(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
			return map;
	return NULL;
}

/* An old libbpf attaches without a link: so this is done by hand. */
static int link_to(struct bpf_map *map)
{
	union bpf_attr attr = { 0 };

	/* It only sets the map's value here. */
	if (!bpf_map__attach_struct_ops(map))
		return -1;
	attr.link_create.prog_fd = bpf_map__fd(map);
	attr.link_create.attach_type = 44; /* BPF_STRUCT_OPS */
	return bpf(BPF_LINK_CREATE, &attr);
}

static void show(const char *what, long result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
}

/* What the kernel knows of the link, and that it neither exchanges its scheduler nor lets go of it by the map. */
static void look(int link, int map)
{
	struct bpf_link_info info = { 0 };
	unsigned bytes = sizeof(info), id = 0, key = 0;
	union bpf_attr attr = { 0 };

	show("info", bpf_obj_get_info_by_fd(link, &info, &bytes));
	show("id", bpf_link_get_next_id(0, &id));
	printf("type %u, the same %d\n", info.type, id == info.id);
	attr.link_update.link_fd = link;
	attr.link_update.new_prog_fd = map;
	show("update", bpf(BPF_LINK_UPDATE, &attr));
	attr.link_update.new_prog_fd = link;
	show("update from a link", bpf(BPF_LINK_UPDATE, &attr));
	show("delete", bpf_map_delete_elem(map, &key));
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = map;
	attr.link_create.attach_type = 44;
	show("again", bpf(BPF_LINK_CREATE, &attr));
}

static int use_link(struct bpf_map *map, int is_early)
{
	int link = link_to(map);

	show("link", link);
	if (link < 0)
		return 2;
	look(link, bpf_map__fd(map));
	while (!stop && !is_early)
		usleep(50000);
	/* The scheduler is gone before the descriptor is. */
	show("detach", bpf_link_detach(link));
	show("again", bpf_link_detach(link));
	close(link);
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program;
	struct bpf_link *link;

	signal(SIGINT, on_signal);
	if (!object)
		return 1;
	/* Not every libbpf supports the section struct_ops.s. */
	bpf_object__for_each_program(program, object)
		if (strstr(bpf_program__name(program), "_init"))
			bpf_program__set_flags(program, BPF_F_SLEEPABLE);
	if (argc > 2)
		bpf_map__set_map_flags(scheduler_of(object), 1 << 13); /* BPF_F_LINK */
	if (bpf_object__load(object))
		return 1;
	if (argc > 2)
		return use_link(scheduler_of(object), !strcmp(argv[2], "early"));
	link = bpf_map__attach_struct_ops(scheduler_of(object));
	if (!link) {
		printf("not attached\n");
		return 2;
	}
	printf("attached\n");
	while (!stop)
		usleep(50000);
	bpf_link__destroy(link);
	bpf_object__close(object);
	printf("detached\n");
	return 0;
}
