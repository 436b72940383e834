/* SPDX-License-Identifier: Apache-2.0 */
/* The address of the API server and the credentials: a pod's service account, or a kubeconfig. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>

#define KUBECONFIG_FILES_MAX 64
#define KUBE_ACCOUNT_DIR     "/var/run/secrets/kubernetes.io/serviceaccount"

/* Owned strings, NULL where not set. Data (PEM) or file, never both. */
struct kube_config {
	char *server; /* "https://10.0.0.1:443", no slash at the end */
	char *ca_file;
	char *ca_data;
	char *tls_server_name;
	char *proxy_url;
	bool insecure; /* said once, loudly */
	char *token;
	char *token_file; /* read again every minute and after a 401 */
	char *cert_file;
	char *cert_data;
	char *key_file;
	char *key_data;
	char *namespace; /* of the service account */
};

/* What is wrong, for people: names the file, the place, and what to do. */
struct kube_config_error {
	char text[512];
};

void kube_config_free(struct kube_config *c);
/* -ENOMEM: *ret is to be freed all the same. */
int kube_config_copy(const struct kube_config *from, struct kube_config *ret);

/* From KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the files in dir (normally
 * KUBE_ACCOUNT_DIR). -ENOENT: not in a cluster or a file is missing; err says which. */
int kube_config_in_cluster(const char *host, const char *port, const char *dir,
			   struct kube_config *ret, struct kube_config_error *err);
struct kube_config_text {
	const char *name; /* its path: for messages, and what relative paths start from */
	const char *text;
	size_t len;
};
/* Texts of kubeconfigs, merged as kubectl does. context NULL: current-context. -EINVAL with
 * err->text: what is wrong or not supported (exec, auth-provider ...). */
int kube_config_parse(const struct kube_config_text *from, size_t count, const char *context,
		      struct kube_config *ret, struct kube_config_error *err);
/* path: a file, or a list of them as $KUBECONFIG; those that are missing are passed over. */
int kube_config_load(const char *path, const char *context, struct kube_config *ret,
		     struct kube_config_error *err);

/* Base64 of RFC 4648, strictly: padded, no blanks but the ends of lines, no spare bits, nothing
 * behind it. Owned text with a NUL behind it. -EBADMSG, also for a NUL inside; -ENOMEM. */
int base64_text(const char *in, char **ret);
