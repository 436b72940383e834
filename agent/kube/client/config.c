// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/client/config.h"
#include "agent/base/config_yaml.h"
#include "agent/kube/client/credential.h"
#include "policy/base/base.h"
#include <assert.h>
#include <errno.h>
#include <resolv.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KUBECONFIG_BYTES_MAX MIB

/* Fills err and gives error back. Never anything secret. */
__attribute__((__format__(__printf__, 3, 4))) static int kube_config_say(
	struct kube_config_error *err, int error, const char *format, ...)
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

#define AT(member) offsetof(struct kube_config, member)
static const size_t texts[] = {
	AT(server),    AT(ca_file),  AT(ca_data),    AT(tls_server_name),
	AT(proxy_url), AT(token),    AT(token_file), AT(cert_file),
	AT(cert_data), AT(key_file), AT(key_data),   AT(namespace),
};

static char **text_of(struct kube_config *c, size_t i)
{
	return (char **)((char *)c + texts[i]);
}

void kube_config_free(struct kube_config *c)
{
	/* Some of them are secret. */
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		credential_wipe(*text_of(c, i));
	*c = (struct kube_config){0};
}

int kube_config_copy(const struct kube_config *from, struct kube_config *ret)
{
	bool whole = true;

	*ret = *from;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char **text = text_of(ret, i);
		bool any = *text != NULL;

		*text = any ? strdup(*text) : NULL;
		whole &= any == (*text != NULL);
	}
	return whole ? 0 : -ENOMEM;
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
	OWN(kube_config_free) struct kube_config c = {0};
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

/* --- a kubeconfig */

/* A file of the list. As kubectl: the first one that has a name or a value counts, as a whole. */
struct place {
	const char *name;
	struct kube_config_error *err;
	struct node *root;
	const struct place *next;
};

enum value_kind { VALUE_TEXT, VALUE_FILE, VALUE_DATA, VALUE_BOOL };

/* A key that is taken over; all others are ignored, as kubectl does. */
struct key {
	const char *name;
	enum value_kind kind;
	size_t offset;
};

static const struct key cluster_keys[] = {
	{"server", VALUE_TEXT, AT(server)},
	{"certificate-authority", VALUE_FILE, AT(ca_file)},
	{"certificate-authority-data", VALUE_DATA, AT(ca_data)},
	{"tls-server-name", VALUE_TEXT, AT(tls_server_name)},
	{"insecure-skip-tls-verify", VALUE_BOOL, AT(insecure)},
	{"proxy-url", VALUE_TEXT, AT(proxy_url)},
};
static const struct key user_keys[] = {
	{"token", VALUE_TEXT, AT(token)},
	{"tokenFile", VALUE_FILE, AT(token_file)},
	{"client-certificate", VALUE_FILE, AT(cert_file)},
	{"client-certificate-data", VALUE_DATA, AT(cert_data)},
	{"client-key", VALUE_FILE, AT(key_file)},
	{"client-key-data", VALUE_DATA, AT(key_data)},
};
#undef AT

/* Kinds of credentials that are not supported: without them another identity would be used. */
static const struct {
	const char *key;
	const char *instead;
} refused[] = {
	{"exec",
	 "is not supported: vscaled runs no program for credentials; use a service account's "
	 "token (kubectl create token) in tokenFile, or a client certificate"},
	{"auth-provider", "is not supported, and removed from kubectl in 1.26; use tokenFile or a "
			  "client certificate"},
	{"username", "is not supported, and removed from API servers in 1.19; use tokenFile or a "
		     "client certificate"},
	{"password", "is not supported, and removed from API servers in 1.19; use tokenFile or a "
		     "client certificate"},
	{"as", "is not supported: vscaled does not impersonate; name the user itself"},
	{"as-uid", "is not supported: vscaled does not impersonate; name the user itself"},
	{"as-groups", "is not supported: vscaled does not impersonate; name the user itself"},
	{"as-user-extra", "is not supported: vscaled does not impersonate; name the user itself"},
};

static int say_memory(const struct place *at)
{
	return kube_config_say(at->err, -ENOMEM, "%s: out of memory", at->name);
}

static int say(const struct place *at, const struct node *n, const char *key, const char *what)
{
	return kube_config_say(at->err, -EINVAL, "%s:%u: %s: %s", at->name, n->line, key, what);
}

