// SPDX-License-Identifier: Apache-2.0
/*
 * From libyaml's events to a tree. Nodes are made once; an alias is the same node again, so memory
 * is bounded by the text, and what walking the tree costs by LIMIT_YAML_NODES.
 */
#include "role/yaml.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/** Room for children while their number is not known. */
struct children {
    struct yaml_node **items;
    size_t count;
    size_t room;
};

struct anchor {
    char *name;
    struct yaml_node *node; /**< NULL while what it names is still being read */
};

struct yaml_reader {
    yaml_parser_t parser;
    struct arena *arena;
    size_t first_line;
    size_t depth;
    size_t nodes; /**< aliases counted as what they stand for */
    size_t alias_count;
    struct anchor *anchors;
    size_t anchor_count;
    struct yaml_problem *problem;
};

static int fail(struct yaml_reader *reader, const yaml_mark_t *mark, int code, const char *message)
{
    reader->problem->line = mark->line + reader->first_line;
    reader->problem->column = mark->column + 1;
    snprintf(reader->problem->message, sizeof(reader->problem->message), "%s", message);
    return code;
}

static int fail_about(struct yaml_reader *reader, const yaml_mark_t *mark, const char *format,
                      const char *word)
{
    char message[160];
    char shown[64];
    snprintf(shown, sizeof(shown), "%s", word);
    /* The format is one of two literals below. */
    snprintf(message, sizeof(message), "%s`%s`", format, shown);
    return fail(reader, mark, RONDO_ERR_INVALID, message);
}

static int next_event(struct yaml_reader *reader, yaml_event_t *event)
{
    if (yaml_parser_parse(&reader->parser, event) != 0) {
        return 0;
    }
    const yaml_parser_t *parser = &reader->parser;
    char message[160];
    snprintf(message, sizeof(message), "this is not valid YAML: %s%s%s",
             parser->problem == NULL ? "it cannot be read" : parser->problem,
             parser->context == NULL ? "" : ", ", parser->context == NULL ? "" : parser->context);
    yaml_mark_t mark = parser->error == YAML_READER_ERROR ? parser->mark : parser->problem_mark;
    return fail(reader, &mark, RONDO_ERR_INVALID, message);
}

static struct yaml_node *new_node(struct yaml_reader *reader, const yaml_mark_t *mark)
{
    struct yaml_node *node = arena_new(reader->arena, sizeof(*node));
    *node = (struct yaml_node){
        .line = mark->line + reader->first_line,
        .column = mark->column + 1,
        .size = 1,
    };
    return node;
}

static int count_nodes(struct yaml_reader *reader, const yaml_mark_t *mark, size_t count)
{
    reader->nodes += count;
    if (reader->nodes > LIMIT_YAML_NODES) {
        char message[96];
        snprintf(message, sizeof(message), "more than %d values, aliases followed",
                 LIMIT_YAML_NODES);
        return fail(reader, mark, RONDO_ERR_LIMIT, message);
    }
    return 0;
}

static int add_anchor(struct yaml_reader *reader, const yaml_mark_t *mark, const char *name,
                      size_t *ret_index)
{
    if (reader->anchor_count == LIMIT_YAML_ALIASES) {
        return fail(reader, mark, RONDO_ERR_LIMIT, "too many anchors");
    }
    for (size_t i = 0; i < reader->anchor_count; i++) {
        if (strcmp(reader->anchors[i].name, name) == 0) {
            return fail_about(reader, mark, "an earlier anchor has the name ", name);
        }
    }
    reader->anchors =
        memory_resize(reader->anchors, reader->anchor_count + 1, sizeof(*reader->anchors));
    reader->anchors[reader->anchor_count] = (struct anchor){.name = memory_dup_string(name)};
    *ret_index = reader->anchor_count++;
    return 0;
}

