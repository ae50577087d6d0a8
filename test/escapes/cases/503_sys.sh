#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe openw /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/uevent_helper /sys/power/state /sys/kernel/profiling /sys/kernel/mm/ksm/run /sys/module/kernel/parameters/* /sys/class/net/*/mtu /sys/bus/pci/rescan /sys/kernel/debug/* /sys/fs/bpf/*
mkdir /sys/kernel/debug/cgesc /sys/kernel/tracing/instances/cgesc /sys/fs/bpf/cgesc 2>/dev/null && echo DID make a directory
A
cleanup() { rmdir /sys/kernel/tracing/instances/cgesc /sys/fs/bpf/cgesc 2>/dev/null; }
judge forbid
