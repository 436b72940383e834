// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/config.h"
#include "agent/kube/client/config_impl.h"
#include "agent/kube/client/credential.h"
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KUBECONFIG_BYTES_MAX MIB

int kube_config_say(struct kube_config_error *err, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	/* File names and keys are external texts. */
	for (char *p = err->text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return error;
}

void kube_config_free(struct kube_config *c)
{
	char *plain[] = {c->server,    c->ca_file,   c->ca_data,  c->tls_server_name, c->token_file,
			 c->cert_file, c->cert_data, c->key_file, c->namespace};
	char *secret[] = {c->proxy_url, c->token, c->key_data};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		free(plain[i]);
	for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
		credential_wipe(secret[i]);
	*c = (struct kube_config){0};
}

void drop_kube_config(struct kube_config *c)
{
	kube_config_free(c);
}

static bool made_of(const char *text, const char *more)
{
	for (const char *p = text; *p != '\0'; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9') || strchr(more, *p) != NULL))
			return false;
	return text[0] != '\0';
}

static bool port_ok(const char *port)
{
	char *end;
	unsigned long n = strtoul(port, &end, 10);

	return port[0] >= '0' && port[0] <= '9' && *end == '\0' && n > 0 && n <= 65535;
}

static int account_file(const char *dir, const char *name, char **ret,
			struct kube_config_error *err)
{
	if (asprintf(ret, "%s/%s", dir, name) >= 0)
		return 0;
	*ret = NULL;
	return kube_config_say(err, -ENOMEM, "out of memory");
}

/* The text of one of the three files; it must be there and say something. */
static int read_account_file(const char *path, char **ret, struct kube_config_error *err)
{
	int r = credential_read(path, CREDENTIAL_BYTES_MAX, ret);

	if (r < 0)
		return kube_config_say(err, r,
				       "%s: %s; the pod needs its service account's token volume "
				       "(automountServiceAccountToken)",
				       path, strerror(-r));
	credential_trim(*ret);
	if ((*ret)[0] != '\0')
		return 0;
	free(STEAL(*ret));
	return kube_config_say(err, -ENOENT, "%s: is empty", path);
}

static int read_account(const char *dir, struct kube_config *c, struct kube_config_error *err)
{
	OWN(drop_free) char *file = NULL;
	char *text = NULL;
	int r;

	r = account_file(dir, "token", &c->token_file, err);
	if (r == 0)
		r = account_file(dir, "ca.crt", &c->ca_file, err);
	if (r == 0)
		r = account_file(dir, "namespace", &file, err);
	/* Only checks that they exist: the client reads both when it needs them. */
	if (r == 0)
		r = read_account_file(c->token_file, &text, err);
	credential_wipe(STEAL(text));
	if (r == 0)
		r = read_account_file(c->ca_file, &text, err);
	free(STEAL(text));
	return r == 0 ? read_account_file(file, &c->namespace, err) : r;
}

int kube_config_in_cluster(const char *host, const char *port, const char *dir,
			   struct kube_config *ret, struct kube_config_error *err)
{
	OWN(drop_kube_config) struct kube_config c = {0};
	bool ipv6;
	int r;

	if (host == NULL || host[0] == '\0' || port == NULL || port[0] == '\0')
		return kube_config_say(err, -ENOENT,
				       "%s is not set: not in a pod of a cluster; elsewhere name a "
				       "kubeconfig file",
				       host == NULL || host[0] == '\0' ? "KUBERNETES_SERVICE_HOST"
								       : "KUBERNETES_SERVICE_PORT");
	if (!made_of(host, ".:-"))
		return kube_config_say(err, -EINVAL,
				       "KUBERNETES_SERVICE_HOST: not a host or address");
	if (!port_ok(port))
		return kube_config_say(err, -EINVAL, "KUBERNETES_SERVICE_PORT: not a port");
	ipv6 = strchr(host, ':') != NULL;
	if (asprintf(&c.server, ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port) < 0) {
		c.server = NULL;
		return kube_config_say(err, -ENOMEM, "out of memory");
	}
	r = read_account(dir, &c, err);
	if (r < 0)
		return r;
	*ret = c;
	c = (struct kube_config){0};
	return 0;
}

int kube_config_load(const char *path, const char *context, struct kube_config *ret,
		     struct kube_config_error *err)
{
	OWN(drop_free) char *list = strdup(path);
	char *rest = list, *file = NULL, *name, *text = NULL;
	char folder[PATH_MAX];
	const char *slash;
	int r;

	/* As kubectl, past those that are not there. */
	while ((name = strsep(&rest, ":")) != NULL) {
		if (name[0] == '\0' || (file != NULL && access(name, F_OK) < 0))
			continue;
		if (file != NULL && access(file, F_OK) == 0)
			return kube_config_say(err, -EINVAL, "%s: files are not merged, name one",
					       path);
		file = name;
	}
	if (file == NULL)
		return kube_config_say(err, list != NULL ? -ENOENT : -ENOMEM,
				       list != NULL ? "kubeconfig: no file is named"
						    : "out of memory");
	r = credential_read(file, KUBECONFIG_BYTES_MAX, &text);
	if (r < 0)
		return kube_config_say(err, r, "%s: %s", file, strerror(-r));
	slash = strrchr(file, '/');
	snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - file) : 1,
		 slash != NULL ? file : ".");
	r = kube_config_parse(&(struct kube_config_text){file, folder, text, strlen(text)}, context,
			      ret, err);
	credential_wipe(text);
	return r;
}
