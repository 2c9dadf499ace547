#!/bin/sh
# The comparison of Sha et al. 2022, tables 3 to 5 and section 4.3.4: shadow tables with write protection and nested tables on the x86 machine,
# a flat table on the Sunway, each against its own native machine. See docs/flat.md. Run it from the top of the repository; arguments are
# passed on: experiments/sha2022.sh --json sha2022.json
#
# Needs: pagewalk guest fetch && pagewalk guest fetch gcc perl compressors
set -eu
: "${PAGEWALK:=target/release/pagewalk}"

# Writes a text, a hash and a sort: what an interpreter is mostly asked for.
perl='my %h; my $s = 1;
for my $i (1..150000) { $s = ($s * 1103515245 + 12345) & 0x7fffffff; $h{"k" . ($s % 40000)} .= chr(97 + $s % 26); }
my $t = join(",", map { "$_=$h{$_}" } sort keys %h); my $n = 0; $n++ while $t =~ /k(\d+)=([a-m]+)/g;
print length($t), " $n\n"'

exec "$PAGEWALK" compare --set fidelity=counts --guest linux --memory 1G \
    --scheme shadow/host=xeon-2017/shadow.coherence=write-protect,nested/host=xeon-2017,flat/host=sunway-1621 \
    --scheme shadow:4K+2M/host=xeon-2017/shadow.coherence=write-protect,nested:4K+2M/host=xeon-2017,flat:4K+2M/host=sunway-1621 \
    --set paging.guest=sv48 --set paging.host=sv48x4 --native --warmup touch --file guests \
    --workload bfs:17,stream:16M,mcf:4096 \
    --run 'memcached: memcached -u root -d -m 64 -P /run/m.pid; sleep 0.2
        memcaslap -s 127.0.0.1:11211 -T 1 --concurrency=100 -x 20000 | grep -E "^cmd|miss"; kill $(cat /run/m.pid)' \
    --run 'gcc: cd /guests/vos; for f in clock frames space process; do
        gcc -O2 -ffreestanding -mcmodel=medany -c -o /tmp/$f.o $f.c || exit; done; ls /tmp' \
    --run "perl: perl -e '$perl'" \
    --run 'bzip2: cat /usr/bin/pagewalk-workloads /usr/bin/busybox | /usr/bin/bzip2 -c | wc -c' \
    --run 'xz: cat /usr/bin/pagewalk-workloads /usr/bin/busybox | /usr/bin/xz -6 -c | wc -c' \
    "$@"
