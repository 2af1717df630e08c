// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses. libpq takes a URI apart by itself; only our own parameters are taken out here, because
 * it refuses what it does not know, and what is secret is left out of what people see.
 */
#include "store/postgres/address.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "store/postgres/postgres.h"

#include <string.h>

#define SCHEMA_DEFAULT "rondo"

static const char *const schemes[] = {"postgresql://", "postgres://"};

/** Bytes of the scheme; 0 = the text is no address. */
static size_t scheme_len(const char *text)
{
    for (size_t i = 0; text != NULL && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t len = strlen(schemes[i]);
        if (strncmp(text, schemes[i], len) == 0) {
            return len;
        }
    }
    return 0;
}

bool store_postgres_is_address(const char *text)
{
    return scheme_len(text) > 0;
}

/** Append a part of a URI without its %XX. */
static void decode(const char *text, size_t len, struct buf *ret_text)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '%' && i + 2 < len && ascii_hex_value(text[i + 1]) >= 0 &&
            ascii_hex_value(text[i + 2]) >= 0) {
            c = (char)(ascii_hex_value(text[i + 1]) * 16 + ascii_hex_value(text[i + 2]));
            i += 2;
        }
        buf_append(ret_text, &c, 1);
    }
}

/** One "name=value" of an address. */
struct parameter {
    const char *text; /**< as written */
    size_t len;
    char *name; /**< decoded; owned */
    char *value;
};

static struct parameter read_parameter(const char *text)
{
    struct parameter parameter = {.text = text, .len = strcspn(text, "&")};
    size_t name_len = strcspn(text, "=&");
    size_t value_at = name_len < parameter.len ? name_len + 1 : parameter.len;
    struct buf name = {0};
    struct buf value = {0};
    decode(text, name_len, &name);
    decode(text + value_at, parameter.len - value_at, &value);
    parameter.name = buf_steal(&name);
    parameter.value = buf_steal(&value);
    return parameter;
}

static bool is_secret(const char *name)
{
    return strcmp(name, "passfile") != 0 &&
           (strstr(name, "pass") != NULL || strstr(name, "secret") != NULL);
}

static bool is_ours(const char *name)
{
    return strncmp(name, "rondo_", strlen("rondo_")) == 0;
}

/** Append a parameter to an address that may have some already. */
static void append_parameter(const struct parameter *parameter, bool *has_one, struct buf *address)
{
    buf_append_string(address, *has_one ? "&" : "?");
    buf_append(address, parameter->text, parameter->len);
    *has_one = true;
}

/** The first ':' after a host that no port follows; else NULL. IPv6 addresses have brackets. */
static const char *find_no_port(const char *hosts, size_t len)
{
    bool is_inside = false;
    for (size_t i = 0; i < len && hosts[i] != '/'; i++) {
        is_inside = hosts[i] == '[' || (is_inside && hosts[i] != ']');
        if (hosts[i] != ':' || is_inside) {
            continue;
        }
        size_t end = i + 1;
        while (end < len && hosts[end] >= '0' && hosts[end] <= '9') {
            end++;
        }
        if (end < len && hosts[end] != '/' && hosts[end] != ',') {
            return hosts + i;
        }
    }
    return NULL;
}

/**
 * Append the part before the parameters, without the password. A password with a character that
 * libpq misreads is left out whole, too: such an address is refused with what is shown here.
 */
static void show_authority(const char *text, size_t len, struct buf *ret_shown)
{
    size_t begin = scheme_len(text);
    const char *host = memrchr(text + begin, '@', len - begin);
    const char *user_end = host != NULL ? memchr(text + begin, ':', (size_t)(host - text) - begin)
                                        : find_no_port(text + begin, len - begin);
    size_t user_len = (size_t)((user_end != NULL ? user_end
                                : host != NULL   ? host
                                                 : text + len) -
                               text);
    buf_append(ret_shown, text, user_len);
    if (host != NULL) {
        buf_append(ret_shown, host, (size_t)(text + len - host));
    }
}

/** Where the parameters begin: after the password, which may have a '?'. */
static size_t parameters_at(const char *text)
{
    size_t begin = scheme_len(text);
    size_t len = strcspn(text + begin, "/");
    const char *host = memrchr(text + begin, '@', len);
    size_t from = host != NULL ? (size_t)(host - text) : begin;
    return from + strcspn(text + from, "?");
}

/**
 * Refuse a password with a '/' or '@', of which libpq takes a part for a host or a port: its
 * message, and that of the resolver, would show that part.
 */
