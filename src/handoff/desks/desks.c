// SPDX-License-Identifier: Apache-2.0
/* What a desk file says: where requests go, and who may decide. */
#include "handoff/desks/desks.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/desks/internal.h"
#include "tool/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USER "user:"
#define ROLE "role:"

const struct desks_lanes desks_default_lanes = {
    .bounds = {.per_lane = LIMIT_HANDOFFS_OF_LANE,
               .per_agent = LIMIT_HANDOFFS_OF_AGENT,
               .per_store = LIMIT_HANDOFFS_OPEN},
};

void desks_free(struct desks *desks)
{
    if (desks != NULL) {
        arena_fini(&desks->arena);
        free(desks);
    }
}

bool desks_is_usable(const struct desks *desks)
{
    return desks == NULL || !desks->is_unusable;
}

const char *desks_digest(const struct desks *desks)
{
    return desks == NULL ? "" : desks->digest;
}

const struct handoff_rules *desks_rules(const struct desks *desks)
{
    return desks == NULL || desks->is_unusable ? &handoff_default_rules : &desks->rules;
}

const struct desks_lanes *desks_lanes(const struct desks *desks)
{
    return desks == NULL || desks->is_unusable ? &desks_default_lanes : &desks->lanes;
}

struct handoff_store desks_store(struct store *store, const struct desks *desks)
{
    return (struct handoff_store){.store = store,
                                  .rules = desks_rules(desks),
                                  .bounds = &desks_lanes(desks)->bounds,
                                  .desks = desks};
}

const struct desk *desks_find(const struct desks *desks, const char *name)
{
    for (size_t i = 0; i < desks->desk_count; i++) {
        if (strcmp(desks->desks[i].name, name) == 0) {
            return &desks->desks[i];
        }
    }
    return NULL;
}

