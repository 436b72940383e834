// SPDX-License-Identifier: Apache-2.0
/* Server address and credentials: a pod's files, and the supported part of a kubeconfig. */
#include "agent/kube/client/config.h"
#include "test/check.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "hunter2"
#define DATA   "cGVt" /* "pem" */

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "we");
	CHECK(f != NULL);
	if (f == NULL)
		return;
	fputs(text, f);
	fclose(f);
}

static void drop(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	CHECK_EQ(unlink(path), 0);
}

static void check_server(const char *folder, const char *host, const char *port, const char *server)
{
	struct kube_config_error err = {""};
	struct kube_config c = {0};
	int r = kube_config_in_cluster(host, port, folder, &c, &err);

	CHECK_EQ(r, server != NULL ? 0 : -EINVAL);
	if (server != NULL)
		CHECK_STR(c.server, server);
	else
		CHECK(strstr(err.text, "KUBERNETES_SERVICE_") != NULL && c.server == NULL);
	kube_config_free(&c);
}

static void check_missing(const char *folder, const char *host, const char *port, const char *what)
{
	struct kube_config_error err = {""};
	struct kube_config c = {0};

	CHECK_EQ(kube_config_in_cluster(host, port, folder, &c, &err), -ENOENT);
	CHECK(strstr(err.text, what) != NULL);
	CHECK(c.server == NULL);
}

TEST(in_cluster)
{
	char folder[] = "/tmp/vscaled-account-XXXXXX";
	struct kube_config_error err = {""};
	struct kube_config c = {0};

	CHECK(mkdtemp(folder) != NULL);
	check_missing(folder, NULL, "443", "KUBERNETES_SERVICE_HOST is not set");
	check_missing(folder, "", "443", "KUBERNETES_SERVICE_HOST is not set");
	check_missing(folder, "10.0.0.1", NULL, "KUBERNETES_SERVICE_PORT is not set");
	check_missing(folder, "10.0.0.1", "443", "/token: No such file");
	put(folder, "..token", SECRET "\n");
	/* As the kubelet does it. */
	char target[256], link[256];
	snprintf(target, sizeof target, "%s/..token", folder);
	snprintf(link, sizeof link, "%s/token", folder);
	CHECK_EQ(symlink(target, link), 0);
	check_missing(folder, "10.0.0.1", "443", "/ca.crt: No such file");
	put(folder, "ca.crt", "pem\n");
	check_missing(folder, "10.0.0.1", "443", "/namespace: No such file");
	put(folder, "namespace", "\n");
	check_missing(folder, "10.0.0.1", "443", "/namespace: is empty");
	put(folder, "namespace", "vscaled\n");
	CHECK_EQ(kube_config_in_cluster("10.0.0.1", "443", folder, &c, &err), 0);
	CHECK_STR(c.server, "https://10.0.0.1:443");
	CHECK_STR(c.namespace, "vscaled");
	CHECK_STR(c.token_file, link);
	CHECK(c.ca_file != NULL && c.token == NULL && !c.insecure);
	kube_config_free(&c);
	check_server(folder, "fd00::1", "6443", "https://[fd00::1]:6443");
	check_server(folder, "api.local", "1", "https://api.local:1");
	check_server(folder, "10.0.0.1/x", "1", NULL);
	check_server(folder, "user@host", "1", NULL);
	check_server(folder, "host", "0", NULL);
	check_server(folder, "host", "65536", NULL);
	check_server(folder, "host", "44 3", NULL);
	drop(folder, "..token");
	check_missing(folder, "10.0.0.1", "443", "automountServiceAccountToken");
	drop(folder, "token");
	drop(folder, "ca.crt");
	drop(folder, "namespace");
	rmdir(folder);
}

#define HEAD  "apiVersion: v1\nkind: Config\ncurrent-context: here\npreferences: {}\n"
#define WHERE "contexts:\n- name: here\n  context: {cluster: c, user: u, namespace: lab}\n"
#define FULL(cluster, user)                                                                        \
	HEAD WHERE "clusters:\n- name: c\n  cluster: {server: 'https://h:1'" cluster               \
		   "}\nusers:\n- name: u\n  user: {" user "}\n"