static int check_authority(const char *text, struct rondo_error *err)
{
    size_t begin = scheme_len(text);
    size_t len = parameters_at(text) - begin;
    const char *at = memchr(text + begin, '@', len);
    const char *host = at != NULL ? at + 1 : text + begin;
    size_t rest = (size_t)(text + begin + len - host);
    bool is_clear = memchr(host, '@', rest) == NULL && find_no_port(host, rest) == NULL &&
                    (at == NULL || memchr(text + begin, '/', (size_t)(at - text) - begin) == NULL);
    if (is_clear) {
        return 0;
    }
    auto_free char *shown = store_postgres_show(text);
    return error_set(err, RONDO_ERR_INVALID,
                     "%s cannot be understood: write special characters of a user, a password or a "
                     "database as %%XX (%%2F is '/', %%3A ':', %%40 '@')",
                     shown);
}

char *store_postgres_show(const char *address)
{
    struct buf shown = {0};
    size_t head = parameters_at(address);
    bool has_one = false;
    show_authority(address, head, &shown);
    for (const char *next = address + head; *next != '\0';) {
        struct parameter parameter = read_parameter(next + 1);
        /* What has no value is refused, and may be the rest of a password. */
        if (!is_secret(parameter.name) && memchr(parameter.text, '=', parameter.len) != NULL) {
            append_parameter(&parameter, &has_one, &shown);
        }
        next += 1 + parameter.len;
        free(parameter.name);
        free(parameter.value);
    }
    return buf_steal(&shown);
}

char *store_postgres_parameter(const char *address, const char *name)
{
    char *found = NULL;
    for (const char *next = address + parameters_at(address); *next != '\0';) {
        struct parameter parameter = read_parameter(next + 1);
        if (strcmp(parameter.name, name) == 0) {
            free(found);
            found = parameter.value; /* Of several the last one holds. */
            parameter.value = NULL;
        }
        next += 1 + parameter.len;
        free(parameter.name);
        free(parameter.value);
    }
    return found;
}

int postgres_check_schema(const char *name, struct rondo_error *err)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (len == 0 || name[len] != '\0' || len >= POSTGRES_SCHEMA_SIZE ||
        (name[0] >= '0' && name[0] <= '9') || strncmp(name, "pg_", 3) == 0) {
        return error_set(err, RONDO_ERR_INVALID,
                         "rondo_schema names a schema: up to 63 letters a to z, digits and '_', "
                         "not beginning with a digit or with pg_");
    }
    return 0;
}

static int take_ours(const struct parameter *parameter, struct postgres_address *address,
                     struct rondo_error *err)
{
    if (strcmp(parameter->name, "rondo_schema") == 0) {
        int r = postgres_check_schema(parameter->value, err);
        if (r == 0) {
            memcpy(address->schema, parameter->value, strlen(parameter->value) + 1);
        }
        return r;
    }
    if (strcmp(parameter->name, "rondo_connections") == 0) {
        int64_t number = 0;
        int r = parse_int(parameter->value, 2, POSTGRES_CONNECTIONS_MAX, &number, err);
        if (r < 0) {
            error_prefix(err, "rondo_connections: ");
        }
        address->connections = (unsigned)number;
        return r;
    }
    return error_set(
        err, RONDO_ERR_INVALID,
        "the store's address has an unknown parameter '%s'; those of Rondo are rondo_schema and "
        "rondo_connections",
        parameter->name);
}

int postgres_address_parse(const char *text, struct postgres_address *ret_address,
                           struct rondo_error *err)
{
    struct postgres_address address = {.schema = SCHEMA_DEFAULT,
                                       .connections = POSTGRES_CONNECTIONS_DEFAULT};
    if (!store_postgres_is_address(text)) {
        return error_set(err, RONDO_ERR_INVALID, "an address of a PostgreSQL store begins with %s",
                         schemes[0]);
    }
    int r = check_authority(text, err);
    if (r < 0) {
        return r;
    }
    struct buf uri = {0};
    size_t head = parameters_at(text);
    bool has_one = false;
    buf_append(&uri, text, head);
    for (const char *next = text + head; r == 0 && *next != '\0';) {
        struct parameter parameter = read_parameter(next + 1);
        if (is_ours(parameter.name)) {
            r = take_ours(&parameter, &address, err);
        } else {
            append_parameter(&parameter, &has_one, &uri);
        }
        next += 1 + parameter.len;
        free(parameter.name);
        free(parameter.value);
    }
    if (r < 0) {
        buf_fini(&uri);
        return r;
    }
    address.uri = buf_steal(&uri);
    address.shown = store_postgres_show(text);
    *ret_address = address;
    return 0;
}

void postgres_address_fini(struct postgres_address *address)
{
    free(address->uri);
    free(address->shown);
    *address = (struct postgres_address){0};
}