bool desks_has_name(const struct desks_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/** What follows a prefix, or NULL. */
static const char *after(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/** @param name with "user:" or without */
static const struct desks_person *find_person(const struct desks *desks, const char *name)
{
    const char *short_name = after(name, USER);
    short_name = short_name == NULL ? name : short_name;
    for (size_t i = 0; i < desks->person_count; i++) {
        if (strcmp(desks->people[i].name, short_name) == 0) {
            return &desks->people[i];
        }
    }
    return NULL;
}

static bool is_role(const struct desks *desks, const char *name)
{
    for (size_t i = 0; i < desks->person_count; i++) {
        if (desks_has_name(&desks->people[i].roles, name)) {
            return true;
        }
    }
    return false;
}

/* ---- Routing -------------------------------------------------------------------------------- */

/** @return true: it is copied as a whole */
static bool give(const char *prefix, const char *name, char *ret_desk)
{
    return snprintf(ret_desk, HANDOFF_NAME_SIZE, "%s%s", prefix, name) < HANDOFF_NAME_SIZE;
}

/** The first desk with a role, or a person, of a name. */
static const struct desk *find_with(const struct desks *desks, const char *name)
{
    for (size_t i = 0; i < desks->desk_count; i++) {
        const struct desk *desk = &desks->desks[i];
        if (desks_has_name(&desk->roles, name) || desks_has_name(&desk->people, name)) {
            return desk;
        }
    }
    return NULL;
}

bool desks_resolve(const struct desks *desks, const char *name, char *ret_desk)
{
    if (desks == NULL) {
        return strcmp(name, HANDOFF_DESK) == 0 && give("", name, ret_desk);
    }
    const char *person = after(name, USER);
    const char *role = after(name, ROLE);
    if (person != NULL) {
        return find_person(desks, person) != NULL && give(USER, person, ret_desk);
    }
    if (role != NULL) {
        return is_role(desks, role) && give(ROLE, role, ret_desk);
    }
    const struct desk *desk = desks_find(desks, name);
    desk = desk != NULL ? desk : find_with(desks, name);
    if (desk != NULL) {
        return give("", desk->name, ret_desk);
    }
    if (find_person(desks, name) != NULL) {
        return give(USER, name, ret_desk);
    }
    return is_role(desks, name) && give(ROLE, name, ret_desk);
}

static bool rule_matches(const struct desks_route_rule *rule, const struct desks_request *request)
{
    return request->risk >= rule->risk &&
           (rule->agent == NULL || glob_matches(rule->agent, request->agent_id)) &&
           (rule->tool == NULL || glob_matches(rule->tool, request->tool));
}

/** The first rule that matches; else the one that the request names. */
static const struct desks_route_rule *find_rule(const struct desks *desks,
                                                const struct desks_request *request)
{
    for (size_t i = 0; desks != NULL && i < desks->route_count; i++) {
        if (rule_matches(&desks->routes[i], request)) {
            return &desks->routes[i];
        }
    }
    for (size_t i = 0;
         desks != NULL && request->routing_policy_id != NULL && i < desks->route_count; i++) {
        if (strcmp(desks->routes[i].id, request->routing_policy_id) == 0) {
            return &desks->routes[i];
        }
    }
    return NULL;
}

bool desks_route(const struct desks *desks, const struct desks_request *request, char *ret_desk,
                 const char **ret_rule)
{
    const char *ignored = NULL;
    const struct desks_route_rule *rule = find_rule(desks, request);
    ret_rule = ret_rule == NULL ? &ignored : ret_rule;
    if (rule != NULL) {
        *ret_rule = rule->id;
        return give("", rule->desk, ret_desk);
    }
    *ret_rule = "supervisors";
    for (size_t i = 0; desks != NULL && i < request->supervisor_count; i++) {
        if (desks_resolve(desks, request->supervisors[i], ret_desk)) {
            return true;
        }
    }
    *ret_rule = "default";
    return (desks == NULL || desks_find(desks, HANDOFF_DESK) != NULL) &&
           give("", HANDOFF_DESK, ret_desk);
}

/* ---- People --------------------------------------------------------------------------------- */

bool desks_person(const struct desks *desks, const char *person, struct desks_names *ret_roles)
{
    const struct desks_person *found =
        desks == NULL || after(person, USER) == NULL ? NULL : find_person(desks, person);
    *ret_roles = found == NULL ? (struct desks_names){0} : found->roles;
    return desks == NULL || found != NULL;
}

static bool share_role(const struct desks_names *a, const struct desks_names *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (desks_has_name(b, a->names[i])) {
            return true;
        }
    }
    return false;
}

bool desks_is_on(const struct desks *desks, const char *person, const char *desk)
{
    struct desks_names roles;
    if (desks == NULL) {
        return true;
    }
    if (!desks_person(desks, person, &roles)) {
        return false;
    }
    if (after(desk, USER) != NULL) {
        return strcmp(desk, person) == 0;
    }
    if (after(desk, ROLE) != NULL) {
        return desks_has_name(&roles, after(desk, ROLE));
    }
    const struct desk *found = desks_find(desks, desk);
    return found != NULL && (desks_has_name(&found->people, after(person, USER)) ||
                             share_role(&roles, &found->roles));
}

/** Where a desk escalates to. A person's own desk, or one that the file has no longer, escalates to
 * the desk of everything else. */
static const char *next_of(const struct desks *desks, const char *name)
{
    const struct desk *desk = desks_find(desks, name);
    if (desk != NULL) {
        return desk->escalates_to;
    }
    return desks_find(desks, HANDOFF_DESK) == NULL ? NULL : HANDOFF_DESK;
}

size_t desks_of(const struct desks *desks, const struct handoff *handoff, const char **ret_desks)
{
    size_t count = 0;
    char known[HANDOFF_NAME_SIZE];
    uint32_t steps = handoff->escalation_level;
    if (handoff->desk_count == 0) {
        return 0;
    }
    const char *desk = handoff->desks[handoff->desk_count - 1];
    ret_desks[count++] = desk;
    if (desks == NULL) {
        return count;
    }
    steps += desks_resolve(desks, desk, known) ? 0 : 1; /* The file has it no longer. */
    while (steps-- > 0 && count < HANDOFF_MOST_DESKS && (desk = next_of(desks, desk)) != NULL) {
        ret_desks[count++] = desk;
    }
    return count;
}

struct handoff_actor desks_actor(const struct desks *desks, const char *person,
                                 const struct handoff *handoff)
{
    const char *of[HANDOFF_MOST_DESKS];
    struct handoff_actor actor = {.id = person};
    size_t count = desks_of(desks, handoff, of);
    const struct desks_person *found = desks == NULL ? NULL : find_person(desks, person);
    for (size_t i = 0; i < count && !actor.is_assignee; i++) {
        actor.is_assignee = desks_is_on(desks, person, of[i]);
    }
    actor.may_decide = desks == NULL || (found != NULL && found->may_decide >= handoff->risk);
    return actor;
}

const char *desks_role(const struct desks *desks, const char *person, const struct handoff *handoff)
{
    const char *of[HANDOFF_MOST_DESKS];
    struct desks_names roles;
    (void)desks_person(desks, person, &roles);
    size_t count = desks == NULL ? 0 : desks_of(desks, handoff, of);
    for (size_t i = 0; i < count; i++) {
        const struct desk *desk = desks_find(desks, of[i]);
        for (size_t k = 0; k < roles.count; k++) {
            const char *role = after(of[i], ROLE);
            if ((desk != NULL && desks_has_name(&desk->roles, roles.names[k])) ||
                (role != NULL && strcmp(role, roles.names[k]) == 0)) {
                return roles.names[k];
            }
        }
    }
    return roles.count > 0 ? roles.names[0] : "operator";
}

/* ---- What is hidden ------------------------------------------------------------------------- */

struct redact_view desks_view(const struct desks *desks, const char *viewer, const char *agent,
                              const char *tool)
{
    static const char *const all[] = {"/*"};
    static const struct redact_rule everything = {.pointers = {all, 1}};
    struct redact_view view = {.agent = agent, .tool = tool};
    struct desks_names roles = {0};
    if (!desks_is_usable(desks)) {
        view.rules = &everything;
        view.count = 1;
    } else if (desks != NULL) {
        view.rules = desks->redact_rules;
        view.count = desks->redaction_count;
        memcpy(view.key, desks->redact_key, sizeof(view.key));
        (void)(viewer != NULL && desks_person(desks, viewer, &roles));
        view.roles = (struct redact_names){roles.names, roles.count};
    }
    return view;
}

/* ---- Showing -------------------------------------------------------------------------------- */

static void write_names(struct json_writer *writer, const char *key,
                        const struct desks_names *names)
{
    json_begin_array(writer, key);
    for (size_t i = 0; i < names->count; i++) {
        json_write_string(writer, NULL, names->names[i]);
    }
    json_end_array(writer);
}

static void write_people(struct json_writer *writer, const struct desks *desks)
{
    json_begin_object(writer, "people");
    for (size_t i = 0; i < desks->person_count; i++) {
        json_begin_object(writer, desks->people[i].name);
        write_names(writer, "roles", &desks->people[i].roles);
        json_write_string(writer, "may_decide", handoff_level_name(desks->people[i].may_decide));
        json_end_object(writer);
    }
    json_end_object(writer);
}

static void write_desks(struct json_writer *writer, const struct desks *desks)
{
    json_begin_object(writer, "desks");
    for (size_t i = 0; i < desks->desk_count; i++) {
        const struct desk *desk = &desks->desks[i];
        json_begin_object(writer, desk->name);
        write_names(writer, "roles", &desk->roles);
        write_names(writer, "people", &desk->people);
        if (desk->escalates_to != NULL) {
            json_write_string(writer, "escalates_to", desk->escalates_to);
        }
        json_end_object(writer);
    }
    json_end_object(writer);
    json_begin_array(writer, "routing");
    for (size_t i = 0; i < desks->route_count; i++) {
        const struct desks_route_rule *rule = &desks->routes[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "id", rule->id);
        json_write_string(writer, "agent", rule->agent == NULL ? "*" : rule->agent);
        json_write_string(writer, "tool", rule->tool == NULL ? "*" : rule->tool);
        json_write_string(writer, "risk", handoff_level_name(rule->risk));
        json_write_string(writer, "desk", rule->desk);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_redaction(struct json_writer *writer, const struct desks *desks)
{
    json_begin_array(writer, "redaction");
    for (size_t i = 0; i < desks->redaction_count; i++) {
        const struct desks_redaction *redaction = &desks->redactions[i];
        json_begin_object(writer, NULL);
        json_write_string(writer, "agent",
                          redaction->rule.agent == NULL ? "*" : redaction->rule.agent);
        json_write_string(writer, "tool",
                          redaction->rule.tool == NULL ? "*" : redaction->rule.tool);
        write_names(writer, "pointers", &redaction->pointers);
        write_names(writer, "hidden_from", &redaction->hidden_from);
        write_names(writer, "reveal", &redaction->reveal);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void desks_write(const struct desks *desks, struct buf *ret_json)
{
    static const struct desks nothing = {0};
    const struct handoff_rules *rules = desks_rules(desks);
    const struct desks_lanes *lanes = desks_lanes(desks);
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "digest", desks_digest(desks));
    write_people(&writer, desks == NULL ? &nothing : desks);
    write_desks(&writer, desks == NULL ? &nothing : desks);
    write_redaction(&writer, desks == NULL ? &nothing : desks);
    json_begin_object(&writer, "sla_seconds");
    for (int i = HANDOFF_LEVEL_COUNT - 1; i >= 0; i--) {
        json_write_int(&writer, handoff_level_name((enum handoff_level)i),
                       rules->sla_ns[i] / NS_PER_S);
    }
    json_end_object(&writer);
    json_write_int(&writer, "critical_approvals", rules->critical_approvals);
    json_write_int(&writer, "most_hops", rules->most_hops);
    json_write_int(&writer, "most_rework", rules->most_revisions);
    json_write_int(&writer, "per_lane", lanes->bounds.per_lane);
    json_write_int(&writer, "per_agent", lanes->bounds.per_agent);
    json_write_int(&writer, "per_store", lanes->bounds.per_store);
    json_write_string(&writer, "on_full", handoff_on_full_name(lanes->bounds.on_full));
    json_write_string(&writer, "on_timeout", handoff_on_timeout_name(rules->on_timeout));
    if (rules->on_timeout == ON_TIMEOUT_REROUTE) {
        json_write_string(&writer, "timeout_desk", rules->timeout_desk);
    }
    json_end_object(&writer);
}
