// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Reads, writes and removes many elements of maps in one call, looks objects up by their numbers, and prints what it
 * gets. By bpf(2) alone, as in arena.c.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MANY 10

static uint32_t keys[MANY], found_keys[MANY];
static uint64_t values[MANY], found[MANY];

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int make(unsigned type)
{
	union bpf_attr attr;
	int map;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(uint64_t);
	attr.max_entries = MANY;
	map = bpf(BPF_MAP_CREATE, &attr);
	if (map < 0)
		exit(1);
	return map;
}

static const char *name(long result)
{
	if (!result)
		return "done";
	/* The kernel's own number for what a map does not do. */
	return errno == 524 ? "not supported" : strerror(errno);
}

static unsigned batch(const char *what, int command, int map, uint32_t *from, uint32_t *next, unsigned count)
{
	int is_write = command == BPF_MAP_UPDATE_BATCH || command == BPF_MAP_DELETE_BATCH;
	union bpf_attr attr;
	long result;

	memset(&attr, 0, sizeof(attr));
	memset(found, 0, sizeof(found));
	attr.batch.in_batch = (uintptr_t)from;
	attr.batch.out_batch = (uintptr_t)next;
	attr.batch.keys = (uintptr_t)(is_write ? keys : found_keys);
	attr.batch.values = (uintptr_t)(is_write ? values : found);
	attr.batch.count = count;
	attr.batch.map_fd = map;
	result = bpf(command, &attr);
	printf("%s: %u, %s\n", what, attr.batch.count, name(result));
	return attr.batch.count;
}

static uint64_t sum(unsigned count)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < count; i++)
		sum += found[i] * (found_keys[i] + 1);
	return sum;
}

static void walk(int map, unsigned step)
{
	uint32_t token = 0;
	unsigned count;
	uint64_t all = 0;

	count = batch("first", BPF_MAP_LOOKUP_BATCH, map, NULL, &token, step);
	all += sum(count);
	while (count == step) {
		count = batch("next", BPF_MAP_LOOKUP_BATCH, map, &token, &token, step);
		all += sum(count);
	}
	printf("sum %llu\n", (unsigned long long)all);
}

static void use_hash(void)
{
	int map = make(BPF_MAP_TYPE_HASH);
	uint32_t token;
	unsigned count;

	batch("update", BPF_MAP_UPDATE_BATCH, map, NULL, NULL, 7);
	walk(map, 3);
	batch("delete", BPF_MAP_DELETE_BATCH, map, NULL, NULL, 2);
	batch("missing", BPF_MAP_DELETE_BATCH, map, NULL, NULL, 2);
	count = batch("take", BPF_MAP_LOOKUP_AND_DELETE_BATCH, map, NULL, &token, MANY);
	printf("sum %llu\n", (unsigned long long)sum(count));
	batch("empty", BPF_MAP_LOOKUP_BATCH, map, NULL, &token, MANY);
	batch("nothing", BPF_MAP_LOOKUP_BATCH, map, NULL, &token, 0);
}

/* An element that comes while a walk has passed its place, and one that goes which the walk has given last. */
static void change_meanwhile(void)
{
	int map = make(BPF_MAP_TYPE_HASH);
	uint32_t token, first = keys[0];

	keys[0] = 5;
	batch("update", BPF_MAP_UPDATE_BATCH, map, NULL, NULL, 1);
	keys[0] = 6;
	batch("update", BPF_MAP_UPDATE_BATCH, map, NULL, NULL, 1);
	keys[0] = 7;
	batch("update", BPF_MAP_UPDATE_BATCH, map, NULL, NULL, 1);
	batch("first", BPF_MAP_LOOKUP_BATCH, map, NULL, &token, 1);
	printf("key %u\n", found_keys[0]);
	keys[0] = 2;
	batch("update", BPF_MAP_UPDATE_BATCH, map, NULL, NULL, 1);
	batch("next", BPF_MAP_LOOKUP_BATCH, map, &token, &token, 1);
	printf("key %u\n", found_keys[0]);
	keys[0] = 6;
	batch("delete", BPF_MAP_DELETE_BATCH, map, NULL, NULL, 1);
	batch("next", BPF_MAP_LOOKUP_BATCH, map, &token, &token, MANY);
	printf("key %u\n", found_keys[0]);
	keys[0] = first;
}

static void use_array(void)
{
	int map = make(BPF_MAP_TYPE_ARRAY);
	union bpf_attr attr;

	batch("update", BPF_MAP_UPDATE_BATCH, map, NULL, NULL, MANY);
	walk(map, 4);
	batch("delete", BPF_MAP_DELETE_BATCH, map, NULL, NULL, 1);
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = map;
	if (bpf(BPF_MAP_FREEZE, &attr))
		exit(1);
	batch("frozen", BPF_MAP_UPDATE_BATCH, map, NULL, NULL, 1);
	batch("no map", BPF_MAP_LOOKUP_BATCH, 0, NULL, NULL, 1);
}

/* Maps by number: the second one has a value that the first one's descriptor does not give. */
static void use_numbers(void)
{
	int maps[2] = { make(BPF_MAP_TYPE_HASH), make(BPF_MAP_TYPE_ARRAY) }, fd;
	struct bpf_map_info info;
	union bpf_attr attr;
	uint32_t ids[2], i;

	for (i = 0; i < 2; i++) {
		memset(&attr, 0, sizeof(attr));
		memset(&info, 0, sizeof(info));
		attr.info.bpf_fd = maps[i];
		attr.info.info_len = sizeof(info);
		attr.info.info = (uintptr_t)&info;
		if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
			exit(1);
		ids[i] = info.id;
	}
	memset(&attr, 0, sizeof(attr));
	attr.start_id = ids[0];
	printf("next %s, ", name(bpf(BPF_MAP_GET_NEXT_ID, &attr)));
	printf("%d\n", attr.next_id == ids[1]);
	memset(&attr, 0, sizeof(attr));
	attr.map_id = ids[1];
	fd = bpf(BPF_MAP_GET_FD_BY_ID, &attr);
	batch("other", BPF_MAP_UPDATE_BATCH, fd, NULL, NULL, MANY);
	walk(maps[1], MANY);
	memset(&attr, 0, sizeof(attr));
	attr.start_id = ids[1];
	printf("last %s\n", name(bpf(BPF_MAP_GET_NEXT_ID, &attr)));
	memset(&attr, 0, sizeof(attr));
	attr.prog_id = 1 << 30;
	printf("program %s\n", name(bpf(BPF_PROG_GET_FD_BY_ID, &attr)));
}

int main(void)
{
	unsigned i;

	for (i = 0; i < MANY; i++) {
		keys[i] = i;
		values[i] = i * i;
	}
	use_hash();
	change_meanwhile();
	use_array();
	use_numbers();
	return 0;
}
