// SPDX-License-Identifier: Apache-2.0
/* Reports of nodes: what is left out is counted; of what is taken every output can be made. */
#include "agent/base/file.h"
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

	c.out = c.err = fopen("/dev/null", "we");
	if (c.out == NULL)
		abort();
	if (report_read(&c, "input", text, all) == 0 && cJSON_GetArraySize(all) == 0)
		abort();
	report = report_sum(&c, all);
	if (report == NULL)
		abort();
	report_table(&c, report);
	report_csv(&c, report);
	report_patch(&c, report);
	fclose(c.out);
	return 0;
}
