// SPDX-License-Identifier: Apache-2.0
/* Certificates: one that verifies, and those that do not. The server's key is made by the test. */
#include "http_world.h"

#include "os/file_folder.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"

struct tls_world {
    char folder[64];
    char ca_file[96];
    SSL_CTX *context;
    pthread_t thread;
    int listen_fd;
    int port;
    struct http_response response;
};

/** A certificate for an address, signed by itself, from `from_s` to `to_s` seconds from now. */
static X509 *certificate_new(EVP_PKEY *key, const char *address, long from_s, long to_s)
{
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    X509V3_CTX context;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), to_s);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, address);
    X509_EXTENSION *basic =
        X509V3_EXT_conf_nid(NULL, &context, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(certificate, names, -1);
    X509_add_ext(certificate, basic, -1);
    X509_EXTENSION_free(names);
    X509_EXTENSION_free(basic);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

static void serve(SSL_CTX *context, int fd)
{
    SSL *ssl = SSL_new(context);
    char request[4096];
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1 && SSL_read(ssl, request, sizeof(request)) > 0) {
        SSL_write(ssl, REPLY, sizeof(REPLY) - 1);
        SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    close(fd);
}

static void *serve_all(void *argument)
{
    struct tls_world *world = argument;
    for (;;) {
        int fd = accept(world->listen_fd, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        serve(world->context, fd);
    }
}

static void listen_somewhere(struct tls_world *world)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    world->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(world->listen_fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(world->listen_fd, 16), 0);
    assert_int_equal(getsockname(world->listen_fd, (struct sockaddr *)&address, &len), 0);
    world->port = ntohs(address.sin_port);
}

static void write_certificate(const char *path, X509 *certificate)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    assert_int_equal(fclose(file), 0);
}

/** A server for `address` ("IP:127.0.0.1"), whose certificate ends so many seconds from now. */
static struct tls_world *tls_world_new(const char *address, long to_s)
{
    struct tls_world *world = memory_new_zero(1, sizeof(*world));
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = certificate_new(key, address, -7200, to_s);
    snprintf(world->folder, sizeof(world->folder), "/tmp/rondo-test-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->ca_file, sizeof(world->ca_file), "%s/ca.pem", world->folder);
    write_certificate(world->ca_file, certificate);
    world->context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(world->context, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(world->context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    listen_somewhere(world);
    assert_int_equal(pthread_create(&world->thread, NULL, serve_all, world), 0);
    return world;
}

static void tls_world_free(struct tls_world *world)
{
    shutdown(world->listen_fd, SHUT_RDWR);
    pthread_join(world->thread, NULL);
    close(world->listen_fd);
    SSL_CTX_free(world->context);
    http_response_fini(&world->response);
    assert_int_equal(file_remove_tree(world->folder, NULL), 0);
    free(world);
}

/** Call the server, trusting the certificates in a file (NULL = what the system trusts in). */
static enum http_failure call_tls(struct tls_world *world, const char *ca_file)
{
    struct http_client_options options = {.ca_file = ca_file};
    struct http_client *client = NULL;
    char url[64];
    snprintf(url, sizeof(url), "https://127.0.0.1:%d/", world->port);
    struct http_request request = request_to(url);
    assert_int_equal(http_client_new(&options, &client, NULL), 0);
    http_response_fini(&world->response);
    assert_int_equal(http_call(client, &request, &world->response, NULL), 0);
    http_client_free(client);
    return world->response.failure;
}

TEST(a_certificate_that_verifies_is_taken)
{
    struct tls_world *world = tls_world_new("IP:127.0.0.1", 7200);
    assert_failure(call_tls(world, world->ca_file), HTTP_OK);
    assert_string_equal(buf_string(&world->response.body), "secret");
    tls_world_free(world);
}

TEST(the_usual_variable_names_the_trusted_file)
{
    struct tls_world *world = tls_world_new("IP:127.0.0.1", 7200);
    assert_int_equal(setenv("SSL_CERT_FILE", world->ca_file, 1), 0);
    assert_failure(call_tls(world, NULL), HTTP_OK);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    tls_world_free(world);
}

TEST(a_certificate_that_nobody_signed_is_refused)
{
    struct tls_world *world = tls_world_new("IP:127.0.0.1", 7200);
    assert_failure(call_tls(world, NULL), HTTP_TLS);
    assert_int_equal(world->response.status, 0);
    assert_true(world->response.message[0] != '\0');
    tls_world_free(world);
}

TEST(a_certificate_for_another_host_is_refused)
{
    struct tls_world *world = tls_world_new("IP:127.0.0.2,DNS:example.com", 7200);
    assert_failure(call_tls(world, world->ca_file), HTTP_TLS);
    tls_world_free(world);
}

TEST(a_certificate_that_is_over_is_refused)
{
    struct tls_world *world = tls_world_new("IP:127.0.0.1", -3600);
    assert_failure(call_tls(world, world->ca_file), HTTP_TLS);
    tls_world_free(world);
}

TEST(a_trusted_file_that_is_absent_is_told)
{
    struct tls_world *world = tls_world_new("IP:127.0.0.1", 7200);
    assert_failure(call_tls(world, "/nonexistent/ca.pem"), HTTP_TLS);
    tls_world_free(world);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* The server writes to clients that have gone. */
    return test_run(NULL, NULL);
}
