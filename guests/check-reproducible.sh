#!/bin/sh
# Builds the guests from scratch, in a directory of another name, and compares the bytes with those that are committed.
# Only the compiler and linker that made those give the same bytes; guests/toolchain names them. With others the bytes
# are not compared, which a line says; what they built is run on QEMU instead.
# Needs gcc-riscv64-linux-gnu of Debian or Ubuntu; with another toolchain, also what test-on-qemu.sh needs.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
fresh=$copy/elsewhere

for folder in common compute include profile region sbi servers servers-kernel shell shell-kernel static timesharing timesharing-kernel validation validation-kernel vos workloads; do
    mkdir -p "$fresh/$folder"
    find "$here/$folder" -maxdepth 1 -type f \
        ! -name '*.elf' ! -name pagewalk-workloads ! -name pagewalk-validation ! -name pagewalk-compute ! -name pagewalk-shell ! -name pagewalk-timesharing ! -name pagewalk-servers ! -name pagewalk-static-loader ! -name '*.so' ! -name '*.symbols' -exec cp {} "$fresh/$folder/" \;
done
cp "$here/Makefile" "$fresh/"
make -s -j "$(nproc)" -C "$fresh" >/dev/null

# The names in a toolchain file, in one line.
names() {
    paste -s -d, "$1"
}

if ! cmp -s "$here/toolchain" "$fresh/toolchain"; then
    echo "images: bytes not compared, because $(names "$here/toolchain") made those that are committed, and here is" \
        "$(names "$fresh/toolchain"); running what this one builds"
    VOS=$fresh/vos/vos.elf PROGRAM=$fresh/workloads/pagewalk-workloads sh "$here/test-on-qemu.sh" smoke
    exit
fi

status=0
# A kernel of vos and its program, each with its symbols.
pairs="vos/vos.elf workloads/pagewalk-workloads"
for name in validation shell timesharing servers; do
    pairs="$pairs $name/vos-$name.elf $name/pagewalk-$name"
done
for image in $pairs $(printf '%s.symbols ' $pairs) compute/pagewalk-compute compute/pagewalk-compute.symbols \
    sbi/sbi-test.elf profile/two-arrays.elf region/libpagewalk-region.so static/pagewalk-static-loader; do
    if cmp "$here/$image" "$fresh/$image"; then
        echo "$image: same bytes"
    else
        echo "$image: differs from a fresh build by $(names "$here/toolchain")" >&2
        status=1
    fi
done
exit $status
