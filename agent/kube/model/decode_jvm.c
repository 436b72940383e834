// SPDX-License-Identifier: Apache-2.0
/*
 * A JVM's heap ceiling from what the pod says of a container. Options come in the order in which
 * HotSpot takes them (Arguments::parse): JAVA_TOOL_OPTIONS, the command line with JDK_JAVA_OPTIONS
 * in front (java(1)), _JAVA_OPTIONS. The other variables are what start scripts of widely used
 * images put on the command line before the program's own arguments.
 * Values from a ConfigMap or Secret are not known here, nor what an image sets by itself.
 */
#include "agent/kube/model/decode_impl.h"
#include "policy/laws/jvm.h"
#include <string.h>

static const char *const before[] = {
	"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS",     "JAVA_OPTIONS",
	"JAVA_ARGS",         "JVM_OPTS",         "JVM_ARGS",      "JAVA_OPTS_APPEND",
	"KAFKA_HEAP_OPTS",   "ES_JAVA_OPTS",     "CATALINA_OPTS",
};
static const char *const after[] = {"_JAVA_OPTIONS"};

/* Of several with one name the last counts, as in the container. */
static int take_variable(const struct field *env, const char *name, struct jvm_heap *heap)
{
	const char *last = NULL, *key = NULL, *value = NULL;
	struct field item = {0};
	int r;

	while ((r = field_next(env, &item)) > 0) {
		r = field_text(&item, "name", &key);
		if (r == 0)
			r = field_text(&item, "value", &value);
		if (r < 0)
			return r;
		if (key != NULL && strcmp(key, name) == 0)
			last = value;
	}
	if (r == 0 && last != NULL)
		jvm_options(heap, last);
	return r;
}

static int take_list(const struct field *container, const char *key, struct jvm_heap *heap)
{
	struct field list, item = {0};
	const char *word;
	int r = field_array(container, key, &list);

	while (r == 0 && (r = field_next_text(&list, &item, &word)) > 0) {
		jvm_options(heap, word);
		r = 0;
	}
	return r;
}

int decode_heap(const struct field *container, struct kube_container *c)
{
	struct jvm_heap heap = {0};
	struct field env;
	int r = field_array(container, "env", &env);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(before); i++)
		r = take_variable(&env, before[i], &heap);
	if (r == 0)
		r = take_list(container, "command", &heap);
	if (r == 0)
		r = take_list(container, "args", &heap);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(after); i++)
		r = take_variable(&env, after[i], &heap);
	c->heap_bytes = heap.bytes;
	c->heap_permille = heap.permille;
	return r;
}
