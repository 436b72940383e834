# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The kernel: Debian's package -> decompressed vmlinux, its modules, and an initrd.

# Modules that the initrd loads, in this order; those a kernel has built in are simply not found.
INITRD_MODULES="virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci
	virtio_blk virtio_console crc16 crc32c_generic libcrc32c mbcache jbd2 ext4"

# A private apt tree over every suite: the host's sources and lists stay as they are.
apt_tree()
{
	local a=$LAB/apt-$ARCH m s suite signed="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"

	export APT_CONFIG=$a/apt.conf
	[ ! -e "$a/ready" ] || [ "$LAB_SRC/kernel.sh" -nt "$a/ready" ] || return 0
	m=$(APT_CONFIG='' mirror)
	s=$(APT_CONFIG='' security_mirror)
	[ -n "$m" ] || die "no Debian archive in apt's configuration: set VSCALED_MIRROR"
	mkdir -p "$a/etc/preferences.d" "$a/etc/sources.list.d" "$a/state/lists/partial" \
		"$a/cache/archives/partial"
	for suite in bookworm bookworm-backports trixie trixie-backports; do
		echo "deb $signed $m $suite main"
	done >"$a/etc/sources.list"
	# 5.10; a suite at its end may vanish, and then the rest is still there.
	[ -z "$s" ] || echo "deb $signed $s bullseye-security main" \
		>"$a/etc/sources.list.d/old.list"
	cat >"$APT_CONFIG" <<-E
		Dir::Etc "$a/etc";
		Dir::Etc::parts "/etc/apt/apt.conf.d";
		Dir::State "$a/state";
		Dir::State::status "/var/lib/dpkg/status";
		Dir::Cache "$a/cache";
		Acquire::Languages "none";
		APT::Sandbox::User "root";
		APT::Architecture "$ARCH";
		APT::Architectures "$ARCH";
	E
	apt-get update || { rm -f "$a/etc/sources.list.d/old.list" && apt-get update; }
	touch "$a/ready"
}

# Newest version that begins with $KERNEL, preferring the suite's own build; remembered by name.
kernel_resolve()
{
	local names pick

	mkdir -p "$LAB/kernel"
	apt_tree
	names=$(apt-cache pkgnames linux-image- | sed -n "s/^linux-image-\(.*-$FLAVOUR\)\$/\1/p" |
		awk -v s="${KERNEL%-"$FLAVOUR"}" 'index($0, s) == 1 && substr($0, length(s) + 1, 1) ~ /[.+-]/')
	pick=$(grep -F -e "${KERNEL_MARK[$SYSTEMD]}" <<<"$names" || echo "$names")
	pick=$(sort -V <<<"$pick" | tail -n 1)
	if [ -z "$pick" ]; then
		echo "no linux-image-$KERNEL*-$FLAVOUR; there are:"
		apt-cache pkgnames linux-image- | grep -e "-$FLAVOUR\$" | sort -V
		return 1
	fi
	echo "$pick" >"$(memo)"
}

# memo: the file with the version that --kernel stands for
memo()
{
	echo "$LAB/kernel/$SYSTEMD-$KERNEL-$FLAVOUR.version"
}

# decompress FILE OUT: what QEMU starts directly, without firmware: the ELF kernel in it, or Image of arm64
decompress()
{
	local entry magic tool offset

	if [ "$(head -c 60 "$1" | tail -c 4)" = ARMd ]; then # as it is
		cp "$1" "$2"
		return
	fi
	for entry in '\x28\xb5\x2f\xfd:zstd' '\xfd7zXZ:xz' '\x02!L\x18:lz4' '\x1f\x8b\x08:gzip'; do
		magic=${entry%%:*}
		tool=${entry#*:}
		while IFS=: read -r offset _; do
			tail -c +$((offset + 1)) "$1" | $tool -dcq >"$2" 2>/dev/null || true
			[ "$(head -c 4 "$2" | tail -c 3)" != ELF ] || return 0
		done < <(LC_ALL=C grep -abo -P "$magic" "$1" | tr -d '\0')
	done
	rm -f "$2"
	return 1
}

# kernel_fetch KVER: kernel/KVER/{vmlinux,modules/}
kernel_fetch()
{
	local packages

	apt_tree
	# From 7.x on the image package is empty and depends on -base, -binary and -modules.
	packages=$(apt-cache depends "linux-image-$1" |
		awk '/Depends: linux-(base|binary|modules)-[0-9]/ { print $2 }' | sort -u)
	# shellcheck disable=SC2153  # set by step()
	cd "$WORK" || return
	# shellcheck disable=SC2086  # a list of package names
	apt-get download "linux-image-$1" $packages
	for f in ./*.deb; do
		dpkg-deb -x "$f" tree
	done
	decompress "$(find tree -name 'vmlinuz*' -type f | head -n 1)" vmlinux
	mv "$(find tree -path "*lib/modules/$1" -type d | head -n 1)" modules
	rm -rf "$LAB/kernel/$1"
	mkdir "$LAB/kernel/$1"
	mv modules "$LAB/kernel/$1/"
	mv vmlinux "$LAB/kernel/$1/" # last: its presence says that the folder is complete
}

# initrd_build KVER OUT: a static init and the few modules it needs, nothing else
initrd_build()
{
	local modules=$LAB/kernel/$1/modules work=$WORK n f gnu

	gnu=$(gnu "$ARCH")
	"$gnu-gcc" -static -Os -s -Wall -o "$work/init" "$LAB_SRC/guest/init.c"
	mkdir "$work/mods"
	for n in $INITRD_MODULES; do
		f=$(find "$modules" -name "$n.ko*" | head -n 1)
		case $f in
		'') continue ;;
		*.xz) xz -dc "$f" >"$work/mods/$n.ko" ;;
		*.zst) zstd -dcq "$f" >"$work/mods/$n.ko" ;;
		*) cp "$f" "$work/mods/$n.ko" ;;
		esac
		"$gnu-strip" --strip-debug "$work/mods/$n.ko"
		echo "$n.ko" >>"$work/mods/list"
	done
	(cd "$work" && find . | cpio -o -H newc --quiet) >"$2.new"
	mv "$2.new" "$2"
}