static int parse(const char *text, struct kube_config *ret, struct kube_config_error *err)
{
	int r;

	*ret = (struct kube_config){0};
	*err = (struct kube_config_error){""};
	r = kube_config_parse(&(struct kube_config_text){"/etc/k/f.yaml", text, strlen(text)}, 1,
			      NULL, ret, err);
	CHECK((r == 0) == (err->text[0] == '\0'));
	CHECK(strstr(err->text, SECRET) == NULL);
	return r;
}

TEST(accepted)
{
	struct kube_config_error err;
	struct kube_config c;

	CHECK_OK(parse(FULL(", certificate-authority: ca.crt, tls-server-name: n, proxy-url: "
			    "'http://p:3128', unknown: [1], aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 1",
			    "tokenFile: ../t, token: " SECRET),
		       &c, &err));
	CHECK_STR(c.server, "https://h:1");
	CHECK_STR(c.ca_file, "/etc/k/ca.crt");
	CHECK_STR(c.tls_server_name, "n");
	CHECK_STR(c.proxy_url, "http://p:3128");
	CHECK_STR(c.token_file, "/etc/k/../t");
	CHECK_STR(c.token, SECRET);
	CHECK_STR(c.namespace, "lab");
	kube_config_free(&c);
	CHECK_OK(parse(FULL(", certificate-authority: /ca, certificate-authority-data: " DATA,
			    "client-certificate: /c, client-certificate-data: " DATA
			    ", client-key: k, client-key-data: " DATA),
		       &c, &err));
	CHECK_STR(c.ca_data, "pem");
	CHECK(c.ca_file == NULL && c.cert_file == NULL && c.key_file == NULL);
	CHECK_STR(c.cert_data, "pem");
	CHECK_STR(c.key_data, "pem");
	kube_config_free(&c);
	CHECK_OK(parse(FULL(", insecure-skip-tls-verify: true", "client-certificate: c, "
								"client-key: k"),
		       &c, &err));
	CHECK(c.insecure);
	CHECK_STR(c.cert_file, "/etc/k/c");
	CHECK_STR(c.key_file, "/etc/k/k");
	kube_config_free(&c);
	/* As kubectl reads it: wrapped base64, YAML 1.1, a byte order mark. */
	CHECK_OK(parse("\xef\xbb\xbf" HEAD WHERE
		       "clusters:\r\n- name: c\r\n  cluster:\r\n    server: 'https://h:1'\r\n"
		       "    certificate-authority-data: |\r\n      cG\r\n      Vt\r\n"
		       "users:\n- name: u\n  user: {client-key-data: \"cG\\nVt\", "
		       "client-certificate-data: cGVt}\n",
		       &c, &err));
	CHECK_STR(c.ca_data, "pem");
	CHECK_STR(c.key_data, "pem");
	kube_config_free(&c);
	for (size_t i = 0; i < 3; i++) {
		const char *const texts[] = {
			FULL(", insecure-skip-tls-verify: True", ""),
			FULL(", insecure-skip-tls-verify: yes", ""),
			FULL(", insecure-skip-tls-verify: on", ""),
		};

		CHECK_EQ(parse(texts[i], &c, &err), 0);
		CHECK(c.insecure);
		kube_config_free(&c);
	}
	/* kubectl lets the proxy resolve names, for curl that is another scheme. */
	CHECK_OK(parse(FULL(", proxy-url: 'socks5://u:" SECRET "@[::1]:1080'", ""), &c, &err));
	CHECK_STR(c.proxy_url, "socks5h://u:" SECRET "@[::1]:1080");
	kube_config_free(&c);
	CHECK_OK(parse(FULL(", proxy-url: 'socks5h://p'", ""), &c, &err));
	CHECK_STR(c.proxy_url, "socks5h://p");
	kube_config_free(&c);
	/* Empty, as tools write what is not used. */
	CHECK_OK(parse(FULL("", "token: a, username: '', password: \"\", as: '', as-uid: null, "
				"as-groups: []"),
		       &c, &err));
	CHECK_STR(c.token, "a");
	kube_config_free(&c);
	/* JSON, no user at all, a slash at the end, empty values. */
	CHECK_OK(parse("{\"current-context\":\"a\",\"contexts\":[{\"name\":\"a\",\"context\":"
		       "{\"cluster\":\"c\",\"user\":\"\"}}],\"clusters\":[{\"name\":\"c\","
		       "\"cluster\":{\"server\":\"http://[::1]:8/k8s//\",\"proxy-url\":\"\"}}],"
		       "\"users\":null}",
		       &c, &err));
	CHECK_STR(c.server, "http://[::1]:8/k8s");
	CHECK(c.proxy_url == NULL && c.token == NULL);
	kube_config_free(&c);
}

