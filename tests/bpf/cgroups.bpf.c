// SPDX-License-Identifier: GPL-2.0-only
/* Cgroups by id and ancestors, references to them, and BPF_MAP_TYPE_CGRP_STORAGE. The root always exists, with id 1. */
#include "case.h"

struct own {
	u64 a, b;
};

#define STORAGE(name)                                                                              \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, struct own);                                                         \
	} name SEC(".maps")

STORAGE(made);
STORAGE(given);
STORAGE(ended);

STEPS(the_root, 1, 0, 1, 1, 1)
{
	struct cgroup *root = bpf_cgroup_from_id(HIDE(1));

	if (!root)
		return;
	got[0] = root->kn->id;
	got[1] = root->level;
	got[2] = root->self.cgroup == root;
	got[3] = !root->self.parent;
	got[4] = root->dom_cgrp == root;
	bpf_cgroup_release(root);
}

TEXT(its_name, "")
{
	struct cgroup *root = bpf_cgroup_from_id(1);

	got[0] = 'x';
	if (!root)
		return;
	bpf_probe_read_kernel_str(got, TEXT_BYTES, root->kn->name);
	bpf_cgroup_release(root);
}

STEPS(nobody, 1, 1, 1)
{
	u64 ids[] = { HIDE(0), HIDE(0xdeadbeef), HIDE(-1) };

	for (int i = 0; i < 3; i++) {
		struct cgroup *cgrp = bpf_cgroup_from_id(ids[i]);

		got[i] = !cgrp;
		if (cgrp)
			bpf_cgroup_release(cgrp);
	}
}

STEPS(lines, 1, 1, 1)
{
	struct cgroup *root = bpf_cgroup_from_id(1), *found;
	s32 levels[] = { HIDE(0), HIDE(1), HIDE(-1) };

	if (!root)
		return;
	for (int i = 0; i < 3; i++) {
		found = bpf_cgroup_ancestor(root, levels[i]);
		got[i] = i ? !found : found == root;
		if (found)
			bpf_cgroup_release(found);
	}
	bpf_cgroup_release(root);
}

STEPS(referred_to_twice, 1, 1)
{
	struct cgroup *root = bpf_cgroup_from_id(1), *again;

	if (!root)
		return;
	again = bpf_cgroup_acquire(root);
	got[0] = again == root;
	bpf_cgroup_release(root);
	if (!again)
		return;
	got[1] = again->kn->id;
	bpf_cgroup_release(again);
}

/* No scheduler is attached, or none that applies here: for any task, it is the root. */
CASE(of_a_task_without_a_scheduler, 1)
{
	struct cgroup *cgrp;
	u64 id;

	bpf_rcu_read_lock();
	cgrp = scx_bpf_task_cgroup(bpf_get_current_task_btf());
	id = cgrp->kn->id;
	bpf_cgroup_release(cgrp);
	bpf_rcu_read_unlock();
	return id;
}

/* There is a set of cgroups, and its default one has ancestors up to the root, whose end older verifiers do not know. */
SINCE(of_the_current_task, 7, 2)
CASE(of_the_current_task, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();
	u64 id = 0;

	bpf_rcu_read_lock();
	id = p->cgroups->dfl_cgrp->ancestors[0]->kn->id;
	bpf_rcu_read_unlock();
	return id;
}

/* CPU time is shared by a cgroup, or by an autogroup, which has no cgroup. */
CASE(of_the_current_task_group, 1)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct cgroup *cgrp = BPF_CORE_READ(p, sched_task_group, css.cgroup);

	return cgrp ? BPF_CORE_READ(cgrp, ancestors[0], kn, id) : 1;
}

/* The current task is somewhere below the root. */
CASE(below_the_root, 1)
{
	struct cgroup *root = bpf_cgroup_from_id(1);
	long below;

	if (!root)
		return 0;
	below = bpf_task_under_cgroup(bpf_get_current_task_btf(), root);
	bpf_cgroup_release(root);
	return below;
}

/* No hierarchy of version 1 has this number. */
CASE(of_no_other_hierarchy, 1)
{
	struct cgroup *cgrp;
	bool found;

	bpf_rcu_read_lock();
	cgrp = bpf_task_get_cgroup1(bpf_get_current_task_btf(), HIDE(-1));
	found = cgrp;
	if (cgrp)
		bpf_cgroup_release(cgrp);
	bpf_rcu_read_unlock();
	return !found;
}

STEPS(storage_made_when_asked_for, 1, 0, 0, 5, 1)
{
	struct cgroup *root = bpf_cgroup_from_id(1);
	struct own *own;

	if (!root)
		return;
	bpf_rcu_read_lock();
	got[0] = !bpf_cgrp_storage_get(&made, root, NULL, 0);
	own = bpf_cgrp_storage_get(&made, root, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own) {
		got[1] = own->a;
		got[2] = own->b;
		own->b = HIDE(5);
		own = bpf_cgrp_storage_get(&made, root, NULL, 0);
		got[3] = own ? own->b : -1;
		/* What exists is not created again. */
		got[4] = own == bpf_cgrp_storage_get(&made, root, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	bpf_rcu_read_unlock();
	bpf_cgroup_release(root);
}

STEPS(storage_with_a_first_value, 3, 4, 4)
{
	struct own first = { HIDE(3), HIDE(4) }, second = { 8, 9 }, *own;
	struct cgroup *root = bpf_cgroup_from_id(1);

	if (!root)
		return;
	bpf_rcu_read_lock();
	own = bpf_cgrp_storage_get(&given, root, &first, BPF_LOCAL_STORAGE_GET_F_CREATE);
	got[0] = own ? own->a : -1;
	got[1] = own ? own->b : -1;
	own = bpf_cgrp_storage_get(&given, root, &second, BPF_LOCAL_STORAGE_GET_F_CREATE);
	got[2] = own ? own->b : -1;
	bpf_rcu_read_unlock();
	bpf_cgroup_release(root);
}

STEPS(storage_deleted, -ENOENT, 0, -ENOENT, 1, 0)
{
	struct cgroup *root = bpf_cgroup_from_id(1);
	struct own *own;

	if (!root)
		return;
	bpf_rcu_read_lock();
	got[0] = bpf_cgrp_storage_delete(&ended, root);
	own = bpf_cgrp_storage_get(&ended, root, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (own)
		own->a = 6;
	got[1] = bpf_cgrp_storage_delete(&ended, root);
	got[2] = bpf_cgrp_storage_delete(&ended, root);
	got[3] = !bpf_cgrp_storage_get(&ended, root, NULL, 0);
	own = bpf_cgrp_storage_get(&ended, root, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	got[4] = own ? own->a : -1;
	bpf_rcu_read_unlock();
	bpf_cgroup_release(root);
}
