#!/usr/bin/env bash
# ./x bare: runs the README's commands on a Debian root that contains only git and a Rust toolchain.
#
# What a developer's machine happens to have hides what `x` forgets to install. So each order of commands gets its own root,
# made by debootstrap from this machine's package source, with a clone of HEAD in it. The Rust toolchain is this machine's,
# because the README requires one. Mirrors and certificates are read from this machine at run time.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)

help() {
    cat <<'TEXT'
usage: ./x bare [--order demo-first|test-first|both] [--ci] [--prepare] [--keep]

  --order    demo-first: ./x demo, then ./x test (the default); test-first: the other way round; both: each in its own root
  --ci       then ./x ci in one more root
  --prepare  make the root, install nothing, and stop: seconds to minutes, to see that packages can be had
  --keep     leave the roots; they are removed otherwise

Run it whenever x, a build script or a dependency changes. It needs root, 15 GB and an hour or more; KEEL_BARE names the
folder for its roots (/var/tmp/keel-bare otherwise). The log of each command is in out/bare. It prints each command's last line.
TEXT
}

fail() {
    printf 'x bare: %s\n' "$*" >&2
    exit 2
}

given=("$@") orders=(demo-first) ci='' prepare='' keep=''
while [ $# -gt 0 ]; do
    case $1 in
        --order)
            case ${2:-} in
                demo-first | test-first) orders=("$2") ;;
                both) orders=(demo-first test-first) ;;
                *) fail "--order is demo-first, test-first or both" ;;
            esac
            shift ;;
        --ci) ci=yes ;;
        --prepare) prepare=yes ;;
        --keep) keep=yes ;;
        -h | --help | help) help; exit ;;
        *) fail "there is no option '$1'; ./x bare --help lists them" ;;
    esac
    shift
done
[ -n "$ci" ] && orders+=(ci)
[ "$(id -u)" = 0 ] || fail "it makes and mounts a root, which takes root: sudo ./x bare"
# Mounts in our own namespace disappear with us, however we end.
if [ -z "${KEEL_BARE_APART:-}" ]; then
    KEEL_BARE_APART=yes exec unshare --mount --propagation private "$0" "${given[@]}"
fi

folder=${KEEL_BARE:-/var/tmp/keel-bare}
logs=$here/out/bare
cargo_home=${CARGO_HOME:-$HOME/.cargo}
rustup_home=${RUSTUP_HOME:-$HOME/.rustup}
[ -x "$cargo_home/bin/cargo" ] || fail "there is no Rust toolchain in $cargo_home; install one with rustup"
mkdir -p "$folder" "$logs"
if [ -n "$(git -C "$here" status --porcelain --untracked-files=no)" ]; then
    echo "x bare: what is not committed is not tested" >&2
fi

# The first package source of this release, from apt's configuration.
source_of_release() {
    local release=$1
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
        awk -v release="$release" '$2 == release { print $1; exit }'
}

# A toolchain that is still mounted must not be removed with the root.
remove() {
    local root=$1
    if grep -qF " $root/" /proc/self/mountinfo; then
        fail "something is still mounted in $root; unmount it, then remove the folder"
    fi
    rm -rf --one-file-system "$root"
}

make_root() {
    local root=$1 release uri
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    uri=$(source_of_release "$release")
    [ -n "$uri" ] || fail "apt has no package source for $release here"
    remove "$root"
    debootstrap --variant=minbase --include=ca-certificates,git "$release" "$root" "$uri" >"$root.log" 2>&1 ||
        fail "debootstrap failed; its words are in $root.log"
    # Packages come from this machine's source.
    rm -f "$root/etc/apt/sources.list"
    cp -a /etc/apt/. "$root/etc/apt/"
    cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
    for file in /etc/resolv.conf /etc/hosts; do
        cp -L "$file" "$root$file"
    done
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
    cp -aL /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    # The clone contains only what is committed.
    git clone -q --no-hardlinks "$here" "$root/keel"
    git -C "$root/keel" remote remove origin
}

# The toolchain is where rustup installed it. What cargo has already fetched is not fetched again.
mount_all() {
    local root=$1 place
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    for place in "$rustup_home" "$cargo_home"; do
        mkdir -p "$root$place"
        mount --bind "$place" "$root$place"
    done
}

unmount_all() {
    local root=$1 place
    for place in "$cargo_home" "$rustup_home" /dev /sys /proc; do
        umount --recursive --lazy "$root$place" 2>/dev/null || true
    done
}

# Runs a command in a root, with its own environment: only how to reach the network.
inside() {
    local root=$1 name
    shift
    local set=()
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR RUSTUP_TOOLCHAIN; do
        [ -n "${!name:-}" ] && set+=("$name=${!name}")
    done
    env -i HOME=/root LANG=C.UTF-8 PATH="$cargo_home/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
        CARGO_HOME="$cargo_home" RUSTUP_HOME="$rustup_home" RUSTUP_AUTO_INSTALL=0 "${set[@]}" \
        chroot "$root" bash -c 'cd /keel && exec "$@"' bash "$@" </dev/null
}

failed=0
run_order() {
    local order=$1 root=$folder/$1 commands command log begun status
    case $order in
        demo-first) commands=(demo test) ;;
        test-first) commands=(test demo) ;;
        ci) commands=(ci) ;;
    esac
    begun=$SECONDS
    make_root "$root"
    mount_all "$root"
    echo "$order: a bare root in $((SECONDS - begun)) s"
    if [ -n "$prepare" ]; then
        inside "$root" apt-get update -qq || fail "apt cannot reach its package source within the root"
        # Without installing, ./x lists what it would install.
        inside "$root" env KEEL_NO_INSTALL=1 ./x demo || true
    else
        for command in "${commands[@]}"; do
            log=$logs/$order-$command.log begun=$SECONDS status=0
            inside "$root" ./x "$command" >"$log" 2>&1 || status=$?
            [ "$status" = 0 ] || failed=1
            echo "$order: ./x $command: exit $status after $((SECONDS - begun)) s: $(grep -v '^[[:space:]]*$' "$log" | tail -n 1)"
        done
    fi
    unmount_all "$root"
    [ -n "$keep" ] || remove "$root"
}

for order in "${orders[@]}"; do
    run_order "$order"
done
exit "$failed"
