// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a desk file. It decides who decides, so it is read strictly: what is not known, given
 * twice or of another kind is an error with its line, and then nothing of the file counts.
 */
#include "handoff/desks/internal.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/plain.h"
#include "handoff/identity.h"
#include "role/yaml.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FORMAT 1

struct reader {
    struct desks *desks;
    const char *name;
    struct rondo_error *err;
};

typedef int read_fn(struct reader *reader, const struct yaml_node *node, void *target);

/** A key of a map, and what its value becomes. */
struct desks_key {
    const char *name;
    read_fn *read;
    size_t offset;
};

#define KEY(name, read, type, member)      \
    {                                      \
        name, read, offsetof(type, member) \
    }

/* ---- Values --------------------------------------------------------------------------------- */

static int refuse(struct reader *reader, const struct yaml_node *node, int code, const char *why)
{
    return error_set(reader->err, (enum rondo_code)code, "%s:%zu: %s", reader->name,
                     node == NULL ? 1 : node->line, why);
}

static int refuse_value(struct reader *reader, const struct yaml_node *node, const char *wanted)
{
    char message[240];
    auto_buf struct buf shown = {0};
    yaml_describe(node, &shown);
    snprintf(message, sizeof(message), "%s is not %s", buf_string(&shown), wanted);
    return refuse(reader, node, RONDO_ERR_INVALID, message);
}

/** Names of people, roles, desks and rules: they are copied into records, and shown. */
static int read_name(struct reader *reader, const struct yaml_node *node, void *target)
{
    const char **name = target;
    auto_buf struct buf clean = {0};
    bool is_fit = node->kind == YAML_TEXT && node->len > 0 && node->len <= LIMIT_AGENT_ID_LEN &&
                  strlen(node->text) == node->len && strchr(node->text, ':') == NULL;
    for (size_t i = 0; is_fit && i < node->len; i++) {
        is_fit = (unsigned char)node->text[i] > ' ' && node->text[i] != 127;
    }
    if (!is_fit) {
        return refuse_value(reader, node, "a name: 1 to 128 bytes without spaces and colons");
    }
    text_clean(node->text, node->len, &clean);
    if (strcmp(buf_string(&clean), node->text) != 0) { /* It could look like another one. */
        return refuse_value(reader, node, "a name: it has characters that are not seen");
    }
    *name = node->text;
    return 0;
}

static int read_glob(struct reader *reader, const struct yaml_node *node, void *target)
{
    const char **glob = target;
    if (node->kind != YAML_TEXT || node->len == 0 || node->len > LIMIT_AGENT_ID_LEN ||
        strlen(node->text) != node->len) {
        return refuse_value(reader, node, "a name or a pattern of at most 128 bytes");
    }
    *glob = node->text;
    return 0;
}

static int read_level(struct reader *reader, const struct yaml_node *node, void *target)
{
    enum handoff_level *level = target;
    for (int i = 0; i < HANDOFF_LEVEL_COUNT && node->kind == YAML_TEXT; i++) {
        if (strcmp(node->text, handoff_level_name((enum handoff_level)i)) == 0) {
            *level = (enum handoff_level)i;
            return 0;
        }
    }
    return refuse_value(reader, node, "low, medium, high or critical");
}

static int read_list(struct reader *reader, const struct yaml_node *node, size_t most,
                     read_fn *read, struct desks_names *ret_names)
{
    if (node->kind != YAML_LIST) {
        return refuse_value(reader, node, "a list");
    }
    if (node->count > most) {
        char message[80];
        snprintf(message, sizeof(message), "the list has %zu entries; the limit is %zu",
                 node->count, most);
        return refuse(reader, node, RONDO_ERR_LIMIT, message);
    }
    int r = 0;
    ret_names->names =
        arena_new_array(&reader->desks->arena, node->count + 1, sizeof(*ret_names->names));
    ret_names->count = node->count;
    for (size_t i = 0; i < node->count && r == 0; i++) {
        r = read(reader, node->items[i], &ret_names->names[i]);
    }
    return r;
}

static int read_names(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_list(reader, node, LIMIT_DESKS_NAMES, read_name, target);
}

