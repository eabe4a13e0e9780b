// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Makes 10,000 calls of bpf(2) whose commands and parameters are drawn at random, some of them descriptors that
 * earlier calls gave, and prints how many succeeded. Whatever it asks for, it gets a result or an error number.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long long state = 88172645463325252ull;
static unsigned long long memory[1024];

static unsigned long long draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Of a size, a number, a descriptor or an address what parameters often are. */
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

int main(void)
{
	unsigned long long attr[20];
	int good = 0, calls, fd;
	unsigned i;

	for (calls = 0; calls < 10000; calls++) {
		for (i = 0; i < 20; i++)
			attr[i] = word();
		for (i = 0; i < 64; i++)
			memory[draw() % 1024] = draw() % 3 ? draw() % 256 : draw();
		unsigned long command = draw() % 3 ? draw() % 6 : draw() % 40;
		if (command == 0 && draw() % 2)
			attr[0] = (1 + draw() % 2) | 4ull << 32;
		long result = syscall(SYS_bpf, command, attr, draw() % 160);
		good += result >= 0;
		/* Few stay open, so that numbers meet objects. */
		if (result > 40)
			close(result);
	}
	for (fd = 3; fd < 100; fd++)
		close(fd);
	printf("%s\n", good > 100 ? "many succeeded" : "few succeeded");
	return 0;
}
