// SPDX-License-Identifier: Apache-2.0
#include "mcp_world.h"

#include "mcp/headers.h"
#include "mcp/message.h"

/* --- results --- */

static void read_result(struct mcp_world *world, const char *json, struct tool_result *ret_result)
{
    auto_json struct json_object *object = NULL;
    assert_int_equal(json_parse(json, strlen(json), &object, NULL), 0);
    *ret_result = (struct tool_result){0};
    mcp_read_result(object, ret_result);
    snprintf(world->text, sizeof(world->text), "%s", buf_string(&ret_result->text));
    buf_fini(&ret_result->text);
}

WORLD_TEST(exit_codes_are_taken_from_where_they_are_unmistakable)
{
    static const struct {
        const char *json;
        bool has;
        int code;
    } cases[] = {
        {"{\"structuredContent\":{\"exitCode\":3}}", true, 3},
        {"{\"structuredContent\":{\"exit_code\":0}}", true, 0},
        {"{\"structuredContent\":{\"exit_status\":-1}}", true, -1},
        {"{\"structuredContent\":{\"exitCode\":\"3\"}}", false, 0},
        {"{\"structuredContent\":{\"exitCode\":3.0}}", false, 0},
        {"{\"structuredContent\":{\"exitCode\":99999999999}}", false, 0},
        {"{\"structuredContent\":{}}", false, 0},
        {"{\"structuredContent\":{\"exitCode\":0},\"isError\":true}", false, 0},
        {"{\"content\":[{\"type\":\"text\",\"text\":\" {\\\"exit_code\\\":4}\\n\"}]}", true, 4},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"exit_code: 0\"}]}", false, 0},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"[{\\\"exit_code\\\":0}]\"}]}", false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tool_result result;
        read_result(*state, cases[i].json, &result);
        assert_int_equal(result.has_exit_code, cases[i].has);
        assert_int_equal(result.exit_code, cases[i].code);
    }
}

WORLD_TEST(what_is_no_text_is_named_in_a_line)
{
    struct mcp_world *world = *state;
    struct tool_result result;
    read_result(world,
                "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"mimeType\":"
                "\"image/png\",\"data\":\"AAAA\"},{\"type\":\"resource\",\"resource\":{\"uri\":"
                "\"f:x\",\"text\":\"inside\"}},{\"type\":\"new\"}]}",
                &result);
    assert_string_equal(world->text,
                        "a\n[image: image/png, 3 bytes]\ninside\n[content of an unknown kind]");
}

WORLD_TEST(an_error_reads_as_one)
{
    struct mcp_world *world = *state;
    struct tool_result result;
    read_result(world, "{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}",
                &result);
    assert_true(result.is_error);
    assert_string_equal(world->text, "Error: no");
}

WORLD_TEST(structured_content_replaces_text)
{
    struct mcp_world *world = *state;
    struct tool_result result;
    read_result(world, "{\"content\":[],\"structuredContent\":{\"a\":\"b/c\"}}", &result);
    assert_string_equal(world->text, "{\"a\":\"b/c\"}");
}

/* --- lines --- */

static bool count_line(void *context, const char *line, size_t len)
{
    (void)line;
    *(size_t *)context += len;
    return true;
}

WORLD_TEST(a_line_at_the_limit_is_read_and_one_past_it_is_not)
{
    for (size_t past = 0; past < 2; past++) {
        struct mcp_lines lines = {0};
        size_t total = 0;
        size_t len = MCP_FRAME_MAX_BYTES + past;
        char *text = malloc(len + 1);
        memset(text, 'x', len);
        text[len] = '\n';
        int code = mcp_lines_feed(&lines, text, len + 1, count_line, &total, NULL);
        assert_int_equal(code, past == 0 ? 0 : RONDO_ERR_LIMIT);
        assert_int_equal(total, past == 0 ? len : 0);
        mcp_lines_fini(&lines);
        free(text);
    }
}

/* --- headers --- */

