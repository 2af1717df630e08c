// SPDX-License-Identifier: Apache-2.0
/* rondo work doctor: what is there of all that `rondo work` needs. Reads only. */
#include "base/auto.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "cli/commands/work/commands.h"
#include "cli/commands/work/site.h"
#include "cli/framework/examination.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "git/claims/claims.h"
#include "issues/fork.h"
#include "issues/item.h"
#include "loop/detect.h"
#include "net/client/http.h"
#include "os/file.h"
#include "os/spawn/sandbox_trial.h"
#include "worker/coding/record.h"
#include "worker/coding_probe.h"
#include "worker/coding_spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Name of a claim that there never is: issues are numbered from 1. */
#define NO_CLAIM "0"

/** @param format printf-like */
__attribute__((format(printf, 4, 5))) static void add(struct examination *examination,
                                                      const char *name, enum health health,
                                                      const char *format, ...)
{
    auto_free char *words = NULL;
    struct buf clean = {0};
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&words, format, arguments);
    va_end(arguments);
    if (len >= 0) {
        text_clean(words, (size_t)len, &clean);
        examination_add(examination, name, health, buf_steal(&clean));
    } else {
        words = NULL;
    }
}

/* ---- This machine --------------------------------------------------------------------------- */

static void examine_place(struct examination *examination, const struct work_site *site)
{
    add(examination, "repository", HEALTH_OK, "%s, %s at %s", site->name,
        forge_kind_name(site->place.kind), site->place.api);
    if (site->token.text != NULL) {
        add(examination, "token", HEALTH_OK, "from %s; the agent does not get it",
            site->token.source);
    } else {
        add(examination, "token", HEALTH_BROKEN,
            "none: set GH_TOKEN, GITLAB_TOKEN, GITEA_TOKEN or FORGEJO_TOKEN, name a variable with "
            "--token-env, or log in with gh, glab or tea");
    }
}

static void examine_clone(struct examination *examination, const struct work_site *site)
{
    struct rondo_error err = {0};
    if (site->repository == NULL) {
        /* opens: only whether our clone in the cache is there */
        bool is_there = file_exists(site->cache_folder);
        add(examination, "clone", HEALTH_OK, "%s%s", site->cache_folder,
            is_there ? "" : ", made by the first `rondo work`");
        return;
    }
    if (site->cache_folder == NULL) {
        add(examination, "clone", HEALTH_OK, "%s, remote %s", site->repository->top_folder,
            site->remote);
    }
    if (git_repository_check_author(site->repository, &err) < 0) {
        add(examination, "author", HEALTH_BROKEN, "%s", err.message);
    } else {
        add(examination, "author", HEALTH_OK, "%s <%s> makes the commits",
            site->repository->author_name, site->repository->author_email);
    }
}

static void examine_checks(struct examination *examination, const struct work_site *site)
{
    static const char *const names[] = {"build_succeeds", "all_tests_pass", "linting_clean"};
    auto_buf struct buf found = {0};
    if (site->repository == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct detect_result result;
        if (detect_command(site->repository->top_folder, names[i], &result, NULL) == 0) {
            buf_printf(&found, "%s%s", found.len > 0 ? ", " : "", result.command);
        }
    }
    bool has_any = found.len > 0;
    add(examination, "checks", has_any ? HEALTH_OK : HEALTH_MISSING, "%s",
        has_any ? buf_string(&found)
                : "none found in the project's files; give them with --gate NAME=COMMAND");
}

static void examine_sandbox(struct examination *examination)
{
    char reason[256] = "";
    if (sandbox_is_available(SANDBOX_NAMESPACE, reason)) {
        add(examination, "sandbox", HEALTH_OK, "namespace works; worker and checks run in it");
    } else if (sandbox_is_available(SANDBOX_LANDLOCK, reason)) {
        add(examination, "sandbox", HEALTH_MISSING,
            "namespace does not work here; use --sandbox landlock");
    } else {
        add(examination, "sandbox", HEALTH_BROKEN,
            "none works here (%s); --sandbox none gives the agent all your rights", reason);
    }
}

/** The agent that was named. */
static void examine_agent(struct examination *examination, const char *name)
{
    auto_free char *config_folder = session_config_folder();
    auto_buf struct buf detail = {0};
    if (!coding_is_known(name, config_folder)) {
        add(examination, "agent", HEALTH_BROKEN, "there is no coding agent %s", name);
        return;
    }
    for (size_t i = 0; coding_record_name(i) != NULL; i++) {
        if (strcmp(coding_record_name(i), name) == 0 && !coding_probe(i, &detail)) {
            add(examination, "agent", HEALTH_BROKEN, "%s is not installed", name);
            return;
        }
    }
    add(examination, "agent", HEALTH_OK, "%s%s%s", name, detail.len > 0 ? ", " : "",
        buf_string(&detail));
}

