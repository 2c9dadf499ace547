#!/bin/sh
# Builds the guests from scratch, in a directory of another name, and compares the bytes with those that
# are committed. Needs Debian's gcc-riscv64-linux-gnu.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

for folder in common region vos workloads; do
    mkdir -p "$copy/elsewhere/$folder"
    find "$here/$folder" -maxdepth 1 -type f \
        ! -name vos.elf ! -name pagewalk-workloads ! -name '*.so' -exec cp {} "$copy/elsewhere/$folder/" \;
done
cp "$here/Makefile" "$copy/elsewhere/"
make -s -C "$copy/elsewhere" >/dev/null

status=0
for image in vos/vos.elf workloads/pagewalk-workloads region/libpagewalk-region.so; do
    if cmp "$here/$image" "$copy/elsewhere/$image"; then
        echo "$image: same bytes"
    else
        echo "$image: differs from a fresh build by $(${CROSS:-riscv64-linux-gnu-}gcc --version | head -n 1)" >&2
        status=1
    fi
done
exit $status
