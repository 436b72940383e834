// SPDX-License-Identifier: Apache-2.0
/*
 * A kubeconfig. What is accepted names a server and never data and file of the same; what is
 * refused is refused with a printable word.
 */
#include "agent/kube/client/config.h"
#include "test/fuzz/fuzz.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void check_accepted(const struct kube_config *c)
{
	require(c->server != NULL && strncmp(c->server, "http", 4) == 0, "no server");
	require(strchr(c->server, '@') == NULL, "a user in the server");
	require(c->ca_file == NULL || c->ca_data == NULL, "two authorities");
	require(c->cert_file == NULL || c->cert_data == NULL, "two certificates");
	require(c->key_file == NULL || c->key_data == NULL, "two keys");
	require(!c->insecure || (c->ca_file == NULL && c->ca_data == NULL), "insecure with a CA");
	require(c->token == NULL || strpbrk(c->token, "\r\n") == NULL, "a token of two lines");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_config_error err = {""};
	struct kube_config c = {0};
	const struct kube_config_text from = {"/folder/fuzz", (const char *)data, size};
	int r = kube_config_parse(&from, 1, NULL, &c, &err);

	require((r == 0) == (err.text[0] == '\0'), "a result without its word");
	for (const char *p = err.text; *p != '\0'; p++)
		require(!iscntrl((unsigned char)*p), "a control byte");
	if (r == 0)
		check_accepted(&c);
	else
		require(c.server == NULL, "a result in spite of an error");
	kube_config_free(&c);
	return 0;
}
