/* SPDX-License-Identifier: Apache-2.0 */
/* For OWN() of a cJSON value. */
#pragma once

#include <cjson/cJSON.h>

static inline void drop_json(cJSON **j)
{
	cJSON_Delete(*j);
}
