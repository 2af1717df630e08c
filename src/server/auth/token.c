// SPDX-License-Identifier: Apache-2.0
/*
 * Two documents for each token: "token" by the digest of its text, so that looking it up compares
 * nothing secret byte by byte, and "token-name" by its name, so that a name is taken once. Its last
 * use is in a third one, which may be lost.
 */
#include "server/auth/token.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/random.h"

#include <json-c/json.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTION       "token"
#define COLLECTION_NAMES "token-name"
#define COLLECTION_USE   "token-use"
#define PREFIX           "rondo_"
#define RANDOM_BYTES     32
/** Characters of a name: "token NAME" fits into a grant's. */
#define NAME_LEN 56
/** The time of the last use is written at most so often. */
#define USE_NS (60 * NS_PER_S)

static const struct {
    const char *name;
    enum token_right named_after; /**< the right that only this scope adds */
    unsigned rights;
} scopes[TOKEN_SCOPE_COUNT] = {
    [TOKEN_NONE] = {"none", 0, 0},
    [TOKEN_READ] = {"read", RIGHT_READ, RIGHT_READ},
    [TOKEN_OPERATE] = {"operate", RIGHT_OPERATE, RIGHT_READ | RIGHT_OPERATE},
    [TOKEN_ADMINISTER] = {"administer", RIGHT_ADMINISTER,
                          RIGHT_READ | RIGHT_OPERATE | RIGHT_ADMINISTER},
    [TOKEN_DECIDE] = {"decide", RIGHT_DECIDE, RIGHT_READ | RIGHT_DECIDE},
    [TOKEN_REVEAL] = {"reveal", RIGHT_REVEAL, RIGHT_READ | RIGHT_DECIDE | RIGHT_REVEAL},
    [TOKEN_AGENT] = {"agent", RIGHT_AGENT, RIGHT_AGENT},
};

const char *token_scope_name(enum token_scope scope)
{
    return scopes[scope].name;
}

unsigned token_scope_rights(enum token_scope scope)
{
    return scopes[scope].rights;
}

const char *token_right_name(enum token_right right)
{
    enum token_scope scope = TOKEN_READ;
    while (scope < TOKEN_AGENT && scopes[scope].named_after != right) {
        scope++;
    }
    return scopes[scope].name;
}

static bool token_scope_from_name(const char *name, enum token_scope *ret_scope)
{
    for (enum token_scope i = TOKEN_READ; i < TOKEN_SCOPE_COUNT; i++) {
        if (strcmp(name, scopes[i].name) == 0) {
            *ret_scope = i;
            return true;
        }
    }
    return false;
}

void token_grant_fini(struct token_grant *grant)
{
    for (size_t i = 0; grant->agents != NULL && grant->agents[i] != NULL; i++) {
        free(grant->agents[i]);
    }
    free(grant->agents);
    explicit_bzero(&grant->keys, sizeof(grant->keys));
    *grant = (struct token_grant){0};
}

bool token_grant_covers(const struct token_grant *grant, const char *agent_id)
{
    for (size_t i = 0; grant->agents != NULL && grant->agents[i] != NULL; i++) {
        if (strcmp(grant->agents[i], agent_id) == 0) {
            return true;
        }
    }
    return grant->agents == NULL;
}

static void make_text(char ret_token[TOKEN_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[RANDOM_BYTES + 1] = {0};
    random_system()->fill(random_system(), bytes, RANDOM_BYTES);
    size_t used = (size_t)snprintf(ret_token, TOKEN_SIZE, PREFIX);
    for (size_t bit = 0; bit < RANDOM_BYTES * 8; bit += 6) {
        unsigned word = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
        ret_token[used++] = digits[word >> (10 - bit % 8) & 63];
    }
    ret_token[used] = '\0';
    explicit_bzero(bytes, sizeof(bytes));
}

static void digest_of(const char *token, char ret_hex[DIGEST_HEX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, token, strlen(token));
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_hex);
}

