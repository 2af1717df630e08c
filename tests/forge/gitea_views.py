# SPDX-License-Identifier: Apache-2.0
"""How Gitea writes things down (API v1, as of version 1.23)."""

from github_views import page_url, repository_url


def moment(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ") if when else None


def user(request, account):
    if account is None:
        return None
    return {
        "id": account.id, "login": account.login, "login_name": "", "source_id": 0, "full_name": "",
        "email": f"{account.login}@noreply.example.org", "avatar_url": f"{request.site}/avatars/{account.id}",
        "html_url": f"{request.site}/{account.login}", "language": "", "is_admin": False,
        "last_login": "0001-01-01T00:00:00Z", "created": "2026-01-01T00:00:00Z", "restricted": False, "active": False,
        "prohibit_login": False, "location": "", "website": "", "description": "", "visibility": "public",
        "followers_count": 0, "following_count": 0, "starred_repos_count": 0, "username": account.login,
    }  # fmt: skip


def permissions(where, account):
    return {name: where.lets(account, level) for name, level in (("admin", "admin"), ("push", "write"), ("pull", "read"))}


def repository(request, what):
    page = page_url(request, what)
    is_empty = not what.bare.refs("refs/heads/")
    counts = [sum(1 for e in what.issues.values() if e.state == "open" and bool(e.pull) is is_pull) for is_pull in (False, True)]
    return {
        "id": what.id, "owner": user(request, what.owner), "name": what.name, "full_name": what.full_name,
        "description": "", "empty": is_empty, "private": what.is_private, "fork": what.parent is not None, "template": False,
        "parent": repository(request, what.parent) if what.parent else None,
        "mirror": False, "size": 24, "language": "", "html_url": page, "url": repository_url(request, what), "link": "",
        "ssh_url": f"git@{request.host}:{what.full_name}.git", "clone_url": f"{page}.git", "original_url": "", "website": "",
        "stars_count": 0, "forks_count": 0, "watchers_count": 1, "open_issues_count": counts[0],
        "open_pr_counter": counts[1], "release_counter": 0, "default_branch": what.default_branch,
        "archived": what.is_archived, "created_at": moment(what.created), "updated_at": moment(what.updated),
        "permissions": permissions(what, request.user), "has_issues": what.has_issues, "has_wiki": True,
        "has_pull_requests": True, "has_projects": True, "has_releases": True, "has_packages": True, "has_actions": False,
        "allow_merge_commits": True, "allow_rebase": True, "allow_squash_merge": True, "default_merge_style": "merge",
        "object_format_name": "sha1", "internal": False, "topics": [], "licenses": None,
    }  # fmt: skip


def label(request, where, what):
    return {
        "id": what.id, "name": what.name, "exclusive": False, "is_archived": False, "color": what.color,
        "description": what.description or "", "url": f"{repository_url(request, where)}/labels/{what.id}",
    }  # fmt: skip


def people(request, what):
    """Members of issues and pull requests alike. Nobody assigned is null, not an empty list."""
    return {
        "number": what.number, "user": user(request, what.author), "title": what.title, "body": what.body or "",
        "labels": [label(request, what.repository, each) for each in what.labels], "milestone": None,
        "assignee": user(request, what.assignees[0]) if what.assignees else None,
        "assignees": [user(request, each) for each in what.assignees] or None, "state": what.state,
        "is_locked": what.is_locked, "comments": len(what.comments), "created_at": moment(what.created),
        "updated_at": moment(what.updated), "closed_at": moment(what.closed), "due_date": None, "pin_order": 0,
    }  # fmt: skip


def address_of(request, what):
    return f"{page_url(request, what.repository)}/{'pulls' if what.pull else 'issues'}/{what.number}"


def issue(request, what):
    where, pull = what.repository, None
    if what.pull:
        pull = {"merged": bool(what.pull.merged), "merged_at": moment(what.pull.merged), "draft": what.is_draft}
        pull["html_url"] = address_of(request, what)
    owner = {"id": where.id, "name": where.name, "owner": where.owner.login, "full_name": where.full_name}
    return {
        "id": what.id, "url": f"{repository_url(request, where)}/issues/{what.number}",
        "html_url": address_of(request, what), "original_author": "", "original_author_id": 0, "ref": "", "assets": [],
        **people(request, what), "pull_request": pull, "repository": owner,
    }  # fmt: skip


def comment(request, where, what):
    page = address_of(request, where)
    return {
        "id": what.id, "html_url": f"{page}#issuecomment-{what.id}", "pull_request_url": page if where.pull else "",
        "issue_url": "" if where.pull else page, "user": user(request, what.author), "original_author": "",
        "original_author_id": 0, "body": what.body, "assets": [], "created_at": moment(what.created),
        "updated_at": moment(what.updated),
    }  # fmt: skip


KINDS = {
    "labeled": "label", "unlabeled": "label", "closed": "close", "reopened": "reopen", "assigned": "assignees",
    "unassigned": "assignees", "renamed": "change_title", "locked": "lock", "unlocked": "unlock",
}  # fmt: skip


def event(request, where, what):
    """An entry of the timeline: a label that was added has the body "1", one that was removed has none."""
    kind = KINDS.get(what.kind, what.kind)
    page = address_of(request, where)
    named = what.about.get("label")
    assignee = user(request, what.about.get("assignee"))
    return {
        "id": what.id, "type": kind, "html_url": f"{page}#issuecomment-{what.id}", "pull_request_url": "",
        "issue_url": page, "user": user(request, what.actor), "body": "1" if what.kind == "labeled" else "",
        "created_at": moment(what.created), "updated_at": moment(what.created), "old_project_id": 0, "project_id": 0,
        "old_milestone": None, "milestone": None, "tracked_time": None, "old_title": "", "new_title": "", "old_ref": "",
        "new_ref": "", "ref_issue": None, "ref_comment": None, "ref_action": "", "ref_commit_sha": "", "review_id": 0,
        "label": label(request, where.repository, named) if named else None, "assignee": assignee,
        "assignee_team": None, "removed_assignee": what.kind == "unassigned", "resolve_doer": None, "dependent_issue": None,
    }  # fmt: skip


def side(request, where, branch, commit, otherwise=None):
    """@param otherwise the reference that is named when there is no such branch any more"""
    ref = branch if otherwise is None or where.bare.head(branch) else otherwise
    name = {"label": branch, "ref": ref, "sha": commit, "repo_id": where.id}
    return name | {"repo": repository(request, where)}


def pull(request, what, head_id, is_mergeable):
    where, page = what.repository, address_of(request, what)
    base_id = where.bare.head(what.pull.base) or what.pull.base_id
    return {
        "id": what.pull.id, "url": page, "html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch",
        **people(request, what), "draft": what.is_draft, "requested_reviewers": None, "requested_reviewers_teams": None,
        "review_comments": len(what.pull.line_comments), "mergeable": is_mergeable, "merged": bool(what.pull.merged),
        "merged_at": moment(what.pull.merged), "merge_commit_sha": what.pull.merge_id,
        "merged_by": user(request, what.pull.merged_by), "allow_maintainer_edit": False,
        "base": side(request, where, what.pull.base, base_id),
        "head": side(request, what.pull.source, what.pull.head, head_id, f"refs/pull/{what.number}/head"),
        "merge_base": what.pull.base_id,
    }  # fmt: skip


def review(request, where, what):
    states = {"CHANGES_REQUESTED": "REQUEST_CHANGES", "COMMENTED": "COMMENT"}
    page = address_of(request, where)
    return {
        "id": what.id, "user": user(request, what.author), "team": None, "state": states.get(what.state, what.state),
        "body": what.body, "commit_id": what.commit, "stale": False, "official": True, "dismissed": False,
        "comments_count": sum(1 for each in where.pull.line_comments if each.review is what),
        "submitted_at": moment(what.created), "updated_at": moment(what.created),
        "html_url": f"{page}#issuecomment-{what.id}", "pull_request_url": page,
    }  # fmt: skip


def line_comment(request, where, what):
    page = address_of(request, where)
    return {
        "id": what.id, "body": what.body, "user": user(request, what.author), "resolver": None,
        "pull_request_review_id": what.review.id, "created_at": moment(what.created), "updated_at": moment(what.updated),
        "path": what.path, "commit_id": what.commit, "original_commit_id": what.commit, "diff_hunk": "@@ -1 +1 @@",
        "position": what.line, "original_position": 0, "html_url": f"{page}#issuecomment-{what.id}", "pull_request_url": page,
    }  # fmt: skip


def status(request, where, commit, row):
    return {
        "id": row["id"], "status": row["state"], "target_url": "", "description": row["description"],
        "url": f"{repository_url(request, where)}/statuses/{commit}", "context": row["context"], "creator": None,
        "created_at": moment(row["time"]), "updated_at": moment(row["time"]),
    }  # fmt: skip


def branch(where, name, commit):
    about = {"id": commit, "message": "A commit\n", "url": "", "timestamp": moment(where.created)}
    return {"name": name, "commit": about, "protected": False, "user_can_push": True, "user_can_merge": True}
