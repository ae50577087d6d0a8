#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
for d in /dev/vd? /dev/sd? /dev/nvme?n? /dev/xvd? /dev/mem /dev/port /dev/kmsg /dev/loop-control /dev/loop0 /dev/fuse /dev/kvm /dev/net/tun /dev/cpu/*/msr /dev/vhost-* /dev/uinput /dev/snapshot /dev/rtc0 /dev/watchdog /dev/nvram /dev/console /dev/vcs /dev/tty0 /dev/vsock /dev/userfaultfd /dev/uhid /dev/mapper/control /dev/btrfs-control; do
	[ -e "$d" ] || continue
	case $d in
	/dev/watchdog*) ;; # to open it is to start it
	*) probe openr "$d" ;;
	esac
done
A
judge forbid