TEST(refused)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
		{FULL("", "exec: {command: aws}"), "exec: is not supported"},
		{FULL("", "exec: {command: aws}"), "tokenFile"},
		{FULL("", "auth-provider: {name: gcp}"), "auth-provider: is not supported"},
		{FULL("", "exec: {}"), "exec: is not supported"},
		{FULL("", "as-groups: [a]"), "as-groups: is not supported"},
		{FULL("", "username: a, password: " SECRET), "username: is not supported"},
		{FULL("", "as: root"), "as: is not supported"},
		{FULL("", "token: [" SECRET "]"), "f.yaml:13: token: must be a single value"},
		{FULL("", "token: \"" SECRET "\\nX: y\""), "control character"},
		{FULL("", "client-certificate: c"), "need each other"},
		{FULL("", "client-key: k"), "need each other"},
		{FULL("", "client-key-data: '" SECRET "'"), "must be base64"},
		{FULL(", certificate-authority-data: 'cGVt '", ""), "must be base64"},
		{FULL(", insecure-skip-tls-verify: maybe", ""), "must be true or false"},
		{FULL(", insecure-skip-tls-verify: 'true'", ""), "must be true or false"},
		{FULL(", insecure-skip-tls-verify: true, certificate-authority: c", ""),
		 "exclude each other"},
		{FULL(", proxy-url: 'ftp://" SECRET "@p'", ""), "proxy-url: must start with"},
		{FULL(", server: 'https://two'", ""), "is there twice"},
		{HEAD WHERE "clusters: [{name: c, cluster: {server: 'https://u:" SECRET "@h'}}]",
		 "plain URL"},
		{HEAD WHERE "clusters: [{name: c, cluster: {server: 'h:443'}}]", "https://"},
		{HEAD WHERE "clusters: [{name: c, cluster: {server: 'https://'}}]", "no host"},
		{HEAD WHERE "clusters: [{name: c, cluster: {}}]", "server: is missing"},
		{HEAD WHERE "clusters: [{name: c}]", "\"c\" is empty"},
		{HEAD WHERE "clusters: [{name: d}]", "clusters: none is named \"c\""},
		{HEAD WHERE "clusters: [{name: c, cluster: {server: 'https://h'}}]",
		 "users: none is named \"u\""},
		{HEAD WHERE "clusters: {c: 1}", "must be a list"},
		{HEAD WHERE "clusters: [{name: c, cluster: 7}]", "must be a section"},
		{HEAD WHERE "clusters: [{name: c}, {name: c}]", "twice"},
		{HEAD "contexts: [{name: here, context: {user: u}}]", "names no cluster"},
		{HEAD, "contexts: none is named \"here\""},
		{"kind: Config\n", "current-context is not set"},
		{"current-context: ''\n", "current-context is not set"},
		{"", "not a kubeconfig"},
		{"- a\n", "not a kubeconfig"},
		{"a: &x 1\nb: *x\n", "anchors"},
		{"a: {\n", "f.yaml:"},
		{"a: 1\n---\nb: 1\n", "second document"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kube_config_error err;
		struct kube_config c;

		CHECK_EQ(parse(rows[i].text, &c, &err), -EINVAL);
		if (strstr(err.text, rows[i].says) == NULL)
			fprintf(stderr, "row %zu: %s\n", i, err.text);
		CHECK(strstr(err.text, rows[i].says) != NULL);
		CHECK(strncmp(err.text, "/etc/k/f.yaml", 13) == 0);
		CHECK(c.server == NULL);
	}
}

