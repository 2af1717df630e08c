// SPDX-License-Identifier: Apache-2.0
/* The documents of an agent: the model for their vectors, and what policies say about it. */
#include "agent_fixture.h"

#include "../../support/http_peer.h"
#include "net/client/http.h"
#include "tool/data/documents.h"

#include <stdio.h>
#include <stdlib.h>

#define SEARCH(text)  CALLS(ONE("search_documents", "{\"query\":\"" text "\"}"))
#define VECTOR(x, y)  "{\"embedding\":[" #x "," #y "]}"
#define VECTORS(list) "{\"data\":[" list "]}"

static void write_guide(const struct agent_scene *scene)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/guide.md", scene->world->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("The host is blue.", file);
    fclose(file);
}

/** A role with a document whose vectors are a peer's. @return static */
static const char *with_embeddings(struct agent_scene *scene, struct http_peer *peer,
                                   const char *more)
{
    static char lines[512];
    struct rondo_error err = {0};
    write_guide(scene);
    setenv("RONDO_TEST_KEY", "sk-test", 1);
    assert_int_equal(http_client_new(NULL, &scene->parts.http, &err), 0);
    snprintf(lines, sizeof(lines),
             "  ingest: {sources: [guide.md], embeddings: {provider: local, model: e, base_url: "
             "'%s', api_key_env: RONDO_TEST_KEY}}\n%s",
             http_peer_url(peer, "/v1"), more);
    return lines;
}

static void end_embeddings(struct agent_scene *scene, struct http_peer *peer)
{
    scene_leave(scene);
    http_client_free(scene->parts.http);
    scene->parts.http = NULL;
    http_peer_free(peer);
}

SCENE_TEST(documents_are_found_by_meaning)
{
    struct agent_scene *scene = *state;
    struct http_peer *peer = http_peer_new();
    http_peer_reply(peer, 200, NULL, VECTORS(VECTOR(1, 0.1)));
    http_peer_reply(peer, 200, NULL,
                    "{\"data\":[" VECTOR(1, 0) "],\"usage\":{\"total_tokens\":7}}");
    scene_play(scene, with_embeddings(scene, peer, ""), SEARCH("server colour") FINISH("completed"),
               RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "model.embedded",
                                  "\"name\":\"ingest\",\"requests\":2,\"texts\":2,\"tokens\":7,"),
                     1);
    assert_int_equal(loop_state(scene->loop)->tokens, 7);
    assert_int_equal(scene_events(scene, "tool.finished", "The host is blue."), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "by words only"), 0);
    assert_non_null(strstr(http_peer_request(peer, 0)->body, "The host is blue."));
    assert_non_null(strstr(http_peer_request(peer, 1)->body, "server colour"));
    end_embeddings(scene, peer);
}

SCENE_TEST(policies_decide_whether_documents_go_to_a_model_for_vectors)
{
    struct agent_scene *scene = *state;
    struct http_peer *peer = http_peer_new();
    set_policies(scene->world,
                 PERMIT "@id(\"own\") forbid (principal, action == Action::\"call_model\", "
                        "resource) when { resource.provider == \"local\" };");
    scene_play(scene, with_embeddings(scene, peer, "  policy: p.cedar\n"),
               SEARCH("host") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "The host is blue."), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "Searched by words only"), 1);
    scene_last(scene, "step.denied", "policy", "own");
    assert_int_equal(http_peer_request_count(peer), 0);
    end_embeddings(scene, peer);
}

SCENE_TEST(a_missing_key_leaves_the_words_and_the_answer_says_so)
{
    struct agent_scene *scene = *state;
    write_guide(scene);
    unsetenv("RONDO_NO_SUCH_KEY");
    scene_play(scene,
               "  ingest: {sources: [guide.md], embeddings: {provider: openai, api_key_env: "
               "RONDO_NO_SUCH_KEY}}\n",
               SEARCH("host") FINISH("completed"), RONDO_COMPLETED);
    assert_int_equal(scene_events(scene, "tool.finished", "The host is blue."), 1);
    assert_int_equal(scene_events(scene, "tool.finished", "Searched by words only: no key"), 1);
}