static int read_alias(struct yaml_reader *reader, const yaml_event_t *event,
                      struct yaml_node **ret_node)
{
    const yaml_mark_t *mark = &event->start_mark;
    const char *name = (const char *)event->data.alias.anchor;
    struct yaml_node *node = NULL;
    bool is_known = false;
    for (size_t i = 0; i < reader->anchor_count && !is_known; i++) {
        is_known = strcmp(reader->anchors[i].name, name) == 0;
        node = is_known ? reader->anchors[i].node : NULL;
    }
    if (!is_known) {
        return fail_about(reader, mark, "there is no anchor with the name ", name);
    }
    if (node == NULL) {
        return fail_about(reader, mark, "an alias within its own anchor: ", name);
    }
    if (++reader->alias_count > LIMIT_YAML_ALIASES) {
        return fail(reader, mark, RONDO_ERR_LIMIT, "too many aliases");
    }
    if (reader->depth + node->height > LIMIT_YAML_DEPTH) {
        return fail(reader, mark, RONDO_ERR_LIMIT, "nested too deeply, aliases followed");
    }
    *ret_node = node;
    return count_nodes(reader, mark, node->size);
}

static int read_scalar(struct yaml_reader *reader, const yaml_event_t *event,
                       struct yaml_node *node)
{
    size_t len = event->data.scalar.length;
    char *text = arena_new(reader->arena, len + 1);
    memcpy(text, event->data.scalar.value, len);
    text[len] = '\0';
    node->text = text;
    node->len = len;
    node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    const char *tag = (const char *)event->data.scalar.tag;
    if (!yaml_resolve(tag, reader->arena, node)) {
        return fail_about(reader, &event->start_mark, "there is no type for the tag ", tag);
    }
    return 0;
}

static int check_tag(struct yaml_reader *reader, const yaml_event_t *event, const char *tag,
                     const char *allowed)
{
    bool is_right = tag == NULL || strcmp(tag, "!") == 0 || strcmp(tag, allowed) == 0;
    return is_right
               ? 0
               : fail_about(reader, &event->start_mark, "a list or map cannot have the tag ", tag);
}

static int read_node(struct yaml_reader *reader, yaml_event_t *event, struct yaml_node **ret_node);

/** Read nodes up to the end of a list or map. */
static int read_children(struct yaml_reader *reader, yaml_event_type_t end,
                         struct children *children)
{
    for (;;) {
        yaml_event_t event;
        int r = next_event(reader, &event);
        if (r < 0) {
            return r;
        }
        if (event.type == end) {
            yaml_event_delete(&event);
            return 0;
        }
        struct yaml_node *node = NULL;
        r = read_node(reader, &event, &node);
        yaml_event_delete(&event);
        if (r < 0) {
            return r;
        }
        if (children->count == children->room) {
            children->room = children->room * 2 + 8;
            children->items =
                memory_resize(children->items, children->room, sizeof(struct yaml_node *));
        }
        children->items[children->count++] = node;
    }
}