static const struct node *find_key(const struct node *map, const char *key)
{
	if (map == NULL || map->kind != NODE_MAP)
		return NULL;
	for (const struct node *n = map->child; n != NULL; n = n->next)
		if (strcmp(n->key, key) == 0)
			return node_is_null(n) ? NULL : n;
	return NULL;
}

/* *ret NULL: not there or empty. */
static int find_text(const struct place *at, const struct node *map, const char *key,
		     const char **ret)
{
	const struct node *n = find_key(map, key);

	*ret = NULL;
	if (n != NULL && n->kind != NODE_SCALAR)
		return say(at, n, key, "must be a single value");
	if (n != NULL && n->text[0] != '\0')
		*ret = n->text;
	return 0;
}

/* The entry `name` of the list `key` of this file; *ret NULL: none. */
static int find_named(const struct place *at, const char *key, const char *name,
		      const struct node **ret)
{
	const struct node *list = find_key(at->root, key);

	if (list != NULL && list->kind != NODE_LIST)
		return say(at, list, key, "must be a list");
	for (const struct node *n = list != NULL ? list->child : NULL; n != NULL; n = n->next) {
		const char *own;
		int r = find_text(at, n, "name", &own);

		if (r < 0)
			return r;
		if (own == NULL || strcmp(own, name) != 0)
			continue;
		if (*ret != NULL)
			return say(at, n, key, "the name is there twice");
		*ret = n;
	}
	return 0;
}

/* The section `what` of the entry `name` of the list `key`: clusters, contexts, users; *at becomes
 * the file that has it. */
static int find_entry(const struct place **at, const char *key, const char *what, const char *name,
		      const struct node **ret)
{
	const struct node *found = NULL;

	for (const struct place *file = *at; file != NULL && found == NULL; file = file->next) {
		int r = find_named(file, key, name, &found);

		if (r < 0)
			return r;
		if (found != NULL)
			*at = file;
	}
	if (found == NULL)
		return kube_config_say((*at)->err, -EINVAL, "%s: %s: none is named \"%.64s\"",
				       (*at)->name, key, name);
	*ret = find_key(found, what);
	if (*ret != NULL && (*ret)->kind != NODE_MAP)
		return say(*at, *ret, what, "must be a section");
	return 0;
}

/* kubectl reads YAML 1.1. */
static int take_bool(const struct place *at, const struct node *n, const char *key, bool *ret)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "n", "y"};

	for (size_t i = 0; n->plain && i < ARRAY_SIZE(words); i++)
		if (strcasecmp(n->text, words[i]) == 0) {
			*ret = i % 2 != 0;
			return 0;
		}
	return say(at, n, key, "must be true or false");
}

static int take_data(const struct place *at, const struct node *n, const char *key, char **ret)
{
	int r = base64_text(n->text, ret);

	if (r == -EBADMSG)
		return say(at, n, key, "must be base64");
	return r < 0 ? say_memory(at) : 0;
}

static int take_text(const struct place *at, const struct node *n, bool is_file, char **ret)
{
	const char *slash = is_file && n->text[0] != '/' ? strrchr(at->name, '/') : NULL;

	if (asprintf(ret, "%.*s%s", slash != NULL ? (int)(slash + 1 - at->name) : 0, at->name,
		     n->text) >= 0)
		return 0;
	*ret = NULL;
	return say_memory(at);
}

static int take_key(const struct place *at, const struct node *map, const struct key *k,
		    struct kube_config *c)
{
	void *value = (char *)c + k->offset;
	const struct node *n = find_key(map, k->name);
	const char *text;
	int r = find_text(at, map, k->name, &text);

