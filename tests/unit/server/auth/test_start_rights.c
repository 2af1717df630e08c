// SPDX-License-Identifier: Apache-2.0
/* What a caller without the scope administer may start. */

#include "base/auto.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/file_folder.h"
#include "server/auth/start_rights.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rights_fixture {
    char folder[64];
    char workspace[96];
    char store[128];
    struct start_rights rights;
};

static void touch(const struct rights_fixture *place, const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fclose(file);
}

static int setup(void **state)
{
    static const char *const folders[] = {"work", "work/below", "work/.rondo", "work/.rondo/roles"};
    struct rights_fixture *place = memory_new_zero(1, sizeof(*place));
    snprintf(place->folder, sizeof(place->folder), "/tmp/rondo-rights-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    for (size_t i = 0; i < COUNT(folders); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", place->folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    touch(place, "work/evil.yaml");
    touch(place, "work/.rondo/roles/fixer.yaml");
    snprintf(place->workspace, sizeof(place->workspace), "%s/work", place->folder);
    snprintf(place->store, sizeof(place->store), "%s/.rondo/rondo.db", place->workspace);
    place->rights = (struct start_rights){place->workspace, place->store};
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct rights_fixture *place = *state;
    file_remove_tree(place->folder, NULL);
    free(place);
    return 0;
}

/** @param ret_message RONDO_ERROR_MESSAGE_SIZE bytes, or NULL */
static int check(const struct rights_fixture *place, const char *body, char *ret_message)
{
    struct rondo_error err = {0};
    auto_json struct json_object *object = NULL;
    assert_int_equal(json_parse(body, strlen(body), &object, NULL), 0);
    int r = start_rights_check_body(&place->rights, object, &err);
    if (ret_message != NULL) {
        memcpy(ret_message, err.message, sizeof(err.message));
    }
    return r;
}

TEST(what_opens_the_sandbox_is_refused_by_name)
{
    static const char *const bodies[][2] = {
        {"role", "{\"role\":\"text\"}"},
        {"policy", "{\"policy\":\"p.cedar\"}"},
        {"read", "{\"read\":[\"/etc\"]}"},
        {"write", "{\"write\":[]}"},
        {"env", "{\"env\":[\"OPENAI_API_KEY\"]}"},
        {"allow_hosts", "{\"allow_hosts\":[\"127.0.0.1\"]}"},
        {"allow_network", "{\"allow_network\":true}"},
        {"verifier_sandbox", "{\"verifier_sandbox\":\"none\"}"},
        {"workspace", "{\"workspace\":\"/\"}"},
        {"workspace", "{\"workspace\":\"..\"}"},
        {"workspace", "{\"workspace\":\"below\"}"},
        {"workspace", "{\"workspace\":\"no such folder\"}"},
        {"role_file", "{\"role_file\":\"/etc/passwd\"}"},
        {"role_file", "{\"role_file\":\"evil.yaml\"}"},
        {"role_file", "{\"role_file\":\".rondo/roles/../../evil.yaml\"}"},
        {"role_file", "{\"role_file\":\"no such file\"}"},
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        char message[RONDO_ERROR_MESSAGE_SIZE];
        assert_int_equal(check(*state, bodies[i][1], message), RONDO_ERR_INVALID);
        assert_int_equal(strncmp(message, bodies[i][0], strlen(bodies[i][0])), 0);
        assert_non_null(strstr(message, "administer"));
    }
}

TEST(files_that_exist_and_that_do_not_are_refused_alike)
{
    char there[RONDO_ERROR_MESSAGE_SIZE];
    char missing[RONDO_ERROR_MESSAGE_SIZE];
    check(*state, "{\"role_file\":\"/etc/passwd\"}", there);
    check(*state, "{\"role_file\":\"/etc/no-such-file\"}", missing);
    assert_string_equal(there, missing);
    check(*state, "{\"workspace\":\"/etc\"}", there);
    check(*state, "{\"workspace\":\"/no-such-folder\"}", missing);
    assert_string_equal(there, missing);
}

TEST(what_the_sandbox_holds_is_allowed)
{
    assert_int_equal(check(*state, "{\"command\":[\"true\"],\"sandbox\":\"namespace\"}", NULL), 0);
    assert_int_equal(check(*state, "{\"workspace\":\".\",\"allow_network\":false}", NULL), 0);
    assert_int_equal(check(*state, "{\"verifier_sandbox\":\"landlock\",\"read\":null}", NULL), 0);
}

TEST(roles_beside_the_store_are_allowed_under_their_real_path)
{
    struct rights_fixture *place = *state;
    auto_json struct json_object *body = json_object_new_object();
    json_object_object_add(body, "role_file",
                           json_object_new_string("below/../.rondo/roles/fixer.yaml"));
    assert_int_equal(start_rights_check_body(&place->rights, body, NULL), 0);
    const char *path = json_get_string(body, "role_file", "");
    assert_int_equal(path[0], '/');
    assert_null(strstr(path, ".."));
    assert_non_null(strstr(path, "/.rondo/roles/fixer.yaml"));
}

TEST(links_out_of_the_folder_of_roles_are_followed_first)
{
    struct rights_fixture *place = *state;
    char link[160];
    snprintf(link, sizeof(link), "%s/.rondo/roles/link.yaml", place->workspace);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    assert_int_equal(check(place, "{\"role_file\":\".rondo/roles/link.yaml\"}", NULL),
                     RONDO_ERR_INVALID);
}

TEST(a_store_where_runs_may_write_has_no_roles)
{
    struct rights_fixture place = *(struct rights_fixture *)*state;
    char store[128];
    char roles[128];
    snprintf(store, sizeof(store), "%s/my.db", place.workspace);
    snprintf(roles, sizeof(roles), "%s/roles", place.workspace);
    assert_int_equal(mkdir(roles, 0700), 0);
    touch(&place, "work/roles/evil.yaml");
    place.rights.store_path = store;
    assert_int_equal(check(&place, "{\"role_file\":\"roles/evil.yaml\"}", NULL), RONDO_ERR_INVALID);
    place.rights.workspace = "/usr"; /* now nobody writes there */
    auto_buf struct buf body = {0};
    buf_printf(&body, "{\"role_file\":\"%s/evil.yaml\"}", roles);
    assert_int_equal(check(&place, buf_string(&body), NULL), 0);
}

TEST(a_run_is_executed_again_with_no_more_than_a_sandbox)
{
    struct rights_fixture *place = *state;
    char *words[] = {(char[]){"./worker.sh"}, NULL};
    struct loop_spec spec = {.workspace = place->workspace,
                             .command = words,
                             .worker_tier = SANDBOX_NAMESPACE,
                             .verifier_tier = SANDBOX_NAMESPACE,
                             .condition_count = 1};
    struct loop_spec bad = spec;
    assert_int_equal(start_rights_check_again(&place->rights, &spec, NULL), 0);
    bad.worker_tier = SANDBOX_NONE;
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
    bad = spec;
    bad.verifier_tier = SANDBOX_NONE;
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
    assert_int_equal(start_rights_check_spec(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
    bad.condition_count = 0;
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), 0);
    bad = spec;
    bad.read_paths = words;
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
    bad = spec;
    bad.write_paths = words;
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
    bad = spec;
    bad.env_names = words;
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
    bad = spec;
    bad.allow_network = 1;
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
    bad = spec;
    bad.policy = words[0];
    assert_int_equal(start_rights_check_again(&place->rights, &bad, NULL), RONDO_ERR_INVALID);
}

TEST(a_run_whose_files_are_out_of_reach_may_have_no_sandbox)
{
    struct rights_fixture *place = *state;
    char below[128];
    char gone[128];
    char link[128];
    char *words[] = {(char[]){"./worker.sh"}, NULL};
    struct loop_spec spec = {.workspace = (char[]){"/usr"}, .command = words};
    snprintf(below, sizeof(below), "%s/below", place->workspace);
    snprintf(gone, sizeof(gone), "%s/gone", place->folder);
    snprintf(link, sizeof(link), "%s/link", place->folder);
    assert_int_equal(symlink(below, link), 0);
    assert_int_equal(start_rights_check_again(&place->rights, &spec, NULL), 0);
    char *const in_reach[] = {place->workspace, below, place->folder, link, gone};
    for (size_t i = 0; i < COUNT(in_reach); i++) {
        spec.workspace = in_reach[i];
        assert_int_equal(start_rights_check_again(&place->rights, &spec, NULL), RONDO_ERR_INVALID);
    }
}

TEST(without_the_file_of_a_store_there_are_no_roles)
{
    struct rights_fixture place = *(struct rights_fixture *)*state;
    place.rights.store_path = NULL;
    assert_int_equal(check(&place, "{\"role_file\":\".rondo/roles/fixer.yaml\"}", NULL),
                     RONDO_ERR_INVALID);
}

TEST(a_command_needs_a_sandbox_and_the_servers_workspace)
{
    struct rights_fixture *place = *state;
    struct loop_spec spec = loop_spec_default();
    char *command[] = {(char[]){"true"}, NULL};
    char elsewhere[] = "/";
    spec.command = command;
    spec.workspace = place->workspace;
    spec.worker_tier = SANDBOX_NONE;
    assert_int_equal(start_rights_check_spec(&place->rights, &spec, NULL), RONDO_ERR_INVALID);
    spec.worker_tier = SANDBOX_NAMESPACE;
    assert_int_equal(start_rights_check_spec(&place->rights, &spec, NULL), 0);
    spec.workspace = elsewhere;
    assert_int_equal(start_rights_check_spec(&place->rights, &spec, NULL), RONDO_ERR_INVALID);
}

TEST(an_agent_needs_a_sandbox_for_its_tools)
{
    struct rights_fixture *place = *state;
    struct loop_spec spec = loop_spec_default();
    char agent[] = "{}";
    spec.agent = agent;
    spec.workspace = place->workspace;
    assert_int_equal(start_rights_check_spec(&place->rights, &spec, NULL), 0);
    assert_int_equal(start_rights_check_again(&place->rights, &spec, NULL), 0);
    spec.verifier_tier = SANDBOX_NONE;
    assert_int_equal(start_rights_check_spec(&place->rights, &spec, NULL), RONDO_ERR_INVALID);
    assert_int_equal(start_rights_check_again(&place->rights, &spec, NULL), RONDO_ERR_INVALID);
}

int main(void)
{
    return test_run(setup, teardown);
}
