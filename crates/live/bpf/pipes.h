/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What goes through pipes and local stream sockets, where that was asked for: a replay lets tasks wait by what is in them. A
 * write is recorded when it begins, because a reader may have all of it before it ends; a read when it ends, when it is known
 * how much was read, unless its reader does not wait. No content is looked at. Which pipe it is, the reader of the records
 * replaces by a number.
 */
#ifndef KEEL_PIPES_H
#define KEEL_PIPES_H

#include "ring.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pipe_inode_info {
	unsigned int max_usage;
};

struct inode {
	unsigned long i_ino;
};

struct file {
	void *private_data;
	unsigned int f_flags;
	struct inode *f_inode;
};

struct kiocb {
	struct file *ki_filp;
};

struct iov_iter {
	unsigned long count;
};

struct sock {
	int sk_sndbuf;
};

struct unix_sock {
	struct sock *peer;
};

struct socket {
	struct sock *sk;
};

struct msghdr {
	unsigned int msg_flags;
};
#pragma clang attribute pop

#define O_NONBLOCK 00004000
#define O_DIRECT 00040000
#define MSG_PEEK 0x02
#define MSG_DONTWAIT 0x40

/* In the order of keel_trace::Call, after those of calls.h. */
enum {
	IN_PIPE_READ = 10,
	IN_PIPE_WRITE = 11,
};

/* In the order of keel_trace::Piping, and what says that it is a socket. */
enum {
	HAS_READ = 0,
	WRITES = 1,
	WRITES_PACKET = 2,
	IS_SOCKET = 0x80,
};

static __always_inline void tell_pipe(struct kiocb *iocb, u8 how, u32 bytes)
{
	struct pipe_inode_info *pipe = BPF_CORE_READ(iocb, ki_filp, private_data);
	u64 number = BPF_CORE_READ(iocb, ki_filp, f_inode, i_ino);

	/* A pipe that is gone may leave its address to the next one. */
	number = (u64)pipe + number * 0x9e3779b97f4a7c15;
	emit(PIPED, how, bpf_get_smp_processor_id(), id_of(bpf_get_current_task_btf()), number, bytes,
	     BPF_CORE_READ(pipe, max_usage));
}

static __always_inline void set_pipe(u8 call)
{
	struct known *known = known_of(bpf_get_current_task_btf());

	if (known)
		known->pipe = call;
}

static __always_inline unsigned int flags_of(struct kiocb *iocb)
{
	return BPF_CORE_READ(iocb, ki_filp, f_flags);
}

static __always_inline u8 write_by(unsigned int flags)
{
	return flags & O_DIRECT ? WRITES_PACKET : WRITES;
}

/*
 * Runs: in the task, in its system call, with interrupts on and no lock.
 * Reaches itself: no. It uses no pipe and no socket. Nor do those below.
 */
SEC("?fentry")
int BPF_PROG(on_pipe_read)
{
	set_pipe(IN_PIPE_READ);
	return 0;
}

SEC("?fexit")
int BPF_PROG(after_pipe_read, struct kiocb *iocb, struct iov_iter *to, long ret)
{
	set_pipe(0);
	if (ret >= 0 && !(flags_of(iocb) & O_NONBLOCK))
		tell_pipe(iocb, HAS_READ, ret);
	return 0;
}

SEC("?fentry")
int BPF_PROG(on_pipe_write, struct kiocb *iocb, struct iov_iter *from)
{
	unsigned long bytes = BPF_CORE_READ(from, count);
	unsigned int flags = flags_of(iocb);

	set_pipe(IN_PIPE_WRITE);
	if (bytes && !(flags & O_NONBLOCK))
		tell_pipe(iocb, write_by(flags), bytes);
	return 0;
}

/* Only now is it known how much a writer wrote that does not wait. */
SEC("?fexit")
int BPF_PROG(after_pipe_write, struct kiocb *iocb, struct iov_iter *from, long ret)
{
	unsigned int flags = flags_of(iocb);

	set_pipe(0);
	if (ret > 0 && flags & O_NONBLOCK)
		tell_pipe(iocb, write_by(flags), ret);
	return 0;
}

/* What is on its way to a socket is in it; the memory is that of the socket that sent it. */
static __always_inline void tell_socket(struct sock *to, u8 how, u32 bytes, u32 memory)
{
	if (to)
		emit(PIPED, how | IS_SOCKET, bpf_get_smp_processor_id(), id_of(bpf_get_current_task_btf()), (u64)to, bytes,
		     memory);
}

static __always_inline void tell_send(struct socket *socket, u32 bytes)
{
	struct sock *from = BPF_CORE_READ(socket, sk);

	tell_socket(BPF_CORE_READ((struct unix_sock *)from, peer), WRITES, bytes, BPF_CORE_READ(from, sk_sndbuf));
}

SEC("?fentry")
int BPF_PROG(on_receive)
{
	set_pipe(IN_PIPE_READ);
	return 0;
}

SEC("?fexit")
int BPF_PROG(after_receive, struct socket *socket, struct msghdr *msg, unsigned long size, int flags, int ret)
{
	struct sock *to = BPF_CORE_READ(socket, sk);

	set_pipe(0);
	if (ret >= 0 && !(flags & (MSG_DONTWAIT | MSG_PEEK)))
		tell_socket(to, HAS_READ, ret, BPF_CORE_READ(to, sk_sndbuf));
	return 0;
}

SEC("?fentry")
int BPF_PROG(on_send, struct socket *socket, struct msghdr *msg, unsigned long bytes)
{
	set_pipe(IN_PIPE_WRITE);
	if (bytes && !(BPF_CORE_READ(msg, msg_flags) & MSG_DONTWAIT))
		tell_send(socket, bytes);
	return 0;
}

SEC("?fexit")
int BPF_PROG(after_send, struct socket *socket, struct msghdr *msg, unsigned long bytes, int ret)
{
	set_pipe(0);
	if (ret > 0 && BPF_CORE_READ(msg, msg_flags) & MSG_DONTWAIT)
		tell_send(socket, ret);
	return 0;
}

#endif