static int read_integer(struct reader *reader, const struct yaml_node *node, int64_t low,
                        int64_t high, uint32_t *ret_number)
{
    char wanted[64];
    if (node->kind != YAML_INTEGER || node->integer < low || node->integer > high) {
        snprintf(wanted, sizeof(wanted), "a number from %" PRId64 " to %" PRId64, low, high);
        return refuse_value(reader, node, wanted);
    }
    *ret_number = (uint32_t)node->integer;
    return 0;
}

static int read_percent(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_integer(reader, node, 1, 99, target);
}

static int read_approvals(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_integer(reader, node, 1, HANDOFF_MOST_APPROVALS, target);
}

static int read_hops(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_integer(reader, node, 0, HANDOFF_MOST_DESKS - 1, target);
}

static int read_rework(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_integer(reader, node, 0, LIMIT_DESKS_REWORK, target);
}

static int read_steps(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_integer(reader, node, 0, LIMIT_DESKS_LADDER, target);
}

static int read_bound(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_integer(reader, node, 1, LIMIT_HANDOFFS_SETTABLE, target);
}

static int read_duration(struct reader *reader, const struct yaml_node *node, void *target)
{
    int64_t duration_ns = 0;
    bool is_text = node->kind == YAML_TEXT || node->kind == YAML_INTEGER;
    if (!is_text || parse_duration(node->text, &duration_ns, NULL) < 0 || duration_ns < NS_PER_S) {
        return refuse_value(reader, node, "a duration from 1s to 366d, such as 4h");
    }
    *(int64_t *)target = duration_ns;
    return 0;
}

/* ---- Maps ----------------------------------------------------------------------------------- */

static int refuse_key(struct reader *reader, const struct yaml_pair *pair,
                      const struct desks_key *keys, size_t count)
{
    char message[300];
    auto_buf struct buf known = {0};
    for (size_t i = 0; i < count; i++) {
        buf_printf(&known, "%s%s", i == 0 ? "" : ", ", keys[i].name);
    }
    snprintf(message, sizeof(message), "\"%.60s\" is not known here; known are %s",
             pair->key->text == NULL ? "" : pair->key->text, buf_string(&known));
    return refuse(reader, pair->key, RONDO_ERR_INVALID, message);
}

static int refuse_repeated(struct reader *reader, const struct yaml_pair *pair)
{
    char message[120];
    snprintf(message, sizeof(message), "\"%.60s\" is given twice", pair->key->text);
    return refuse(reader, pair->key, RONDO_ERR_INVALID, message);
}

static int check_map(struct reader *reader, const struct yaml_node *node)
{
    if (node->kind != YAML_MAP) {
        return refuse_value(reader, node, "a map");
    }
    for (size_t i = 0; i < node->count; i++) {
        if (node->pairs[i].key->kind != YAML_TEXT) {
            return refuse_value(reader, node->pairs[i].key, "a name");
        }
        if (node->pairs[i].repeated != NULL) {
            return refuse_repeated(reader, &node->pairs[i]);
        }
    }
    return 0;
}

static int read_map(struct reader *reader, const struct yaml_node *node,
                    const struct desks_key *keys, size_t count, void *target)
{
    int r = check_map(reader, node);
    for (size_t i = 0; r == 0 && i < node->count; i++) {
        const struct yaml_pair *pair = &node->pairs[i];
        size_t k = 0;
        while (k < count && strcmp(keys[k].name, pair->key->text) != 0) {
            k++;
        }
        r = k == count ? refuse_key(reader, pair, keys, count)
                       : keys[k].read(reader, pair->value, (char *)target + keys[k].offset);
    }
    return r;
}

#define READ_MAP(reader, node, keys, target) \
    read_map(reader, node, keys, sizeof(keys) / sizeof((keys)[0]), target)

/** Room for the entries of a list or map. */
static int make_room(struct reader *reader, const struct yaml_node *node, size_t most, size_t size,
                     void **ret_entries, size_t *ret_count)
{
    char message[80];
    if (node->count > most) {
        snprintf(message, sizeof(message), "there are %zu entries; the limit is %zu", node->count,
                 most);
        return refuse(reader, node, RONDO_ERR_LIMIT, message);
    }
    *ret_entries = arena_new_array(&reader->desks->arena, node->count + 1, size);
    memset(*ret_entries, 0, (node->count + 1) * size);
    *ret_count = node->count;
    return 0;
}

