// SPDX-License-Identifier: Apache-2.0
/* Claims over HTTP: tokens and where they go, answers that are lost, servers that fail. */
#include "git_scene.h"

#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/base64.h"
#include "git/claims/claims.h"
#include "git/connection.h"
#include "git_peer.h"

#include <dirent.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <unistd.h>

#define TOKEN "s3cret-t0ken"

static struct git_claim_result result;
static struct git_claims claims;
static enum git_claim_end end;
static struct git_peer *near;  /* the token's origin */
static struct git_peer *other; /* another host */
static char expected[100];
static struct git_access access_token;

static int set_up(void **state)
{
    auto_buf struct buf basic = {0};
    scene_set_up(state);
    shell("git clone -q --bare repo far && git -C far config http.receivepack true");
    static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY",
                                          "ALL_PROXY"};
    for (size_t i = 0; i < COUNT(proxies); i++) {
        unsetenv(proxies[i]);
    }
    near = git_peer_new(scene_folder);
    other = git_peer_new(scene_folder);
    buf_append_string(&basic, "Basic ");
    base64_encode("x-access-token:" TOKEN, strlen("x-access-token:" TOKEN), &basic);
    snprintf(expected, sizeof(expected), "%s", buf_string(&basic));
    near->authorization = expected;
    other->authorization = "Basic of somebody else";
    shell("git -C repo remote add origin %s/far", near->url);
    scene_open();
    access_token = (struct git_access){
        .remote = "origin", .user = "x-access-token", .token = TOKEN, .origin = near->url};
    return 0;
}