/** Those that are installed. */
static void examine_agents(struct examination *examination)
{
    auto_buf struct buf found = {0};
    for (size_t i = 0; coding_record_name(i) != NULL; i++) {
        auto_buf struct buf detail = {0};
        if (coding_probe(i, &detail)) {
            buf_printf(&found, "%s%s", found.len > 0 ? ", " : "", coding_record_name(i));
        }
    }
    bool has_any = found.len > 0;
    add(examination, "agents", has_any ? HEALTH_OK : HEALTH_MISSING, "%s",
        has_any ? buf_string(&found)
                : "no coding agent is installed; install one, or use --role or a command");
}

/* ---- The forge and the remote --------------------------------------------------------------- */

/** The protocol that claims would use, and what it needs. */
static void examine_push(struct examination *examination, const struct work_site *site,
                         struct forge *forge, const struct forge_repository *facts,
                         const char *fork)
{
    struct forge_fork read = {0};
    struct rondo_error err = {0};
    if (fork == NULL) {
        add(examination, "push", facts->can_push ? HEALTH_OK : HEALTH_BROKEN, "%s",
            facts->can_push
                ? "yes: issues are claimed by references"
                : "no: branches and claims cannot be pushed; give the token write access to "
                  "contents and pull requests, or name a fork of yours with --fork OWNER/NAME");
        return;
    }
    if (issue_fork_read(forge, site->name, fork, &read, &err) < 0) {
        add(examination, "fork", HEALTH_BROKEN, "%s", err.message);
    } else {
        add(examination, "fork", HEALTH_OK, "branches are pushed to %s", fork);
    }
    bool is_named = facts->can_push || facts->login != NULL;
    add(examination, "claims", is_named ? HEALTH_OK : HEALTH_BROKEN, "%s",
        facts->can_push ? "the token may push to the repository: issues are claimed by references"
        : is_named      ? "issues are claimed by comments, because the token may not push to the "
                          "repository"
                        : "the forge does not report the login of the token, so Rondo could not "
                          "find its comments again");
    forge_fork_fini(&read);
}

static void examine_rights(struct examination *examination, const struct work_site *site,
                           struct forge *forge, const struct forge_repository *facts,
                           const char *fork)
{
    add(examination, "read", facts->can_pull ? HEALTH_OK : HEALTH_BROKEN, "%s",
        facts->can_pull ? "yes" : "no: the token must be allowed to read the repository");
    add(examination, "label issues", facts->can_triage ? HEALTH_OK : HEALTH_MISSING, "%s",
        facts->can_triage ? "yes"
                          : "no: the state of an issue is only in its comment; the token needs "
                            "write access to issues");
    examine_push(examination, site, forge, facts, fork);
}

static void examine_repository(struct examination *examination,
                               const struct forge_repository *facts)
{
    const char *problem =
        facts->is_archived   ? "the repository is archived, so nothing can be changed"
        : facts->is_empty    ? "the repository is empty: there is no branch to begin from"
        : !facts->has_issues ? "the repository has no issues; enable them in its settings"
                             : NULL;
    if (problem != NULL) {
        add(examination, "forge", HEALTH_BROKEN, "%s", problem);
    } else {
        add(examination, "forge", HEALTH_OK, "answers%s%s; default branch %s",
            facts->login == NULL ? "" : ", logged in as ", facts->login == NULL ? "" : facts->login,
            facts->default_branch == NULL ? "unknown" : facts->default_branch);
    }
}

/** Append a name to a list. */
static void add_name(const char *prefix, const char *name, struct buf *ret_names)
{
    buf_printf(ret_names, "%s%s%s", ret_names->len > 0 ? ", " : "", prefix, name);
}

/** Labels that the repository does not have yet: those of states are made when they are needed, if
 *  the token may; the others only people know the meaning of. */
static void examine_labels(struct examination *examination, struct forge *forge,
                           const struct queue_values *values, bool may_make)
{
    const char *const *wanted = queue_values_labels(values);
    const char *prefix = queue_values_prefix(values);
    auto_buf struct buf people = {0};
    auto_buf struct buf ours = {0};
    bool is_there = false;
    enum forge_end end = FORGE_OK;
    for (size_t i = 0; end == FORGE_OK && wanted[i] != NULL; i++) {
        end = forge_has_label(forge, wanted[i], &is_there);
        if (!is_there) {
            add_name("", wanted[i], &people);
        }
    }
    for (enum item_state i = ITEM_ASSIGNED; end == FORGE_OK && item_state_has_label(i); i++) {
        auto_buf struct buf name = {0};
        buf_printf(&name, "%s%s", prefix, item_state_name(i));
        end = forge_has_label(forge, buf_string(&name), &is_there);
        if (!is_there) {
            add_name(prefix, item_state_name(i), may_make ? &ours : &people);
        }
    }
    if (end != FORGE_OK) {
        add(examination, "labels", HEALTH_MISSING, "cannot be read: %s",
            forge_outcome(forge)->message);
    } else if (people.len > 0) {
        add(examination, "labels", HEALTH_MISSING, "a person has to create %s%s%s",
            buf_string(&people), ours.len > 0 ? "; created when needed: " : "", buf_string(&ours));
    } else {
        add(examination, "labels", HEALTH_OK, "%s%s",
            ours.len > 0 ? "created when needed: " : "all exist", buf_string(&ours));
    }
}

