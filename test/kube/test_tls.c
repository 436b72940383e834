// SPDX-License-Identifier: Apache-2.0
/* TLS: the server's certificate is verified, and the client's is sent. */
#include "client_rig.h"
#include "test/check.h"
#include <errno.h>
#include <unistd.h>

static char folder[] = "/tmp/vscaled-tls-XXXXXX";

static char *at(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

static char *read_text(const char *name)
{
	static char text[8192];
	FILE *f = fopen(at(name), "re");
	size_t n = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;

	CHECK(n > 0);
	text[n] = '\0';
	if (f != NULL)
		fclose(f);
	return text;
}

static void serve(struct script_server *s, const char *name, const char *client_ca)
{
	char cert[64], key[64];

	snprintf(cert, sizeof cert, "%s.crt", name);
	snprintf(key, sizeof key, "%s.key", name);
	CHECK_EQ(script_server_start(at(cert), at(key), client_ca, s), 0);
}

static void check_refused(const char *name, const char *detail)
{
	OWN(script_server_stop) struct script_server s;
	struct rig r;

	serve(&s, name, NULL);
	rig_open(&r, "https", s.port);
	r.config.ca_file = at("ca.crt");
	r.config.token = "secret";
	rig_client(&r);
	OWN(rig_drop) struct rig_result a = rig_get(&r, "/echo", false);
	CHECK_EQ(a.status, 0);
	CHECK_EQ(a.error, -EKEYREJECTED);
	if (!strstr(a.detail, detail))
		fprintf(stderr, "%s: %s\n", name, a.detail);
	CHECK(strstr(a.detail, detail) != NULL);
	CHECK_EQ(atomic_load(&s.share->requests), 0);

	/* Accepted only with insecure-skip-tls-verify. */
	r.config.ca_file = NULL;
	r.config.insecure = true;
	rig_client(&r);
	OWN(rig_drop) struct rig_result b = rig_get(&r, "/echo", false);
	CHECK_EQ(b.status, 200);
	CHECK(strstr(b.body, "Authorization: Bearer secret\r\n") != NULL);
	rig_close(&r);
}

TEST(good)
{
	OWN(script_server_stop) struct script_server s;
	struct rig r;

	serve(&s, "good", NULL);
	rig_open(&r, "https", s.port);
	r.config.ca_data = strdup(read_text("ca.crt"));
	rig_client(&r);
	for (int i = 0; i < 3; i++) {
		OWN(rig_drop) struct rig_result a = rig_get(&r, "/ok", false);

		CHECK_EQ(a.status, 200);
	}
	CHECK_EQ(atomic_load(&s.share->connections), 1);
	OWN(rig_drop) struct rig_result stream = rig_get(&r, "/stream?at=9", true);
	OWN(rig_drop) struct rig_result reset = rig_get(&r, "/reset", true);
	OWN(rig_drop) struct rig_result half = rig_get(&r, "/oldhalf", true);
	CHECK_STR(stream.lines, "{\"a\":1}|{\"b\":22}|{\"c\":333}|");
	CHECK_EQ(reset.error, -ECONNRESET);
	CHECK_EQ(half.error, -EPROTO);
	/* The system's authorities are not asked when there is one of our own. */
	free(r.config.ca_data);
	r.config.ca_data = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
	rig_client(&r);
	OWN(rig_drop) struct rig_result broken = rig_get(&r, "/ok", false);
	CHECK_EQ(broken.error, -EKEYREJECTED);
	rig_close(&r);
}

/* The certificate names another host, which the kubeconfig knows. */
TEST(server_name)
{
	OWN(script_server_stop) struct script_server s;
	struct rig r;
	char host[64];

	serve(&s, "elsewhere", NULL);
	rig_open(&r, "https", s.port);
	r.config.ca_file = at("ca.crt");
	r.config.tls_server_name = "elsewhere.test";
	rig_client(&r);
	OWN(rig_drop) struct rig_result a = rig_get(&r, "/echo?x=y", false);
	snprintf(host, sizeof host, "\r\nHost: 127.0.0.1:%u\r\n", s.port);
	CHECK_EQ(a.status, 200);
	CHECK(strstr(a.body, "GET /echo?x=y HTTP/1.1\r\n") != NULL);
	CHECK(strstr(a.body, host) != NULL);
	r.config.tls_server_name = "third.test";
	rig_client(&r);
	OWN(rig_drop) struct rig_result b = rig_get(&r, "/echo", false);
	CHECK_EQ(b.error, -EKEYREJECTED);
	rig_close(&r);
}

/* The CA is replaced on disk: the new one is used from the next request on. */
TEST(ca_replaced)
{
	OWN(script_server_stop) struct script_server s;
	struct rig r;

	serve(&s, "stranger", NULL);
	rig_write(folder, "trusted.crt", read_text("ca.crt"));
	rig_open(&r, "https", s.port);
	r.config.ca_file = at("trusted.crt");
	rig_client(&r);
	OWN(rig_drop) struct rig_result before = rig_get(&r, "/ok", false);
	CHECK_EQ(before.error, -EKEYREJECTED);
	rig_write(folder, "trusted.crt", read_text("other.crt"));
	OWN(rig_drop) struct rig_result after = rig_get(&r, "/ok", false);
	CHECK_EQ(after.status, 200);
	/* An open connection that was made under the old authority is not used under the new one.
	 */
	rig_write(folder, "trusted.crt", read_text("ca.crt"));
	OWN(rig_drop) struct rig_result gone = rig_get(&r, "/ok", false);
	CHECK_EQ(gone.error, -EKEYREJECTED);
	/* When the file is missing, the last CA stays in use. */
	rig_write(folder, "trusted.crt", read_text("other.crt"));
	OWN(rig_drop) struct rig_result back = rig_get(&r, "/ok", false);
	CHECK_EQ(unlink(at("trusted.crt")), 0);
	OWN(rig_drop) struct rig_result missing = rig_get(&r, "/ok", false);
	CHECK_EQ(back.status, 200);
	CHECK_EQ(missing.status, 200);
	/* A new client does not start without it. */
	rig_client(&r);
	OWN(rig_drop) struct rig_result none = rig_get(&r, "/ok", false);
	CHECK_EQ(none.error, -ENOENT);
	CHECK(strstr(none.detail, "trusted.crt: No such file") != NULL);
	rig_close(&r);
}

TEST(client_certificate)
{
	OWN(script_server_stop) struct script_server s;
	struct rig r;

	serve(&s, "good", at("ca.crt"));
	rig_open(&r, "https", s.port);
	r.config.ca_file = at("ca.crt");
	rig_client(&r);
	OWN(rig_drop) struct rig_result without = rig_get(&r, "/ok", false);
	CHECK(without.status == 0 && without.error < 0);
	r.config.cert_file = at("client.crt");
	r.config.key_file = at("client.key");
	rig_client(&r);
	OWN(rig_drop) struct rig_result with = rig_get(&r, "/ok", false);
	CHECK_EQ(with.status, 200);
	r.config.cert_file = NULL;
	r.config.key_file = NULL;
	r.config.cert_data = strdup(read_text("client.crt"));
	r.config.key_data = strdup(read_text("client.key"));
	rig_client(&r);
	OWN(rig_drop) struct rig_result data = rig_get(&r, "/ok", false);
	CHECK_EQ(data.status, 200);
	free(r.config.key_data);
	r.config.key_data = strdup(read_text("good.key"));
	rig_client(&r);
	OWN(rig_drop) struct rig_result mismatch = rig_get(&r, "/ok", false);
	CHECK_EQ(mismatch.error, -EKEYREJECTED);
	CHECK(strstr(mismatch.detail, "PRIVATE") == NULL);
	free(r.config.cert_data);
	free(r.config.key_data);
	rig_close(&r);
}

/* A server without TLS where TLS is configured; a configured proxy is used, the environment's is
 * not. */
TEST(no_tls)
{
	OWN(script_server_stop) struct script_server s;
	struct rig r;

	CHECK_EQ(script_server_start(NULL, NULL, NULL, &s), 0);
	rig_open(&r, "https", s.port);
	r.config.ca_file = at("ca.crt");
	rig_client(&r);
	/* The server takes the TLS bytes for an incomplete head and waits for more: we do not. */
	OWN(rig_drop)
	struct rig_result a = rig_ask(
		&r, &(struct kube_request){
			    .method = "GET", .path = "/ok", .timeout_usec = 300 * USEC_PER_MSEC});
	CHECK(a.status == 0 && a.error < 0);
	/* An HTTP proxy gets the whole URL of a plain server. */
	r.config = (struct kube_config){.server = "http://api.test:6443", .proxy_url = r.server};
	snprintf(r.server, sizeof r.server, "http://127.0.0.1:%u", s.port);
	rig_client(&r);
	OWN(rig_drop) struct rig_result b = rig_get(&r, "/x", false);
	CHECK(strncmp(s.share->head, "GET http://api.test:6443/x HTTP/1.1\r\n", 37) == 0);
	CHECK_EQ(b.status, 404);
	/* The environment's proxy is not used. */
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	r.config = (struct kube_config){.server = r.server};
	rig_client(&r);
	OWN(rig_drop) struct rig_result c = rig_get(&r, "/ok", false);
	CHECK_EQ(c.status, 200);
	unsetenv("http_proxy");
	rig_close(&r);
}

int main(void)
{
	char command[256];

	alarm(240);
	CHECK(mkdtemp(folder) != NULL);
	snprintf(command, sizeof command, "test/kube/certs.sh %s", folder);
	if (system(command) != 0)
		return check_skip("certificates cannot be made: is openssl there?");
	size_t files = rig_open_files();

	check_run();
	check_refused("expired", "certificate has expired");
	check_refused("elsewhere", "127.0.0.1");
	check_refused("stranger", "unable to get local issuer certificate");
	CHECK_EQ(rig_open_files(), files);
	snprintf(command, sizeof command, "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	return check_result();
}
