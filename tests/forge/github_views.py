# SPDX-License-Identifier: Apache-2.0
"""How GitHub writes things down: each function makes the JSON of one thing, with all members that its OpenAPI
document requires. Addresses are those of the host that the request named."""

import base64

REPOSITORY_ADDRESSES = {
    "archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}", "commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}", "contributors_url": "/contributors", "deployments_url": "/deployments",
    "downloads_url": "/downloads", "events_url": "/events", "forks_url": "/forks", "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}", "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}", "issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}", "languages_url": "/languages", "merges_url": "/merges",
    "milestones_url": "/milestones{/number}", "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}", "releases_url": "/releases{/id}", "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}", "subscribers_url": "/subscribers", "subscription_url": "/subscription",
    "tags_url": "/tags", "teams_url": "/teams", "trees_url": "/git/trees{/sha}", "hooks_url": "/hooks",
}  # fmt: skip
USER_ADDRESSES = {
    "followers_url": "/followers", "following_url": "/following{/other_user}", "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}", "subscriptions_url": "/subscriptions", "organizations_url": "/orgs",
    "repos_url": "/repos", "events_url": "/events{/privacy}", "received_events_url": "/received_events",
}  # fmt: skip
ROOT = {
    "current_user_url": "/user", "authorizations_url": "/authorizations",
    "code_search_url": "/search/code?q={query}{&page,per_page,sort,order}",
    "commit_search_url": "/search/commits?q={query}{&page,per_page,sort,order}", "emails_url": "/user/emails",
    "emojis_url": "/emojis", "events_url": "/events", "feeds_url": "/feeds", "followers_url": "/user/followers",
    "following_url": "/user/following{/target}", "gists_url": "/gists{/gist_id}", "hub_url": "/hub",
    "issue_search_url": "/search/issues?q={query}{&page,per_page,sort,order}", "issues_url": "/issues",
    "keys_url": "/user/keys", "label_search_url": "/search/labels?q={query}&repository_id={repository_id}{&page,per_page}",
    "notifications_url": "/notifications", "organization_url": "/orgs/{org}",
    "organization_repositories_url": "/orgs/{org}/repos{?type,page,per_page,sort}",
    "organization_teams_url": "/orgs/{org}/teams", "public_gists_url": "/gists/public", "rate_limit_url": "/rate_limit",
    "repository_url": "/repos/{owner}/{repo}",
    "repository_search_url": "/search/repositories?q={query}{&page,per_page,sort,order}",
    "current_user_repositories_url": "/user/repos{?type,page,per_page,sort}", "starred_url": "/user/starred{/owner}{/repo}",
    "starred_gists_url": "/gists/starred", "topic_search_url": "/search/topics?q={query}{&page,per_page}",
    "user_url": "/users/{user}", "user_organizations_url": "/user/orgs",
    "user_repositories_url": "/users/{user}/repos{?type,page,per_page,sort}",
    "user_search_url": "/search/users?q={query}{&page,per_page,sort,order}",
}  # fmt: skip
FOR_ADMINISTRATORS = ("allow_auto_merge", "delete_branch_on_merge", "allow_update_branch", "use_squash_pr_title_as_default")
REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def moment(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ") if when else None


def node_id(kind, number):
    return base64.b64encode(f"{kind}:{number}".encode()).decode()


def root(request):
    addresses = {name: request.api + rest for name, rest in ROOT.items()}
    return addresses | {"current_user_authorizations_html_url": f"{request.site}/settings/connections/applications{{/client_id}}"}


def repository_url(request, repository):
    return f"{request.api}/repos/{repository.full_name}"


def page_url(request, repository):
    return f"{request.site}/{repository.full_name}"


def user(request, account):
    if account is None:
        return None
    address = f"{request.api}/users/{account.login}"
    kind = "Organization" if account.is_organization else "Bot" if account.is_bot else "User"
    return {
        "login": account.login, "id": account.id, "node_id": node_id("User", account.id),
        "avatar_url": f"{request.site}/avatars/u/{account.id}?v=4", "gravatar_id": "",
        "url": address, "html_url": f"{request.site}/{account.login}",
        **{name: address + rest for name, rest in USER_ADDRESSES.items()},
        "type": kind, "user_view_type": "public", "site_admin": False,
    }  # fmt: skip


def private_user(request, account, now):
    return user(request, account) | {
        "user_view_type": "private", "name": account.login, "company": None, "blog": "", "location": None,
        "email": f"{account.login}@example.org", "hireable": None, "bio": None, "twitter_username": None,
        "notification_email": None, "public_repos": 1, "public_gists": 0, "followers": 0, "following": 0,
        "created_at": moment(now), "updated_at": moment(now), "private_gists": 0, "total_private_repos": 0,
        "owned_private_repos": 0, "disk_usage": 0, "collaborators": 0, "two_factor_authentication": True,
    }  # fmt: skip


def permissions(repository, account):
    levels = {"pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin"}
    return {name: repository.lets(account, level) for name, level in levels.items()}


def minimal_repository(request, repository):
    address, page = repository_url(request, repository), page_url(request, repository)
    return {
        "id": repository.id, "node_id": node_id("Repository", repository.id), "name": repository.name,
        "full_name": repository.full_name, "private": repository.is_private, "owner": user(request, repository.owner),
        "html_url": page, "description": None, "fork": repository.parent is not None, "url": address,
        **{name: address + rest for name, rest in REPOSITORY_ADDRESSES.items()},
    }  # fmt: skip


def repository(request, what):
    open_count = sum(1 for issue in what.issues.values() if issue.state == "open")
    whole = minimal_repository(request, what) | {
        "git_url": f"git://{request.host}/{what.full_name}.git", "ssh_url": f"git@{request.host}:{what.full_name}.git",
        "clone_url": f"{page_url(request, what)}.git", "svn_url": page_url(request, what), "mirror_url": None,
        "homepage": None, "language": None, "forks_count": 0, "stargazers_count": 0, "watchers_count": 0,
        "size": 0 if not what.bare.refs("refs/heads/") else 1, "default_branch": what.default_branch,
        "open_issues_count": open_count, "is_template": False, "topics": [], "has_issues": what.has_issues,
        "has_projects": True, "has_wiki": True, "has_pages": False, "has_downloads": True, "has_discussions": False,
        "archived": what.is_archived, "disabled": False, "visibility": "private" if what.is_private else "public",
        "pushed_at": moment(what.updated), "created_at": moment(what.created), "updated_at": moment(what.updated),
        "subscribers_count": 0, "network_count": 0, "license": None, "forks": 0, "open_issues": open_count,
        "watchers": 0, "allow_forking": True, "web_commit_signoff_required": False,
    }  # fmt: skip
    if what.owner.is_organization:
        whole["organization"] = user(request, what.owner)
    if request.user:
        whole["permissions"] = permissions(what, request.user)
    if request.user and what.lets(request.user, "admin"):
        whole |= dict.fromkeys(("allow_squash_merge", "allow_merge_commit", "allow_rebase_merge"), True)
        whole |= dict.fromkeys(FOR_ADMINISTRATORS, False)
    return whole


def whole_repository(request, what):
    """Alone: with what it was forked from."""
    whole = repository(request, what) | {"temp_clone_token": None}
    if what.parent:
        whole |= {"parent": repository(request, what.parent), "source": repository(request, what.root)}
    return whole


def label(request, where, what):
    return {
        "id": what.id, "node_id": node_id("Label", what.id),
        "url": f"{repository_url(request, where)}/labels/{quoted(what.name)}", "name": what.name, "color": what.color,
        "default": False, "description": what.description,
    }  # fmt: skip


def quoted(name):
    return "".join(c if c.isalnum() and c.isascii() or c in "-._~" else "".join(f"%{b:02X}" for b in c.encode()) for c in name)


def reactions(address):
    return {"url": f"{address}/reactions", "total_count": 0, **dict.fromkeys(REACTIONS, 0)}


def people(request, issue):
    """Members of issues and pull requests alike."""
    where = issue.repository
    return {
        "number": issue.number, "title": issue.title, "body": issue.body, "user": user(request, issue.author),
        "labels": [label(request, where, each) for each in issue.labels],
        "state": issue.state, "locked": issue.is_locked, "active_lock_reason": None, "milestone": None,
        "assignee": user(request, issue.assignees[0]) if issue.assignees else None,
        "assignees": [user(request, each) for each in issue.assignees],
        "created_at": moment(issue.created), "updated_at": moment(issue.updated), "closed_at": moment(issue.closed),
        "author_association": where.association(issue.author),
    }  # fmt: skip


def issue(request, what):
    home = repository_url(request, what.repository)
    address, kind = f"{home}/issues/{what.number}", "pull" if what.pull else "issues"
    done = sum(1 for child in what.children if child.state == "closed")
    blocked = sum(1 for blocker in what.blockers if blocker.state == "open")
    whole = {
        "url": address, "repository_url": home, "labels_url": address + "/labels{/name}",
        "comments_url": f"{address}/comments", "events_url": f"{address}/events",
        "html_url": f"{page_url(request, what.repository)}/{kind}/{what.number}", "id": what.id,
        "node_id": node_id("Issue", what.id), **people(request, what), "comments": len(what.comments),
        "closed_by": user(request, what.closed_by), "performed_via_github_app": None,
        "state_reason": what.state_reason, "reactions": reactions(address), "timeline_url": f"{address}/timeline",
        "sub_issues_summary": {"total": len(what.children), "completed": done, "percent_completed": percent(done, what.children)},
        "issue_dependencies_summary": {
            "blocked_by": blocked, "total_blocked_by": len(what.blockers), "blocking": 0, "total_blocking": 0,
        },
    }  # fmt: skip
    if what.parent:
        whole["parent_issue_url"] = f"{home}/issues/{what.parent.number}"
    if what.pull:
        page = f"{page_url(request, what.repository)}/pull/{what.number}"
        whole["draft"] = what.is_draft
        whole["pull_request"] = {
            "url": f"{home}/pulls/{what.number}", "html_url": page, "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch", "merged_at": moment(what.pull.merged),
        }  # fmt: skip
    return whole


def percent(done, all_of):
    return 100 * done // len(all_of) if all_of else 0


def comment(request, where, what):
    home = repository_url(request, where.repository)
    kind = "pull" if where.pull else "issues"
    page = f"{page_url(request, where.repository)}/{kind}/{where.number}"
    address = f"{home}/issues/comments/{what.id}"
    return {
        "url": address, "html_url": f"{page}#issuecomment-{what.id}", "issue_url": f"{home}/issues/{where.number}",
        "id": what.id, "node_id": node_id("IssueComment", what.id), "user": user(request, what.author),
        "created_at": moment(what.created), "updated_at": moment(what.updated), "body": what.body,
        "author_association": where.repository.association(what.author), "reactions": reactions(address),
        "performed_via_github_app": None,
    }  # fmt: skip


def event(request, where, what):
    whole = {
        "id": what.id, "node_id": node_id("Event", what.id),
        "url": f"{repository_url(request, where.repository)}/issues/events/{what.id}",
        "actor": user(request, what.actor), "event": what.kind, "commit_id": what.about.get("commit"), "commit_url": None,
        "created_at": moment(what.created), "performed_via_github_app": None,
    }  # fmt: skip
    if "label" in what.about:
        whole["label"] = {"name": what.about["label"].name, "color": what.about["label"].color}
    if "assignee" in what.about:
        whole |= {"assignee": user(request, what.about["assignee"]), "assigner": user(request, what.actor)}
    if "rename" in what.about:
        whole["rename"] = dict(zip(("from", "to"), what.about["rename"]))
    if what.kind == "locked":
        whole["lock_reason"] = None
    return whole


def side(request, where, branch, commit):
    return {
        "label": f"{where.owner.login}:{branch}", "ref": branch, "sha": commit, "user": user(request, where.owner),
        "repo": repository(request, where),
    }  # fmt: skip


def pull(request, what, head_id):
    """As in lists."""
    where = what.repository
    address = f"{repository_url(request, where)}/pulls/{what.number}"
    about = f"{repository_url(request, where)}/issues/{what.number}"
    page = f"{page_url(request, where)}/pull/{what.number}"
    addresses = {
        "self": address, "html": page, "issue": about, "comments": f"{about}/comments",
        "review_comments": f"{address}/comments", "commits": f"{address}/commits",
        "review_comment": f"{repository_url(request, where)}/pulls/comments{{/number}}",
        "statuses": f"{repository_url(request, where)}/statuses/{head_id}",
    }  # fmt: skip
    return {
        "url": address, "id": what.pull.id, "node_id": node_id("PullRequest", what.pull.id), "html_url": page,
        "diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "issue_url": about,
        **people(request, what), "merged_at": moment(what.pull.merged), "merge_commit_sha": what.pull.merge_id,
        "requested_reviewers": [], "requested_teams": [], "draft": what.is_draft, "auto_merge": None,
        **{f"{name}_url": addresses[name] for name in ("commits", "review_comments", "review_comment", "comments", "statuses")},
        "head": side(request, what.pull.source, what.pull.head, head_id),
        "base": side(request, where, what.pull.base, where.bare.head(what.pull.base) or what.pull.base_id),
        "_links": {name: {"href": value} for name, value in addresses.items()},
    }  # fmt: skip


def whole_pull(request, what, head_id, is_mergeable, numbers):
    """Alone. @param numbers (commits, added lines, removed lines, files)"""
    state = "unknown" if is_mergeable is None else "dirty" if not is_mergeable else "draft" if what.is_draft else "clean"
    return pull(request, what, head_id) | {
        "merged": bool(what.pull.merged), "mergeable": is_mergeable, "rebaseable": is_mergeable,
        "mergeable_state": state, "merged_by": user(request, what.pull.merged_by), "comments": len(what.comments),
        "review_comments": len(what.pull.line_comments), "maintainer_can_modify": False, "commits": numbers[0],
        "additions": numbers[1], "deletions": numbers[2], "changed_files": numbers[3],
    }  # fmt: skip


def review(request, where, what):
    page = f"{page_url(request, where.repository)}/pull/{where.number}#pullrequestreview-{what.id}"
    address = f"{repository_url(request, where.repository)}/pulls/{where.number}"
    return {
        "id": what.id, "node_id": node_id("Review", what.id), "user": user(request, what.author), "body": what.body,
        "state": what.state, "html_url": page, "pull_request_url": address,
        "author_association": where.repository.association(what.author),
        "_links": {"html": {"href": page}, "pull_request": {"href": address}},
        "submitted_at": moment(what.created), "commit_id": what.commit,
    }  # fmt: skip


def line_comment(request, where, what):
    home = repository_url(request, where.repository)
    address = f"{home}/pulls/comments/{what.id}"
    page = f"{page_url(request, where.repository)}/pull/{where.number}#discussion_r{what.id}"
    about = f"{home}/pulls/{where.number}"
    return {
        "url": address, "pull_request_review_id": what.review.id if what.review else None, "id": what.id,
        "node_id": node_id("ReviewComment", what.id), "diff_hunk": "@@ -1 +1 @@", "path": what.path,
        "commit_id": what.commit, "original_commit_id": what.commit, "user": user(request, what.author),
        "body": what.body, "created_at": moment(what.created), "updated_at": moment(what.updated), "html_url": page,
        "pull_request_url": about, "author_association": where.repository.association(what.author),
        "_links": {"self": {"href": address}, "html": {"href": page}, "pull_request": {"href": about}},
        "reactions": reactions(address), "start_line": None, "original_start_line": None, "start_side": None,
        "line": what.line, "original_line": what.line, "side": "RIGHT", "original_position": 1, "position": 1,
        "subject_type": "line",
    }  # fmt: skip


def check_run(request, where, commit, row):
    address = f"{repository_url(request, where)}/check-runs/{row['id']}"
    output = {
        "title": row["name"], "summary": row["summary"], "text": None, "annotations_count": 0,
        "annotations_url": f"{address}/annotations",
    }  # fmt: skip
    is_done = row["status"] == "completed"
    return {
        "id": row["id"], "name": row["name"], "node_id": node_id("CheckRun", row["id"]), "head_sha": commit,
        "external_id": "", "url": address, "html_url": f"{page_url(request, where)}/runs/{row['id']}",
        "details_url": f"{page_url(request, where)}/runs/{row['id']}", "status": row["status"],
        "conclusion": row["conclusion"], "started_at": moment(row["time"]),
        "completed_at": moment(row["time"]) if is_done else None, "output": output, "check_suite": {"id": row["id"]},
        "app": None, "pull_requests": [],
    }  # fmt: skip


def status(request, where, commit, row):
    return {
        "url": f"{repository_url(request, where)}/statuses/{commit}", "avatar_url": f"{request.site}/avatars/status",
        "id": row["id"], "node_id": node_id("Status", row["id"]), "state": row["state"],
        "description": row["description"], "target_url": None, "context": row["context"],
        "created_at": moment(row["time"]), "updated_at": moment(row["time"]),
    }  # fmt: skip


def ref(request, where, name, commit):
    home = repository_url(request, where)
    return {
        "ref": name, "node_id": node_id("Ref", f"{where.id}:{name}"), "url": f"{home}/git/{name}",
        "object": {"sha": commit, "type": "commit", "url": f"{home}/git/commits/{commit}"},
    }  # fmt: skip


def branch(request, where, name, commit):
    """As in lists."""
    address = f"{repository_url(request, where)}/commits/{commit}"
    return {"name": name, "commit": {"sha": commit, "url": address}, "protected": False}


def whole_branch(request, where, name, commit):
    home, page = repository_url(request, where), page_url(request, where)
    address, tree = f"{home}/commits/{commit}", where.bare.run("rev-parse", f"{commit}^{{tree}}").stdout.strip()
    person = {"name": "Forge", "email": "forge@example.org", "date": moment(where.created)}
    about = {
        "author": person, "committer": person, "message": "A commit", "comment_count": 0,
        "url": f"{home}/git/commits/{commit}", "tree": {"sha": tree, "url": f"{home}/git/trees/{tree}"},
        "verification": {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None},
    }  # fmt: skip
    whole = {
        "sha": commit, "node_id": node_id("Commit", commit), "url": address, "html_url": f"{page}/commit/{commit}",
        "comments_url": f"{address}/comments", "commit": about, "author": None, "committer": None, "parents": [],
    }  # fmt: skip
    return {
        "name": name, "commit": whole, "_links": {"self": f"{home}/branches/{name}", "html": f"{page}/tree/{name}"},
        "protected": False, "protection": {"enabled": False}, "protection_url": f"{home}/branches/{name}/protection",
    }  # fmt: skip