static void examine_issues(struct examination *examination, struct forge *forge,
                           const char *const *wanted)
{
    struct forge_issues issues = {0};
    auto_buf struct buf names = {0};
    for (size_t i = 0; wanted[i] != NULL; i++) {
        buf_printf(&names, "%s%s", i == 0 ? "" : ", ", wanted[i]);
    }
    if (forge_list_issues(forge, wanted, &issues) != FORGE_OK) {
        add(examination, "issues", HEALTH_BROKEN, "%s", forge_outcome(forge)->message);
    } else {
        add(examination, "issues", issues.count > 0 ? HEALTH_OK : HEALTH_MISSING,
            "%zu open with the label%s %s%s", issues.count, wanted[1] == NULL ? "" : "s",
            buf_string(&names),
            issues.count > 0 ? "" : "; label the issues that an agent may work on");
    }
    forge_issues_fini(&issues);
}

static void examine_forge(struct examination *examination, const struct work_site *site,
                          const struct queue_values *values, struct http_client *http)
{
    struct forge *forge = NULL;
    struct forge_repository facts = {0};
    struct rondo_error err = {0};
    const struct work_site_parts parts = {.http = http};
    if (work_site_connect(site, &parts, &forge, &err) < 0) {
        add(examination, "forge", HEALTH_BROKEN, "%s", err.message);
        return;
    }
    if (forge_read_repository(forge, &facts) != FORGE_OK) {
        work_site_fail(site, forge, &err);
        add(examination, "forge", HEALTH_BROKEN, "%s", err.message);
    } else {
        examine_repository(examination, &facts);
        examine_rights(examination, site, forge, &facts, values->fork);
        examine_issues(examination, forge, queue_values_labels(values));
        examine_labels(examination, forge, values, facts.can_triage);
    }
    forge_repository_fini(&facts);
    forge_close(forge);
}

static void examine_remote(struct examination *examination, const struct work_site *site)
{
    struct git git = {.repository = site->repository};
    const struct git_access access = work_site_access(site);
    struct git_claims claims = {0};
    enum git_claim_end end = GIT_CLAIM_NETWORK;
    struct rondo_error err = {0};
    if (site->repository == NULL || site->remote == NULL) {
        return;
    }
    int r = git_claims_read(&git, &access, NO_CLAIM, &claims, &end, &err);
    if (r == 0 && end == GIT_CLAIM_DONE) {
        add(examination, "remote", HEALTH_OK, "git reaches %s%s", site->remote,
            access.token != NULL ? " with the token" : " with its own credentials");
    } else {
        add(examination, "remote", HEALTH_BROKEN, "git cannot read %s: %s", site->remote,
            err.message);
    }
    git_claims_fini(&claims);
}

/* ---- The command ---------------------------------------------------------------------------- */

static int examine(struct queue_values *values, struct examination *examination)
{
    struct work_site site = {0};
    struct rondo_error err = {0};
    struct http_client *http = NULL;
    if (work_site_find(values, true, &site, &err) < 0) {
        add(examination, "repository", HEALTH_BROKEN, "%s", err.message);
    } else if (http_client_new(NULL, &http, &err) < 0) {
        add(examination, "network", HEALTH_BROKEN, "%s", err.message);
    } else {
        examine_place(examination, &site);
        examine_clone(examination, &site);
        examine_remote(examination, &site);
        examine_forge(examination, &site, values, http);
        examine_checks(examination, &site);
    }
    http_client_free(http);
    work_site_fini(&site);
    examine_sandbox(examination);
    if (values->work.coding_agent != NULL) {
        examine_agent(examination, values->work.coding_agent);
    } else {
        examine_agents(examination);
    }
    const struct examination_form form = {
        .wants_json = values->work.role.run.wants_json != 0,
        .no_colour = values->work.role.run.no_colour != 0,
        .good = "ready to work on issues",
        .bad = "not ready: see what is marked above",
    };
    return examination_print(examination, &form);
}

int cmd_work_doctor(const struct invocation *invocation)
{
    struct queue_values values;
    struct option_set set;
    struct examination examination = {0};
    queue_values_init(&values, work_doctor_options, &set);
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        const char *misuse = queue_values_check(&values);
        exit_code = misuse != NULL ? command_misuse(invocation->command, misuse)
                                   : examine(&values, &examination);
    }
    queue_values_fini(&values, &set);
    return exit_code;
}
