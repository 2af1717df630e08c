/*
 * Splits C into tokens, just well enough to know where an operator or a constant stands. It does
 * not preprocess: a macro's body is a line of tokens like any other.
 */
#include "source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct scanner {
    const struct source_file *file;
    struct source_tokens *tokens;
    size_t at;
    int line;
    int column;
    int parentheses;
    int assertion_depth; /* the number of open parentheses at an assertion's name, or -1 */
    bool is_directive;   /* in a line that begins with '#', but for #define */
};

/* Longest first, as the first match is taken. */
static const char *const operators[] = {
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
    "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##",
};

static char peek(const struct scanner *scanner, size_t ahead)
{
    const size_t at = scanner->at + ahead;

    return at < scanner->file->content.len ? scanner->file->content.data[at] : '\0';
}

static void skip_one(struct scanner *scanner)
{
    if (peek(scanner, 0) == '\n') {
        scanner->line++;
        scanner->column = 0;
        scanner->is_directive = false;
    }
    scanner->at++;
}

static bool is_at_end(const struct scanner *scanner)
{
    return scanner->at >= scanner->file->content.len;
}

/* True when there was a comment, which is then behind us. */
static bool skip_comment(struct scanner *scanner)
{
    if (peek(scanner, 0) != '/' || (peek(scanner, 1) != '*' && peek(scanner, 1) != '/'))
        return false;
    const bool is_block = peek(scanner, 1) == '*';

    scanner->at += 2;
    while (!is_at_end(scanner)) {
        if (!is_block && peek(scanner, 0) == '\n')
            return true;
        if (is_block && peek(scanner, 0) == '*' && peek(scanner, 1) == '/') {
            scanner->at += 2;
            return true;
        }
        skip_one(scanner);
    }
    return true;
}

static size_t quoted_length(const struct scanner *scanner, char quote)
{
    size_t len = 1;

    while (peek(scanner, len) != quote && peek(scanner, len) != '\n' && peek(scanner, len) != '\0')
        len += peek(scanner, len) == '\\' ? 2 : 1;
    return len + 1;
}

static size_t word_length(const struct scanner *scanner)
{
    size_t len = 0;

    while (isalnum((unsigned char)peek(scanner, len)) || peek(scanner, len) == '_')
        len++;
    return len;
}

static size_t operator_length(const struct scanner *scanner)
{
    const size_t left = scanner->file->content.len - scanner->at;

    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        const size_t len = strlen(operators[i]);

        if (len <= left &&
            memcmp(scanner->file->content.data + scanner->at, operators[i], len) == 0)
            return len;
    }
    return 1;
}

static struct source_token measure(const struct scanner *scanner)
{
    const char c = peek(scanner, 0);
    struct source_token token = {.kind = SOURCE_OPERATOR, .len = operator_length(scanner)};

    if (isdigit((unsigned char)c))
        token = (struct source_token){.kind = SOURCE_NUMBER, .len = word_length(scanner)};
    else if (isalpha((unsigned char)c) || c == '_')
        token = (struct source_token){.kind = SOURCE_NAME, .len = word_length(scanner)};
    else if (c == '\'')
        token = (struct source_token){.kind = SOURCE_CHARACTER, .len = quoted_length(scanner, c)};
    else if (c == '"')
        token = (struct source_token){.kind = SOURCE_STRING, .len = quoted_length(scanner, c)};
    const size_t left = scanner->file->content.len - scanner->at;

    if (token.len > left)
        token.len = left;
    return token;
}

/* An assertion says what has to hold: to weaken it would be to cheat, not to repair. */
static void follow_assertion(struct scanner *scanner, const struct source_token *token)
{
    if (source_token_is(scanner->file, token, "_Static_assert") ||
        source_token_is(scanner->file, token, "static_assert") ||
        source_token_is(scanner->file, token, "assert"))
        scanner->assertion_depth = scanner->parentheses;
    else if (scanner->parentheses == scanner->assertion_depth &&
             !source_token_is(scanner->file, token, "(") &&
             !source_token_is(scanner->file, token, ")"))
        scanner->assertion_depth = -1;
}

static void follow_parentheses(struct scanner *scanner, struct source_token *token)
{
    if (source_token_is(scanner->file, token, ")") && scanner->parentheses > 0)
        scanner->parentheses--;
    token->parentheses = scanner->parentheses;
    follow_assertion(scanner, token);
    token->is_untouched = scanner->is_directive || scanner->assertion_depth >= 0;
    if (source_token_is(scanner->file, token, "("))
        scanner->parentheses++;
}

static void start_directive(struct scanner *scanner)
{
    size_t len = 1;

    while (peek(scanner, len) == ' ')
        len++;
    scanner->is_directive =
        scanner->file->content.len - scanner->at < len + 6 ||
        memcmp(scanner->file->content.data + scanner->at + len, "define", 6) != 0;
}

static void add_token(struct scanner *scanner)
{
    struct source_tokens *tokens = scanner->tokens;

    if (peek(scanner, 0) == '#' && scanner->column == 0)
        start_directive(scanner);
    struct source_token token = measure(scanner);

    token.start = scanner->at;
    token.line = scanner->line;
    token.column = scanner->column++;
    follow_parentheses(scanner, &token);
    if (tokens->count == tokens->cap) {
        tokens->cap = tokens->cap > 0 ? tokens->cap * 2 : 256;
        tokens->items = text_realloc(tokens->items, tokens->cap, sizeof(*tokens->items));
    }
    tokens->items[tokens->count++] = token;
    scanner->at += token.len;
}

void source_tokenise(const struct source_file *file, struct source_tokens *tokens)
{
    struct scanner scanner = {.file = file, .tokens = tokens, .line = 1, .assertion_depth = -1};

    while (!is_at_end(&scanner)) {
        if (skip_comment(&scanner))
            continue;
        if (isspace((unsigned char)peek(&scanner, 0)) || peek(&scanner, 0) == '\\')
            skip_one(&scanner);
        else
            add_token(&scanner);
    }
}

void source_tokens_fini(struct source_tokens *tokens)
{
    free(tokens->items);
    *tokens = (struct source_tokens){0};
}

bool source_token_is(const struct source_file *file, const struct source_token *token,
                     const char *spelling)
{
    return strlen(spelling) == token->len &&
           memcmp(file->content.data + token->start, spelling, token->len) == 0;
}
