# What follows is the same for every task. `finish` ends the machine with a status: the marker is a HINT, and where nobody reads it, the machine goes off.
if [ -d /run/pagewalk/task/files ]; then
	cp -a /run/pagewalk/task/files/. /
	rm -r /run/pagewalk/task/files
fi
finish() {
	[ ! -e /run/pagewalk/task/copy-out ] || . /run/pagewalk/task/copy-out
	pagewalk-workloads exit "$1" &
	sleep 1
	systemctl poweroff --force --force
}
if [ ! -e /run/pagewalk/task/command ]; then
	cd /root
	bash -l
	finish 0
fi
# The command's bytes reach the console as they are, and none is echoed.
stty -opost -echo
if [ -e /run/pagewalk/task/region ]; then
	pagewalk-workloads roi begin
	sh /run/pagewalk/task/command
	status=$?
	pagewalk-workloads roi end
else
	sh /run/pagewalk/task/command
	status=$?
fi
# Setting a terminal waits until its output has left: without this, the last lines would be lost.
stty -opost
finish $status
