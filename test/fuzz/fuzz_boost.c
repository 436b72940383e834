// SPDX-License-Identifier: Apache-2.0
/* The value of startup-boost: what is accepted is within its bounds, what is not changes nothing.
 */
#include "policy/laws/boost.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct boost_rule rule = {7, 8, 9};
	char text[128];

	if (size >= sizeof text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (boost_parse(text, &rule) < 0) {
		must(rule.factor == 7 && rule.add_milli == 8 && rule.after_usec == 9);
		return 0;
	}
	must((rule.factor == 0) == (rule.add_milli > 0));
	must(rule.factor <= 100);
	must(strchr(text, ' ') != NULL);
	return 0;
}
