// SPDX-License-Identifier: Apache-2.0
/* The rows of the vocabulary, for what reads all of them: the lint and the writers. */
#pragma once

#include "policy/vocabulary/vocabulary.h"

/** What has attributes. Those from OWNER_AGENT on are entity types. */
enum vocabulary_owner {
    OWNER_NONE, /**< not known, or not of this vocabulary */
    OWNER_CONTEXT,
    OWNER_SYSTEM, /**< the record context.system */
    OWNER_INPUT,  /**< the record context.input */
    OWNER_AGENT,
    OWNER_GROUP,
    OWNER_RUN,
    OWNER_TOOL,
    OWNER_TOOL_GROUP,
    OWNER_MODEL,
    OWNER_MEMORY,
    OWNER_ACTION,
    VOCABULARY_OWNER_COUNT,
};

/** Actions as bits of a mask. */
#define VOCABULARY_ACTION_BIT(action) (1U << (action))
#define VOCABULARY_ALL_ACTIONS        ((1U << VOCABULARY_ACTION_COUNT) - 1)

/** The type of AgentCore's actions, and the one for `iterate` there. */
#define VOCABULARY_GROUP_TYPE "AgentCore::Action"
#define VOCABULARY_GROUP_ID   "loop___iterate"

struct vocabulary_entity {
    const char *name;              /**< "Agent" */
    enum vocabulary_owner parents; /**< type that it may be in, or OWNER_NONE */
    bool has_tags;                 /**< tags are Strings */
    const char *help;
};

struct vocabulary_attribute {
    enum vocabulary_owner owner;
    unsigned actions; /**< mask; only of context and context.input */
    const char *name;
    enum cedar_kind kind;
    enum vocabulary_owner of; /**< type of an entity, attributes of a record */
    bool is_optional;
    const char *help;
};

/** An entity type. @param owner OWNER_AGENT or above */
const struct vocabulary_entity *vocabulary_entity(enum vocabulary_owner owner);
/** @return OWNER_NONE when there is no such type */
enum vocabulary_owner vocabulary_entity_from_name(const char *name, size_t len);
/** Whether an entity of one type may be equal to or in one of another. */
bool vocabulary_can_be_in(enum vocabulary_owner owner, enum vocabulary_owner ancestor);
/** Whether a type belongs to AgentCore: known to exist, but not here. */
bool vocabulary_is_foreign(const char *type, size_t len);

/** Attributes in the order of the documentation. @return NULL after the last one */
const struct vocabulary_attribute *vocabulary_attribute_at(size_t index);
/** An attribute as it is during an action. @return NULL when there is none */
const struct vocabulary_attribute *vocabulary_attribute_find(enum vocabulary_owner owner,
                                                             enum vocabulary_action action,
                                                             const char *name, size_t len);
/** Place among the attributes of its owner, from 0. */
unsigned vocabulary_attribute_ordinal(const struct vocabulary_attribute *attribute);
/** Whether there may be attributes that are in no table: the arguments of a tool. */
bool vocabulary_is_open(enum vocabulary_owner owner, enum vocabulary_action action);

/** Type of an action's resource. */
enum vocabulary_owner vocabulary_resource_owner(enum vocabulary_action action);
/** Group of an action, an id of VOCABULARY_GROUP_TYPE, or NULL. */
const char *vocabulary_action_group(enum vocabulary_action action);
/** Mask of the actions that are this entity. @param id of `len` bytes, which may hold NULs */
unsigned vocabulary_actions_equal(const char *type, const char *id, size_t len);
/** Mask of the actions that are this entity or in it. */
unsigned vocabulary_actions_in(const char *type, const char *id, size_t len);

/** Name of a type in schemas and in what we say about types: "Long", "decimal". Static. */
const char *vocabulary_type_name(enum cedar_kind kind);