TEST(context)
{
	static const char text[] =
		"contexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: d}}]\n"
		"clusters: [{name: c, cluster: {server: 'https://c'}}, {name: d, cluster: {server: "
		"'https://d'}}]\ncurrent-context: a\n";
	const struct kube_config_text from = {"f", text, strlen(text)};
	struct kube_config_error err = {""};
	struct kube_config c = {0};

	CHECK_EQ(kube_config_parse(&from, 1, "b", &c, &err), 0);
	CHECK_STR(c.server, "https://d");
	kube_config_free(&c);
	CHECK_EQ(kube_config_parse(&from, 1, "z", &c, &err), -EINVAL);
}

/* As kubectl: what the first file names counts as a whole, and a file's paths are its folder's. */
static void test_merged(const char *folder)
{
	char list[256], other[128];
	struct kube_config_error err = {""};
	struct kube_config c = {0};

	snprintf(other, sizeof other, "%s/other", folder);
	CHECK_EQ(mkdir(other, 0700), 0);
	put(other, "config",
	    "current-context: b\ncontexts: [{name: b, context: {cluster: c, user: v}}]\n"
	    "clusters: [{name: c, cluster: {server: 'https://other', proxy-url: 'http://p'}}]\n"
	    "users: [{name: v, user: {tokenFile: t}}]\n");
	snprintf(list, sizeof list, "%s/config:/no/such/file:%s/config", folder, other);
	CHECK_EQ(kube_config_load(list, NULL, &c, &err), 0);
	CHECK_STR(c.server, "https://h:1");
	kube_config_free(&c);
	CHECK_EQ(kube_config_load(list, "b", &c, &err), 0);
	CHECK_STR(c.server, "https://h:1");
	CHECK(c.proxy_url == NULL);
	snprintf(list, sizeof list, "%s/t", other);
	CHECK_STR(c.token_file, list);
	kube_config_free(&c);
	/* One that cannot be read is not passed over. */
	put(other, "config", "users: {\n");
	snprintf(list, sizeof list, "%s/config:%s/config", folder, other);
	CHECK_EQ(kube_config_load(list, NULL, &c, &err), -EINVAL);
	CHECK(strncmp(err.text, other, strlen(other)) == 0);
	drop(other, "config");
	rmdir(other);
}

TEST(load)
{
	char folder[] = "/tmp/vscaled-kubeconfig-XXXXXX", list[256];
	struct kube_config_error err = {""};
	struct kube_config c = {0};

	CHECK(mkdtemp(folder) != NULL);
	put(folder, "config", FULL("", "tokenFile: t"));
	snprintf(list, sizeof list, "::%s/config:/no/such/file", folder);
	CHECK_EQ(kube_config_load(list, NULL, &c, &err), 0);
	snprintf(list, sizeof list, "%s/t", folder);
	CHECK_STR(c.token_file, list);
	kube_config_free(&c);
	/* One that is missing is none. */
	snprintf(list, sizeof list, "/no/such/file:%s/config", folder);
	CHECK_EQ(kube_config_load(list, NULL, &c, &err), 0);
	kube_config_free(&c);
	test_merged(folder);
	CHECK_EQ(kube_config_load("/no/such/file", NULL, &c, &err), -ENOENT);
	CHECK_STR(err.text, "/no/such/file: No such file or directory");
	CHECK_EQ(kube_config_load(folder, NULL, &c, &err), -EINVAL);
	CHECK_EQ(kube_config_load("/dev/zero", NULL, &c, &err), -EINVAL);
	CHECK_STR(err.text, "/dev/zero: not a file of UTF-8");
	CHECK_EQ(kube_config_load(":", NULL, &c, &err), -ENOENT);
	drop(folder, "config");
	rmdir(folder);
}