/* ---- Sections ------------------------------------------------------------------------------- */

static int read_people(struct reader *reader, const struct yaml_node *node, void *target)
{
    static const struct desks_key keys[] = {
        KEY("roles", read_names, struct desks_person, roles),
        KEY("may_decide", read_level, struct desks_person, may_decide),
    };
    struct desks *desks = target;
    void *room = NULL;
    int r = check_map(reader, node);
    r = r < 0 ? r
              : make_room(reader, node, LIMIT_DESKS_PEOPLE, sizeof(*desks->people), &room,
                          &desks->person_count);
    desks->people = room;
    for (size_t i = 0; r == 0 && i < node->count; i++) {
        struct desks_person *person = &desks->people[i];
        person->may_decide = HANDOFF_CRITICAL;
        r = read_name(reader, node->pairs[i].key, &person->name);
        r = r < 0 ? r : READ_MAP(reader, node->pairs[i].value, keys, person);
    }
    return r;
}

static int read_desks(struct reader *reader, const struct yaml_node *node, void *target)
{
    static const struct desks_key keys[] = {
        KEY("roles", read_names, struct desk, roles),
        KEY("people", read_names, struct desk, people),
        KEY("escalates_to", read_name, struct desk, escalates_to),
    };
    struct desks *desks = target;
    void *room = NULL;
    int r = check_map(reader, node);
    r = r < 0 ? r
              : make_room(reader, node, LIMIT_DESKS, sizeof(*desks->desks), &room,
                          &desks->desk_count);
    desks->desks = room;
    for (size_t i = 0; r == 0 && i < node->count; i++) {
        r = read_name(reader, node->pairs[i].key, &desks->desks[i].name);
        r = r < 0 ? r : READ_MAP(reader, node->pairs[i].value, keys, &desks->desks[i]);
    }
    return r;
}

static int read_routing(struct reader *reader, const struct yaml_node *node, void *target)
{
    static const struct desks_key keys[] = {
        KEY("id", read_name, struct desks_route_rule, id),
        KEY("agent", read_glob, struct desks_route_rule, agent),
        KEY("tool", read_glob, struct desks_route_rule, tool),
        KEY("risk", read_level, struct desks_route_rule, risk),
        KEY("desk", read_name, struct desks_route_rule, desk),
    };
    struct desks *desks = target;
    void *room = NULL;
    if (node->kind != YAML_LIST) {
        return refuse_value(reader, node, "a list of rules");
    }
    int r =
        make_room(reader, node, LIMIT_DESKS, sizeof(*desks->routes), &room, &desks->route_count);
    desks->routes = room;
    for (size_t i = 0; r == 0 && i < node->count; i++) {
        r = READ_MAP(reader, node->items[i], keys, &desks->routes[i]);
        if (r == 0 && (desks->routes[i].id == NULL || desks->routes[i].desk == NULL)) {
            r = refuse(reader, node->items[i], RONDO_ERR_INVALID,
                       "a rule of routing needs an id and a desk");
        }
    }
    return r;
}

static int read_pointer(struct reader *reader, const struct yaml_node *node, void *target)
{
    const char **pointer = target;
    if (node->kind != YAML_TEXT || strlen(node->text) != node->len ||
        !redact_is_pointer(node->text)) {
        return refuse_value(reader, node,
                            "a JSON pointer into a request, such as /action/args/password");
    }
    *pointer = node->text;
    return 0;
}

static int read_pointers(struct reader *reader, const struct yaml_node *node, void *target)
{
    return read_list(reader, node, LIMIT_DESKS_NAMES, read_pointer, target);
}

