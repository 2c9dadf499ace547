ip link set eth0 up
udhcpc -f -q -n -i eth0 -s /etc/udhcpc/default.script > /dev/null 2>&1 || echo 'pagewalk: no address by DHCP' >&2
