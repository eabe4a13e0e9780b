/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cgroups as BPF code sees them, and BPF's own red-black trees. As everywhere here names and field types are
 * Linux 7.2's, order and offsets ours.
 */
#ifndef KEEL_KERNEL_CGROUP_H
#define KEEL_KERNEL_CGROUP_H

struct cgroup;

struct kernfs_node {
	const char *name;
	u64 id;
};

struct percpu_ref {
	unsigned long percpu_count_ptr;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
	struct percpu_ref refcnt;
	unsigned int flags;
};

/* ancestors[] has level + 1 entries, the cgroup itself the last. */
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	int level;
	struct cgroup *dom_cgrp;
	struct cgroup *ancestors[];
};

/* One a cgroup: of all hierarchies only the default one is there. */
struct css_set {
	struct cgroup *dfl_cgrp;
};

/* One a cgroup, for each has a controller of CPU time. */
struct task_group {
	struct cgroup_subsys_state css;
};

/* In map values and objects of BPF's own; sizes are fixed by the kernel's ABI. */
struct bpf_rb_root {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_rb_node {
	__u64 __opaque[4];
} __attribute__((aligned(8)));

#endif