static int tear_down(void **state)
{
    git_claim_result_fini(&result);
    git_claims_fini(&claims);
    git_peer_free(near);
    git_peer_free(other);
    return scene_tear_down(state);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

static void change(const char *old_id, const char *text, enum git_claim_end wanted)
{
    const struct git_claim_change request = {.name = "7", .old_id = old_id, .text = text};
    git_claim_result_fini(&result);
    assert_ok(git_claim_change(&scene_git, &access_token, &request, &result, &scene_err));
    if (result.end != wanted) {
        fail_msg("end %d in place of %d: %s", (int)result.end, (int)wanted, result.reason);
    }
    assert_null(strstr(result.reason, TOKEN));
}

static void read_all(enum git_claim_end wanted)
{
    git_claims_fini(&claims);
    assert_ok(git_claims_read(&scene_git, &access_token, NULL, &claims, &end, &scene_err));
    if (end != wanted) {
        fail_msg("end %d in place of %d: %s", (int)end, (int)wanted, scene_err.message);
    }
}

/* --- the folder of objects --- */

static atomic_int looks, free_folders;

/** Whether another process might empty the folder now. */
static void try_to_empty(void)
{
    atomic_fetch_add(&looks, 1);
    int fd = open(scene_path("repo/.git/rondo-claims"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
        atomic_fetch_add(&free_folders, 1);
    }
    close(fd);
}

CASE(objects_of_claims_stay_while_they_are_used)
{
    near->on_request = try_to_empty;
    change("", "mine", GIT_CLAIM_DONE);
    read_all(GIT_CLAIM_DONE);
    near->on_request = NULL;
    assert_true(atomic_load(&looks) > 0);
    assert_int_equal(atomic_load(&free_folders), 0);
    try_to_empty();
    assert_int_equal(atomic_load(&free_folders), 1);
}

/* --- the token --- */

/** Whether a file of a process has a text. */
static bool process_has(const char *pid, const char *file, const char *text)
{
    char path[64];
    char bytes[16384];
    snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (fd >= 0) {
        close(fd);
    }
    return n > 0 && memmem(bytes, (size_t)n, text, strlen(text)) != NULL;
}

static atomic_bool is_looking;
static atomic_bool is_in_arguments;
static atomic_int environment_count;

/** Look at the arguments of all processes until told to stop. */
static void *look(void *context)
{
    (void)context;
    while (atomic_load(&is_looking)) {
        DIR *folder = opendir("/proc");
        const struct dirent *entry = NULL;
        while (folder != NULL && (entry = readdir(folder)) != NULL) {
            if (entry->d_name[0] < '1' || entry->d_name[0] > '9') {
                continue;
            }
            if (process_has(entry->d_name, "cmdline", TOKEN)) {
                atomic_store(&is_in_arguments, true);
            }
            if (process_has(entry->d_name, "environ", TOKEN)) {
                atomic_fetch_add(&environment_count, 1);
            }
        }
        if (folder != NULL) {
            closedir(folder);
        }
    }
    return NULL;
}

CASE(a_token_opens_its_origin_and_is_in_no_argument_and_no_file)
{
    pthread_t thread;
    shell("git config --global credential.helper 'store' && git config --global --add "
          "credential.%s.helper '!touch %s/asked; cat >/dev/null; true'",
          near->url, scene_folder);
    atomic_store(&is_looking, true);
    assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
    change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    read_all(GIT_CLAIM_DONE);
    char id[GIT_ID_SIZE];
    assert_ok(git_fetch_branch(&scene_git, &access_token, "main", id, &end, &scene_err));
    assert_int_equal(end, GIT_CLAIM_DONE);
    atomic_store(&is_looking, false);
    pthread_join(thread, NULL);
    assert_false(atomic_load(&is_in_arguments));
    assert_true(atomic_load(&environment_count) > 0); /* the look has seen them */
    assert_int_equal(claims.count, 1);
    shell("test ! -e asked && ! grep -rq " TOKEN " .");
}

CASE(without_a_token_and_with_a_wrong_one_the_end_is_known_at_once)
{
    access_token.token = "wrong";
    change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    read_all(GIT_CLAIM_AUTH);
    access_token.token = NULL;
    change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    access_token.token = TOKEN;
    near->mode = GIT_PEER_STATUS;
    near->status = 403;
    change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    near->status = 404;
    change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    assert_string_equal(shell_line("git -C far for-each-ref refs/rondo | wc -l"), "0");
}

CASE(another_address_gets_no_token_whoever_sends_git_there)
{
    shell("cd repo && git config url.%s/.insteadOf %s/", other->url, near->url);
    scene_open();
    change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    shell("cd repo && git config --unset-all url.%s/.insteadOf && "
          "git config url.%s/.pushInsteadOf %s/",
          other->url, other->url, near->url);
    scene_open();
    change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    shell("cd repo && git config --unset-all url.%s/.pushInsteadOf", other->url);
    scene_open();
    near->mode = GIT_PEER_REDIRECTS;
    snprintf(near->target, sizeof(near->target), "%s", other->url);
    change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    read_all(GIT_CLAIM_AUTH);
    assert_true(git_peer_has_seen(other, "git-receive-pack"));
    assert_true(git_peer_has_seen(other, "git-upload-pack"));
    assert_false(git_peer_has_seen(other, "uthorization"));
    assert_false(git_peer_has_seen(near, "uthorization"));
}

CASE(ssh_works_and_has_no_token_in_its_environment)
{
    static const char *const addresses[] = {"ssh://far-host", "git@far-host:"};
    shell("printf '#!/bin/sh\nenv >>%s/env\nwhile [ $# -gt 1 ]; do shift; done\neval \"$1\"\n' "
          ">ssh && chmod +x ssh && git config --global core.sshCommand %s/ssh && "
          "git config --global ssh.variant ssh",
          scene_folder, scene_folder);
    for (size_t i = 0; i < COUNT(addresses); i++) {
        shell("git -C repo remote set-url origin %s%s/far", addresses[i], scene_folder);
        scene_open();
        change("", "owner 1 nonce a", GIT_CLAIM_DONE);
        read_all(GIT_CLAIM_DONE);
        assert_int_equal(claims.count, 1);
        shell("git -C far update-ref -d refs/rondo/claims/7");
    }
    shell("grep -q SSH_ASKPASS_REQUIRE=force env && ! grep -q " TOKEN " env");
    /* By an insteadOf of the person, too. */
    shell("git -C repo config url.ssh://far-host%s/.insteadOf %s/", scene_folder, near->url);
    shell("git -C repo remote set-url origin %s/far", near->url);
    scene_open();
    change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    assert_false(git_peer_has_seen(near, "uthorization"));
}

CASE(a_token_of_one_origin_is_not_for_one_that_only_looks_like_it)
{
    char longer[80];
    char upper[80];
    snprintf(longer, sizeof(longer), "%s1", near->url);
    snprintf(upper, sizeof(upper), "HTTP%s", near->url + 4);
    const char *const origins[] = {longer, "https://127.0.0.1", "http://127.0.0.1",
                                   "http://localhost"};
    for (size_t i = 0; i < COUNT(origins); i++) {
        access_token.origin = origins[i];
        change("", "owner 1 nonce a", GIT_CLAIM_AUTH);
    }
    assert_false(git_peer_has_seen(near, "uthorization"));
    const char *const wrong[] = {"http://127.0.0.1/far",
                                 "http://*",
                                 "http://me@127.0.0.1",
                                 "ftp://127.0.0.1",
                                 "",
                                 upper,
                                 NULL};
    const struct git_claim_change request = {.name = "7", .old_id = "", .text = "x"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        access_token.origin = wrong[i];
        assert_int_equal(git_claim_change(&scene_git, &access_token, &request, &result, &scene_err),
                         RONDO_ERR_INVALID);
        assert_null(strstr(scene_err.message, TOKEN));
    }
}

CASE(a_token_is_one_word_and_has_a_limit)
{
    auto_free char *text = memory_new(LIMIT_GIT_TOKEN_BYTES + 2);
    memset(text, 'x', LIMIT_GIT_TOKEN_BYTES + 1);
    text[LIMIT_GIT_TOKEN_BYTES + 1] = '\0';
    const char *const wrong[] = {"", "two words", "line\nend", "back\\slash", "\303\244", text};
    const struct git_claim_change request = {.name = "7", .old_id = "", .text = "x"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        access_token.token = wrong[i];
        assert_int_equal(git_claim_change(&scene_git, &access_token, &request, &result, &scene_err),
                         RONDO_ERR_INVALID);
    }
    text[LIMIT_GIT_TOKEN_BYTES] = '\0';
    access_token.token = text;
    change("", "x", GIT_CLAIM_AUTH); /* it was taken, and is not the right one */
    access_token.token = TOKEN;
    access_token.user = NULL;
    assert_int_equal(git_claim_change(&scene_git, &access_token, &request, &result, &scene_err),
                     RONDO_ERR_INVALID);
}

CASE(a_server_is_asked_for_claims_and_not_for_all_that_it_has)
{
    change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    read_all(GIT_CLAIM_DONE);
    assert_true(git_peer_has_seen(near, "ref-prefix refs/rondo/claims/\n"));
    assert_false(git_peer_has_seen(near, "ref-prefix refs/heads/"));
    assert_false(git_peer_has_seen(near, "have "));
}

/* --- answers that do not come --- */

CASE(a_claim_whose_answer_was_lost_is_found_by_reading_and_by_the_same_change)
{
    near->mode = GIT_PEER_LOSES;
    change("", "owner 1 nonce a", GIT_CLAIM_NETWORK);
    assert_string_equal(result.id, "");
    read_all(GIT_CLAIM_DONE);
    assert_int_equal(claims.count, 1);
    assert_string_equal(claims.items[0].text, "owner 1 nonce a");
    near->mode = GIT_PEER_WORKS;
    change("", "owner 1 nonce a", GIT_CLAIM_DONE);
    assert_string_equal(result.id, claims.items[0].id);
    change("", "owner 2 nonce b", GIT_CLAIM_LOST);
    char id[GIT_ID_SIZE];
    snprintf(id, sizeof(id), "%s", claims.items[0].id);
    near->mode = GIT_PEER_LOSES;
    change(id, NULL, GIT_CLAIM_NETWORK);
    read_all(GIT_CLAIM_DONE);
    assert_int_equal(claims.count, 0);
}

CASE(a_server_that_fails_or_is_silent_is_the_network)
{
    static const int statuses[] = {500, 502, 503, 429};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        near->mode = GIT_PEER_STATUS;
        near->status = statuses[i];
        change("", "owner 1 nonce a", GIT_CLAIM_NETWORK);
        read_all(GIT_CLAIM_NETWORK);
    }
    near->mode = GIT_PEER_HANGS;
    access_token.total_ns = INT64_C(1000000000);
    change("", "owner 1 nonce a", GIT_CLAIM_NETWORK);
    assert_non_null(strstr(result.reason, "in time"));
    read_all(GIT_CLAIM_NETWORK);
}

CASE(what_a_server_says_is_not_taken_for_words_of_git)
{
    shell("printf '#!/bin/sh\\necho \"fatal: Authentication failed\"; echo \"stale info\"; "
          "echo \"cannot lock ref\"; exit 1\\n' >far/hooks/pre-receive && "
          "chmod +x far/hooks/pre-receive");
    change("", "owner 1 nonce a", GIT_CLAIM_REFUSED);
    assert_non_null(strstr(result.reason, "Authentication failed"));
}

/* --- races --- */

#define RACERS 4

struct racer {
    pthread_barrier_t *barrier;
    int number;
    struct git_claim_result result;
};

static void *race(void *context)
{
    struct racer *racer = context;
    struct git git = {.repository = scene_repository};
    char text[80];
    snprintf(text, sizeof(text), "racer %d", racer->number);
    const struct git_claim_change own = {.name = "7", .old_id = "", .text = text};
    pthread_barrier_wait(racer->barrier);
    if (git_claim_change(&git, &access_token, &own, &racer->result, NULL) != 0) {
        racer->result = (struct git_claim_result){.end = GIT_CLAIM_REFUSED};
    }
    return NULL;
}

CASE(of_several_that_claim_at_once_over_http_one_has_it)
{
    for (int round = 0; round < 3; round++) {
        struct racer racers[RACERS] = {0};
        pthread_t threads[RACERS];
        pthread_barrier_t barrier;
        int winners = 0;
        int losers = 0;
        pthread_barrier_init(&barrier, NULL, RACERS);
        for (int i = 0; i < RACERS; i++) {
            racers[i] = (struct racer){.barrier = &barrier, .number = i};
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        }
        for (int i = 0; i < RACERS; i++) {
            pthread_join(threads[i], NULL);
            winners += racers[i].result.end == GIT_CLAIM_DONE;
            /* NETWORK: others had the lock for long. */
            losers +=
                racers[i].result.end == GIT_CLAIM_LOST || racers[i].result.end == GIT_CLAIM_NETWORK;
            git_claim_result_fini(&racers[i].result);
        }
        pthread_barrier_destroy(&barrier);
        assert_int_equal(winners, 1);
        assert_int_equal(losers, RACERS - 1);
        shell("git -C far update-ref -d refs/rondo/claims/7");
    }
}
