#!/usr/bin/env bash
# The compiler, for cargo's RUSTC_WRAPPER. Our own crates and the readers of files get the fuzzer's instruments, the
# rest does not: what makes native code is larger than all of keel, takes a quarter of an hour with instruments,
# and would be what the fuzzer explores.
set -eu
compiler=$1
shift
name=
for ((at = 1; at < $#; at++)); do
    if [ "${!at}" = --crate-name ]; then
        next=$((at + 1))
        name=${!next}
    fi
done
case $name in
    keel_* | toml* | winnow | serde_spanned | jsonc_parser | object) exec "$compiler" "$@" ;;
    experiment | machine | recipe | recording | replay | run | trace | workload) exec "$compiler" "$@" ;;
esac
plain=()
for arg in "$@"; do
    case $arg in
        -Cpasses=sancov-module | -Cllvm-args=-sanitizer-* | -Zsanitizer=* | -Cdebug-assertions) ;;
        *) plain+=("$arg") ;;
    esac
done
exec "$compiler" "${plain[@]}"
