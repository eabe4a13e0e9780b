// SPDX-License-Identifier: GPL-2.0-only
/* Objects that BPF allocates for itself, and ordered trees of them. */
#include "case.h"

/* No kernel type has this name: pointers in maps would refer to that one. */
struct case_node {
	struct bpf_rb_node links;
	u64 key, number;
};

#define CONTAINS(type, member) __attribute__((btf_decl_tag("contains:" #type ":" #member)))
#define KPTR __attribute__((btf_type_tag("kptr")))
/* A tree and its lock, in their own section: the kernel wants them side by side, and one lock per section. */
#define TREE(name)                                                                                 \
	SEC(".bss." #name) __hidden __attribute__((aligned(8))) struct bpf_spin_lock name##_lock;  \
	SEC(".bss." #name) __hidden __attribute__((aligned(8))) struct bpf_rb_root name CONTAINS(case_node, links)

TREE(ordered);
TREE(equal);
TREE(emptied);
TREE(many);

#define make_node() ((struct case_node *)bpf_obj_new_impl(bpf_core_type_id_local(struct case_node), NULL))
#define drop(node) bpf_obj_drop_impl(node, NULL)
#define add(tree, node) bpf_rbtree_add_impl(&tree, &(node)->links, less, NULL, 0)
#define node_of(links_at) ((struct case_node *)((void *)(links_at) - __builtin_offsetof(struct case_node, links)))

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return node_of(a)->key < node_of(b)->key;
}

STEPS(a_new_object, 0, 0, 7)
{
	struct case_node *node = make_node();

	if (!node)
		return;
	got[0] = node->key;
	got[1] = node->number;
	node->key = HIDE(7);
	got[2] = node->key;
	drop(node);
}

/* Puts a node with this key into a tree. Its number shows when it was added. */
#define PUT(tree, a_key, a_number)                                                                 \
	({                                                                                         \
		struct case_node *___new = make_node();                                                 \
		s64 ___done = -1;                                                                  \
		if (___new) {                                                                      \
			___new->key = (a_key);                                                     \
			___new->number = (a_number);                                               \
			bpf_spin_lock(&tree##_lock);                                              \
			___done = add(tree, ___new);                                               \
			bpf_spin_unlock(&tree##_lock);                                            \
		}                                                                                  \
		___done;                                                                           \
	})

/* Takes the first node out of a tree. Returns key and number, or -1 if the tree is empty. */
#define TAKE(tree)                                                                                 \
	({                                                                                         \
		struct bpf_rb_node *___first;                                                      \
		s64 ___what = -1;                                                                  \
		bpf_spin_lock(&tree##_lock);                                                      \
		___first = bpf_rbtree_first(&tree);                                        \
		if (___first)                                                                      \
			___first = bpf_rbtree_remove(&tree, ___first);                     \
		bpf_spin_unlock(&tree##_lock);                                                    \
		if (___first) {                                                                    \
			struct case_node *___node = node_of(___first);                                  \
			___what = ___node->key * 1000 + ___node->number;                           \
			drop(___node);                                                             \
		}                                                                                  \
		___what;                                                                           \
	})

STEPS(by_key, 0, 0, 0, 1002, 2003, 3001, -1)
{
	got[0] = PUT(ordered, HIDE(3), 1);
	got[1] = PUT(ordered, HIDE(1), 2);
	got[2] = PUT(ordered, HIDE(2), 3);
	got[3] = TAKE(ordered);
	got[4] = TAKE(ordered);
	got[5] = TAKE(ordered);
	got[6] = TAKE(ordered);
}

/* Equal nodes come out in the order of insertion. */
STEPS(first_come_first_served, 5001, 5002, 5003)
{
	PUT(equal, HIDE(5), 1);
	PUT(equal, HIDE(5), 2);
	PUT(equal, HIDE(5), 3);
	for (int i = 0; i < 3; i++)
		got[i] = TAKE(equal);
}

STEPS(emptied_and_filled, -1, 4001, -1, 2002, 9003)
{
	got[0] = TAKE(emptied);
	PUT(emptied, HIDE(4), 1);
	got[1] = TAKE(emptied);
	got[2] = TAKE(emptied);
	PUT(emptied, HIDE(9), 3);
	PUT(emptied, HIDE(2), 2);
	got[3] = TAKE(emptied);
	got[4] = TAKE(emptied);
}

/* Two hundred in an arbitrary order come out in the right one. */
STEPS(in_order, 200, 0)
{
	u64 last = 0, seed = HIDE(12345);
	s32 i;

	for_range(i, 0, 200) {
		seed = seed * 1103515245 + 12345;
		PUT(many, (seed >> 16) & 0xfff, 0);
	}
	for_range(i, 0, 200) {
		s64 next = TAKE(many);

		got[0] += next >= 0;
		got[1] += next < (s64)last;
		last = next;
	}
}

struct stash {
	struct case_node KPTR *node;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stash);
} stashes SEC(".maps");

/* An object that is stored in a map is the program's again when it is taken out. */
STEPS(stashed, 1, 8, 1)
{
	struct case_node *node = make_node(), *old;
	struct stash *stash;
	u32 zero = 0;

	if (!node)
		return;
	node->key = HIDE(8);
	stash = bpf_map_lookup_elem(&stashes, &zero);
	if (!stash) {
		drop(node);
		return;
	}
	old = bpf_kptr_xchg(&stash->node, node);
	got[0] = !old;
	if (old)
		drop(old);
	node = bpf_kptr_xchg(&stash->node, NULL);
	if (!node)
		return;
	got[1] = node->key;
	drop(node);
	node = bpf_kptr_xchg(&stash->node, NULL);
	got[2] = !node;
	if (node)
		drop(node);
}
