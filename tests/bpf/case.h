/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How to write a case: the macro's arguments are its name and the expected result, and the block after it
 * computes the result. README.md has more.
 */
#ifndef CASE_H
#define CASE_H

#include "keel.h"

LICENSE;

#define ENOENT 2
#define E2BIG 7
#define EFAULT 14
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34
#define EDEADLK 35
#define EOPNOTSUPP 95

/* One number. */
#define CASE(name, expected)                                                                       \
	extern const u64 want_##name;                                                              \
	const u64 want_##name = (expected);                                                        \
	u64 got_##name;                                                                            \
	static __always_inline u64 body_##name(void);                                              \
	SEC("syscall") int name(void *ctx)                                                         \
	{                                                                                          \
		got_##name = body_##name();                                                        \
		return 0;                                                                          \
	}                                                                                          \
	static __always_inline u64 body_##name(void)

/* Several numbers, which the block puts into got[0], got[1]... */
#define STEPS(name, expected...)                                                                   \
	extern const s64 want_##name[sizeof((s64[]){ expected }) / 8];                             \
	const s64 want_##name[sizeof((s64[]){ expected }) / 8] = { expected };                     \
	s64 got_##name[sizeof((s64[]){ expected }) / 8];                                           \
	static __always_inline void body_##name(s64 *got);                                         \
	SEC("syscall") int name(void *ctx)                                                         \
	{                                                                                          \
		body_##name(got_##name);                                                           \
		return 0;                                                                          \
	}                                                                                          \
	static __always_inline void body_##name(s64 *got)

/* A text, which the block writes to got. */
#define TEXT_BYTES 64
#define TEXT(name, expected)                                                                       \
	extern const char says_##name[TEXT_BYTES];                                                 \
	const char says_##name[TEXT_BYTES] = expected;                                             \
	char got_##name[TEXT_BYTES];                                                               \
	static __always_inline void body_##name(char *got);                                        \
	SEC("syscall") int name(void *ctx)                                                         \
	{                                                                                          \
		body_##name(got_##name);                                                           \
		return 0;                                                                          \
	}                                                                                          \
	static __always_inline void body_##name(char *got)

/* The case exists only from this kernel on; say why beside it. */
#define SINCE(name, major, minor)                                                                  \
	extern const u32 since_##name;                                                             \
	const u32 since_##name = (major) << 8 | (minor);

/* It makes this many invalid accesses, on purpose. */
#define INVALID_ACCESSES(name, count)                                                                        \
	extern const u32 invalid_accesses_##name;                                                            \
	const u32 invalid_accesses_##name = (count);

/*
 * A number that neither the compiler nor the verifier can know, so that the instruction under test is
 * really executed.
 */
static volatile u64 hidden;
#define HIDE(number)                                                                               \
	({                                                                                         \
		hidden = (number);                                                                 \
		hidden;                                                                            \
	})

/* One instruction on 64-bit registers, or on 32-bit ones: OP64("r0 += r1"...) with %0 and %1. */
#define OP64(text, a, b)                                                                           \
	({                                                                                         \
		u64 ___a = HIDE(a), ___b = HIDE(b);                                                \
		asm volatile(text : "+r"(___a) : "r"(___b));                                       \
		___a;                                                                              \
	})
#define OP32(text, a, b)                                                                           \
	({                                                                                         \
		u64 ___wide = HIDE(a);                                                             \
		u32 ___b = HIDE(b);                                                                \
		asm volatile("r1 = %[in]; w2 = %[by];" text "; %[out] = r1"                         \
			     : [out] "=r"(___wide)                                                 \
			     : [in] "r"(___wide), [by] "w"(___b)                                   \
			     : "r1", "r2");                                                        \
		___wide;                                                                           \
	})

#endif
