// SPDX-License-Identifier: Apache-2.0
/* Checkpoints of VPA: what is taken can be loaded by both algorithms, and what is not says why. */
#include "agent/kube/model/vpa_export.h"
#include "policy/history/history.h"
#include "test/fuzz/fuzz.h"
#include <errno.h>
#include <string.h>

static void check_loaded(const struct vpa_saved *s, enum algorithm algorithm)
{
	struct tuning_history t = tuning_default.history;
	struct recommendation r;
	struct history h;

	t.algorithm = algorithm;
	if (history_vpa_load(&s->history, &t, &h) < 0)
		abort();
	history_recommend(&h, &t, 1, &r);
	history_add_memory(&h, &t, 1000000, false, h.last_real + USEC_PER_MIN);
	history_drop(&h);
}

static void check_saved(const struct vpa_export *e, const struct vpa_saved *s)
{
	if (s->refused != NULL) {
		if (s->refused[0] == '\0')
			abort();
		return;
	}
	if (s->namespace == NULL || s->name == NULL || s->vpa == NULL || s->container == NULL ||
	    s->history.samples == 0 || s->history.first_real > s->history.last_real)
		abort();
	(void)vpa_export_target(e, s);
	check_loaded(s, ALGORITHM_DEFAULT);
	check_loaded(s, ALGORITHM_VPA);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that one byte too far is seen. */
	OWN(drop_free) char *text = malloc(size ? size : 1);
	struct vpa_export e = {.saved_count = 77};
	struct kube_decode_error err;
	int r;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	r = vpa_export_decode(text, size, &e, &err);
	if (r < 0) {
		if (r != -EBADMSG || e.saved_count != 77 || err.text[0] == '\0')
			abort();
		return 0;
	}
	for (size_t i = 0; i < e.saved_count; i++)
		check_saved(&e, &e.saved[i]);
	vpa_export_drop(&e);
	return 0;
}