static int check_name(const char *name, struct rondo_error *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(name);
    if (len == 0 || len > NAME_LEN || strspn(name, allowed) != len) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a token's name has 1 to %d letters, digits, dots, dashes and underscores",
                         NAME_LEN);
    }
    return 0;
}

static int check_agents(const char *const *agents, struct rondo_error *err)
{
    size_t count = 0;
    for (; agents != NULL && agents[count] != NULL; count++) {
        size_t len = strlen(agents[count]);
        if (len == 0 || len > LIMIT_AGENT_ID_LEN) {
            return error_set(err, RONDO_ERR_INVALID, "an agent's id has 1 to %d characters",
                             LIMIT_AGENT_ID_LEN);
        }
    }
    if (agents != NULL && count == 0) {
        return error_set(err, RONDO_ERR_INVALID, "the list of agents is empty");
    }
    return count > TOKEN_AGENTS
               ? error_set(err, RONDO_ERR_LIMIT, "a token can be limited to at most %d agents",
                           TOKEN_AGENTS)
               : 0;
}

static int check_signing(const struct token_spec *spec, struct rondo_error *err)
{
    struct signing_key key;
    if (spec->signing == SIGNING_NONE && spec->public_key == NULL) {
        return 0;
    }
    if (spec->scope != TOKEN_AGENT || spec->signing == SIGNING_NONE) {
        return error_set(err, RONDO_ERR_INVALID,
                         "only requests with a token of scope agent are signed");
    }
    int r = spec->public_key == NULL ? 0 : signing_key_read(spec->public_key, &key, err);
    return r == 0 && spec->public_key != NULL && key.kind != SIGNING_PUBLIC
               ? error_set(err, RONDO_ERR_INVALID,
                           "a public key begins with whpk_; keep the secret one where the agent "
                           "runs")
               : r;
}

static bool is_of_person(enum token_scope scope)
{
    return (token_scope_rights(scope) & RIGHT_DECIDE) != 0;
}

static int check_scope(const struct token_spec *spec, struct rondo_error *err)
{
    if (spec->person != NULL && !is_of_person(spec->scope) && spec->scope != TOKEN_AGENT) {
        return error_set(err, RONDO_ERR_INVALID,
                         "only tokens of the scopes decide, reveal and agent are a person's");
    }
    if (spec->scope == TOKEN_AGENT && spec->agents == NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a token of scope agent names the agents that it is for");
    }
    int r = spec->person == NULL ? 0 : check_name(spec->person, err);
    if (r < 0) {
        error_prefix(err, "while reading the person");
        return r;
    }
    r = check_signing(spec, err);
    return r < 0 ? r : check_agents(spec->agents, err);
}

static bool count_document(const struct store_document *document, void *context)
{
    (void)document;
    ++*(size_t *)context;
    return true;
}

static int check_count(struct store *store, struct rondo_error *err)
{
    size_t count = 0;
    struct store_document_query query = {.collection = COLLECTION, .limit = LIMIT_TOKENS};
    int r = store->ops->read_documents(store, &query, count_document, &count, err);
    return r == 0 && count >= LIMIT_TOKENS
               ? error_set(err, RONDO_ERR_LIMIT, "there are %d tokens already; revoke some",
                           LIMIT_TOKENS)
               : r;
}

/** Whose it is. */
static const char *person_of(const struct token_spec *spec)
{
    return spec->person == NULL && is_of_person(spec->scope) ? spec->name : spec->person;
}

static void write_document(const struct token_spec *spec, char *ret_secret, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "name", spec->name);
    json_write_string(&writer, "scope", token_scope_name(spec->scope));
    if (is_of_person(spec->scope) || spec->person != NULL) {
        json_write_string(&writer, "person", person_of(spec));
    }
    if (spec->agents == NULL) {
        json_write_null(&writer, "agents");
    } else {
        json_begin_array(&writer, "agents");
        for (size_t i = 0; spec->agents[i] != NULL; i++) {
            json_write_string(&writer, NULL, spec->agents[i]);
        }
        json_end_array(&writer);
    }
    json_write_int(&writer, "created_ns", clock_now(clock_system()));
    json_write_int(&writer, "expires_ns", spec->expires_ns);
    token_keys_write(&writer, spec->signing, spec->public_key, ret_secret);
    json_end_object(&writer);
}