	if (r < 0 || text == NULL)
		return r;
	if (k->kind == VALUE_BOOL)
		return take_bool(at, n, k->name, value);
	if (k->kind == VALUE_DATA)
		return take_data(at, n, k->name, value);
	for (const char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return say(at, n, k->name, "has a control character in it");
	return take_text(at, n, k->kind == VALUE_FILE, value);
}

static int take_keys(const struct place *at, const struct node *map, const struct key *keys,
		     size_t count, struct kube_config *c)
{
	for (size_t i = 0; i < count; i++) {
		int r = take_key(at, map, &keys[i], c);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool starts(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static int check_cluster(const struct place *at, const struct node *n, struct kube_config *c)
{
	static const char *const proxies[] = {"http://", "https://", "socks5://", "socks5h://"};
	bool proxy_ok = c->proxy_url == NULL;
	size_t len;

	if (c->server == NULL)
		return say(at, n, "server", "is missing");
	if (!starts(c->server, "https://") && !starts(c->server, "http://"))
		return say(at, n, "server", "must start with https:// or http://");
	/* A password in it would end up in messages. */
	if (strpbrk(c->server, "@?# \"\\") != NULL)
		return say(at, n, "server", "must be a plain URL: no user, query or blanks");
	for (len = strlen(c->server); len > 0 && c->server[len - 1] == '/'; len--)
		c->server[len - 1] = '\0';
	if (strstr(c->server, "://") == NULL || strstr(c->server, "://")[3] == '\0')
		return say(at, n, "server", "names no host");
	for (size_t i = 0; i < ARRAY_SIZE(proxies) && !proxy_ok; i++)
		proxy_ok = starts(c->proxy_url, proxies[i]);
	if (!proxy_ok)
		return say(at, n, "proxy-url", "must start with http://, https:// or socks5://");
	if (c->insecure && (c->ca_data != NULL || c->ca_file != NULL))
		return say(at, n, "insecure-skip-tls-verify",
			   "and certificate-authority exclude each other");
	return 0;
}

/* As in kubectl, a SOCKS proxy resolves names; for curl that is another scheme. */
static int take_socks(const struct place *at, struct kube_config *c)
{
	char *url = NULL;

	if (c->proxy_url == NULL || !starts(c->proxy_url, "socks5:"))
		return 0;
	if (asprintf(&url, "socks5h%s", strchr(c->proxy_url, ':')) < 0)
		return say_memory(at);
	credential_wipe(c->proxy_url);
	c->proxy_url = url;
	return 0;
}

/* One of two ways to say the same: data before the file, as kubectl does. */
static void prefer(char *first, char **second)
{
	if (first != NULL)
		free(STEAL(*second));
}

static int take_cluster(const struct place *at, const struct node *n, struct kube_config *c)
{
	int r = take_keys(at, n, cluster_keys, ARRAY_SIZE(cluster_keys), c);

	if (r == 0)
		r = check_cluster(at, n, c);
	if (r == 0)
		r = take_socks(at, c);
	prefer(c->ca_data, &c->ca_file);
	return r;
}

static int take_user(const struct place *at, const struct node *n, struct kube_config *c)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const struct node *set = find_key(n, refused[i].key);

		/* Tools write an empty text or list for what is not used. */
		if (set != NULL && (set->kind == NODE_MAP || set->child != NULL ||
				    (set->text != NULL && set->text[0] != '\0')))
			return say(at, set, refused[i].key, refused[i].instead);
	}
	r = take_keys(at, n, user_keys, ARRAY_SIZE(user_keys), c);
	if (r < 0)
		return r;
	prefer(c->cert_data, &c->cert_file);
	prefer(c->key_data, &c->key_file);
	if ((c->cert_data != NULL || c->cert_file != NULL) !=
	    (c->key_data != NULL || c->key_file != NULL))
		return say(at, n, "client-certificate", "and client-key need each other");
	return 0;
}

static int take_context(const struct place *files, const char *name, struct kube_config *c)
{
	const struct node *context = NULL, *cluster = NULL, *user = NULL;
	const char *cluster_name = NULL, *user_name = NULL, *namespace = NULL;
	const struct place *at = files;
	int r = find_entry(&at, "contexts", "context", name, &context);

	if (r == 0)
		r = find_text(at, context, "cluster", &cluster_name);
	if (r == 0)
		r = find_text(at, context, "user", &user_name);
	if (r == 0)
		r = find_text(at, context, "namespace", &namespace);
	if (r < 0)
		return r;
	if (cluster_name == NULL)
		return kube_config_say(at->err, -EINVAL, "%s: context \"%.64s\" names no cluster",
				       at->name, name);
	at = files;
	r = find_entry(&at, "clusters", "cluster", cluster_name, &cluster);
	if (r == 0 && cluster == NULL)
		return kube_config_say(at->err, -EINVAL, "%s: cluster \"%.64s\" is empty", at->name,
				       cluster_name);
	if (r == 0)
		r = take_cluster(at, cluster, c);
	at = files;
	if (r == 0 && user_name != NULL)
		r = find_entry(&at, "users", "user", user_name, &user);
	if (r == 0 && user != NULL)
		r = take_user(at, user, c);
	if (r == 0 && namespace != NULL)
		c->namespace = strdup(namespace);
	return r == 0 && namespace != NULL && c->namespace == NULL ? say_memory(at) : r;
}

static int parse_file(struct place *at, const struct kube_config_text *from)
{
	OWN(drop_free) struct config_errors *errs = calloc(1, sizeof *errs);
	int r;

	if (errs == NULL)
		return say_memory(at);
	r = node_parse(from->name, from->text, from->len, errs, &at->root);
	if (r == -ENOMEM)
		return say_memory(at);
	if (r < 0 || errs->count > 0)
		return kube_config_say(at->err, -EINVAL, "%s", errs->text[0]);
	if (at->root == NULL || at->root->kind != NODE_MAP)
		return kube_config_say(at->err, -EINVAL, "%s: not a kubeconfig", at->name);
	return 0;
}

static int take_files(const struct place *files, const char *context, struct kube_config *ret)
{
	OWN(kube_config_free) struct kube_config c = {0};
	int r = 0;

	for (const struct place *at = files; r == 0 && context == NULL && at != NULL; at = at->next)
		r = find_text(at, at->root, "current-context", &context);
	if (r == 0 && context == NULL)
		return kube_config_say(files->err, -EINVAL,
				       "%s: current-context is not set; name the context to use",
				       files->name);
	if (r == 0)
		r = take_context(files, context, &c);
	if (r < 0)
		return r;
	*ret = c;
	c = (struct kube_config){0};
	return 0;
}

int kube_config_parse(const struct kube_config_text *from, size_t count, const char *context,
		      struct kube_config *ret, struct kube_config_error *err)
{
	struct place at[KUBECONFIG_FILES_MAX];
	int r = 0;

	assert(count > 0 && count <= ARRAY_SIZE(at));
	for (size_t i = 0; i < count; i++)
		at[i] = (struct place){from[i].name, err, NULL, i + 1 < count ? &at[i + 1] : NULL};
	for (size_t i = 0; r == 0 && i < count; i++)
		r = parse_file(&at[i], &from[i]);
	if (r == 0)
		r = take_files(at, context, ret);
	for (size_t i = 0; i < count; i++)
		drop_node(&at[i].root);
	return r;
}

int kube_config_load(const char *path, const char *context, struct kube_config *ret,
		     struct kube_config_error *err)
{
	OWN(drop_free) char *list = strdup(path);
	struct kube_config_text from[KUBECONFIG_FILES_MAX];
	char *rest = list, *name, *text;
	size_t count = 0;
	int r = list != NULL ? 0 : kube_config_say(err, -ENOMEM, "out of memory");

	while (r == 0 && (name = strsep(&rest, ":")) != NULL) {
		r = name[0] != '\0' ? credential_read(name, KUBECONFIG_BYTES_MAX, &text) : -ENOENT;
		if (r == 0)
			from[count++] = (struct kube_config_text){name, text, strlen(text)};
		else if (r != -ENOENT)
			kube_config_say(err, r, "%s: %s", name,
					r == -EINVAL ? "not a file of UTF-8" : strerror(-r));
		r = r != -ENOENT ? r : 0;
		if (r == 0 && count == ARRAY_SIZE(from))
			r = kube_config_say(err, -E2BIG, "%s: too many files", path);
	}
	if (r == 0 && count == 0)
		r = kube_config_say(err, -ENOENT, "%s: %s", path, strerror(ENOENT));
	if (r == 0)
		r = kube_config_parse(from, count, context, ret, err);
	while (count > 0)
		credential_wipe((char *)from[--count].text);
	return r;
}

/* --- base64 */

int base64_text(const char *in, char **ret)
{
	static const char characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n";
	size_t len = strlen(in);
	OWN(drop_free) char *out = malloc(len + 1);
	int n;

	if (out == NULL)
		return -ENOMEM;
	/* The library skips all blanks. */
	n = strspn(in, characters) == len ? b64_pton(in, (unsigned char *)out, len) : -1;
	if (n <= 0 || memchr(out, '\0', (size_t)n) != NULL)
		return -EBADMSG;
	out[n] = '\0';
	*ret = STEAL(out);
	return 0;
}
