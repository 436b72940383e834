# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The machine: QEMU's arguments, saving its state, running a folder in it.
# Emulation (TCG) alone is relied on: KVM is absent or broken inside most cloud machines.

# With cmpxchg16b emulated, 6.12 kernels panic at random under QEMU 7.2: hence -cx16. The ARM processor is
# one with pages of 16 KiB.
declare -A MACHINE=(
	[amd64]="qemu-system-x86_64 -machine q35 -cpu qemu64,-cx16"
	[arm64]="qemu-system-aarch64 -machine virt -cpu neoverse-n1"
)
declare -A CONSOLE=([amd64]=ttyS0 [arm64]=ttyAMA0)
# Time in the machine is counted in instructions (2^SHIFT ns each, 8 by default) and jumps over
# idleness: a busy host makes a run longer, but steals nothing that the guest could take for a
# throttled period or a stall.
ACCEL="tcg,thread=single -icount sleep=off"
CMDLINE="quiet panic=-1 psi=1 nokaslr mitigations=off tsc=reliable no_timer_check
	cgroup_no_v1=all systemd.unified_cgroup_hierarchy=1 systemd.show_status=0 audit=0"
# The size of /dev/vdb belongs to the saved state; the file is sparse, so this costs nothing.
INPUT_SIZE=32G
SAVE_WAIT_SEC=240

# qemu ARGUMENT...: the emulator of the machine
qemu()
{
	local machine

	read -r -a machine <<<"${MACHINE[$ARCH]}"
	"${machine[0]}" "$@"
}

# qemu_args DIR DISK SERIAL: sets QEMU; DIR holds in.img, out.tar and log. A saved state is valid
# only for exactly these arguments, which is why this file is part of its key.
qemu_args()
{
	local dir=$1 disk=$2 serial=$3 words

	read -r -d '' -a words <<<"console=${CONSOLE[$ARCH]} $CMDLINE ${APPEND:-}" || true
	# shellcheck disable=SC2054,SC2206  # the commas are QEMU's; MACHINE and ACCEL are several words
	QEMU=(${MACHINE[$ARCH]} -accel $ACCEL,shift=$SHIFT -smp "$SMP" -m "$MEM" -nodefaults -no-user-config -display none -vga none -no-reboot
		-kernel "$VMLINUX" -initrd "$INITRD" -append "${words[*]}"
		-drive "file=$disk,if=none,id=d0,format=qcow2,cache=unsafe"
		-device virtio-blk-pci,drive=d0
		-drive "file=$dir/in.img,if=none,id=d1,format=raw,readonly=on"
		-device virtio-blk-pci,drive=d1
		-device virtio-serial-pci
		-chardev "file,id=out,path=$dir/out.tar"
		-device virtserialport,chardev=out,name=lab.out
		-chardev "file,id=log,path=$dir/log"
		-device virtserialport,chardev=log,name=lab.log
		-chardev "$serial" -serial chardev:serial
		-device virtio-rng-pci)
}

# overlay BACKING FORMAT OUT: a disk that keeps BACKING as it is
overlay()
{
	qemu-img create -q -f qcow2 -b "$1" -F "$2" "$3"
}

# monitor_wait PATTERN SECONDS: asks the monitor (fds of coproc VM) until the answer matches
monitor_wait()
{
	local line deadline=$((SECONDS + $2))

	while [ $SECONDS -lt $deadline ]; do
		echo "info migrate" >&"${VM[1]}"
		while read -r -t 0.5 -u "${VM[0]}" line; do
			[[ $line != *"Migration status: failed"* ]] || return 1
			[[ ! $line =~ $1 ]] || return 0
		done
	done
	return 1
}

# state_save OUT: boots the image, waits until it is ready, writes OUT.zst (RAM) and OUT.qcow2 (disk)
state_save()
{
	# shellcheck disable=SC2153  # set by step()
	local out=$1 work=$WORK pid i

	overlay "$IMAGE" raw "$work/disk.qcow2"
	truncate -s "$INPUT_SIZE" "$work/in.img"
	qemu_args "$work" "$work/disk.qcow2" "file,id=serial,path=$work/console.log"
	# Without its run state in the file it runs when resumed, although it was stopped to be saved.
	coproc VM { exec "${QEMU[@]}" -global migration.store-global-state=off -monitor stdio 2>&1; }
	pid=$VM_PID
	# shellcheck disable=SC2064  # the values of now
	trap "kill $pid 2>/dev/null || true" EXIT
	for ((i = 0; i < SAVE_WAIT_SEC * 5; i++)); do
		! grep -aq LAB-READY "$work/console.log" 2>/dev/null || break
		kill -0 "$pid"
		sleep 0.2
	done
	if ! grep -aq LAB-READY "$work/console.log"; then
		tail -n 30 "$work/console.log"
		return 1
	fi
	sleep 1
	# RAM that is saved while the machine runs may not be of one moment: on a busy host the kernel in
	# it then fell over its own lists at every resume.
	echo stop >&"${VM[1]}"
	echo "migrate_set_parameter max-bandwidth 4G" >&"${VM[1]}"
	echo "migrate \"exec:zstd -1 -q > $work/ram.zst\"" >&"${VM[1]}"
	monitor_wait 'Migration status: completed' 120
	echo quit >&"${VM[1]}"
	wait "$pid" || true
	mv "$work/disk.qcow2" "$out.qcow2"
	mv "$work/ram.zst" "$out.zst" # last: its presence says that the state is complete
}

# input_make TREE MODE OUT: the word for the guest, then TREE as a tar at 1 MiB
input_make()
{
	rm -f "$3"
	printf 'LABGO %s %s\n' "$2" "$EPOCHREALTIME" >"$3"
	truncate -s 1M "$3"
	tar -cf - --owner=0 --group=0 -C "$1" . >>"$3"
	truncate -s "$INPUT_SIZE" "$3"
}

# vm_prepare DIR SERIAL: the run's own disk in DIR and QEMU's arguments, resuming unless COLD
vm_prepare()
{
	if [ -n "${COLD:-}" ]; then
		overlay "$IMAGE" raw "$1/disk.qcow2"
		qemu_args "$1" "$1/disk.qcow2" "$2"
	else
		overlay "$STATE.qcow2" qcow2 "$1/disk.qcow2"
		qemu_args "$1" "$1/disk.qcow2" "$2"
		QEMU+=(-incoming "exec:zstd -dcq $STATE.zst")
	fi
}

# vm_run DIR TIMEOUT_SEC: runs the prepared machine and shows its log as it comes. The verdict is
# in DIR/out.tar; this returns QEMU's own status.
vm_run()
{
	local pid rc=0 tail_pid

	: >"$1/log"
	timeout -k 5 "$2" "${QEMU[@]}" </dev/null >"$1/qemu.log" 2>&1 &
	pid=$!
	tail -q -n +1 -f --pid="$pid" -s 0.2 "$1/log" &
	tail_pid=$!
	# shellcheck disable=SC2064  # the values of now
	trap "kill $pid $tail_pid 2>/dev/null || true; exit 130" INT TERM
	wait "$pid" || rc=$?
	wait "$tail_pid" || true
	trap - INT TERM
	return "$rc"
}
