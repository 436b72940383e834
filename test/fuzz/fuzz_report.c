// SPDX-License-Identifier: Apache-2.0
/* Reports of nodes: what is refused says why; of what is taken every output can be made. */
#include "agent/base/drop.h"
#include "agent/base/json.h"
#include "agent/ctl/report.h"
#include "test/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(drop_free) char *text = strndup((const char *)data, size);
	OWN(drop_json) cJSON *all = cJSON_CreateArray();
	OWN(drop_json) cJSON *report = NULL;
	struct ctl c = {.output = OUTPUT_WIDE};
	const char *why = NULL;

	if (!report_read(text, all, &why)) {
		if (why == NULL)
			abort();
		return 0;
	}
	report = report_sum(all, NULL);
	c.out = c.err = fopen("/dev/null", "we");
	if (report == NULL || c.out == NULL)
		abort();
	report_table(&c, report);
	report_csv(&c, report);
	report_patch(&c, report);
	fclose(c.out);
	return 0;
}