/* ---- Who asks and who decides --------------------------------------------------------------- */

/** A look at all tokens of agents. */
struct token_search {
    const char *person; /**< without "user:" */
    const char *agent_id;
    const char *parent_id;
    bool is_found;
};

static bool has_agent(struct json_object *agents, const char *agent_id)
{
    for (size_t i = 0; i < json_length(agents); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(agents, i));
        if (name != NULL && strcmp(name, agent_id) == 0) {
            return true;
        }
    }
    return false;
}

static bool take_side(const struct store_document *document, void *context)
{
    struct token_search *search = context;
    auto_json struct json_object *token = NULL;
    if (json_parse(document->data, document->data_len, &token, NULL) < 0 ||
        strcmp(json_get_string(token, "scope", ""), scopes[TOKEN_AGENT].name) != 0) {
        return true;
    }
    struct json_object *agents = json_member(token, "agents");
    bool is_owner = strcmp(json_get_string(token, "person", ""), search->person) == 0;
    search->is_found =
        has_agent(agents, search->person) ||
        (is_owner && (has_agent(agents, search->agent_id) || has_agent(agents, search->parent_id)));
    return !search->is_found;
}

bool token_is_of_agent(struct store *store, const char *person, const char *agent_id,
                       const char *parent_id)
{
    const char *colon = strchr(person, ':');
    struct token_search search = {colon == NULL ? person : colon + 1, agent_id, parent_id, false};
    struct store_document_query query = {.collection = COLLECTION};
    int r = store->ops->read_documents(store, &query, take_side, &search, NULL);
    return r < 0 || search.is_found;
}

static bool take_decider(const struct store_document *document, void *context)
{
    const struct token_spec **spec = context;
    auto_json struct json_object *token = NULL;
    enum token_scope scope = TOKEN_NONE;
    if (json_parse(document->data, document->data_len, &token, NULL) == 0 &&
        token_scope_from_name(json_get_string(token, "scope", ""), &scope) && is_of_person(scope)) {
        const char *person = json_get_string(token, "person", "");
        for (size_t i = 0; (*spec)->agents[i] != NULL; i++) {
            if (strcmp((*spec)->agents[i], person) == 0) {
                *spec = NULL;
                return false;
            }
        }
    }
    return true;
}

/** An agent has no token with which it would decide, not even about what others ask. */
static int check_sides(struct store *store, const struct token_spec *spec, struct rondo_error *err)
{
    struct store_document_query query = {.collection = COLLECTION};
    const struct token_spec *left = spec;
    bool is_agent = false;
    int r = 0;
    if (is_of_person(spec->scope)) {
        is_agent = token_is_of_agent(store, person_of(spec), "", "");
    } else if (spec->scope == TOKEN_AGENT) {
        r = store->ops->read_documents(store, &query, take_decider, &left, err);
        is_agent = left == NULL;
    }
    return r == 0 && is_agent
               ? error_set(err, RONDO_ERR_INVALID,
                           "an agent and a person who decides cannot have the same name; choose "
                           "another name")
               : r;
}