static bool are_equal_keys(const struct yaml_node *a, const struct yaml_node *b)
{
    return a->kind == b->kind && a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/** Places of keys, so that repeated ones are found quickly: an open hash table of indices + 1. */
struct key_table {
    size_t *slots;
    size_t mask;
};

static size_t *find_slot(const struct key_table *table, const struct yaml_pair *pairs,
                         const struct yaml_node *key)
{
    uint64_t hash = hash_bytes(HASH_START, key->text, key->len);
    size_t at = (size_t)(hash ^ (hash >> 29)) & table->mask;
    while (table->slots[at] != 0 && !are_equal_keys(pairs[table->slots[at] - 1].key, key)) {
        at = (at + 1) & table->mask;
    }
    return &table->slots[at];
}

/** Pairs of a map that is being made. */
struct pairs {
    struct yaml_pair *items;
    size_t count;
    struct key_table table;
};

/** A later pair wins. @param is_own in the map itself, so that repeating it is worth a word */
static void put_pair(struct pairs *pairs, struct yaml_node *key, struct yaml_node *value,
                     bool is_own)
{
    size_t *slot = find_slot(&pairs->table, pairs->items, key);
    if (*slot == 0) {
        pairs->items[pairs->count++] = (struct yaml_pair){.key = key, .value = value};
        *slot = pairs->count;
        return;
    }
    struct yaml_pair *pair = &pairs->items[*slot - 1];
    pair->repeated = is_own ? pair->key : NULL;
    pair->key = key;
    pair->value = value;
}

static void put_map(struct pairs *pairs, const struct yaml_node *map)
{
    for (size_t i = 0; i < map->count; i++) {
        put_pair(pairs, map->pairs[i].key, map->pairs[i].value, false);
    }
}

/** Maps that `<<` names: of a list the first wins, so they are put in from the end. */
static bool put_merged(struct pairs *pairs, const struct yaml_node *value)
{
    if (value->kind == YAML_MAP) {
        put_map(pairs, value);
        return true;
    }
    for (size_t i = value->count; value->kind == YAML_LIST && i > 0; i--) {
        if (value->items[i - 1]->kind != YAML_MAP) {
            return false;
        }
        put_map(pairs, value->items[i - 1]);
    }
    return value->kind == YAML_LIST;
}

/** Most pairs that can come together. */
static size_t count_pairs(const struct children *children)
{
    size_t count = children->count / 2;
    for (size_t i = 0; i < children->count; i += 2) {
        count += children->items[i]->is_merge ? children->items[i + 1]->size : 0;
    }
    return count;
}

static int make_pairs(struct yaml_reader *reader, const struct children *children,
                      struct pairs *pairs)
{
    for (size_t i = 0; i < children->count; i += 2) {
        struct yaml_node *key = children->items[i];
        yaml_mark_t mark = {.line = key->line - reader->first_line, .column = key->column - 1};
        if (key->kind == YAML_LIST || key->kind == YAML_MAP) {
            return fail(reader, &mark, RONDO_ERR_INVALID, "a list or map cannot be a key");
        }
        if (key->problem != NULL) {
            return fail(reader, &mark, RONDO_ERR_INVALID, key->problem);
        }
        if (key->is_merge && !put_merged(pairs, children->items[i + 1])) {
            return fail(reader, &mark, RONDO_ERR_INVALID,
                        "`<<` takes a map or a list of maps; write \"<<\" for a key of that name");
        }
    }
    size_t merged = pairs->count;
    for (size_t i = 0; i < children->count; i += 2) {
        if (!children->items[i]->is_merge) {
            const size_t *slot = find_slot(&pairs->table, pairs->items, children->items[i]);
            bool was_own = *slot > merged;
            put_pair(pairs, children->items[i], children->items[i + 1], was_own);
        }
    }
    return 0;
}

static int make_map(struct yaml_reader *reader, const struct children *children,
                    struct yaml_node *node)
{
    size_t most = count_pairs(children);
    size_t slots = 4;
    while (slots < most * 2) {
        slots *= 2;
    }
    struct pairs pairs = {
        .items = arena_new_array(reader->arena, most + 1, sizeof(struct yaml_pair)),
        .table = {.slots = memory_new_zero(slots, sizeof(size_t)), .mask = slots - 1},
    };
    int r = make_pairs(reader, children, &pairs);
    free(pairs.table.slots);
    node->kind = YAML_MAP;
    node->pairs = pairs.items;
    node->count = pairs.count;
    return r;
}

static void measure(struct yaml_node *node)
{
    node->height = 1;
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *child =
            node->kind == YAML_MAP ? node->pairs[i].value : node->items[i];
        node->size += child->size + (node->kind == YAML_MAP ? 1 : 0);
        node->height = child->height + 1 > node->height ? child->height + 1 : node->height;
    }
}

