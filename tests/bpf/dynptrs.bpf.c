// SPDX-License-Identifier: GPL-2.0-only
/* Dynptrs to a program's own memory. */
#include "case.h"

struct bpf_dynptr {
	u64 __opaque[2];
} __attribute__((aligned(8)));

char written_to[16];
char looked_at[16];
char refused_memory[16];

STEPS(a_dynptr_is_read_and_written, 0, 0, 0, 0x1122334455667788, 0x1122334455667788, -E2BIG, -E2BIG, -E2BIG)
{
	u64 word = HIDE(0x1122334455667788), back = 0;
	struct bpf_dynptr memory;

	got[0] = bpf_dynptr_from_mem(written_to, sizeof(written_to), 0, &memory);
	got[1] = bpf_dynptr_write(&memory, 4, &word, 8, 0);
	got[2] = bpf_dynptr_read(&back, 8, &memory, 4, 0);
	got[3] = back;
	__builtin_memcpy(&back, written_to + 4, 8);
	got[4] = back;
	got[5] = bpf_dynptr_read(&back, 8, &memory, 9, 0);
	got[6] = bpf_dynptr_write(&memory, 9, &word, 8, 0);
	got[7] = bpf_dynptr_read(&back, 8, &memory, HIDE(100), 0);
}

STEPS(a_dynptr_is_looked_into, 1, 77, 0, 0)
{
	struct bpf_dynptr memory;
	char *at;

	bpf_dynptr_from_mem(looked_at, sizeof(looked_at), 0, &memory);
	looked_at[8] = HIDE(77);
	at = bpf_dynptr_data(&memory, 8, 8);
	got[0] = !!at;
	if (at)
		got[1] = *at;
	got[2] = !!bpf_dynptr_data(&memory, 9, 8);
	got[3] = !!bpf_dynptr_data(&memory, 0, 17);
}

STEPS(dynptr_flags_that_are_refused, -EINVAL, -EINVAL, -EINVAL, -EINVAL, 0)
{
	u64 word = 0;
	struct bpf_dynptr memory, none;

	bpf_dynptr_from_mem(refused_memory, sizeof(refused_memory), 0, &memory);
	got[0] = bpf_dynptr_read(&word, 8, &memory, 0, HIDE(1));
	got[1] = bpf_dynptr_write(&memory, 0, &word, 8, HIDE(1));
	got[2] = bpf_dynptr_from_mem(refused_memory, sizeof(refused_memory), HIDE(1), &none);
	got[3] = bpf_dynptr_read(&word, 8, &none, 0, 0);
	got[4] = !!bpf_dynptr_data(&none, 0, 8);
}