static int read_redaction(struct reader *reader, const struct yaml_node *node, void *target)
{
    static const struct desks_key keys[] = {
        KEY("agent", read_glob, struct desks_redaction, rule.agent),
        KEY("tool", read_glob, struct desks_redaction, rule.tool),
        KEY("pointers", read_pointers, struct desks_redaction, pointers),
        KEY("hidden_from", read_names, struct desks_redaction, hidden_from),
        KEY("reveal", read_names, struct desks_redaction, reveal),
    };
    struct desks *desks = target;
    void *room = NULL;
    if (node->kind != YAML_LIST) {
        return refuse_value(reader, node, "a list of rules");
    }
    int r = make_room(reader, node, LIMIT_DESKS, sizeof(*desks->redactions), &room,
                      &desks->redaction_count);
    desks->redactions = room;
    desks->redact_rules =
        arena_new_array(&desks->arena, node->count + 1, sizeof(*desks->redact_rules));
    for (size_t i = 0; r == 0 && i < node->count; i++) {
        struct desks_redaction *redaction = &desks->redactions[i];
        r = READ_MAP(reader, node->items[i], keys, redaction);
        if (r == 0 && redaction->pointers.count == 0) {
            r = refuse(reader, node->items[i], RONDO_ERR_INVALID,
                       "a rule of redaction needs pointers");
        }
        redaction->rule.pointers =
            (struct redact_names){redaction->pointers.names, redaction->pointers.count};
        redaction->rule.hidden_from =
            (struct redact_names){redaction->hidden_from.names, redaction->hidden_from.count};
        redaction->rule.reveal =
            (struct redact_names){redaction->reveal.names, redaction->reveal.count};
        desks->redact_rules[i] = redaction->rule;
    }
    return r;
}

static int read_sla(struct reader *reader, const struct yaml_node *node, void *target)
{
    static const struct desks_key keys[] = {
        {"critical", read_duration, HANDOFF_CRITICAL * sizeof(int64_t)},
        {"high", read_duration, HANDOFF_HIGH * sizeof(int64_t)},
        {"medium", read_duration, HANDOFF_MEDIUM * sizeof(int64_t)},
        {"low", read_duration, HANDOFF_LOW * sizeof(int64_t)},
    };
    return READ_MAP(reader, node, keys, target);
}

static int read_rules(struct reader *reader, const struct yaml_node *node, void *target)
{
    static const struct desks_key keys[] = {
        KEY("sla", read_sla, struct handoff_rules, sla_ns),
        KEY("critical_approvals", read_approvals, struct handoff_rules, critical_approvals),
        KEY("most_hops", read_hops, struct handoff_rules, most_hops),
        KEY("most_rework", read_rework, struct handoff_rules, most_revisions),
        KEY("claim", read_duration, struct handoff_rules, claim_ns),
        KEY("info", read_duration, struct handoff_rules, info_ns),
        KEY("notify_percent", read_percent, struct handoff_rules, notify_percent),
        KEY("escalate_percent", read_percent, struct handoff_rules, escalate_percent),
        KEY("levels", read_steps, struct handoff_rules, levels),
        KEY("reminders", read_steps, struct handoff_rules, reminders),
    };
    struct handoff_rules *rules = target;
    int r = READ_MAP(reader, node, keys, rules);
    if (r == 0 && rules->notify_percent > rules->escalate_percent) {
        return refuse(reader, node, RONDO_ERR_INVALID,
                      "notify_percent must not be above escalate_percent");
    }
    if (r == 0 && rules->levels + rules->reminders == 0) {
        return refuse(reader, node, RONDO_ERR_INVALID, "levels and reminders must not both be 0");
    }
    return r;
}

static int read_on_full(struct reader *reader, const struct yaml_node *node, void *target)
{
    enum handoff_on_full *on_full = target;
    for (int i = 0; i < ON_FULL_COUNT && node->kind == YAML_TEXT; i++) {
        if (strcmp(node->text, handoff_on_full_name((enum handoff_on_full)i)) == 0) {
            *on_full = (enum handoff_on_full)i;
            return 0;
        }
    }
    return refuse_value(reader, node, "block, reject_new or shed_oldest_low");
}

/** auto_expire, escalate, or {reroute: DESK}. Another action instead is none of them: nobody has
 * decided about it, either. */
