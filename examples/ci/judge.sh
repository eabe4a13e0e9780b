#!/bin/sh
# Judges a scheduler for CI: judge.sh my.bpf.o
#
# Exit codes: 0 it passes; 1 a budget of keel-budgets.toml is exceeded, or a figure is worse than in keel-baseline.json;
# 2 bad input; 3 the scheduler failed; 4 it needs something that keel does not support.
#
# Where a change is meant, renew the baseline and commit it: judge.sh my.bpf.o --renew
set -eu
scheduler=$1

# Where it runs: a number of CPUs, a built-in name, or a file. The scheduler's own case must occur there: 8 CPUs share one
# cache and one node, so a scheduler with a queue for each cache has a single queue on them.
machine=8
# As much work as the CPUs can do, more than they can do, and tasks that may use one CPU only.
workloads="mix hogs:16 mix+hogs:4@cpus=0"

here=$(dirname "$0")

if [ "${2:-}" = --renew ]; then
    keel compare "$scheduler" --machine "$machine" --duration 4s --runs 3 --json > "$here/keel-baseline.json.new"
    mv "$here/keel-baseline.json.new" "$here/keel-baseline.json"
    exit
fi

for workload in $workloads; do
    keel sim "$scheduler" --machine "$machine" --workload "$workload" --duration 4s --budgets "$here/keel-budgets.toml"
done

# Three seeds, so that what a seed does is not taken for a regression.
if [ -e "$here/keel-baseline.json" ]; then
    keel compare "$scheduler" --machine "$machine" --duration 4s --runs 3 --budgets "$here/keel-budgets.toml" \
        --baseline "$here/keel-baseline.json"
fi
