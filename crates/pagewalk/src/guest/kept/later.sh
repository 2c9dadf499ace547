# What the boot has put off is done first, such as freeing what modules need to start. Waiting costs a guest nothing.
sleep 1
# The guest's state may be taken at the marker that it is ready. So what it is to do is read from the disk after that, and past the page cache.
pagewalk-ready
dd if=/dev/vda bs=64k iflag=direct 2> /dev/null | (cd /pagewalk && cpio -i -d -m 2> /dev/null)
if [ -d /pagewalk/files ]; then
	cp -a /pagewalk/files/. /
	rm -r /pagewalk/files
fi

