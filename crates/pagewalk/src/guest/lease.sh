#!/bin/sh
# What busybox's DHCP client has got becomes the configuration of the network card.
case "$1" in
bound | renew)
	ip addr flush dev "$interface"
	ip addr add "$ip/$mask" dev "$interface"
	for gateway in $router; do
		ip route add default via "$gateway" dev "$interface"
	done
	for server in $dns; do
		echo "nameserver $server"
	done > /etc/resolv.conf
	;;
esac
