// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Loads an object with libbpf and attaches its scheduler, whichever structure describes it, until SIGINT.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	if (bpf_object__load(object))
		return 1;
	link = attach(object);
	if (!link)
		return 2;
	printf("attached\n");
	while (!stop)
		usleep(50000);
	bpf_link__destroy(link);
	bpf_object__close(object);
	printf("detached\n");
	return 0;
}