WORLD_TEST(unsafe_header_values_are_encoded)
{
    static const char *const cases[][2] = {
        {"us-west1", "us-west1"},
        {"us west 1", "us west 1"},
        {"", ""},
        {"Hello, \xe4\xb8\x96\xe7\x95\x8c", "=?base64?SGVsbG8sIOS4lueVjA==?="},
        {" padded ", "=?base64?IHBhZGRlZCA=?="},
        {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
        {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_buf struct buf text = {0};
        mcp_header_encode(cases[i][0], strlen(cases[i][0]), &text);
        assert_string_equal(buf_string(&text), cases[i][1]);
    }
}

WORLD_TEST(impossible_headers_are_found)
{
    static const struct {
        const char *schema;
        bool is_valid;
    } cases[] = {
        {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}", true},
        {"{\"properties\":{\"a\":{\"type\":[\"integer\",\"null\"],\"x-mcp-header\":\"A\"}}}", true},
        {"{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}", true},
        {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}", false},
        {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":5}}}", false},
        {"{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}", false},
        {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A:\"}}}", false},
        {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},"
         "\"b\":{\"type\":\"string\",\"x-mcp-header\":\"a\"}}}",
         false},
        {"{\"properties\":{\"a\":{\"items\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}}",
         false},
        {"{\"$defs\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        auto_json struct json_object *schema = NULL;
        char reason[160];
        assert_int_equal(json_parse(cases[i].schema, strlen(cases[i].schema), &schema, NULL), 0);
        assert_int_equal(mcp_headers_are_valid(schema, reason, sizeof(reason)), cases[i].is_valid);
    }
}

/* --- rondo.yaml --- */

/** Read a file of servers; an absent one registers nothing. */
static int mcp_shared_read(const char *path, const struct tool_surroundings *around,
                           struct mcp_shared **ret_shared, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    file_read(path, 65536, &text, NULL);
    return mcp_shared_parse(path, text.data, text.len, around, ret_shared, err);
}

static int read_yaml(struct mcp_world *world, const char *yaml, struct mcp_shared **ret_shared)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/rondo.yaml", world->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(yaml, file);
    fclose(file);
    return mcp_shared_read(path, &world->around, ret_shared, &world->err);
}

WORLD_TEST(a_server_of_rondo_yaml_is_shared)
{
    struct mcp_world *world = *state;
    struct mcp_shared *shared = NULL;
    struct mcp_client *first = NULL;
    struct mcp_client *second = NULL;
    assert_int_equal(read_yaml(world,
                               "mcp_servers:\n  peer:\n    command: " MCP_PEER
                               "\n    args: [plain]\n    env: {PORT: 8080}\n    timeout: 20\n",
                               &shared),
                     0);
    assert_int_equal(mcp_shared_count(shared), 1);
    assert_int_equal(mcp_shared_client(shared, "peer", &first, &world->err), 0);
    assert_int_equal(mcp_shared_client(shared, "peer", &second, &world->err), 0);
    assert_ptr_equal(first, second);
    world->client = first;
    assert_int_equal(call(world, "variable", "{\"name\":\"PORT\"}"), 0);
    assert_string_equal(world->text, "8080");
    world->client = NULL;
    assert_int_equal(mcp_shared_client(shared, "pear", &second, &world->err), RONDO_ERR_NOT_FOUND);
    assert_contains(world->err.message, "it has: peer");
    mcp_shared_free(shared);
}

WORLD_TEST(an_absent_rondo_yaml_registers_nothing)
{
    struct mcp_world *world = *state;
    struct mcp_shared *shared = NULL;
    assert_int_equal(mcp_shared_read("/no/such/rondo.yaml", &world->around, &shared, &world->err),
                     0);
    assert_int_equal(mcp_shared_count(shared), 0);
    mcp_shared_free(shared);
}

WORLD_TEST(faults_of_rondo_yaml_are_told_with_their_place)
{
    static const char *const cases[][2] = {
        {"mcp_servers:\n  a:\n    comand: x\n", "rondo.yaml:3:5: mcp_servers.a: `comand`"},
        {"mcp_servers:\n  a:\n    args: []\n", "rondo.yaml:3:5: mcp_servers.a: it needs"},
        {"mcp_servers:\n  a:\n    command: [x]\n", "rondo.yaml:3:14: mcp_servers.a: `command`"},
        {"mcp_servers:\n  a: {transport: tcp, url: x}\n", "rondo.yaml:2:18: mcp_servers.a"},
        {"mcp_servers: 5\n", "rondo.yaml:1:14: mcp_servers"},
        {"mcp_servers: [\n", "rondo.yaml:"},
    };
    struct mcp_world *world = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mcp_shared *shared = NULL;
        assert_int_equal(read_yaml(world, cases[i][0], &shared), RONDO_ERR_INVALID);
        assert_contains(world->err.message, cases[i][1]);
    }
}

WORLD_TEST(a_variable_that_is_not_set_is_named)
{
    struct mcp_world *world = *state;
    struct mcp_shared *shared = NULL;
    struct mcp_client *client = NULL;
    assert_int_equal(read_yaml(world,
                               "mcp_servers:\n  a:\n    command: x\n"
                               "    env: {TOKEN: 'x${RONDO_TEST_UNSET_TOKEN}'}\n",
                               &shared),
                     0);
    assert_int_equal(mcp_shared_client(shared, "a", &client, &world->err), RONDO_ERR_INVALID);
    assert_contains(world->err.message, "RONDO_TEST_UNSET_TOKEN");
    mcp_shared_free(shared);
}

WORLD_TEST(a_command_that_is_not_on_the_allow_list_is_refused)
{
    struct mcp_world *world = *state;
    struct mcp_shared *shared = NULL;
    struct mcp_client *client = NULL;
    static const char allowed[] = "{\"mcp_command_allowlist\":[\"npx\"]}";
    assert_int_equal(json_parse(allowed, strlen(allowed), &world->around.security_tools, NULL), 0);
    assert_int_equal(
        read_yaml(world, "mcp_servers: {a: {command: /tmp/npx}, b: {command: npx}}\n", &shared), 0);
    assert_int_equal(mcp_shared_client(shared, "a", &client, &world->err), RONDO_ERR_DENIED);
    assert_int_equal(mcp_shared_client(shared, "b", &client, &world->err), 0);
    mcp_shared_free(shared);
    json_object_put(world->around.security_tools);
}

TEST(a_call_carries_its_trace_in_either_version)
{
    auto_buf struct buf text = {0};
    struct mcp_outgoing out = {.id = 3, .method = "tools/call", .name = "x", .arguments = "{}"};
    mcp_write(&out, &text);
    assert_null(strstr(buf_string(&text), "_meta"));
    out.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    buf_clear(&text);
    mcp_write(&out, &text);
    assert_non_null(strstr(
        buf_string(&text),
        "\"_meta\":{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}"));
    out.is_modern = true;
    buf_clear(&text);
    mcp_write(&out, &text);
    assert_non_null(strstr(buf_string(&text), "clientInfo"));
    assert_non_null(strstr(buf_string(&text), "\"traceparent\":\"00-0af"));
}
