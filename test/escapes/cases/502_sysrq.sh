#!/bin/bash
. "${0%/*}/../lib.sh"
# Opening it does nothing; only what is written into it does.
needs root
MAYBE="the kernel has no sysrq"
act <<'A'
probe openw /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/acpi/wakeup /proc/bus/pci/devices /proc/timer_list
A
judge forbid