int token_create(struct store *store, const struct token_spec *spec, char ret_token[TOKEN_SIZE],
                 char *ret_secret, struct rondo_error *err)
{
    char token[TOKEN_SIZE];
    char hex[DIGEST_HEX_SIZE];
    auto_buf struct buf data = {0};
    auto_buf struct buf entry = {0};
    int r = check_name(spec->name, err);
    r = r < 0 ? r : check_scope(spec, err);
    r = r < 0 ? r : check_count(store, err);
    r = r < 0 ? r : check_sides(store, spec, err);
    if (r < 0) {
        return r;
    }
    make_text(token);
    digest_of(token, hex);
    write_document(spec, ret_secret, &data);
    buf_printf(&entry, "{\"digest\":\"%s\"}", hex);
    struct store_change changes[] = {
        {STORE_PUT, COLLECTION_NAMES, spec->name, entry.data, entry.len, 0, false},
        {STORE_PUT, COLLECTION, hex, data.data, data.len, 0, false},
    };
    bool is_applied = false;
    r = store->ops->change_documents(store, changes, 2, &is_applied, err);
    if (r == 0 && !is_applied) {
        r = error_set(err, RONDO_ERR_INVALID, "there is a token named %s already; revoke it first",
                      spec->name);
    }
    if (r == 0) {
        memcpy(ret_token, token, sizeof(token));
    }
    explicit_bzero(token, sizeof(token));
    explicit_bzero(data.data, data.len);
    return r;
}

/** One document, copied. */
struct copied {
    char *data;
    size_t len;
    uint64_t version;
    int64_t updated_ns;
};

static bool copy_document(const struct store_document *document, void *context)
{
    struct copied *copied = context;
    copied->data = memory_dup_bytes(document->data, document->data_len);
    copied->len = document->data_len;
    copied->version = document->version;
    copied->updated_ns = document->updated_ns;
    return false;
}

static int get(struct store *store, const char *collection, const char *key,
               struct copied *ret_copied, struct rondo_error *err)
{
    struct store_document_query query = {.collection = collection, .key = key, .limit = 1};
    return store->ops->read_documents(store, &query, copy_document, ret_copied, err);
}

int token_revoke(struct store *store, const char *name, struct rondo_error *err)
{
    struct copied entry = {0};
    int r = check_name(name, err);
    r = r < 0 ? r : get(store, COLLECTION_NAMES, name, &entry, err);
    if (r < 0) {
        return r;
    }
    auto_free char *data = entry.data;
    auto_json struct json_object *object = NULL;
    if (data == NULL || json_parse(data, entry.len, &object, err) < 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no token named %s", name);
    }
    const char *hex = json_get_string(object, "digest", "-");
    struct store_change changes[] = {
        {STORE_DELETE, COLLECTION_NAMES, name, NULL, 0, STORE_ANY_VERSION, false},
        {STORE_DELETE, COLLECTION, hex, NULL, 0, STORE_ANY_VERSION, false},
        {STORE_DELETE, COLLECTION_USE, hex, NULL, 0, STORE_ANY_VERSION, false},
    };
    bool is_applied = false;
    return store->ops->change_documents(store, changes, 3, &is_applied, err);
}

/** @return 1 it is done, 0 somebody changed it meanwhile, or a code */
static int try_rotate(struct store *store, const char *hex, int64_t now_ns, int64_t overlap_ns,
                      char *ret_secret, struct rondo_error *err)
{
    struct copied found = {0};
    auto_json struct json_object *token = NULL;
    bool is_applied = false;
    int r = get(store, COLLECTION, hex, &found, err);
    auto_free char *data = found.data;
    r = r < 0 ? r : data == NULL ? RONDO_ERR_NOT_FOUND : json_parse(data, found.len, &token, err);
    r = r < 0 ? r : token_keys_rotate(token, now_ns, overlap_ns, ret_secret, err);
    if (r < 0) {
        return r;
    }
    const char *text = json_object_to_json_string_ext(token, JSON_C_TO_STRING_PLAIN);
    struct store_change change = {
        STORE_PUT, COLLECTION, hex, text, strlen(text), (int64_t)found.version, false};
    r = store->ops->change_documents(store, &change, 1, &is_applied, err);
    return r < 0 ? r : is_applied ? 1 : 0;
}

