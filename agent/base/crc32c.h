/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), as in iSCSI and ext4. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of len bytes; pass the result of one part as seed of the next, 0 for the first. */
uint32_t crc32c(uint32_t seed, const void *data, size_t len);
