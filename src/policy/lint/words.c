// SPDX-License-Identifier: Apache-2.0
/*
 * The words of a policy, read from its text: entity types, actions, annotations. The text and not
 * the tree, because literals are folded there and have lost their places. It was parsed before, so
 * the tokens are known to fit together.
 */
#include "base/auto.h"
#include "base/buf.h"
#include "base/text/suggest.h"
#include "policy/cedar/lexer.h"
#include "policy/lint/lint_internal.h"
#include "policy/vocabulary/severity.h"

#include <string.h>

/** A walk over the tokens of one policy. */
struct words {
    struct lint *lint;
    struct lexer lexer;
    struct token token;
    struct buf path; /**< of the entity or type being read */
    struct buf id;
    bool is_after_is; /**< the word before was `is` */
};

static bool is_at(const struct words *words, uint16_t punctuation)
{
    return words->token.kind == TOKEN_PUNCTUATION && words->token.punctuation == punctuation;
}

static void advance(struct words *words)
{
    words->token = lexer_next(&words->lexer);
}

static void report_type(struct lint *lint, size_t offset, const char *type, size_t len)
{
    struct suggest suggest = {.word = type, .len = len};
    for (enum vocabulary_owner i = OWNER_AGENT; i < OWNER_ACTION; i++) {
        suggest_offer(&suggest, vocabulary_entity(i)->name);
    }
    auto_buf struct buf text = {0};
    lint_quote(type, len, &text);
    suggest_write(&suggest, "", "", &text);
    lint_report(lint, true, offset, "unknown entity type %s", buf_string(&text));
}

static void report_action(struct lint *lint, size_t offset, const struct buf *path,
                          const struct buf *id)
{
    struct suggest suggest = {.word = buf_string(id), .len = id->len};
    for (enum vocabulary_action i = 0; i < VOCABULARY_ACTION_COUNT; i++) {
        suggest_offer(&suggest, vocabulary_action_name(i));
    }
    auto_buf struct buf full = {0};
    auto_buf struct buf text = {0};
    buf_append(&full, path->data, path->len);
    buf_append_string(&full, "::");
    cedar_text_write(buf_string(id), id->len, &full);
    lint_quote(full.data, full.len, &text);
    suggest_write(&suggest, "Action::\"", "\"", &text);
    lint_report(lint, true, offset, "unknown action %s", buf_string(&text));
}

/** An entity: `path` and `id` are filled. */
static void check_entity(struct words *words, size_t offset)
{
    const char *path = buf_string(&words->path);
    static const char action[] = "::Action";
    bool is_action = strcmp(path, "Action") == 0 ||
                     (words->path.len >= sizeof(action) &&
                      strcmp(path + words->path.len - (sizeof(action) - 1), action) == 0);
    if (vocabulary_is_foreign(path, words->path.len)) {
        return;
    }
    if (!is_action) {
        if (vocabulary_entity_from_name(path, words->path.len) == OWNER_NONE) {
            report_type(words->lint, offset, path, words->path.len);
        }
        return;
    }
    if (vocabulary_actions_equal(path, buf_string(&words->id), words->id.len) == 0) {
        report_action(words->lint, offset, &words->path, &words->id);
    }
}

static void check_type(struct words *words, size_t offset)
{
    const char *path = buf_string(&words->path);
    if (!vocabulary_is_foreign(path, words->path.len) &&
        vocabulary_entity_from_name(path, words->path.len) == OWNER_NONE) {
        report_type(words->lint, offset, path, words->path.len);
    }
}

static void append_token(struct words *words, struct buf *ret_text)
{
    buf_append(ret_text, words->lexer.text + words->token.begin,
               words->token.end - words->token.begin);
}

/** Take `a`, `A::B` or `A::B::"id"` and check what it names. */
static void take_path(struct words *words)
{
    size_t offset = words->token.begin;
    bool is_type = words->is_after_is;
    buf_clear(&words->path);
    buf_clear(&words->id);
    append_token(words, &words->path);
    advance(words);
    words->is_after_is = strcmp(buf_string(&words->path), "is") == 0;
    while (is_at(words, PUNCTUATION(':', ':'))) {
        advance(words);
        if (words->token.kind == TOKEN_STRING) {
            size_t unused = 0;
            lexer_unescape(words->lexer.text + words->token.begin + 1,
                           words->token.end - words->token.begin - 2, NULL, NULL, &words->id,
                           &unused);
            advance(words);
            check_entity(words, offset);
            return;
        }
        buf_append_string(&words->path, "::");
        append_token(words, &words->path);
        advance(words);
    }
    if (is_type) {
        check_type(words, offset);
    }
}

