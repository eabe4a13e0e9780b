// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * An arena that both sides use: the program touches a page, and a BPF program reads it and allocates its own. Uses
 * only bpf(2), because not every libbpf supports arenas.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARENA 33
#define MMAPABLE (1U << 10)
#define PAGES 100
#define PAGE 4096

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* From the program's address to the kernel's. */
#define CAST_KERN(reg) { .code = 0xbf, .dst_reg = reg, .src_reg = reg, .off = 1, .imm = 1 }
#define MOV(dst, src) { .code = 0xbf, .dst_reg = dst, .src_reg = src }
#define SET(dst, value) { .code = 0xb7, .dst_reg = dst, .imm = value }
#define LOAD(dst, src, offset) { .code = 0x79, .dst_reg = dst, .src_reg = src, .off = offset }
#define STORE(dst, src, offset) { .code = 0x7b, .dst_reg = dst, .src_reg = src, .off = offset }

/* What the BPF program gets, and returns. */
struct request {
	/* A page of the program's, then one of BPF's. */
	unsigned long long page;
	/* What BPF has read in the first. */
	unsigned long long word;
};

static int load(int map, int alloc)
{
	struct bpf_insn insns[] = {
		MOV(6, 1),
		{ .code = 0x18, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ 0 },
		SET(2, 0),
		SET(3, 1),
		SET(4, -1),
		SET(5, 0),
		{ .code = 0x85, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = alloc },
		MOV(7, 0),
		MOV(1, 0),
		CAST_KERN(1),
		SET(2, 42),
		STORE(1, 2, 8),
		LOAD(2, 6, 0),
		CAST_KERN(2),
		LOAD(3, 2, 0),
		STORE(6, 7, 0),
		STORE(6, 3, 8),
		SET(0, 7),
		{ .code = 0x95 },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SYSCALL;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
	attr.license = (uintptr_t)"GPL";
	attr.prog_flags = BPF_F_SLEEPABLE;
	strcpy(attr.prog_name, "use_arena");
	return bpf(BPF_PROG_LOAD, &attr);
}

static char *pages;
static int map, prog;

/* Creates the arena, and loads the BPF program. Returns 0 if everything is as expected. */
int load_arena(void)
{
	struct btf *types = btf__load_vmlinux_btf();
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = ARENA;
	attr.map_flags = MMAPABLE;
	attr.max_entries = PAGES;
	strcpy(attr.map_name, "arena");
	map = bpf(BPF_MAP_CREATE, &attr);
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	/* An arena does not cross a multiple of 4 GiB. */
	if (pages == MAP_FAILED || (uintptr_t)pages >> 32 != (uintptr_t)(pages + PAGES * PAGE - 1) >> 32)
		return 1;
	prog = load(map, types ? btf__find_by_name_kind(types, "bpf_arena_alloc_pages", BTF_KIND_FUNC) : 0);
	return prog < 0 ? 2 : 0;
}

/* Runs it. Returns 0 if everything is as expected. */
int use_arena(void)
{
	struct request request;
	union bpf_attr attr;

	/* The first page that a search would return: it is taken once the program has touched it. */
	*(unsigned long long *)pages = 21;
	request.page = (uintptr_t)pages;
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = prog;
	attr.test.ctx_in = (uintptr_t)&request;
	attr.test.ctx_size_in = sizeof(request);
	if (bpf(BPF_PROG_TEST_RUN, &attr) || attr.test.retval != 7)
		return 3;
	if (request.word != 21 || request.page == (uintptr_t)pages)
		return 4;
	if (*(unsigned long long *)(uintptr_t)(request.page + 8) != 42)
		return 5;
	/* The next loaded object has its own arena. */
	munmap(pages, PAGES * PAGE);
	close(prog);
	close(map);
	return 0;
}
