/* SPDX-License-Identifier: Apache-2.0 */
/* The entry that libFuzzer and replay.c call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