int token_rotate(struct store *store, const char *name, int64_t now_ns, int64_t overlap_ns,
                 char *ret_secret, struct rondo_error *err)
{
    struct copied entry = {0};
    auto_json struct json_object *object = NULL;
    int r = check_name(name, err);
    r = r < 0 ? r : get(store, COLLECTION_NAMES, name, &entry, err);
    if (r < 0) {
        return r;
    }
    auto_free char *data = entry.data;
    if (data == NULL || json_parse(data, entry.len, &object, NULL) < 0) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no token named %s", name);
    }
    for (r = 0; r == 0;) { /* Who was faster has rotated it, too: that happens TOKEN_KEYS times. */
        r = try_rotate(store, json_get_string(object, "digest", "-"), now_ns, overlap_ns,
                       ret_secret, err);
    }
    if (r == RONDO_ERR_NOT_FOUND) {
        return error_set(err, r, "there is no token named %s", name);
    }
    return r < 0 ? r : 0;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

struct token_listing {
    struct json_object *uses;   /* digest to time of the last use */
    struct json_object *tokens; /* name to object, which sorts them */
};

static bool take_use(const struct store_document *document, void *context)
{
    struct token_listing *listing = context;
    json_object_object_add(listing->uses, document->key,
                           json_object_new_int64(document->updated_ns));
    return true;
}

static bool take_token(const struct store_document *document, void *context)
{
    struct token_listing *listing = context;
    struct json_object *token = NULL;
    if (json_parse(document->data, document->data_len, &token, NULL) == 0) {
        json_object_object_add(
            token, "last_used_ns",
            json_object_new_int64(json_get_int(listing->uses, document->key, 0)));
        json_object_array_add(listing->tokens, token);
    }
    return true;
}

