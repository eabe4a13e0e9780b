# In a guest: attaches each scheduler named in a list, records rt-app's workload while it is attached, and detaches it.
# Results go to NAME.facts, one fact per line. xtask/src/corpus judges them.
#
# usage: real.sh KEEL OUT LIST NAME... LIST has a line `NAME OBJECT RECIPE` for each scheduler, with - for no recipe.
. tests/live/common.sh
list=$1
shift
home=$PWD

# Waits until the scheduler is active, or keel has exited.
until_begun() {
    for i in $(seq 600); do
        [ "$(cat $scx/state)" = enabled ] && return
        kill -0 $run 2> /dev/null || return
        sleep 0.1
    done
}

turn() {
    at=$home/$out/$1
    rm -f "$at".*
    dmesg --clear
    echo "$1" > "$home/$out/turn"
    read -r object recipe <<- END
		$(sed -n "s/^$1 //p" "$home/$list")
	END
    [ "$recipe" = - ] && recipe= || recipe="--host $home/$recipe"
    $keel run "$home/$object" $recipe > "$at.said" 2>&1 &
    run=$!
    until_begun
    fact begun "$(cat $scx/state)"
    if [ "$(cat $scx/state)" = enabled ]; then
        # rt-app writes its logs to the current folder.
        (cd /tmp && $keel record -o "$at.trc" -- rt-app "$home/tests/corpus/real.json" > "$at.rt-app" 2>&1)
        fact recorded $?
        fact afterwards "$(cat $scx/state)"
    fi
    kill -INT $run 2> /dev/null
    wait $run
    fact code $?
    until_who "disabled -"
    settle
}

for name; do
    turn "$name"
done