/** Names of limits, which people take for something that limits. */
static bool is_limit_name(const char *name, size_t len)
{
    const struct vocabulary_attribute *row =
        vocabulary_attribute_find(OWNER_AGENT, ACTION_ITERATE, name, len);
    return row != NULL && row->is_optional;
}

static bool is_word(const char *name, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(name, word, len) == 0;
}

/** Whether a policy asks a person, as it says. */
static bool asks_person(const struct words *words)
{
    const struct cedar_text *value = policy_annotation(words->lint->policy, "on_deny", 7);
    return value != NULL && strcmp(value->bytes, "ask") == 0;
}

/** How many persons must approve follows from it: a typing error must not make it fewer. */
static void check_severity(struct words *words, size_t offset, const struct cedar_text *value)
{
    if (asks_person(words) && policy_severity_from_name(value->bytes) < 0) {
        lint_report(words->lint, true, offset,
                    "`@severity` of a policy that asks a person is low, medium, high or critical");
    }
}

/** Profiles for agents of others ask by @handoff alone; the policies of runs do not. */
static void check_handoff(struct words *words, size_t offset)
{
    if (!asks_person(words)) {
        lint_report(words->lint, false, offset,
                    "`@handoff` names the reason why a person is asked; without "
                    "`@on_deny(\"ask\")` nobody is, and the denial stays final");
    }
}

static void check_annotation(struct words *words, size_t offset)
{
    const char *name = words->lexer.text + words->token.begin;
    size_t len = words->token.end - words->token.begin;
    if (is_limit_name(name, len)) {
        lint_report(words->lint, false, offset,
                    "`@%.*s` is an annotation and limits nothing; the limit is what the "
                    "condition says",
                    (int)len, name);
    }
    const struct cedar_text *value = policy_annotation(words->lint->policy, name, len);
    if (value != NULL && is_word(name, len, "severity")) {
        check_severity(words, offset, value);
    } else if (is_word(name, len, "handoff")) {
        check_handoff(words, offset);
    }
    if (!is_word(name, len, "on_deny") || value == NULL || strcmp(value->bytes, "ask") == 0) {
        return;
    }
    auto_buf struct buf text = {0};
    cedar_text_write(value->bytes, value->len, &words->id);
    lint_quote(buf_string(&words->id), words->id.len, &text);
    lint_report(words->lint, false, offset,
                "unknown value %s of `@on_deny`; only \"ask\" is known, so a denial stays final",
                buf_string(&text));
}

/** Annotations may be named like anything, also `is`. */
static void take_annotation(struct words *words)
{
    size_t offset = words->token.begin;
    advance(words);
    buf_clear(&words->id);
    check_annotation(words, offset);
    advance(words);
}

/** The entity that was linked in for a slot has no place of its own in the text. */
static void take_slot(struct words *words)
{
    bool is_principal = words->lexer.text[words->token.begin + 1] == 'p';
    const struct scope *scope =
        &words->lint->policy->scopes[is_principal ? VARIABLE_PRINCIPAL : VARIABLE_RESOURCE];
    const struct cedar_text *type = scope->count == 0 ? NULL : scope->uids[0]->type;
    if (type != NULL) {
        buf_clear(&words->path);
        buf_append(&words->path, type->bytes, type->len);
        check_type(words, words->token.begin);
    }
    advance(words);
}

void lint_words(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    struct words words = {
        .lint = lint,
        .lexer = {.text = policy->source->text, .len = policy->end, .at = policy->begin},
    };
    advance(&words);
    while (words.token.kind != TOKEN_END && words.token.kind != TOKEN_WRONG) {
        if (words.token.kind == TOKEN_IDENTIFIER) {
            take_path(&words);
            continue;
        }
        words.is_after_is = false;
        if (is_at(&words, PUNCTUATION('@', 0))) {
            take_annotation(&words);
        } else if (words.token.kind == TOKEN_SLOT) {
            take_slot(&words);
        } else {
            advance(&words);
        }
    }
    buf_fini(&words.path);
    buf_fini(&words.id);
}
