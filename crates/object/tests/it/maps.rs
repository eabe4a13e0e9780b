//! Maps, with every kind of definition.

use crate::common::{refusal, show, try_load};

#[test]
fn definitions_are_read() {
    let source = r#"
        struct value { u64 a; u32 b; };
        typedef struct value value_t;
        struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 4096); __type(key, u32); __type(value, value_t); __uint(pinning, 1); } by_type SEC(".maps");
        struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 7); __uint(key_size, 4); __uint(value_size, 24); } by_size SEC(".maps");
        struct {
            __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
            __uint(max_entries, 5);
            __type(key, int);
            __array(values, struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, int); __type(value, u64); });
        } nested SEC(".maps");
        struct { __uint(type, BPF_MAP_TYPE_ARENA); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 10); enum { extra = 0x100000000 } map_extra; } arena SEC(".maps");
        u64 in_arena SEC(".addr_space.1") = 0x1122;
        SEC("syscall") long f(void *ctx) {
            u32 key = 1;
            bpf_map_lookup_elem(&by_type, &key);
            bpf_map_lookup_elem(&by_size, &key);
            bpf_map_lookup_elem(&nested, &key);
            return (long)&arena + in_arena;
        }
    "#;
    let object = try_load(source).unwrap();
    insta::assert_snapshot!(show(&object));
    let arena = object.maps.iter().find(|map| map.name == "arena").unwrap();
    assert_eq!((&arena.initial[..], arena.extra), (&0x1122u64.to_le_bytes()[..], 1 << 32));
    let mut object = object;
    object.set_variable("in_arena", "7").unwrap();
    let arena = object.maps.iter().find(|map| map.name == "arena").unwrap();
    assert_eq!(arena.initial, 7u64.to_le_bytes());
}

#[test]
fn an_object_has_one_arena_at_most() {
    let source = r#"
        struct arena { __uint(type, BPF_MAP_TYPE_ARENA); __uint(map_flags, BPF_F_MMAPABLE); __uint(max_entries, 10); };
        struct arena first SEC(".maps"), second SEC(".maps");
        SEC("syscall") long f(void *ctx) { return (long)&first + (long)&second; }
    "#;
    assert!(refusal(source).ends_with("it is the object's second arena, and there can be one only"));
}

#[test]
fn locks_in_values_are_found() {
    let check = |value: &str, expected: bool| {
        let source = format!(
            "struct bpf_spin_lock {{ u32 val; }}; struct bpf_res_spin_lock {{ u32 val; }};\n\
             struct inner {{ u32 a; {value} }}; struct outer {{ u64 b; struct inner inner; struct outer *next; }};\n\
             struct {{ __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1); __type(key, u32);\n\
             __type(value, struct outer); }} m SEC(\".maps\");\n\
             SEC(\"syscall\") long f(void *c) {{ return (long)&m; }}"
        );
        assert_eq!(try_load(&source).unwrap().maps[0].has_lock, expected, "{value}");
    };
    check("u32 c;", false);
    check("struct bpf_spin_lock lock;", true);
    check("struct bpf_spin_lock *lock;", false);
    check("struct bpf_res_spin_lock lock;", false);
}

#[test]
fn pointers_to_objects_in_values_are_found() {
    let check = |value: &str, expected: &[u32]| {
        let source = format!(
            "#define KPTR __attribute__((btf_type_tag(\"kptr\")))\nstruct thing {{ u64 a; }};\n\
             struct inner {{ u32 a; {value} }}; struct outer {{ u64 b; struct inner inner; struct outer *next; }};\n\
             struct {{ __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1); __type(key, u32);\n\
             __type(value, struct outer); }} m SEC(\".maps\");\n\
             SEC(\"syscall\") long f(void *c) {{ return (long)&m; }}"
        );
        assert_eq!(try_load(&source).unwrap().maps[0].kptrs, expected, "{value}");
    };
    check("u32 c;", &[]);
    check("struct thing *plain;", &[]);
    check("struct thing KPTR *one;", &[16]);
    check("struct thing KPTR *two[2]; u64 last;", &[16, 24]);
}

#[test]
fn bad_definitions_are_refused() {
    let check = |members: &str, expected: &str| {
        let source = format!(
            "struct {{ {members} }} m SEC(\".maps\"); SEC(\"syscall\") long f(void *c) {{ return (long)&m; }}"
        );
        assert_eq!(refusal(&source), expected);
    };
    check("__uint(max_entries, 1);", "map m is malformed: its definition has no type");
    check(
        "__uint(type, 1); __uint(colour, 1);",
        "map m is malformed: its definition has the unknown member colour",
    );
    check("__uint(type, 1); int max_entries;", "map m is malformed: its max_entries is not a number");
    check(
        "__uint(type, 1); __type(key, int); __uint(key_size, 8);",
        "map m is malformed: its key has two sizes, 4 and 8",
    );
    check(
        "__uint(type, 12); __uint(max_entries, 1); __type(key, int);",
        "map m is malformed: it is a map of maps, but its definition has no values",
    );
    check("__uint(type, 1); __type(value, void);", "map m is malformed: its value has no size");
}

#[test]
fn legacy_maps_are_refused_by_name() {
    let source = r#"
        struct bpf_map_def { u32 type, key_size, value_size, max_entries; };
        struct bpf_map_def old_style SEC("maps") = { 1, 4, 4, 10 };
        SEC("syscall") long f(void *c) { return (long)&old_style; }
    "#;
    assert_eq!(
        refusal(source),
        "map old_style is defined in the legacy section maps; define it in .maps with BTF"
    );
}

#[test]
fn entries_given_at_build_time_are_read() {
    let source = r#"
        struct inner { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, int); __type(value, int); } first SEC(".maps"), other SEC(".maps");
        struct {
            __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); __uint(max_entries, 3); __type(key, int);
            __array(values, struct inner);
        } outer SEC(".maps") = { .values = { [0] = &other, [2] = &first } };
        SEC("syscall") long f(void *c) { return (long)&outer; }
    "#;
    let object = try_load(source).unwrap();
    let at = |name: &str| object.maps.iter().position(|map| map.name == name).unwrap();
    let mut values = object.maps[at("outer")].values.clone();
    values.sort_unstable();
    assert_eq!(values, [(0, at("other") as u32), (2, at("first") as u32)]);
}

#[test]
fn programs_named_at_build_time_are_refused() {
    let source = r#"
        SEC("syscall") int other(void *c) { return 0; }
        struct {
            __uint(type, BPF_MAP_TYPE_PROG_ARRAY); __uint(max_entries, 1); __uint(key_size, 4);
            __array(values, int(void *));
        } outer SEC(".maps") = { .values = { (void *)&other } };
        SEC("syscall") long f(void *c) { return (long)&outer; }
    "#;
    assert_eq!(
        refusal(source),
        "the object has a map of programs whose entries it names itself, which is not supported"
    );
}