static int read_on_timeout(struct reader *reader, const struct yaml_node *node, void *target)
{
    struct handoff_rules *rules = &reader->desks->rules;
    const struct yaml_node *desk = node->kind == YAML_MAP ? yaml_get(node, "reroute") : NULL;
    const char *name = NULL;
    (void)target;
    if (desk != NULL && node->count == 1) {
        int r = read_name(reader, desk, &name);
        rules->on_timeout = ON_TIMEOUT_REROUTE;
        snprintf(rules->timeout_desk, sizeof(rules->timeout_desk), "%s", name == NULL ? "" : name);
        return r;
    }
    for (int i = 0; i < ON_TIMEOUT_COUNT && node->kind == YAML_TEXT; i++) {
        enum handoff_on_timeout on_timeout = (enum handoff_on_timeout)i;
        if (on_timeout != ON_TIMEOUT_REROUTE &&
            strcmp(node->text, handoff_on_timeout_name(on_timeout)) == 0) {
            rules->on_timeout = on_timeout;
            return 0;
        }
    }
    return refuse_value(reader, node, "auto_expire, escalate or {reroute: DESK}");
}

static int read_lanes(struct reader *reader, const struct yaml_node *node, void *target)
{
    static const struct desks_key keys[] = {
        KEY("per_lane", read_bound, struct desks_lanes, bounds.per_lane),
        KEY("per_agent", read_bound, struct desks_lanes, bounds.per_agent),
        KEY("per_store", read_bound, struct desks_lanes, bounds.per_store),
        KEY("on_full", read_on_full, struct desks_lanes, bounds.on_full),
        {"on_timeout", read_on_timeout, 0},
    };
    return READ_MAP(reader, node, keys, target);
}

static int read_format(struct reader *reader, const struct yaml_node *node, void *target)
{
    (void)target;
    return node->kind == YAML_INTEGER && node->integer == FORMAT
               ? 0
               : refuse_value(reader, node, "a format of desk files that this version reads: 1");
}

/* ---- What fits together --------------------------------------------------------------------- */

static const struct yaml_node *value_at(const struct yaml_node *root, const char *key)
{
    const struct yaml_node *value = yaml_get(root, key);
    return value == NULL ? root : value;
}

static int refuse_desk(struct reader *reader, const struct yaml_node *node, const char *desk)
{
    char message[240];
    snprintf(message, sizeof(message), "there is no desk \"%s\"", desk);
    return refuse(reader, node, RONDO_ERR_INVALID, message);
}

/** Every ladder has an end. */
static int check_ladder(struct reader *reader, const struct yaml_node *node,
                        const struct desk *desk)
{
    char message[240];
    size_t steps = 0;
    for (const struct desk *at = desk; at->escalates_to != NULL; steps++) {
        const struct desk *next = desks_find(reader->desks, at->escalates_to);
        if (next == NULL) {
            return refuse_desk(reader, node, at->escalates_to);
        }
        if (next == desk || steps > reader->desks->desk_count) {
            snprintf(message, sizeof(message), "the desk \"%s\" escalates to itself", desk->name);
            return refuse(reader, node, RONDO_ERR_INVALID, message);
        }
        at = next;
    }
    return 0;
}

static const struct desks_person *find_person(const struct desks *desks, const char *name)
{
    for (size_t i = 0; i < desks->person_count; i++) {
        if (strcmp(desks->people[i].name, name) == 0) {
            return &desks->people[i];
        }
    }
    return NULL;
}

static int check_desk(struct reader *reader, const struct yaml_node *node, const struct desk *desk)
{
    char message[240];
    for (size_t i = 0; i < desk->people.count; i++) {
        if (find_person(reader->desks, desk->people.names[i]) == NULL) {
            snprintf(message, sizeof(message), "\"%s\" is not in people", desk->people.names[i]);
            return refuse(reader, node, RONDO_ERR_INVALID, message);
        }
    }
    return check_ladder(reader, node, desk);
}

