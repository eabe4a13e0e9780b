// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Names: of objects in bpffs, of mounted file systems, of the attached scheduler, of sockets.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#define FOLDER "/sys/fs/bpf/keel"
#define NAME FOLDER "/numbers"

static int is_mounted(const char *path, long magic)
{
	struct statfs mounted;

	return !statfs(path, &mounted) && (unsigned int)mounted.f_type == (unsigned int)magic;
}

/* A map with a name outlives its descriptors. */
static int use_pins(void)
{
	unsigned int key = 1, value = 7, found = 0;
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "numbers", 4, 4, 2, NULL), same;

	if (bpf_obj_get(NAME) >= 0 || errno != ENOENT)
		return 1;
	if (!bpf_obj_pin(map, NAME) || errno != ENOENT)
		return 2;
	if (mkdir(FOLDER, 0700) || bpf_obj_pin(map, NAME) || access(NAME, F_OK))
		return 3;
	if (!bpf_obj_pin(map, NAME) || errno != EEXIST)
		return 4;
	if (!bpf_obj_pin(map, "/tmp/numbers") || !bpf_obj_pin(1, FOLDER "/output"))
		return 5;
	bpf_map_update_elem(map, &key, &value, BPF_ANY);
	close(map);
	same = bpf_obj_get(NAME);
	if (bpf_map_lookup_elem(same, &key, &found) || found != 7)
		return 6;
	if (unlink(NAME) || bpf_obj_get(NAME) >= 0 || !access(NAME, F_OK))
		return 7;
	found = 0;
	if (bpf_map_lookup_elem(same, &key, &found) || found != 7)
		return 8;
	close(same);
	return 0;
}

/* After a socket's name is removed, another socket can have it. */
static int use_socket_name(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/var/run/keel.socket" };
	int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0), failed;

	failed = bind(first, (struct sockaddr *)&address, sizeof(address)) ||
		 !bind(second, (struct sockaddr *)&address, sizeof(address)) || errno != EADDRINUSE ||
		 unlink(address.sun_path) || bind(second, (struct sockaddr *)&address, sizeof(address));
	close(first);
	close(second);
	return failed;
}

/* 0 if everything is as expected. */
int use_names(void)
{
	int failed = use_pins();

	if (failed)
		return failed;
	if (!is_mounted("/sys/fs/bpf", BPF_FS_MAGIC) || !is_mounted("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC) ||
	    !is_mounted("/proc/stat", PROC_SUPER_MAGIC) || is_mounted("/", PROC_SUPER_MAGIC))
		return 9;
	if (access("/sys/class/net/lo", F_OK) || !access("/sys/kernel/sched_ext/root", F_OK))
		return 10;
	return use_socket_name() ? 11 : 0;
}

/* Whether this scheduler is attached, according to the kernel, and any task has got a new slice. */
int has_name(const char *wanted)
{
	char name[64] = "", event[64];
	FILE *file = fopen("/sys/kernel/sched_ext/root/ops", "r");
	long long count, slices = -1;

	if (!file || fscanf(file, "%63s", name) != 1 || strcmp(name, wanted))
		return 0;
	fclose(file);
	file = fopen("/sys/kernel/sched_ext/root/events", "r");
	while (file && fscanf(file, "%63s %lld", event, &count) == 2)
		if (!strcmp(event, "SCX_EV_BYPASS_ACTIVATE"))
			slices = count;
	if (file)
		fclose(file);
	return slices == 1;
}

/* Prints for two cgroups their weight, if they exist, and how many processes and threads they have. */
void say_cgroups(void)
{
	const char *names[] = { "web", "late" };
	const char *files[] = { "cpu.weight", "cgroup.procs", "cgroup.threads" };
	char path[128];
	int number, i, k;

	printf("cgroups:");
	for (i = 0; i < 2; i++) {
		printf(" %s", names[i]);
		for (k = 0; k < 3; k++) {
			int lines = 0, last = 0;
			FILE *file;

			snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s", names[i], files[k]);
			file = fopen(path, "r");
			while (file && fscanf(file, "%d", &number) == 1) {
				lines++;
				last = number;
			}
			printf(" %d", file ? k ? lines : last : -1);
			if (file)
				fclose(file);
		}
	}
	printf("\n");
}