static int read_collection(struct yaml_reader *reader, const yaml_event_t *event,
                           struct yaml_node *node)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    const char *tag =
        (const char *)(is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    int r = check_tag(reader, event, tag, is_map ? YAML_MAP_TAG : YAML_SEQ_TAG);
    struct children children = {0};
    if (r == 0 && ++reader->depth > LIMIT_YAML_DEPTH) {
        r = fail(reader, &event->start_mark, RONDO_ERR_LIMIT, "nested too deeply");
    }
    if (r == 0) {
        r = read_children(reader, is_map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT,
                          &children);
    }
    if (r == 0 && is_map) {
        r = make_map(reader, &children, node);
    } else if (r == 0) {
        node->kind = YAML_LIST;
        node->count = children.count;
        node->items = arena_new_array(reader->arena, children.count + 1, sizeof(*node->items));
        if (children.count > 0) {
            memcpy(node->items, children.items, children.count * sizeof(*node->items));
        }
    }
    reader->depth--;
    free(children.items);
    if (r == 0) {
        measure(node);
    }
    return r;
}

static const char *anchor_of(const yaml_event_t *event)
{
    return (const char *)(event->type == YAML_SCALAR_EVENT ? event->data.scalar.anchor
                          : event->type == YAML_MAPPING_START_EVENT
                              ? event->data.mapping_start.anchor
                              : event->data.sequence_start.anchor);
}

/** The node that an event begins. */
static int read_node(struct yaml_reader *reader, yaml_event_t *event, struct yaml_node **ret_node)
{
    if (event->type == YAML_ALIAS_EVENT) {
        return read_alias(reader, event, ret_node);
    }
    size_t index = SIZE_MAX;
    const char *name = anchor_of(event);
    int r = count_nodes(reader, &event->start_mark, 1);
    if (r == 0 && name != NULL) {
        r = add_anchor(reader, &event->start_mark, name, &index);
    }
    struct yaml_node *node = new_node(reader, &event->start_mark);
    if (r == 0) {
        r = event->type == YAML_SCALAR_EVENT ? read_scalar(reader, event, node)
                                             : read_collection(reader, event, node);
    }
    if (r == 0 && index != SIZE_MAX) {
        reader->anchors[index].node = node;
    }
    *ret_node = node;
    return r;
}

/** What is between the stream's start and end: nothing or one document. */
static int read_stream(struct yaml_reader *reader, struct yaml_node **ret_root)
{
    struct yaml_node *root = NULL;
    size_t documents = 0;
    for (;;) {
        yaml_event_t event;
        int r = next_event(reader, &event);
        if (r < 0) {
            return r;
        }
        yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1) {
            r = fail(reader, &event.start_mark, RONDO_ERR_INVALID,
                     "a second document begins here; a file has only one");
        } else if (type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT ||
                   type == YAML_MAPPING_START_EVENT || type == YAML_ALIAS_EVENT) {
            r = read_node(reader, &event, &root);
        }
        yaml_event_delete(&event);
        if (r < 0) {
            return r;
        }
        if (type == YAML_STREAM_END_EVENT) {
            *ret_root = root;
            return 0;
        }
    }
}

int yaml_read(const char *text, size_t len, size_t first_line, struct arena *arena,
              struct yaml_node **ret_root, struct yaml_problem *ret_problem)
{
    struct yaml_reader reader = {.arena = arena, .first_line = first_line, .problem = ret_problem};
    *ret_root = NULL;
    *ret_problem = (struct yaml_problem){0};
    if (yaml_parser_initialize(&reader.parser) == 0) {
        abort(); /* out of memory */
    }
    size_t mark = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* of UTF-8 */
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text + mark, len - mark);
    int r = read_stream(&reader, ret_root);
    yaml_parser_delete(&reader.parser);
    for (size_t i = 0; i < reader.anchor_count; i++) {
        free(reader.anchors[i].name);
    }
    free(reader.anchors);
    return r;
}

struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; map->kind == YAML_MAP && i < map->count; i++) {
        const struct yaml_node *name = map->pairs[i].key;
        if (name->kind == YAML_TEXT && name->len == len && memcmp(name->text, key, len) == 0) {
            return map->pairs[i].value;
        }
    }
    return NULL;
}
