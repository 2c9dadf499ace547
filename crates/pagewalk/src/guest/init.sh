#!/bin/sh
# The guest's first program: makes the file systems that programs expect, loads modules, runs what the user asked for.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin HOME=/root TERM=linux LANG=C

mount -t devtmpfs dev /dev
mkdir /dev/pts /dev/shm
mount -a
echo pagewalk > /proc/sys/kernel/hostname
while read -r module; do
	insmod "$module"
done < /pagewalk/modules
ip link set lo up
. /pagewalk/environment
# Where the machine has a primary region, programs take their large memory from it (docs/segments.md). Static ones have an interpreter for that.
if [ -e /pagewalk/primary-region ] && [ -e /proc/device-tree/soc/primary-region@10010000 ]; then
	export LD_PRELOAD=/usr/lib/libpagewalk-region.so
fi

# Ends the machine with a status. The marker is a HINT: where nobody reads it, the machine goes off a second later.
finish() {
	pagewalk-workloads exit "$1" &
	sleep 1
	poweroff -f
}

if [ ! -e /pagewalk/command ]; then
	setsid cttyhack sh -i
	finish 0
fi

# The command's bytes reach the console as they are, and none is echoed.
stty -opost -echo
if [ -e /pagewalk/region ]; then
	pagewalk-workloads roi begin
	sh /pagewalk/command
	status=$?
	pagewalk-workloads roi end
else
	sh /pagewalk/command
	status=$?
fi
# Setting a terminal waits until its output has left: without this, the last lines would be lost.
stty -opost
finish $status
