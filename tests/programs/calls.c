// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Makes 10,000 calls of bpf(2) whose commands and parameters are drawn at random from the given seed, some of
 * them descriptors from earlier calls, and prints how many succeeded. Each call gets a result or an
 * error number. Parameters may also be at the end of the last page before an unmapped one, and nothing outside the
 * memory that they name is written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROG_TEST_RUN = 10, LINK_CREATE = 28 };

static unsigned long long state = 88172645463325252ull;
/* It is surrounded by words whose addresses nobody gets. */
static struct {
	unsigned long long before[512], memory[1024], room[8192], after[512];
} own;
#define memory own.memory

static unsigned long long draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Typical parameters: sizes, numbers, descriptors or addresses. */
static unsigned long long word(void)
{
	switch (draw() % 6) {
	case 0:
		return draw() % 40;
	case 1:
		return (draw() % 40) | (draw() % 40) << 32;
	case 2:
		return (unsigned long long)&memory[draw() % 1024];
	case 3:
		return draw();
	case 4:
		return 4ull | 8ull << 32;
	default:
		return 0;
	}
}

static int is_whole(void)
{
	unsigned i;

	for (i = 0; i < 512; i++)
		if (own.before[i] != i || own.after[i] != i)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long long attr[20];
	int good = 0, calls, fd, is_odd = argc > 1 && atoi(argv[1]) % 2;
	unsigned i;

	if (argc > 1)
		state ^= strtoull(argv[1], 0, 10) * 0x9e3779b97f4a7c15ull;
	munmap(pages + 4096, 4096);
	for (i = 0; i < 512; i++)
		own.before[i] = own.after[i] = i;
	for (calls = 0; calls < 10000; calls++) {
		for (i = 0; i < 20; i++)
			attr[i] = word();
		for (i = 0; i < 64; i++)
			memory[draw() % 1024] = draw() % 3 ? draw() % 256 : draw();
		unsigned long command = draw() % 3 ? draw() % 6 : draw() % 40;
		if (command == 0 && draw() % 2)
			attr[0] = (1 + draw() % 2) | 4ull << 32;
		/* The value of each CPU has room after any address that is passed. */
		if (command == 0)
			attr[1] &= ~0xfffffc00ull;
		/* With an odd seed, nothing is run, attached or of a kind that keel rejects by name: that ends the program. */
		if (is_odd && (command == PROG_TEST_RUN || command == LINK_CREATE))
			continue;
		unsigned long size = draw() % 50 ? draw() % 160 : draw() % 5000;
		void *at = attr;
		if (draw() % 4 == 0) {
			/* If more is read than exists, the result is EFAULT. */
			at = pages + 4096 - (draw() % 2 ? 160 : size < 160 ? size : 160);
			memcpy(at, attr, pages + 4096 - (char *)at);
		}
		long result = syscall(SYS_bpf, command, at, size);
		if (result < 0 && (errno < 1 || errno > 4095))
			return 2;
		good += result >= 0;
		/* Few stay open, so that numbers often name objects. */
		if (result > 40)
			close(result);
	}
	for (fd = 3; fd < 100; fd++)
		close(fd);
	if (!is_whole()) {
		printf("something else was written\n");
		return 3;
	}
	printf("%s\n", good > 100 ? "many succeeded" : "few succeeded");
	return 0;
}