static void write_token(struct json_object *token, struct json_writer *writer)
{
    struct json_object *agents = NULL;
    json_object_object_get_ex(token, "agents", &agents);
    json_begin_object(writer, NULL);
    json_write_string(writer, "name", json_get_string(token, "name", "?"));
    json_write_string(writer, "scope", json_get_string(token, "scope", "?"));
    json_write_string(writer, "person", json_get_string(token, "person", NULL));
    json_write_string(writer, "signing", json_get_string(token, "signing", "none"));
    json_write_raw(writer, "agents",
                   agents == NULL
                       ? "null"
                       : json_object_to_json_string_ext(
                             agents, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_write_time(writer, "created", json_get_int(token, "created_ns", 0));
    json_write_time(writer, "expires", json_get_int(token, "expires_ns", 0));
    json_write_time(writer, "last_used", json_get_int(token, "last_used_ns", 0));
    json_end_object(writer);
}

static int compare_names(const void *a, const void *b)
{
    struct json_object *const *left = a;
    struct json_object *const *right = b;
    return strcmp(json_get_string(*left, "name", ""), json_get_string(*right, "name", ""));
}

int token_list(struct store *store, struct buf *ret_json, struct rondo_error *err)
{
    auto_json struct json_object *uses = json_object_new_object();
    auto_json struct json_object *tokens = json_object_new_array();
    struct token_listing listing = {uses, tokens};
    struct store_document_query query = {.collection = COLLECTION_USE};
    int r = store->ops->read_documents(store, &query, take_use, &listing, err);
    if (r == 0) {
        query.collection = COLLECTION;
        r = store->ops->read_documents(store, &query, take_token, &listing, err);
    }
    if (r < 0) {
        return r;
    }
    json_object_array_sort(tokens, compare_names);
    struct json_writer writer = json_writer(ret_json);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < json_object_array_length(tokens); i++) {
        write_token(json_object_array_get_idx(tokens, i), &writer);
    }
    json_end_array(&writer);
    return 0;
}

/* ---- Checking ------------------------------------------------------------------------------- */

/** Of the digest, where its use is remembered. */
static uint64_t use_of(const char *hex)
{
    uint64_t id = 0;
    for (size_t i = 0; i < 16; i++) {
        id = id << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    }
    return id;
}

void token_note_use(struct store *store, struct token_uses *uses, const char *hex, int64_t now_ns)
{
    struct copied use = {0};
    uint64_t id = use_of(hex);
    struct token_use *known = &uses->uses[id % TOKEN_USES];
    bool is_known = atomic_load(&known->id) == id && now_ns - atomic_load(&known->time_ns) < USE_NS;
    if (is_known || hex[0] == '\0') {
        return;
    }
    atomic_store(&known->time_ns, now_ns);
    atomic_store(&known->id, id);
    if (get(store, COLLECTION_USE, hex, &use, NULL) < 0) {
        return;
    }
    bool is_fresh = use.data != NULL && now_ns - use.updated_ns < USE_NS;
    free(use.data);
    if (!is_fresh) {
        bool is_applied = false;
        struct store_change change = {STORE_PUT, COLLECTION_USE,    hex,  "{}",
                                      2,         STORE_ANY_VERSION, false};
        store->ops->change_documents(store, &change, 1, &is_applied, NULL);
    }
}

static void read_grant(struct json_object *token, struct token_grant *grant)
{
    struct json_object *agents = NULL;
    snprintf(grant->name, sizeof(grant->name), "token %.*s", NAME_LEN,
             json_get_string(token, "name", "?"));
    if (!json_object_object_get_ex(token, "agents", &agents) || agents == NULL) {
        return;
    }
    bool is_array = json_object_is_type(agents, json_type_array);
    size_t count = is_array ? json_object_array_length(agents) : 0;
    grant->agents = memory_new_zero(count + 1, sizeof(*grant->agents));
    for (size_t i = 0; i < count; i++) {
        grant->agents[i] =
            memory_dup_string(json_object_get_string(json_object_array_get_idx(agents, i)));
    }
}

static bool is_over(struct json_object *token, int64_t now_ns)
{
    int64_t expires_ns = json_get_int(token, "expires_ns", 1);
    return expires_ns != 0 && expires_ns <= now_ns;
}

bool token_still_counts(struct store *store, const char *digest, int64_t now_ns)
{
    struct copied found = {0};
    if (get(store, COLLECTION, digest, &found, NULL) < 0) {
        return true;
    }
    auto_free char *data = found.data;
    auto_json struct json_object *object = NULL;
    return data != NULL && json_parse(data, found.len, &object, NULL) == 0 &&
           !is_over(object, now_ns);
}

int token_check(struct store *store, const char *token, int64_t now_ns,
                struct token_grant *ret_grant, struct rondo_error *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct copied found = {0};
    *ret_grant = (struct token_grant){0};
    size_t len = strlen(token);
    if (len >= TOKEN_SIZE || strncmp(token, PREFIX, strlen(PREFIX)) != 0) {
        return 0;
    }
    digest_of(token, hex);
    int r = get(store, COLLECTION, hex, &found, err);
    if (r < 0 || found.data == NULL) {
        return r;
    }
    auto_free char *data = found.data;
    auto_json struct json_object *object = NULL;
    enum token_scope scope = TOKEN_NONE;
    r = json_parse(data, found.len, &object, err);
    if (r < 0) {
        return r;
    }
    if (is_over(object, now_ns) ||
        !token_scope_from_name(json_get_string(object, "scope", ""), &scope)) {
        return 0;
    }
    read_grant(object, ret_grant);
    ret_grant->scope = scope;
    ret_grant->rights = token_scope_rights(scope);
    if (is_of_person(scope)) {
        snprintf(ret_grant->person, sizeof(ret_grant->person), "user:%.*s", NAME_LEN,
                 json_get_string(object, "person", json_get_string(object, "name", "?")));
    }
    const char *person = json_get_string(object, "person", "");
    if (scope == TOKEN_AGENT && person[0] != '\0') {
        snprintf(ret_grant->owner, sizeof(ret_grant->owner), "user:%.*s", NAME_LEN, person);
    }
    token_keys_read(object, now_ns, &ret_grant->keys);
    memcpy(ret_grant->digest, hex, sizeof(hex));
    return 0;
}
