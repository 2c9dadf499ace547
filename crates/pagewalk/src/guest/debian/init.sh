#!/usr/bin/busybox sh
# The first program of a Debian guest: loads modules, mounts the root file system, puts what is Pagewalk's into /run, and hands over to systemd.
export PATH=/usr/bin
mount -t devtmpfs dev /dev
while read -r module; do
	insmod "$module"
done < /pagewalk/modules
mount -t ext4 /dev/vda /root
mount -t tmpfs -o mode=755 run /root/run
cp -a /pagewalk/run/. /root/run
mount -o move /dev /root/dev
exec switch_root /root /sbin/init
