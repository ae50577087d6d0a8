#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe openw /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches /proc/sys/fs/binfmt_misc/register /proc/sys/kernel/hostname /proc/sys/net/ipv4/ip_forward /proc/sys/user/max_user_namespaces /proc/sys/kernel/ns_last_pid
A
judge forbid
