# Makes a Debian root file system on the disk /dev/vda, of the packages in /mnt/packages: NAME.control and NAME.data, as dpkg-deb gives them. This is the
# second stage of debootstrap; Linux writes the file system, and Debian's own scripts configure the packages on the processor that they are for.
# `uuid`, `mirror` and `suite` are set above.
set -e
packages=/mnt/packages
target=/target
info=$target/var/lib/dpkg/info

# mkfs.ext4 runs here, before there is a root file system that has it.
for name in libc6 libcom-err2 libuuid1 libblkid1 libext2fs2t64 e2fsprogs; do
	tar -x -f "$packages/$name.data" -C /
done
/usr/sbin/mkfs.ext4 -q -F -U "$uuid" -E "hash_seed=$uuid" /dev/vda
mkdir "$target"
mount -t ext4 /dev/vda "$target"

field() {
	sed -n "s/^$1: //p" /control/control
}
# dpkg takes what is unpacked so for its own work, and only has to configure it.
for control in "$packages"/*.control; do
	rm -rf /control
	mkdir /control
	tar -x -f "$control" -C /control
	name=$(field Package)
	[ "$(field Multi-Arch)" != same ] || name=$name:$(field Architecture)
	tar -x -v -f "${control%.control}.data" -C "$target" > /list
	mkdir -p "$info"
	sed -e 's,^\.,,' -e 's,/$,,' -e 's,^$,/.,' /list > "$info/$name.list"
	{
		sed 's/^Package: .*/&\nStatus: install ok unpacked/' /control/control
		if [ -e /control/conffiles ]; then
			echo Conffiles:
			sed -n '/^\//p' /control/conffiles | while read -r path; do
				echo " $path $(md5sum < "$target$path" | cut -d ' ' -f 1)"
			done
		fi
		echo
	} >> "$target/var/lib/dpkg/status"
	rm /control/control
	for file in /control/*; do
		[ ! -f "$file" ] || cp -p "$file" "$info/$name.${file##*/}"
	done
done
echo 1 > "$info/format"

# The clock stands at the newest file of the packages: a guest's own clock begins in 1970.
newest=$(find "$target/usr" -type f -exec stat -c %Y {} + | sort -n | tail -n 1)
date -s "@$newest" > /dev/null

: > "$target/etc/fstab"
echo pagewalk > "$target/etc/hostname"
printf '127.0.0.1 localhost pagewalk\n::1 localhost\n' > "$target/etc/hosts"
mkdir -p "$target/etc/apt/sources.list.d" "$target/etc/apt/apt.conf.d" "$target/etc/dpkg/dpkg.cfg.d"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$mirror" "$suite" "$keyring" \
	> "$target/etc/apt/sources.list.d/debian.sources"
# The disk is gone with the run, and time is dear: no translations of descriptions, no waiting for the disk.
printf 'Acquire::Languages "none";\nAPT::Install-Recommends "false";\n' > "$target/etc/apt/apt.conf.d/pagewalk"
echo force-unsafe-io > "$target/etc/dpkg/dpkg.cfg.d/pagewalk"

mount -t proc proc "$target/proc"
mount -t sysfs sys "$target/sys"
mount -t devtmpfs dev "$target/dev"
cat > "$target/configure" <<'END'
set -e
export PATH=/usr/sbin:/usr/bin DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true LC_ALL=C.UTF-8
sh /var/lib/dpkg/info/base-passwd.preinst install
ldconfig
dpkg --configure -a
END
chroot "$target" /bin/sh /configure < /dev/null
rm "$target/configure"
umount "$target/dev" "$target/sys" "$target/proc"

# systemd starts its clock there, and has nothing to bring up to date at its first boot.
for file in usr/lib/clock-epoch etc/.updated var/.updated; do
	touch -d "@$newest" "$target/$file"
done
touch -d "@$newest" "$target/usr"
umount "$target"
