# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The guest's disk: userland, kernel modules, settings and the guest's runner in an ext4 image.

# Settings that make the guest boot quickly and say the same thing every time.
guest_configure()
{
	local root=$1 units=$1/etc/systemd/system u

	echo labvm >"$root/etc/hostname"
	echo 5f0c1a3e2b7d4c6e9a8b1c2d3e4f5a6b >"$root/etc/machine-id"
	printf '127.0.0.1 localhost labvm\n' >"$root/etc/hosts"
	: >"$root/etc/fstab"
	sed -i 's/^root:[^:]*:/root::/' "$root/etc/shadow"
	while read -r u; do
		ln -sf /dev/null "$units/$u"
	done <"$LAB_SRC/guest/masked-units"
	mkdir -p "$units/lab.target.wants" "$root/etc/systemd/journald.conf.d" \
		"$root/etc/systemd/system.conf.d" "$root/opt/lab" "$root/lab"
	cp "$LAB_SRC/guest/lab.service" "$LAB_SRC/guest/lab.target" "$units/"
	ln -sf ../lab.service "$units/lab.target.wants/lab.service"
	ln -sf /etc/systemd/system/lab.target "$units/default.target"
	install -m 0755 "$LAB_SRC/guest/lab-run" "$root/usr/local/sbin/lab-run"
	# Without rate limits: a scenario that provokes hundreds of entries wants to see them all.
	printf '[Journal]\nStorage=volatile\nRateLimitIntervalSec=0\n' \
		>"$root/etc/systemd/journald.conf.d/lab.conf"
	# Emulation is slow: a start that takes a minute is no fault there.
	printf '[Manager]\nDefaultTimeoutStartSec=300s\nDefaultTimeoutStopSec=60s\n' \
		>"$root/etc/systemd/system.conf.d/lab.conf"
}

# image_build ROOTFS.tar KVER OUT
image_build()
{
	local root=$WORK/root

	mkdir "$root"
	tar -xpf "$1" -C "$root" --numeric-owner
	mkdir -p "$root/usr/lib/modules"
	cp -a "$LAB/kernel/$2/modules" "$root/usr/lib/modules/$2"
	depmod -b "$root" "$2"
	guest_configure "$root"
	kubectl_fetch "$root/usr/local/bin/kubectl"
	rm -f "$3.new"
	truncate -s 2G "$3.new"
	mkfs.ext4 -q -F -O '^has_journal,^metadata_csum' -E lazy_itable_init=1,root_owner=0:0 -m 0 \
		-d "$root" "$3.new"
	mv "$3.new" "$3"
}
