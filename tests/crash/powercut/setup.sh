#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the machine whose power is cut: Debian's cloud kernel and an initramfs with busybox, the
# modules for a virtio disk with ext4, and the victim with its libraries.
#
#   powercut/setup.sh FOLDER VICTIM
#
# Installs what is missing when run as root; otherwise says what to install and fails. The kernel
# package is unpacked into FOLDER, never installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
victim=$2
modules="virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk
    crc16 crc32c_generic libcrc32c mbcache jbd2 ext4"

need_tools() {
    missing=
    command -v qemu-system-x86_64 >/dev/null || missing="$missing qemu-system-x86"
    command -v cpio >/dev/null || missing="$missing cpio"
    command -v mke2fs >/dev/null || command -v /sbin/mke2fs >/dev/null || missing="$missing e2fsprogs"
    busybox --list >/dev/null 2>&1 || missing="$missing busybox-static"
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "missing:$missing; please type: sudo apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    apt-get update -q >/dev/null
    # shellcheck disable=SC2086 # a list of package names
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
}

get_kernel() {
    [ ! -e "$folder/vmlinuz" ] || return 0
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\)/\1/p' |
        head -n 1)
    [ -n "$package" ] || { echo "apt knows no linux-image-cloud-amd64" >&2 && exit 1; }
    (cd "$folder" && apt-get download -q "$package" >/dev/null 2>&1 && dpkg -x linux-image-*.deb kernel &&
        rm -f linux-image-*.deb)
    cp "$folder"/kernel/boot/vmlinuz-* "$folder/vmlinuz"
}

copy_libraries() {
    ldd "$victim" | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^\//) print $i }' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
}

make_initramfs() {
    root=$folder/root
    rm -rf "$root"
    mkdir -p "$root/bin" "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/disk"
    cp "$(command -v busybox)" "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    cp "$victim" "$root/bin/victim"
    copy_libraries
    for module in $modules; do
        find "$folder/kernel" -name "$module.ko" -exec cp {} "$root/modules/" \;
    done
    cp "$here/init" "$root/init"
    chmod 755 "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$folder/initramfs.tmp"
    mv "$folder/initramfs.tmp" "$folder/initramfs"
}

mkdir -p "$folder"
need_tools
get_kernel
make_initramfs
