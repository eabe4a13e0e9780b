// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A queue that both sides use, and a map of maps: the program fills them, and a BPF program takes a value from the first
 * and adds what it finds in the second. Uses only bpf(2), as in arena.c.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKUP 1
#define PUSH 87
#define POP 88

#define MAP(reg, fd) { .code = 0x18, .dst_reg = reg, .src_reg = BPF_PSEUDO_MAP_FD, .imm = fd }, { 0 }
#define CALL(helper) { .code = 0x85, .imm = helper }
/* An address on the stack, and a 32-bit number there. */
#define ON_STACK(reg, at) { .code = 0xbf, .dst_reg = reg, .src_reg = 10 }, { .code = 0x07, .dst_reg = reg, .imm = at }
#define PUT(at, value) { .code = 0x62, .dst_reg = 10, .off = at, .imm = value }
#define UNLESS_NULL_SKIP(count) { .code = 0x55, .dst_reg = 0, .off = count }
#define MOV(dst, src) { .code = 0xbf, .dst_reg = dst, .src_reg = src }
#define SET(dst, value) { .code = 0xb7, .dst_reg = dst, .imm = value }
#define LOAD(dst, src, offset) { .code = 0x79, .dst_reg = dst, .src_reg = src, .off = offset }
#define STORE(dst, src, offset) { .code = 0x7b, .dst_reg = dst, .src_reg = src, .off = offset }
#define ADD(dst, src) { .code = 0x0f, .dst_reg = dst, .src_reg = src }
#define EXIT { .code = 0x95 }

static int queue, prog, template, outer;

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int make(unsigned type, unsigned key_size, unsigned value_size, int inner)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = key_size;
	attr.value_size = value_size;
	attr.max_entries = 2;
	attr.inner_map_fd = inner;
	return bpf(BPF_MAP_CREATE, &attr);
}

static int load(int outer)
{
	struct bpf_insn insns[] = {
		MAP(1, queue), ON_STACK(2, -8), CALL(POP),
		PUT(-16, 1), MAP(1, outer), ON_STACK(2, -16), CALL(LOOKUP),
		UNLESS_NULL_SKIP(2), SET(0, 1), EXIT,
		PUT(-16, 0), MOV(1, 0), ON_STACK(2, -16), CALL(LOOKUP),
		UNLESS_NULL_SKIP(2), SET(0, 2), EXIT,
		LOAD(3, 0, 0), LOAD(4, 10, -8), ADD(3, 4), STORE(10, 3, -8),
		MAP(1, queue), ON_STACK(2, -8), SET(3, 0), CALL(PUSH),
		SET(0, 7), EXIT,
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SYSCALL;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (uintptr_t)"GPL";
	attr.prog_flags = BPF_F_SLEEPABLE;
	strcpy(attr.prog_name, "use_maps");
	return bpf(BPF_PROG_LOAD, &attr);
}

/* Creates and fills the maps, and loads the BPF program. Returns 0 if everything is as expected. */
int load_maps(void)
{
	unsigned long long twenty = 20, one = 1, two = 22;
	unsigned first = 0, second = 1;
	int inner, other;

	queue = make(BPF_MAP_TYPE_QUEUE, 0, 8, 0);
	template = make(BPF_MAP_TYPE_ARRAY, 4, 8, 0);
	inner = make(BPF_MAP_TYPE_ARRAY, 4, 8, 0);
	other = make(BPF_MAP_TYPE_ARRAY, 4, 16, 0);
	outer = make(BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, template);
	if (queue < 0 || outer < 0 || make(BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, -1) >= 0)
		return 1;
	if (bpf_map_update_elem(inner, &first, &twenty, 0) || bpf_map_update_elem(outer, &second, &inner, 0))
		return 2;
	if (!bpf_map_update_elem(outer, &first, &other, 0) || errno != EINVAL)
		return 3;
	/* Before anything is loaded, and one too many. */
	if (bpf_map_update_elem(queue, NULL, &one, 0) || bpf_map_update_elem(queue, NULL, &two, 0))
		return 10;
	if (!bpf_map_update_elem(queue, NULL, &one, 0) || errno != E2BIG)
		return 11;
	if (bpf_map_lookup_and_delete_elem(queue, NULL, &one) || one != 1)
		return 12;
	prog = load(outer);
	/* The outer map keeps them. */
	close(inner);
	close(other);
	return prog < 0 ? 4 : 0;
}

/* A map that was created later is put into the map of maps, found there by both sides, and removed again. */
static int replace(void)
{
	unsigned long long hundred = 100, one = 1, value = 0;
	unsigned first = 0, second = 1, third = 2, id = 0, other;
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int inner = make(BPF_MAP_TYPE_ARRAY, 4, 8, 0);

	if (bpf_map_lookup_elem(outer, &second, &other) || !other)
		return 20;
	if (bpf_map_update_elem(inner, &first, &hundred, 0) || bpf_map_update_elem(outer, &second, &inner, 0))
		return 21;
	if (bpf_map_lookup_elem(outer, &second, &id) || id == other || bpf_map_lookup_elem(inner, &first, &value) ||
	    value != 100)
		return 22;
	if (!bpf_map_update_elem(outer, &third, &inner, 0) || errno != E2BIG ||
	    !bpf_map_update_elem(outer, &first, &queue, 0) || errno != EINVAL)
		return 23;
	if (bpf_map_update_elem(queue, NULL, &one, 0) || bpf_prog_test_run_opts(prog, &run) || run.retval != 7)
		return 24;
	if (bpf_map_lookup_and_delete_elem(queue, NULL, &value) || value != 101)
		return 25;
	/* One that existed when the object was loaded. */
	if (bpf_map_update_elem(outer, &second, &template, 0) || bpf_map_update_elem(queue, NULL, &one, 0) ||
	    bpf_prog_test_run_opts(prog, &run) || run.retval != 7 ||
	    bpf_map_lookup_and_delete_elem(queue, NULL, &value) || value != 1)
		return 26;
	if (bpf_map_delete_elem(outer, &second) || !bpf_map_delete_elem(outer, &second) || errno != ENOENT ||
	    bpf_prog_test_run_opts(prog, &run) || run.retval != 1)
		return 27;
	close(inner);
	return 0;
}

/* Runs it. Returns 0 if everything is as expected. */
int use_maps(void)
{
	unsigned long long value = 22;
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int failed;

	if (bpf_prog_test_run_opts(prog, &run) || run.retval != 7)
		return 6;
	if (bpf_map_lookup_elem(queue, NULL, &value) || value != 42)
		return 7;
	value = 0;
	if (bpf_map_lookup_and_delete_elem(queue, NULL, &value) || value != 42)
		return 8;
	if (bpf_map_update_elem(queue, NULL, &value, 0) || bpf_map_lookup_and_delete_elem(queue, NULL, &value))
		return 5;
	if (!bpf_map_lookup_and_delete_elem(queue, NULL, &value) || errno != ENOENT)
		return 9;
	failed = replace();
	close(prog);
	close(queue);
	close(template);
	close(outer);
	return failed;
}
