// SPDX-License-Identifier: GPL-2.0-only
/* BPF_MAP_TYPE_RINGBUF and USER_RINGBUF. Nobody reads the first or writes the second. */
#include "case.h"

#define EAGAIN 11

#define RING(name, kind)                                                                           \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, 4096);                                                         \
	} name SEC(".maps")

RING(some, RINGBUF);
RING(full, RINGBUF);
RING(narrow, RINGBUF);
RING(refusing, RINGBUF);
RING(told, USER_RINGBUF);

/* Not a size that the kernel accepts: libbpf rounds it to 8192. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 5000);
} rounded SEC(".maps");

/* A header of 8 bytes, and every record begins at a multiple of 8. */
STEPS(positions, 4096, 0, 24, 24, 40, 56, 56, 0, 8192, 0)
{
	u64 word = 7, *record;
	u8 *byte;

	got[0] = bpf_ringbuf_query(&some, BPF_RB_RING_SIZE);
	got[1] = bpf_ringbuf_query(&some, BPF_RB_AVAIL_DATA);
	record = bpf_ringbuf_reserve(&some, 16, 0);
	if (!record)
		return;
	got[2] = bpf_ringbuf_query(&some, BPF_RB_PROD_POS);
	record[1] = 5;
	bpf_ringbuf_submit(record, 0);
	got[3] = bpf_ringbuf_query(&some, BPF_RB_AVAIL_DATA);
	byte = bpf_ringbuf_reserve(&some, 1, 0);
	if (!byte)
		return;
	bpf_ringbuf_discard(byte, BPF_RB_NO_WAKEUP);
	got[4] = bpf_ringbuf_query(&some, BPF_RB_PROD_POS);
	bpf_ringbuf_output(&some, &word, 8, BPF_RB_FORCE_WAKEUP);
	got[5] = bpf_ringbuf_query(&some, BPF_RB_PROD_POS);
	got[6] = bpf_ringbuf_query(&some, BPF_RB_AVAIL_DATA);
	got[7] = bpf_ringbuf_query(&some, BPF_RB_CONS_POS);
	got[8] = bpf_ringbuf_query(&rounded, BPF_RB_RING_SIZE);
	got[9] = bpf_ringbuf_query(&some, HIDE(77));
}

/* The producer stays at least one byte behind the consumer: the last 8 bytes are never used. */
STEPS(a_full_ring, 1, 0, 0, -EAGAIN, -EAGAIN, 4088)
{
	u64 word = 7, *record;
	u8 *byte;

	record = bpf_ringbuf_reserve(&full, 4080, 0);
	got[0] = !!record;
	if (record)
		bpf_ringbuf_submit(record, 0);
	byte = bpf_ringbuf_reserve(&full, 1, 0);
	got[1] = !!byte;
	if (byte)
		bpf_ringbuf_discard(byte, 0);
	record = bpf_ringbuf_reserve(&full, 8, 0);
	got[2] = !!record;
	if (record)
		bpf_ringbuf_discard(record, 0);
	got[3] = bpf_ringbuf_output(&full, &word, 8, 0);
	got[4] = bpf_ringbuf_output(&full, &word, 0, 0);
	got[5] = bpf_ringbuf_query(&full, BPF_RB_PROD_POS);
}

STEPS(records_that_never_fit, 0, 0, 0)
{
	u64 *record;

	record = bpf_ringbuf_reserve(&narrow, 4088, 0);
	got[0] = !!record;
	if (record)
		bpf_ringbuf_discard(record, 0);
	record = bpf_ringbuf_reserve(&narrow, 5000, 0);
	got[1] = !!record;
	if (record)
		bpf_ringbuf_discard(record, 0);
	got[2] = bpf_ringbuf_query(&narrow, BPF_RB_PROD_POS);
}

STEPS(ring_flags_that_are_refused, 0, -EINVAL, 0)
{
	u64 word = 7, *record = bpf_ringbuf_reserve(&refusing, 8, HIDE(1));

	got[0] = !!record;
	if (record)
		bpf_ringbuf_discard(record, 0);
	got[1] = bpf_ringbuf_output(&refusing, &word, 8, HIDE(4));
	got[2] = bpf_ringbuf_query(&refusing, BPF_RB_PROD_POS);
}

static long on_record(struct bpf_dynptr *record, void *count)
{
	++*(u64 *)count;
	return 0;
}

STEPS(an_empty_user_ring, 0, 0, -EINVAL, 0)
{
	u64 count = 0;

	got[0] = bpf_user_ringbuf_drain(&told, on_record, &count, 0);
	got[1] = bpf_user_ringbuf_drain(&told, on_record, &count, BPF_RB_FORCE_WAKEUP);
	got[2] = bpf_user_ringbuf_drain(&told, on_record, &count, HIDE(4));
	got[3] = count;
}
