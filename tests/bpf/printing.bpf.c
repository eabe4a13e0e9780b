// SPDX-License-Identifier: GPL-2.0-only
/* The format language of bpf_snprintf() and bpf_printk(). */
#include "case.h"

static const char hello[] = "hello";

/* bpf_snprintf() into the case's text. */
#define FORMAT(text, args...)                                                                      \
	static const char ___format[] = text;                                                      \
	u64 ___args[] = { args };                                                                  \
                                                                                                   \
	bpf_snprintf(got, TEXT_BYTES, ___format, ___args, sizeof(___args));

TEXT(decimal, "-5 4294967291 -6 18446744073709551610 7")
{
	FORMAT("%d %u %lld %llu %i", HIDE(-5), HIDE(-5), HIDE(-6), HIDE(-6), HIDE(7))
}

TEXT(of_32_bits, "1 1 fffffffe")
{
	FORMAT("%d %u %x", HIDE(1ULL << 32 | 1), HIDE(1ULL << 32 | 1), HIDE(-2))
}

TEXT(long_ones, "-7 -8 123456789012 deadbeefcafe")
{
	FORMAT("%ld %li %lu %lx", HIDE(-7), HIDE(-8), HIDE(123456789012), HIDE(0xdeadbeefcafe))
}

TEXT(hexadecimal, "ff FF 00ff dead")
{
	FORMAT("%x %X %04x %llx", HIDE(255), HIDE(255), HIDE(255), HIDE(0xdead))
}

TEXT(widths, "[    5] [-0005] [5    ] [00005] [12345]")
{
	FORMAT("[%5d] [%05d] [%-5d] [%05u] [%3d]", HIDE(5), HIDE(-5), HIDE(5), HIDE(5), HIDE(12345))
}

TEXT(strings, "<hello> <a>")
{
	FORMAT("<%s> <%c>", HIDE((u64)hello), HIDE('a'))
}

TEXT(padded_strings, "[   hello] [hello   ]")
{
	FORMAT("[%8s] [%-8s]", HIDE((u64)hello), HIDE((u64)hello))
}

/* Unreadable text is empty. */
TEXT(strings_at_bad_addresses, "<> <>")
{
	FORMAT("<%s> <%s>", HIDE(0), HIDE(0xdead))
}

TEXT(percent, "100% of 3")
{
	FORMAT("100%% of %d", HIDE(3))
}

TEXT(signs, "+5 -5 +0  7 [  +5] [+005]")
{
	FORMAT("%+d %+d %+d % d [%+4d] [%+04d]", HIDE(5), HIDE(-5), HIDE(0), HIDE(7), HIDE(5), HIDE(5))
}

TEXT(pointers, "000000000000beef ffff888000000001.")
{
	FORMAT("%px %px.", HIDE(0xbeef), HIDE(0xffff888000000001))
}

/* The full length, with its NUL. Text that does not fit is truncated. */
STEPS(lengths, 10, 10, 'v', 0, 6, 1, 10)
{
	static const char nine[] = "value=%d!", empty[] = "";
	char out[16] = {};
	u64 args[] = { HIDE(42) };

	got[0] = bpf_snprintf(out, sizeof(out), nine, args, sizeof(args));
	got[1] = bpf_snprintf(out, 4, nine, args, sizeof(args));
	got[2] = out[0];
	got[3] = out[3];
	args[0] = (u64)hello;
	got[4] = bpf_snprintf(out, sizeof(out), "%s", args, sizeof(args));
	got[5] = bpf_snprintf(out, sizeof(out), empty, NULL, 0);
	args[0] = HIDE(42);
	got[6] = bpf_snprintf(NULL, 0, nine, args, sizeof(args));
}

/* The number of printed bytes. */
STEPS(prints, 5, 9, 12)
{
	got[0] = bpf_printk("hello");
	got[1] = bpf_printk("value=%d!", HIDE(42));
	got[2] = bpf_printk("%d %d %d %d %s", HIDE(1), HIDE(2), HIDE(3), HIDE(4), "last");
}

/* The number of a stream, and the bytes of its values. */
SINCE(to_a_stream, 7, 2)
STEPS(to_a_stream, 0, 0, -ENOENT, -ENOENT, -EINVAL, -EINVAL)
{
	u64 args[] = { HIDE(5), HIDE(7) };

	got[0] = bpf_stream_vprintk(1, "%d and %d\n", args, sizeof(args));
	got[1] = bpf_stream_vprintk(2, "no value\n", args, 0);
	got[2] = bpf_stream_vprintk(3, "nowhere\n", args, sizeof(args));
	got[3] = bpf_stream_vprintk(0, "nowhere\n", args, sizeof(args));
	got[4] = bpf_stream_vprintk(1, "%d\n", args, 7);
	got[5] = bpf_stream_vprintk(1, "%d\n", args, 9);
}
