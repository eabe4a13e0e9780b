// SPDX-License-Identifier: GPL-2.0-only
/* CO-RE: accesses follow the running kernel's types, and queries about them are answered. */
#include "case.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* Parts of task_struct, with the fields in another order, at other offsets. */
struct task_struct___other {
	char comm[16];
	int no_such_field;
	int tgid;
	int pid;
};
struct sched_ext_entity___other {
	u32 weight;
	u64 slice;
};
struct no_such_struct {
	int field;
};
struct bpf_iter_num___other {
	u64 __opaque[1];
};
#pragma clang attribute pop

enum scx_public_consts___other {
	SCX_SLICE_DFL___other = 1,
	SCX_NO_SUCH_CONSTANT___other = 2,
};
enum no_such_enum {
	NO_SUCH = 1,
};

STEPS(fields, 1, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct task_struct___other *other = (void *)p;

	got[0] = BPF_CORE_READ(other, pid) == p->pid;
	got[1] = BPF_CORE_READ(other, tgid) == (s32)(bpf_get_current_pid_tgid() >> 32);
	got[2] = (u64)BPF_CORE_READ(p, group_leader) == (u64)p->group_leader;
}

STEPS(which_fields_are_there, 1, 0, 1, 0)
{
	struct task_struct___other *p = (void *)bpf_get_current_task_btf();

	got[0] = bpf_core_field_exists(p->tgid);
	got[1] = bpf_core_field_exists(p->no_such_field);
	got[2] = bpf_core_field_exists(struct sched_ext_entity___other, slice);
	got[3] = bpf_core_field_exists(struct no_such_struct, field);
}

/* An impossible access is rejected only if it is reached. */
CASE(what_is_not_there_may_be_named, 3)
{
	struct task_struct___other *p = (void *)bpf_get_current_task_btf();

	if (bpf_core_field_exists(p->no_such_field))
		return BPF_CORE_READ(p, no_such_field);
	return 3;
}

STEPS(sizes, 4, 16, 8, 4, 8)
{
	struct task_struct___other *p = (void *)bpf_get_current_task_btf();

	got[0] = bpf_core_field_size(p->pid);
	got[1] = bpf_core_field_size(p->comm);
	got[2] = bpf_core_field_size(struct sched_ext_entity___other, slice);
	got[3] = bpf_core_field_size(struct sched_ext_entity___other, weight);
	got[4] = bpf_core_type_size(struct bpf_iter_num___other);
}

STEPS(types, 1, 0, 1, 0)
{
	got[0] = bpf_core_type_exists(struct task_struct);
	got[1] = bpf_core_type_exists(struct no_such_struct);
	got[2] = bpf_core_type_exists(enum scx_public_consts);
	got[3] = bpf_core_type_exists(enum no_such_enum);
}

STEPS(constants, 20000000, 1, 0, 0, -1, 0x8000000000000002)
{
	got[0] = bpf_core_enum_value(enum scx_public_consts___other, SCX_SLICE_DFL___other);
	got[1] = bpf_core_enum_value_exists(enum scx_public_consts___other, SCX_SLICE_DFL___other);
	got[2] = bpf_core_enum_value_exists(enum scx_public_consts___other, SCX_NO_SUCH_CONSTANT___other);
	got[3] = bpf_core_enum_value_exists(enum no_such_enum, NO_SUCH);
	got[4] = SCX_SLICE_INF;
	got[5] = SCX_DSQ_LOCAL;
}

/* A string field by probing; a chain of pointers. */
STEPS(strings_and_chains, 1, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();
	char comm[16] = {};

	got[0] = BPF_CORE_READ_STR_INTO(&comm, p, comm) > 1 && comm[0];
	got[1] = BPF_CORE_READ(p, group_leader, group_leader, tgid) == p->tgid;
}