/** A role that nobody has is a typing error, which would show what must be hidden. */
static int check_roles(struct reader *reader, const struct yaml_node *node,
                       const struct desks_names *roles, bool has_star)
{
    char message[240];
    const struct desks *desks = reader->desks;
    for (size_t i = 0; i < roles->count; i++) {
        bool is_known = has_star && strcmp(roles->names[i], "*") == 0;
        for (size_t k = 0; k < desks->person_count && !is_known; k++) {
            is_known = desks_has_name(&desks->people[k].roles, roles->names[i]);
        }
        if (!is_known) {
            snprintf(message, sizeof(message), "nobody has the role \"%s\"", roles->names[i]);
            return refuse(reader, node, RONDO_ERR_INVALID, message);
        }
    }
    return 0;
}

static int check_redaction(struct reader *reader, const struct yaml_node *node,
                           const struct desks_redaction *redaction)
{
    int r = check_roles(reader, node, &redaction->hidden_from, true);
    return r < 0 ? r : check_roles(reader, node, &redaction->reveal, false);
}

static int check_all(struct reader *reader, const struct yaml_node *root)
{
    const struct desks *desks = reader->desks;
    const struct yaml_node *map = value_at(root, "desks");
    const struct yaml_node *list = value_at(root, "routing");
    int r = 0;
    for (size_t i = 0; i < desks->desk_count && r == 0; i++) {
        r = check_desk(reader, map->pairs[i].value, &desks->desks[i]);
    }
    for (size_t i = 0; i < desks->route_count && r == 0; i++) {
        if (desks_find(desks, desks->routes[i].desk) == NULL) {
            r = refuse_desk(reader, list->items[i], desks->routes[i].desk);
        }
    }
    if (r == 0 && desks->rules.on_timeout == ON_TIMEOUT_REROUTE &&
        desks_find(desks, desks->rules.timeout_desk) == NULL) {
        r = refuse_desk(reader, value_at(root, "lanes"), desks->rules.timeout_desk);
    }
    list = value_at(root, "redaction");
    for (size_t i = 0; i < desks->redaction_count && r == 0; i++) {
        r = check_redaction(reader, list->items[i], &desks->redactions[i]);
    }
    return r;
}

static int read_root(struct reader *reader, const struct yaml_node *root)
{
    static const struct desks_key keys[] = {
        {"format", read_format, 0},
        {"people", read_people, 0},
        {"desks", read_desks, 0},
        {"routing", read_routing, 0},
        {"redaction", read_redaction, 0},
        KEY("rules", read_rules, struct desks, rules),
        KEY("lanes", read_lanes, struct desks, lanes),
    };
    if (root == NULL || root->kind != YAML_MAP) {
        return refuse(reader, root, RONDO_ERR_INVALID, "a desk file is a map");
    }
    int r = READ_MAP(reader, root, keys, reader->desks);
    if (r == 0 && yaml_get(root, "format") == NULL) {
        return refuse(reader, root, RONDO_ERR_INVALID, "`format: 1` is missing");
    }
    if (r == 0 && reader->desks->desk_count == 0) {
        return refuse(reader, root, RONDO_ERR_INVALID, "there is no desk: `desks` is missing");
    }
    return r < 0 ? r : check_all(reader, root);
}

int desks_read(const char *text, size_t len, const char *name, struct desks **ret_desks,
               struct rondo_error *err)
{
    struct yaml_node *root = NULL;
    struct yaml_problem problem = {0};
    if (len > LIMIT_DESKS_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "%s has %zu bytes; the limit is %ld", name, len,
                         (long)LIMIT_DESKS_BYTES);
    }
    struct desks *desks = memory_new_zero(1, sizeof(*desks));
    struct reader reader = {desks, name, err};
    desks->rules = handoff_default_rules;
    desks->lanes = desks_default_lanes;
    handoff_digest_bytes(text, len, desks->digest);
    int r = yaml_read(text, len, 1, &desks->arena, &root, &problem);
    r = r < 0 ? error_set(err, RONDO_ERR_INVALID, "%s:%zu: %s", name, problem.line, problem.message)
              : read_root(&reader, root);
    if (r < 0) {
        desks_free(desks);
        return r;
    }
    if (desks->redaction_count > 0) {
        redact_key(desks->redact_key);
    }
    *ret_desks = desks;
    return 0;
}
